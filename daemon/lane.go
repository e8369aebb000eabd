package daemon

import (
	"sync"
	"time"

	"soakline/daemon/arrival"
	"soakline/daemon/batch"
	"soakline/daemon/workload"
	"soakline/metrics"
)

// The reasons for which an arrival is shed, indices into shedReasons.
const (
	shedQueueFull = iota // the queue was full when it arrived
	shedTooLate          // the daemon noticed it too late: it was suspended
)

var shedReasons = []string{"queue_full", "too_late"}

// writeTime is about what it takes to encode and write a batch.
const writeTime = 50 * time.Microsecond

// writtenAtOnce is the size in bytes of a batch that the kernel takes over at
// once, whether or not the target reads: no more than the least send buffer
// that a socket has by default, which is empty between exchanges.
const writtenAtOnce = 16 << 10

// lane is one window of arrivals and its former, served by some connections.
//
// Its connections take turns: the one that holds the lead draws the schedule
// ahead as far as the next batch needs, sleeps until that batch is ready, takes
// it and passes the lead on. The others are at their exchanges, or wait for the
// lead. Arrivals are the schedule's, whoever is late: nothing here skips or
// slows them.
//
// To wake the next leader takes longer than to write a batch. So a connection
// keeps the lead until it has written, unless the next batch is ready by then
// or the writing may depend on the target.
type lane struct {
	clock
	open       bool // open loop; false: closed, without a schedule
	limits     batch.Limits
	maxCatchUp time.Duration
	sleep      sleeper

	lead chan struct{} // holds the one token of the lead, when nobody leads
	wake chan struct{} // ends the leader's interruptible wait

	mu       sync.Mutex // guards what is below
	schedule *arrival.Schedule
	source   *workload.Source
	writes   *workload.Writes
	former   *batch.Former
	next     time.Duration      // when the next arrival that has not been drawn is due
	spare    workload.Command   // closed: drawn for the last batch, did not fit
	spares   bool               // whether there is one
	draining bool               // the schedule has ended
	held     bool               // a brake has stopped arrivals
	heldAt   time.Duration      // when
	shift    time.Duration      // for how long they have been held in all: how far the schedule's clock is behind
	kept     []workload.Command // what had been drawn ahead when they were held
	keptNext time.Duration      // next then
	released sync.Cond          // closed: on the end of a hold, and of all arrivals
	ledger   *metrics.Ledger
}

// take waits for the next batch and moves it to c. It is false when the lane
// has drained.
func (l *lane) take(c *connection) bool {
	if !l.open {
		return l.takeClosed(c)
	}
	<-l.lead
	c.leads = true
	for {
		l.mu.Lock()
		now := l.now()
		l.admit(now)
		ready := l.plan()
		if ready <= now || l.draining {
			taken := l.takeReady(c, now)
			soon := l.draining || l.plan() <= now+writeTime
			l.mu.Unlock()
			if soon || c.batch.RequestBytes > writtenAtOnce {
				c.pass()
			}
			return taken
		}
		l.mu.Unlock()
		l.await(c.timer, now, ready)
	}
}

// await waits until the batch is ready, or until something changes.
func (l *lane) await(timer *time.Timer, now, ready time.Duration) {
	if ready-now <= wakeAhead {
		l.sleep(ready)
		return
	}
	timer.Reset(ready - now - wakeAhead)
	select {
	case <-timer.C:
	case <-l.wake:
		timer.Stop()
	}
}

// plan draws the schedule ahead until it is known when the next batch is
// ready.
func (l *lane) plan() time.Duration {
	for {
		if ready, known := l.former.Ready(l.next); known {
			return ready
		}
		if l.next == arrival.Never {
			return arrival.Never
		}
		c := l.draw()
		l.former.Plan(&c)
	}
}

// draw is the next arrival of the schedule.
func (l *lane) draw() workload.Command {
	c := l.source.Next()
	c.Intended = l.next
	l.advance()
	return c
}

// advance moves next on to the next arrival of the schedule.
func (l *lane) advance() {
	l.next = l.schedule.Next()
	if l.next != arrival.Never {
		l.next += l.shift
	}
}

// admit lets all that is due by now arrive, in order.
func (l *lane) admit(now time.Duration) {
	for {
		c, due := l.former.Due(now)
		if !due {
			break
		}
		if !l.arrive(&c, now) {
			l.former.Shed()
		}
	}
	for l.next <= now {
		c := l.draw()
		l.arrive(&c, now)
	}
}

