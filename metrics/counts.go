package metrics

// Labels are the values of the closed label sets, each indexed by the small
// integers that are recorded.
type Labels struct {
	Commands []string // command: kinds of commands
	Outcomes []string // outcome: of a settled command
	Shed     []string // reason: why an arrival was refused
	Codes    []string // code: of an error reply
	Flushes  []string // reason: why a batch was closed
	Modes    []string // mode: how a batch becomes an exchange
	Failures []string // reason: why a connection could not be made, or broke
	Facts    []string // fact: facts of a target that can change
	Brakes   []string // brake: what can stop the load
}

// Counts are all counters and histograms: of one recorder since it was last
// collected, of all since the start, or of an interval.
type Counts struct {
	counters   []uint64    // all counters below
	histograms []Histogram // all histograms below

	outcomes int

	arrivals          []uint64 // by command; from the ledgers
	shed              []uint64 // by reason; from the ledgers
	commands          []uint64 // by command and outcome: [command·outcomes + outcome]
	errorReplies      []uint64 // by code
	reads             []uint64 // hits, misses
	lostWrites        []uint64 // one
	batches           []uint64 // by reason
	roundTrips        []uint64 // one
	connectionsOpened []uint64 // one
	failures          []uint64 // of connections, by reason

	responseTime      []Histogram // by command; durations down to serviceTime
	queueingDelay     *Histogram
	scheduleLag       *Histogram
	formationDelay    *Histogram
	dispatchWait      *Histogram
	serviceTime       []Histogram // by mode
	batchCommands     *Histogram  // sizes from here on
	batchRequestBytes *Histogram
	batchReplyBytes   *Histogram
}

func newCounts(l *Labels) *Counts {
	c := &Counts{outcomes: len(l.Outcomes)}
	vectors := []struct {
		of *[]uint64
		n  int
	}{
		{&c.arrivals, len(l.Commands)},
		{&c.shed, len(l.Shed)},
		{&c.commands, len(l.Commands) * len(l.Outcomes)},
		{&c.errorReplies, len(l.Codes)},
		{&c.reads, len(readResults)},
		{&c.lostWrites, 1},
		{&c.batches, len(l.Flushes)},
		{&c.roundTrips, 1},
		{&c.connectionsOpened, 1},
		{&c.failures, len(l.Failures)},
	}
	var n int
	for _, v := range vectors {
		n += v.n
	}
	c.counters = make([]uint64, n)
	rest := c.counters
	for _, v := range vectors {
		*v.of, rest = rest[:v.n:v.n], rest[v.n:]
	}

	durations := len(l.Commands) + 4 + len(l.Modes)
	c.histograms = make([]Histogram, durations+3)
	for i := range durations {
		c.histograms[i].scale = Durations
	}
	h := c.histograms
	c.responseTime, h = h[:len(l.Commands)], h[len(l.Commands):]
	c.queueingDelay, c.scheduleLag, c.formationDelay, c.dispatchWait, h = &h[0], &h[1], &h[2], &h[3], h[4:]
	c.serviceTime, h = h[:len(l.Modes)], h[len(l.Modes):]
	c.batchCommands, c.batchRequestBytes, c.batchReplyBytes = &h[0], &h[1], &h[2]
	return c
}

func (c *Counts) add(other *Counts) {
	addTo(c.counters, other.counters)
	for i := range c.histograms {
		c.histograms[i].Add(&other.histograms[i])
	}
}

// sub takes away what an earlier state of c had counted.
func (c *Counts) sub(earlier *Counts) {
	for i, n := range earlier.counters {
		c.counters[i] -= n
	}
	for i := range c.histograms {
		c.histograms[i].Sub(&earlier.histograms[i])
	}
}

func (c *Counts) reset() {
	clear(c.counters)
	for i := range c.histograms {
		c.histograms[i].Reset()
	}
}

// Arrivals is the number of commands that were due.
func (c *Counts) Arrivals() uint64 { return sum(c.arrivals) }

// Shed is the number of arrivals that were refused.
func (c *Counts) Shed() uint64 { return sum(c.shed) }

// ShedFor is the number of arrivals that were refused for reason.
func (c *Counts) ShedFor(reason int) uint64 { return c.shed[reason] }

// Settled is the number of commands that have an outcome.
func (c *Counts) Settled() uint64 { return sum(c.commands) }

// SettledAs is the number of commands whose outcome is outcome.
func (c *Counts) SettledAs(outcome int) uint64 {
	var n uint64
	for i := outcome; i < len(c.commands); i += c.outcomes {
		n += c.commands[i]
	}
	return n
}

// ResponseTime is that of all sent commands, in nanoseconds.
func (c *Counts) ResponseTime() *Histogram { return merged(c.responseTime) }

// QueueingDelay is that of all sent commands, in nanoseconds.
func (c *Counts) QueueingDelay() *Histogram { return c.queueingDelay }

// ScheduleLag is that of all sent commands, in nanoseconds.
func (c *Counts) ScheduleLag() *Histogram { return c.scheduleLag }

// FormationDelay is that of all sent commands, in nanoseconds.
func (c *Counts) FormationDelay() *Histogram { return c.formationDelay }

// DispatchWait is that of all sent commands, in nanoseconds.
func (c *Counts) DispatchWait() *Histogram { return c.dispatchWait }

// ServiceTime is that of all exchanges, in nanoseconds.
func (c *Counts) ServiceTime() *Histogram { return merged(c.serviceTime) }

// BatchCommands is the number of commands of each exchange.
func (c *Counts) BatchCommands() *Histogram { return c.batchCommands }

// BatchesFor is the number of exchanges whose batch was closed for reason.
func (c *Counts) BatchesFor(reason int) uint64 { return c.batches[reason] }

// ErrorRepliesFor is the number of error replies with code.
func (c *Counts) ErrorRepliesFor(code int) uint64 { return c.errorReplies[code] }

// Reads is the number of reads that found their key (hits), or did not.
func (c *Counts) Reads(hit bool) uint64 {
	if hit {
		return c.reads[readHit]
	}
	return c.reads[readMiss]
}

// LostWrites is the number of reads that returned an older version than one
// already acknowledged for that key to this daemon.
func (c *Counts) LostWrites() uint64 { return c.lostWrites[0] }

func merged(parts []Histogram) *Histogram {
	all := NewHistogram(Durations)
	for i := range parts {
		all.Add(&parts[i])
	}
	return all
}

func addTo(counts, more []uint64) {
	for i, n := range more {
		counts[i] += n
	}
}

func sum(counts []uint64) uint64 {
	var n uint64
	for _, c := range counts {
		n += c
	}
	return n
}
