package daemon

import (
	"context"
	"sync"

	"soakline/daemon/workload"
)

// doubts are the counters whose increments may have executed although their
// replies were lost, until they have been read back. A broken connection's
// increments may still be on their way to the target: those that have not
// executed are told from a counter that has stopped moving.
type doubts struct {
	reading sync.Mutex // one reader at a time

	mu       sync.Mutex
	open     []doubt
	executed uint64 // increments, in all
	not      uint64
	lost     uint64 // of these it cannot be told
}

// doubt is one counter.
type doubt struct {
	workload.Doubt
	seen int64 // increments that had executed when it was last read; -1: it was not read yet
}

// maxDoubts bounds the counters that wait to be read back.
const maxDoubts = 1 << 14

// add takes over the counters of a connection that is closed.
func (d *doubts) add(more []workload.Doubt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range more {
		if len(d.open) == maxDoubts {
			d.lost += uint64(m.Count)
			continue
		}
		d.open = append(d.open, doubt{m, -1})
	}
}

// resolve reads the counters back with values. Those whose increments have all
// executed are settled, and those that have not moved since they were last
// read, or that are read for the last time.
func (d *doubts) resolve(ctx context.Context, last bool, values func(context.Context, []string) ([]*int64, error)) error {
	d.reading.Lock()
	defer d.reading.Unlock()
	names := d.names()
	if names == nil {
		return nil
	}
	read, err := values(ctx, names)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	left := d.open[:0]
	for i, open := range d.open {
		if i < len(read) { // else it came while these were read
			var settled bool
			if open, settled = d.settle(open, read[i], last); settled {
				continue
			}
		}
		left = append(left, open)
	}
	clear(d.open[len(left):])
	d.open = left
	return nil
}

func (d *doubts) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for _, open := range d.open {
		names = append(names, open.Name)
	}
	return names
}

// settle counts what the value of a counter says, and whether that is final.
func (d *doubts) settle(open doubt, value *int64, last bool) (doubt, bool) {
	executed, ok := int64(0), false
	if value != nil {
		executed, ok = open.Executed(*value)
	}
	before := max(0, open.seen)
	if !ok || executed < before {
		d.lost += uint64(open.Count - before)
		return open, true
	}
	d.executed += uint64(executed - before)
	if executed == open.Count || executed == open.seen || last {
		d.not += uint64(open.Count - executed)
		return open, true
	}
	open.seen = executed
	return open, false
}

// count is what has come out so far: of lost ones it cannot be told, and open
// ones are still to be read.
func (d *doubts) count() (executed, not, lost, open uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.open {
		open += uint64(o.Count - max(0, o.seen))
	}
	return d.executed, d.not, d.lost, open
}