// arrive counts the arrival of c, and admits or sheds it.
func (l *lane) arrive(c *workload.Command, now time.Duration) bool {
	l.ledger.Arrivals[c.Kind]++
	switch {
	case now-c.Intended > l.maxCatchUp:
		l.ledger.Shed[shedTooLate]++
		return false
	case !l.former.Admit(c):
		l.ledger.Shed[shedQueueFull]++
		return false
	}
	return true
}

// takeReady moves the next batch to c.
func (l *lane) takeReady(c *connection, now time.Duration) bool {
	c.batch, c.commands = l.former.Take(now, c.commands[:0])
	if c.batch.Commands == 0 {
		return false
	}
	l.begin(c)
	return true
}

// begin puts c's batch in flight.
func (l *lane) begin(c *connection) {
	l.writes.Take(c.owner, c.commands)
	c.recorder.Begin(c.batch.Commands)
}

// takeClosed fills a batch for c at once: a closed process always has a
// command to send, unless it is held.
func (l *lane) takeClosed(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held {
		l.released.Wait()
	}
	if l.draining {
		return false
	}
	now := l.now()
	var fill batch.Fill
	c.commands = c.commands[:0]
	for !fill.Closed {
		if !l.spares {
			l.spare = l.source.Next()
		}
		l.spare.Intended = now
		l.spares = !fill.Add(&l.limits, &l.spare)
		if !l.spares {
			c.commands = append(c.commands, l.spare)
			l.ledger.Arrivals[l.spare.Kind]++
		}
	}
	c.batch = batch.Batch{Fill: fill, Ready: now}
	l.begin(c)
	return true
}

// Lock locks the lane's ledger and brings it up to date: what is due has
// arrived, or is shed, also while every connection is busy.
func (l *lane) Lock() {
	l.mu.Lock()
	l.update(l.now())
}

func (l *lane) update(now time.Duration) {
	if !l.open {
		return
	}
	if !l.draining {
		l.admit(now)
	}
	l.ledger.QueuedCommands = l.former.Queued()
	l.ledger.QueuedBytes = int(l.former.QueuedBytes())
}

// Unlock unlocks the ledger.
func (l *lane) Unlock() { l.mu.Unlock() }

// drain ends the schedule: what has arrived will be taken, nothing more
// arrives.
func (l *lane) drain() {
	l.mu.Lock()
	now := l.now()
	l.update(now)
	if l.open && !l.draining {
		l.former.Drain(now)
		l.next = arrival.Never
	}
	if l.held {
		l.held = false
		l.shift += now - l.heldAt
	}
	l.draining = true
	l.released.Broadcast()
	l.mu.Unlock()
	l.rouse()
}

// rouse ends the leader's wait, to look around.
func (l *lane) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// hold stops arrivals, or lets them go on from now as if no time had passed:
// without a jump, a burst, or the loss of one that had arrived.
func (l *lane) hold(hold bool) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == hold || l.draining {
		return false
	}
	now := l.now()
	if hold {
		l.update(now)
		l.stopAt(now)
	} else {
		l.goOnAt(now)
	}
	l.released.Broadcast()
	l.rouse()
	return true
}

// stopAt holds arrivals from now on.
func (l *lane) stopAt(now time.Duration) {
	l.held, l.heldAt = true, now
	if l.open {
		l.kept = l.former.Unplan(l.kept[:0])
		l.keptNext, l.next = l.next, arrival.Never
	}
}

// goOnAt lets arrivals go on: what had been drawn ahead is due as much later as
// they were held.
func (l *lane) goOnAt(now time.Duration) {
	d := now - l.heldAt
	l.held = false
	l.shift += d
	if !l.open {
		return
	}
	for i := range l.kept {
		l.kept[i].Intended += d
		l.former.Plan(&l.kept[i])
	}
	if l.next = l.keptNext; l.next != arrival.Never {
		l.next += d
	}
}

// heldFor is how long arrivals have been held in all, and whether they are.
func (l *lane) heldFor() (d time.Duration, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return l.shift + l.now() - l.heldAt, true
	}
	return l.shift, false
}

// drained tells whether nothing is left to take.
func (l *lane) drained() bool {
	l.Lock()
	defer l.Unlock()
	return l.draining && l.ledger.QueuedCommands == 0
}

// abandon settles what is still queued, when the drain deadline has passed and
// every connection has stopped.
func (l *lane) abandon() {
	if !l.open {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var left []workload.Command
	for l.former.Queued() > 0 {
		_, left = l.former.Take(l.now(), left[:0])
		for i := range left {
			l.ledger.Settled[left[i].Kind][workload.Abandoned]++
		}
	}
}
