package metrics

import "time"

// Interval is what was counted between two snapshots.
type Interval struct {
	Counts
	Elapsed time.Duration
}

// Window answers over the last few snapshots.
type Window struct {
	counts   []*Counts       // of the snapshots, in a ring
	at       []time.Duration // when they were taken, from the start of the run
	newest   int
	pushed   int // snapshots, up to the size of the ring
	interval Interval
}

// NewWindow returns a window over steps intervals, at least 1, at the start of
// a run: until it has moved on by so many, it reaches back to the start.
func NewWindow(l *Labels, steps int) *Window {
	w := &Window{
		counts:   make([]*Counts, steps+1),
		at:       make([]time.Duration, steps+1),
		pushed:   1, // the start, when nothing had been counted
		interval: Interval{Counts: *newCounts(l)},
	}
	for i := range w.counts {
		w.counts[i] = newCounts(l)
	}
	return w
}

// Push moves the window on to s, taken at an offset from the start of the run.
func (w *Window) Push(at time.Duration, s *Snapshot) {
	w.newest = (w.newest + 1) % len(w.counts)
	w.pushed = min(w.pushed+1, len(w.counts))
	w.at[w.newest] = at
	w.counts[w.newest].reset()
	w.counts[w.newest].add(&s.Counts)
}

// Interval is what was counted within the window. It is overwritten by the
// next call.
func (w *Window) Interval() *Interval {
	oldest := (w.newest + 1 - w.pushed + len(w.counts)) % len(w.counts)
	w.interval.reset()
	w.interval.add(w.counts[w.newest])
	w.interval.sub(w.counts[oldest])
	w.interval.Elapsed = w.at[w.newest] - w.at[oldest]
	return &w.interval
}
