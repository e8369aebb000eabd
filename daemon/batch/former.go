// Package batch forms arrivals into batches. It is pure: instants come in as
// arguments, offsets from the start of the run, and it must never know a
// clock, a goroutine or go-redis.
package batch

import (
	"time"

	"soakline/daemon/workload"
)

// Queue bounds what has arrived and waits to be taken.
type Queue struct {
	Commands int   // at most so many commands, at least Limits.Commands
	Bytes    int64 // at most so many encoded request bytes; an empty queue has room for any one command
}

// Former holds a window of arrivals in the order in which they are due, and
// says of the next batch when it is ready, why, and which commands it holds.
//
// The window has two parts. Commands that are planned have been drawn and are
// not due yet; commands that are queued have arrived. The next batch takes
// from both: since arrivals are computed ahead, the instant at which it is
// ready is known ahead too.
type Former struct {
	limits  Limits
	bounds  Queue
	queued  ring
	planned ring
	bytes   int64 // encoded requests in queued

	fill     Fill          // the next batch, as far as it has been scanned
	closedAt time.Duration // the arrival that closed fill
	drained  time.Duration // when arrivals ended; never: they go on
}

// Batch is what Take took.
type Batch struct {
	Fill
	Ready time.Duration // when it became eligible to be sent
}

// ReadyAt is when c, of this batch, was ready: never before its own arrival,
// for a batch that waits for a connection goes on filling.
func (b *Batch) ReadyAt(c *workload.Command) time.Duration { return max(b.Ready, c.Intended) }

// NewFormer returns an empty former.
func NewFormer(limits Limits, bounds Queue) *Former {
	return &Former{limits: limits, bounds: bounds, drained: never}
}

// Queued is the number of commands that have arrived and wait to be taken.
func (f *Former) Queued() int { return f.queued.n }

// QueuedBytes is the encoded size of their requests.
func (f *Former) QueuedBytes() int64 { return f.bytes }

// Plan appends an arrival that is not due yet, due no earlier than the last.
func (f *Former) Plan(c *workload.Command) { f.planned.push(c) }

// Admit lets c arrive, after all that was planned, or says that the queue is
// full: then c is to be shed.
func (f *Former) Admit(c *workload.Command) bool {
	if f.queued.n >= f.bounds.Commands || f.bytes+int64(c.RequestBytes) > f.bounds.Bytes && f.queued.n > 0 {
		return false
	}
	f.bytes += int64(c.RequestBytes)
	f.queued.push(c)
	return true
}

// Due removes the first planned command if it is due by now. The caller is to
// Admit or to shed it.
func (f *Former) Due(now time.Duration) (workload.Command, bool) {
	if f.planned.n == 0 {
		return workload.Command{}, false
	}
	c := *f.planned.at(0)
	if c.Intended > now {
		return workload.Command{}, false
	}
	f.planned.drop(1)
	return c, true
}

// Shed tells the former that the command that was Due last is not Admitted, so
// that the next batch, which may have counted on it, is scanned afresh.
func (f *Former) Shed() { f.fill = Fill{} }

// Unplan appends what is planned to dst, and forgets it: it will not arrive as
// planned.
func (f *Former) Unplan(dst []workload.Command) []workload.Command {
	for i := range f.planned.n {
		dst = append(dst, *f.planned.at(i))
	}
	f.planned.drop(f.planned.n)
	f.fill = Fill{}
	return dst
}

// Drain ends the arrivals at now, up to which all that is due has been
// admitted: what is planned will not arrive, and what is queued is ready.
func (f *Former) Drain(now time.Duration) {
	f.planned.drop(f.planned.n)
	f.fill = Fill{}
	f.drained = now
}

// Ready is the instant at which the next batch is ready: the arrival that
// fills a cap, or the first arrival plus the delay, whichever is earlier. It
// is not ok where that depends on the next arrival, due at next, which is
// then to be planned (for Never: nothing will be ready).
func (f *Former) Ready(next time.Duration) (at time.Duration, ok bool) {
	n := f.queued.n + f.planned.n
	if n == 0 {
		return 0, false
	}
	deadline := f.deadline(f.at(0).Intended)
	f.scan(deadline, n)
	switch {
	case f.fill.Closed:
		return f.closedAt, true
	case next > deadline:
		return deadline, true
	}
	return 0, false
}

// Take moves the next batch to dst, as it is at now: all that has arrived, up
// to the caps. Everything due by now must have been admitted, and now must be
// no earlier than Ready, unless arrivals have ended. An empty queue has no
// batch.
func (f *Former) Take(now time.Duration, dst []workload.Command) (Batch, []workload.Command) {
	if f.queued.n == 0 {
		return Batch{}, dst
	}
	deadline := f.deadline(f.queued.at(0).Intended)
	f.scan(now, f.queued.n)
	b := Batch{Fill: f.fill, Ready: deadline}
	switch {
	case b.Closed:
		b.Ready = min(f.closedAt, deadline)
	case f.drained < deadline:
		b.Reason, b.Ready = Drain, f.drained
	case f.limits.Delay == 0:
		b.Reason = Idle
	default:
		b.Reason = Delay
	}
	for i := range b.Commands {
		dst = append(dst, *f.queued.at(i))
	}
	f.queued.drop(b.Commands)
	f.bytes -= int64(b.RequestBytes)
	f.fill = Fill{}
	return b, dst
}

// scan goes on filling the next batch from the first n commands of the
// window, as far as they are due by until.
func (f *Former) scan(until time.Duration, n int) {
	for i := f.fill.Commands; i < n && !f.fill.Closed; i++ {
		c := f.at(i)
		if c.Intended > until {
			return
		}
		f.fill.Add(&f.limits, c)
		f.closedAt = c.Intended
	}
}

func (f *Former) at(i int) *workload.Command {
	if i < f.queued.n {
		return f.queued.at(i)
	}
	return f.planned.at(i - f.queued.n)
}

// deadline is when the delay of a batch runs out whose first command is due at
// first.
func (f *Former) deadline(first time.Duration) time.Duration {
	if first > never-f.limits.Delay {
		return never
	}
	return first + f.limits.Delay
}

const never = time.Duration(1<<63 - 1)
