package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"soakline/daemon/arrival"
	"soakline/daemon/batch"
	"soakline/daemon/workload"
)

// While it is held an engine offers nothing, and what had arrived is sent.
// Afterwards the schedule goes on where it was: no burst, no jump.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: quick(100 * us)}
		e := f.startEngine(fakeOptions(f, 10_000)) // one arrival in 100 µs
		time.Sleep(100*ms + 50*us)
		if !e.Hold(true) || e.Hold(true) || e.Rate() != 0 {
			t.Error("the hold is no news, or news twice, or has a rate")
		}
		time.Sleep(time.Second)
		if got := e.HeldFor(); got != time.Second {
			t.Errorf("held for %v, want 1 s", got)
		}
		held := balanced(t, e)
		if held.Arrivals() != 1000 || held.Settled() != 1000 {
			t.Errorf("%d arrivals and %d settled while held, want the 1000 from before", held.Arrivals(), held.Settled())
		}
		if !e.Hold(false) || e.Rate() != 10_000 {
			t.Error("the end of the hold is no news, or has no rate")
		}
		time.Sleep(100 * ms)
		e.Drain(time.Second)
		s := balanced(t, e)
		parts(t, s, s.Arrivals())
		if n := s.Arrivals() - 1000; n != 1000 {
			t.Errorf("%d arrivals in 100 ms after the hold, want 1000", n)
		}
		for i, c := range f.arrived() {
			due := time.Duration(i+1) * 100 * us
			if i >= 1000 {
				due += time.Second
			}
			if c.Intended.Round(us) != due {
				t.Fatalf("arrival %d was due at %v, want %v", i, c.Intended, due)
			}
		}
	})
}

// Nothing is lost to holds that are shorter than the gaps between arrivals, nor
// what was drawn ahead.
func TestHoldOften(t *testing.T) {
	for _, tt := range []struct {
		rate  float64
		delay time.Duration
	}{{0.2, ms}, {10, 5 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			f := &fakeTarget{serve: quick(100 * us)}
			o := fakeOptions(f, tt.rate)
			o.Limits.Delay = tt.delay
			e := f.startEngine(o)
			for range 20 {
				time.Sleep(4*time.Second + 10*us)
				e.Hold(true)
				time.Sleep(time.Second)
				e.Hold(false)
			}
			e.Drain(time.Second)
			if want, got := uint64(80*tt.rate), balanced(t, e).Arrivals(); got != want {
				t.Errorf("%v/s: %d arrivals in 80 s between holds, want %d", tt.rate, got, want)
			}
		})
	}
}

// An engine that is held from the start offers nothing until it is let go.
func TestHeldFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: quick(100 * us)}
		o := fakeOptions(f, 1000)
		o.Held = true
		e := f.startEngine(o)
		time.Sleep(time.Second)
		if n := balanced(t, e).Arrivals(); n != 0 || e.Rate() != 0 {
			t.Errorf("%d arrivals, %v/s while held", n, e.Rate())
		}
		e.Hold(false)
		time.Sleep(10*ms + 500*us)
		e.Drain(time.Second)
		if n := balanced(t, e).Arrivals(); n != 10 || f.arrived()[0].Intended != time.Second+ms {
			t.Errorf("%d arrivals, the first at %v, want 10 from 1.001 s on", n, f.arrived()[0].Intended)
		}
		if got := e.HeldFor(); got != time.Second {
			t.Errorf("held for %v", got)
		}
	})
}

// A closed process is held too, and ends while it is.
func TestHoldClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: quick(ms)}
		o := fakeOptions(f, 0)
		o.Process, _ = arrival.ProcessByName("closed")
		o.Limits = batch.Limits{Commands: 1, RequestBytes: 1 << 20, ReplyBytes: 1 << 20}
		e := f.startEngine(o)
		time.Sleep(10*ms + 500*us)
		e.Hold(true)
		time.Sleep(time.Second)
		if n := balanced(t, e).Settled(); n != 44 {
			t.Errorf("%d commands on 4 connections in 10.5 ms, want 44", n)
		}
		e.Hold(false)
		time.Sleep(10*ms + 500*us)
		e.Hold(true)
		time.Sleep(time.Second)
		e.Drain(time.Second)
		if s := balanced(t, e); s.Settled() != 88 {
			t.Errorf("%d commands, want 88", s.Settled())
		}
	})
}

// A drain ends a held engine with nothing left over.
func TestHoldThenDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: quick(100 * us)}
		e := f.startEngine(fakeOptions(f, 1000))
		time.Sleep(50*ms + 500*us)
		e.Hold(true)
		time.Sleep(time.Second)
		e.Drain(time.Second)
		time.Sleep(time.Second)
		if got := e.HeldFor(); got != time.Second {
			t.Errorf("held for %v: what follows the drain does not count", got)
		}
		if e.Hold(false) {
			t.Error("a drained engine is let go")
		}
		if s := balanced(t, e); s.Arrivals() != 50 || s.SettledAs(int(workload.OK)) != 50 {
			t.Errorf("%d arrivals, %d ok, want 50", s.Arrivals(), s.SettledAs(int(workload.OK)))
		}
	})
}

// errReadOnly is a refusal as go-redis would have it.
type errReadOnly struct{}

func (errReadOnly) Error() string { return "READONLY You can't write against a read only replica." }
func (errReadOnly) RedisError()   {}

// A connection to a target that is no master is replaced, since its address may
// lead to another by now, and not again while the target stays what it is.
func TestDemotedConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: quick(100 * us), demoted: errReadOnly{}}
		o := fakeOptions(f, 10_000)
		e := f.startEngine(o)
		time.Sleep(time.Second)
		if n := f.dialled(); n != 8 {
			t.Errorf("%d connections were opened in the first second, want each of 4 twice", n)
		}
		time.Sleep(11 * time.Second)
		if n := f.dialled(); n != 16 {
			t.Errorf("%d connections were opened in 12 s, want 16: each again after 5 s", n)
		}
		e.Drain(time.Second)
		if s := balanced(t, e); s.SettledAs(int(workload.OK)) != s.Arrivals() {
			t.Errorf("%d of %d ok", s.SettledAs(int(workload.OK)), s.Arrivals())
		}
	})
}

// Connections leave a target that has moved, once they are idle, and what is
// under way is not cut.
func TestMovedTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: quick(10 * ms), at: "a"}
		e := f.startEngine(fakeOptions(f, 1000))
		time.Sleep(time.Second)
		if was, moved := e.Follow("a", e.now()); moved {
			t.Errorf("moved from %q to where it is", was)
		}
		time.Sleep(time.Second)
		if n := f.dialled(); n != 4 {
			t.Errorf("%d connections were opened, want 4", n)
		}
		asked := e.now()
		time.Sleep(time.Second)
		f.move("b")
		if was, moved := e.Follow("b", e.now()); was != "a" || !moved {
			t.Errorf("moved from %q: %t", was, moved)
		}
		time.Sleep(time.Second)
		if n := f.dialled(); n != 8 {
			t.Errorf("%d connections were opened, want each of 4 again", n)
		}
		// An answer from before they were opened is older than what they know.
		e.Follow("a", asked)
		time.Sleep(time.Second)
		if n := f.dialled(); n != 8 {
			t.Errorf("%d connections were opened, want none for an old answer", n)
		}
		e.Drain(time.Second)
		if s := balanced(t, e); s.SettledAs(int(workload.OK)) != s.Arrivals() {
			t.Errorf("%d of %d ok", s.SettledAs(int(workload.OK)), s.Arrivals())
		}
	})
}
