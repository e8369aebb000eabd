package batch_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"soakline/daemon/batch"
	"soakline/daemon/workload"
)

// A run is everything that happened to a lane with some connections.
type run struct {
	limits    batch.Limits
	bounds    batch.Queue
	arrivals  []workload.Command // that were due before the lane stopped
	exchanges []exchange
	shed      []workload.Command
	stop      time.Duration // when arrivals ended
	punctual  bool          // the lane never overslept
}

// drawRun runs a lane. Sizes, instants and limits are small, so that caps are
// met exactly, instants coincide, and commands are oversize often.
func drawRun(t *rapid.T) run {
	small := func(least, most int, label string) int { return rapid.IntRange(least, most).Draw(t, label) }
	r := run{
		limits: batch.Limits{
			Commands:     small(1, 8, "max commands"),
			RequestBytes: small(1, 80, "max request bytes"),
			ReplyBytes:   small(1, 80, "max reply bytes"),
			Delay:        time.Duration(small(0, 40, "delay")),
		},
	}
	r.bounds = batch.Queue{
		Commands: r.limits.Commands + small(0, 10, "queue beyond a batch"),
		Bytes:    int64(small(1, 300, "queue bytes")),
	}
	var at time.Duration
	for i := range small(0, 60, "arrivals") {
		at += time.Duration(max(0, small(-3, 20, "gap")))
		r.arrivals = append(r.arrivals, workload.Command{
			Intended:     at,
			Key:          uint64(i),
			RequestBytes: int32(small(1, 30, "request")),
			ReplyBytes:   int32(small(1, 30, "reply")),
		})
	}
	r.stop = never
	if rapid.Bool().Draw(t, "stops") {
		r.stop = time.Duration(small(0, int(at)+40, "stop"))
	}
	latest := small(0, 8, "latest wake-up")
	r.punctual = latest == 0
	l := &lane{
		former:   batch.NewFormer(r.limits, r.bounds),
		arrivals: r.arrivals,
		stop:     r.stop,
		late:     func() time.Duration { return time.Duration(small(0, latest, "late by")) },
		pause: func(from, to time.Duration) time.Duration {
			return from + time.Duration(small(1, int(to-from), "tick"))
		},
	}
	r.arrivals = slices.DeleteFunc(slices.Clone(r.arrivals), func(c workload.Command) bool { return c.Intended > r.stop })

	free := make([]time.Duration, small(1, 4, "connections"))
	for {
		slices.Sort(free)
		x, ok := l.exchange(free[0])
		if !ok {
			break
		}
		r.exchanges = append(r.exchanges, x)
		free[0] = x.sent + time.Duration(small(0, 60, "busy"))
		if n, bytes := l.former.Queued(), l.former.QueuedBytes(); n > r.bounds.Commands || n > 1 && bytes > r.bounds.Bytes {
			t.Fatalf("%d commands of %d bytes are queued", n, bytes)
		}
	}
	if n, bytes := l.former.Queued(), l.former.QueuedBytes(); n != 0 || bytes != 0 {
		t.Fatalf("%d commands of %d bytes are queued after the last batch", n, bytes)
	}
	r.shed = l.shed
	return r
}

// Whatever happens, each batch is the one that the model makes out in
// hindsight, and so is what was shed.
func TestBatchesAreTheModels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRun(t)
		m := model{limits: r.limits, bounds: r.bounds, stop: r.stop, arrivals: r.arrivals}
		for i, x := range r.exchanges {
			want, commands := m.take(x.sent, x.draining)
			if x.Batch != want {
				t.Fatalf("batch %d is %+v, want %+v", i, x.Batch, want)
			}
			if !slices.Equal(x.commands, commands) {
				t.Fatalf("batch %d holds %v, want %v", i, x.commands, commands)
			}
		}
		m.arrive(never)
		if !slices.Equal(r.shed, m.shed) {
			t.Fatalf("shed %v, want %v", r.shed, m.shed)
		}
	})
}

// Every arrival is in exactly one batch or shed, in the order of arrival.
func TestNothingIsLostDoubledOrReordered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRun(t)
		var taken []workload.Command
		for _, x := range r.exchanges {
			taken = append(taken, x.commands...)
		}
		byKey := func(a, b workload.Command) int { return int(a.Key) - int(b.Key) }
		if !slices.IsSortedFunc(taken, byKey) || !slices.IsSortedFunc(r.shed, byKey) {
			t.Fatalf("out of order: taken %v, shed %v", taken, r.shed)
		}
		all := append(taken, r.shed...)
		slices.SortFunc(all, byKey)
		if !slices.Equal(all, r.arrivals) {
			t.Fatalf("taken or shed %v, arrived %v", all, r.arrivals)
		}
	})
}

func TestCapsAreHardAndReasonsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRun(t)
		for i, x := range r.exchanges {
			n := len(x.commands)
			request, reply := sizes(x.commands)
			over := request > r.limits.RequestBytes || reply > r.limits.ReplyBytes
			deadline := x.commands[0].Intended + r.limits.Delay
			for _, rule := range []struct {
				says string
				true bool
			}{
				{"a batch says what it holds", n == x.Commands && request == x.RequestBytes && reply == x.ReplyBytes},
				{"a batch holds a command, and at most max commands", n >= 1 && n <= r.limits.Commands},
				{"oversize is one command that exceeds a byte cap", over == (x.Reason == batch.Oversize) && (!over || n == 1)},
				{"oversize does not linger", !over || x.Ready == x.commands[0].Intended},
				{"commands is a batch of max commands", (x.Reason == batch.Commands) == (n == r.limits.Commands && !over)},
				{"delay is a delay that ran out", x.Reason != batch.Delay || r.limits.Delay > 0 && x.Ready == deadline},
				{"idle is no delay", x.Reason != batch.Idle || r.limits.Delay == 0},
				{"only a drain drains, before the delay has run out", x.Reason != batch.Drain || x.draining && x.Ready == r.stop && r.stop < deadline},
			} {
				if !rule.true {
					t.Fatalf("batch %d: %s: not so of %+v under %+v", i, rule.says, x, r.limits)
				}
			}
		}
	})
}

// The three parts of the queueing delay are none of them negative, and nobody
// waits for a batch longer than the delay.
func TestInstants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRun(t)
		for i, x := range r.exchanges {
			for _, c := range x.commands {
				ready := x.ReadyAt(&c)
				formation := ready - c.Intended
				dispatch := max(ready, x.free) - ready
				lag := x.sent - max(ready, x.free)
				if formation < 0 || formation > r.limits.Delay || dispatch < 0 || lag < 0 {
					t.Fatalf("batch %d, %+v: formation delay %d, dispatch wait %d, schedule lag %d", i, c, formation, dispatch, lag)
				}
				if formation+dispatch+lag != x.sent-c.Intended {
					t.Fatalf("batch %d, %+v: the parts of its queueing delay do not add up", i, c)
				}
			}
			if x.draining {
				continue
			}
			if x.foretold != x.Ready {
				t.Fatalf("batch %d: Ready said %d, Take %d", i, x.foretold, x.Ready)
			}
			if r.punctual && x.sent != max(x.Ready, x.free) {
				t.Fatalf("batch %d was sent at %d, though ready at %d and its connection free at %d", i, x.sent, x.Ready, x.free)
			}
		}
	})
}
