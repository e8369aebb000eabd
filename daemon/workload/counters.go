package workload

// Counters are the counters that one connection owns: nobody else increments
// them, so each INCR must reply with the number after the last one.
//
// A connection that replaces a broken one starts a new generation, on keys of
// its own: increments that were written to the old connection may still
// execute, at any time, and must not disturb the new sequence.
type Counters struct {
	owner      int
	generation uint32
	last       []int64 // the last value known, by slot
	doubts     []int64 // increments that may have executed since, by slot
}

// NewCounters returns the counters of generation, from 0 up, of the connection
// number owner, from 0 up.
func (l *Layout) NewCounters(owner int, generation uint32) *Counters {
	return &Counters{owner: owner, generation: generation, last: make([]int64, l.slots()), doubts: make([]int64, l.slots())}
}

// Doubt is a counter some of whose increments may have executed: they were
// written, and no reply was read.
type Doubt struct {
	Name  string // the counter's key
	Known int64  // its value without them
	Count int64  // how many they are, at least 1
}

// Executed is how many of the increments had executed where the counter's
// value is n; not ok where n is none that they could have led to: the target
// has lost the counter, or somebody else has written it.
func (d *Doubt) Executed(n int64) (executed int64, ok bool) {
	executed = n - d.Known
	return executed, executed >= 0 && executed <= d.Count
}

// Doubts lists the counters that are in doubt.
func (l *Layout) Doubts(counters *Counters) []Doubt {
	var doubts []Doubt
	for slot, count := range counters.doubts {
		if count > 0 {
			doubts = append(doubts, Doubt{l.Counter(counters, slot), counters.last[slot], count})
		}
	}
	return doubts
}

// Names lists the keys of counters. Each is to be set to 0, with the layout's
// TTL, before its first INCR, which would make a key that never expires.
func (l *Layout) Names(counters *Counters) []string {
	names := make([]string, len(counters.last))
	for slot := range names {
		names[slot] = l.Counter(counters, slot)
	}
	return names
}

// Previous lists the keys of the generation before counters, none for the
// first. They are to expire soon, and not to be deleted: an increment on its
// way from the old connection would make one of them anew, without a TTL.
func (l *Layout) Previous(counters *Counters) []string {
	if counters.generation == 0 {
		return nil
	}
	return l.Names(l.NewCounters(counters.owner, counters.generation-1))
}

// observe judges the reply n of an INCR. The sequence goes on from n, so that
// one wrong reply is one mismatch.
func (c *Counters) observe(slot int, n int64) Outcome {
	right := n == c.last[slot]+1
	c.last[slot] = n
	if right {
		return OK
	}
	return Mismatch
}

// unread judges a reply to INCR that is no number. The target did execute the
// command, as far as one can tell: the sequence goes on as if it had said so.
func (c *Counters) unread(slot int) Outcome {
	c.last[slot]++
	return Mismatch
}
