package metrics

import (
	"testing"
	"time"
)

func TestWindow(t *testing.T) {
	const steps = 3
	lane := newLane(1)
	totals, s, w := NewTotals(labels, []Lane{lane}), NewSnapshot(labels), NewWindow(labels, steps)

	if n := w.Interval().Elapsed; n != 0 {
		t.Errorf("%v elapsed at the start", n)
	}
	var settled []int
	for second := 1; second <= 10; second++ {
		settle(lane.Recorders[0], second)
		lose(lane.Recorders[0], 3*second)
		lane.Ledger.Shed[queueFull] += uint64(2 * second)
		settled = append(settled, second)
		totals.Collect(s)
		w.Push(time.Duration(second)*time.Second, s)

		var want uint64
		from := max(len(settled)-steps, 0)
		for _, n := range settled[from:] {
			want += uint64(n)
		}
		got := w.Interval()
		if got.SettledAs(ok) != want || got.ScheduleLag().Count() != want || got.ShedFor(queueFull) != 2*want {
			t.Errorf("second %d: settled %d, lags %d, shed %d, want %d, %d, %d", second,
				got.SettledAs(ok), got.ScheduleLag().Count(), got.ShedFor(queueFull), want, want, 2*want)
		}
		if got.LostWrites() != 3*want {
			t.Errorf("second %d: %d lost writes, want %d", second, got.LostWrites(), 3*want)
		}
		if want := time.Duration(len(settled)-from) * time.Second; got.Elapsed != want {
			t.Errorf("second %d: %v elapsed, want %v", second, got.Elapsed, want)
		}
	}
}

// A slow second leaves the quantiles once it leaves the window.
func TestWindowForgets(t *testing.T) {
	lane := newLane(1)
	r := lane.Recorders[0]
	totals, s, w := NewTotals(labels, []Lane{lane}), NewSnapshot(labels), NewWindow(labels, 2)
	for i, lag := range []time.Duration{time.Second, time.Millisecond, time.Millisecond} {
		r.Settle()
		r.Sent(get, ok, Times{Lag: lag})
		r.Done()
		totals.Collect(s)
		w.Push(time.Duration(i+1)*time.Second, s)
		p99, slow := w.Interval().ScheduleLag().Quantile(0.99), i < 2
		if slow != (p99 > int64(time.Second/2)) {
			t.Errorf("step %d: p99 schedule lag = %v", i, time.Duration(p99))
		}
	}
}
