package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"soakline/daemon/arrival"
	"soakline/daemon/batch"
	"soakline/daemon/workload"
)

const (
	ms = time.Millisecond
	us = time.Microsecond
)

// Arrivals never wait for completions: a target that answers nothing for two
// seconds changes what they wait, not when they come.
func TestStallIsFeltByEveryArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: func(at time.Duration) (time.Duration, error) {
			if at >= time.Second && at < 3*time.Second {
				return 3*time.Second - at, nil
			}
			return 100 * us, nil
		}}
		e := f.startEngine(fakeOptions(f, 10_000))
		time.Sleep(2500 * ms)
		stalled := balanced(t, e)
		if got := stalled.Arrivals(); got != 25_000 {
			t.Errorf("%d arrivals by 2.5 s, want 25000: a stall must not slow them", got)
		}
		if stalled.QueuedCommands < 14_900 || stalled.InFlightBatches != 4 {
			t.Errorf("in the stall %d commands are queued and %d batches in flight, want about 15000 and 4", stalled.QueuedCommands, stalled.InFlightBatches)
		}
		time.Sleep(2500*ms + 50*us)
		if lag := balanced(t, e).ScheduleLag().Max(); lag != 0 {
			t.Errorf("schedule lag is %v: the stall is the target's, not the generator's", time.Duration(lag))
		}
		e.Drain(time.Second)
		s := balanced(t, e)
		if got := s.SettledAs(int(workload.OK)); got != 50_000 || s.Shed() != 0 {
			t.Errorf("%d of 50000 commands are ok, %d shed", got, s.Shed())
		}
		parts(t, s, 50_000)

		slow, slowest, slowExchanges := 0, time.Duration(0), 0
		for _, x := range f.exchanges {
			if x.replied-x.sent > 10*ms {
				slowExchanges++
			}
			for _, c := range x.commands {
				response := x.replied - c.Intended
				slowest = max(slowest, response)
				if response > 10*ms {
					slow++
				}
			}
		}
		if slow < 19_900 || slow > 20_300 {
			t.Errorf("%d commands felt more than 10 ms, want about 20000", slow)
		}
		if slowExchanges != 4 {
			t.Errorf("%d exchanges took more than 10 ms, want one for each of 4 connections", slowExchanges)
		}
		if got := time.Duration(s.ResponseTime().Max()); got != slowest || got < 1990*ms || got > 2010*ms {
			t.Errorf("the largest response time is %v, the target saw %v, want about 2 s", got, slowest)
		}
		if p99 := time.Duration(s.ResponseTime().Quantile(0.99)); p99 < 1900*ms {
			t.Errorf("p99 response time is %v, want the stall", p99)
		}
		if p99 := time.Duration(s.ServiceTime().Quantile(0.99)); p99 > ms {
			t.Errorf("p99 service time is %v, want four slow exchanges not to show", p99)
		}
	})
}

// Batches leave at the instants that the limits name, whoever sends them.
func TestBatchesLeaveWhenReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: quick(100 * us)}
		o := fakeOptions(f, 10_000) // one arrival in 100 µs
		e := f.startEngine(o)
		time.Sleep(10*ms + 50*us)
		e.Drain(time.Second)
		for i, x := range f.exchanges[:8] {
			first := x.commands[0].Intended
			if x.sent != first+ms || len(x.commands) != 11 {
				t.Errorf("batch %d of %d commands left at %v, its first command was due at %v: want 11 commands after 1 ms", i, len(x.commands), x.sent, first)
			}
		}
		parts(t, balanced(t, e), 100)
	})
}

// A drain sends at once what has arrived, before its delay runs out.
func TestDrainFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: quick(100 * us)}
		o := fakeOptions(f, 1000)
		o.Limits.Delay = 50 * ms
		e := f.startEngine(o)
		time.Sleep(20*ms + 500*us)
		e.Drain(time.Second)
		if x := f.exchanges[0]; len(f.exchanges) != 1 || x.sent != 20*ms+500*us || len(x.commands) != 20 {
			t.Errorf("%d exchanges, the first at %v with %d commands, want one at the drain with 20", len(f.exchanges), x.sent, len(x.commands))
		}
		s := balanced(t, e)
		parts(t, s, 20)
		if got := s.BatchesFor(int(batch.Drain)); got != 1 {
			t.Errorf("%d batches were closed by the drain, want 1", got)
		}
	})
}

// A target that takes no bytes holds up those who write to it, and nobody else:
// a batch that a socket's buffer may not take is not written with the lead.
func TestDeafTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{deaf: true, serve: quick(time.Second)}
		o := fakeOptions(f, 1000)
		o.Layout = workload.NewLayout(workload.Layout{Prefix: "p:", Run: "r", Keys: 100, ValueSize: 20_000})
		o.Mix = []workload.Share{{Kind: workload.Set, Weight: 1}}
		e := f.startEngine(o)
		time.Sleep(100*ms + 500*us)
		s := balanced(t, e)
		if s.InFlightBatches != 4 {
			t.Errorf("%d batches are in flight, want one on each of 4 connections", s.InFlightBatches)
		}
		time.Sleep(3 * time.Second)
		if lag := balanced(t, e).ScheduleLag().Max(); lag != 0 {
			t.Errorf("a schedule lag of %v: the wait is the target's doing", time.Duration(lag))
		}
		e.Drain(time.Second)
		balanced(t, e)
	})
}

// A full queue sheds exactly what it cannot hold, in arrival order.
func TestFullQueueSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: func(at time.Duration) (time.Duration, error) { return 2*time.Second - at, nil }}
		o := fakeOptions(f, 1000)
		o.Queue.Commands = 100
		o.Connections = 1
		e := f.startEngine(o)
		time.Sleep(1500*ms + 500*us)
		s := balanced(t, e)
		// The first batch holds the arrivals of 1 and 2 ms, sent at 2 ms.
		if s.QueuedCommands != 100 || s.InFlightCommands != 2 || s.ShedFor(shedQueueFull) != 1500-102 {
			t.Errorf("%d queued, %d in flight, %d shed, want 100, 2 and 1398", s.QueuedCommands, s.InFlightCommands, s.ShedFor(shedQueueFull))
		}
		time.Sleep(600 * ms)
		e.Drain(time.Second)
		for i, c := range f.exchanges[1].commands {
			if want := time.Duration(i+3) * ms; c.Intended != want {
				t.Fatalf("the queue's command %d was due at %v, want %v", i, c.Intended, want)
			}
		}
	})
}

// A target that is down for ten seconds costs outcomes, not arrivals, and
// needs no help to come back.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := func(at time.Duration) bool { return at >= time.Second && at < 11*time.Second }
		f := &fakeTarget{
			serve: func(at time.Duration) (time.Duration, error) {
				if down(at) {
					return 0, errBroken
				}
				return 100 * us, nil
			},
			open: func(at time.Duration) error {
				if down(at) {
					return errBroken
				}
				return nil
			},
		}
		o := fakeOptions(f, 1000)
		e := f.startEngine(o)
		time.Sleep(10 * time.Second)
		s := balanced(t, e)
		if s.Arrivals() != 10_000 || s.ConnectionsUp != 0 || s.QueuedCommands < 8900 {
			t.Errorf("in the outage: %d arrivals, %d connections, %d queued", s.Arrivals(), s.ConnectionsUp, s.QueuedCommands)
		}
		time.Sleep(10*time.Second + 500*us)
		s = balanced(t, e)
		if s.ConnectionsUp != 4 || s.QueuedCommands > 100 {
			t.Errorf("after the outage: %d connections, %d queued, want 4 and hardly any", s.ConnectionsUp, s.QueuedCommands)
		}
		e.Drain(time.Second)
		s = balanced(t, e)
		uncertain := s.SettledAs(int(workload.Uncertain))
		if uncertain == 0 || uncertain > 4*64 || s.SettledAs(int(workload.OK))+uncertain != 20_000 {
			t.Errorf("%d ok and %d uncertain of 20000, want one batch a connection to be uncertain", s.SettledAs(int(workload.OK)), uncertain)
		}
		parts(t, s, 20_000)
	})
}

// A target that takes connections and breaks each at its first exchange is
// left alone for longer and longer: it must not eat a batch at every turn.
func TestBackOffUntilAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: func(at time.Duration) (time.Duration, error) {
			if at < 10*time.Second {
				return 0, errBroken
			}
			return 100 * us, nil
		}}
		o := fakeOptions(f, 1000)
		o.Connections = 1
		o.ReconnectMax = time.Second
		e := f.startEngine(o)
		time.Sleep(20*time.Second + 500*us)
		e.Drain(time.Second)
		broken := 0
		for _, x := range f.exchanges {
			if x.sent < 10*time.Second {
				broken++
			}
		}
		// Pauses of 50, 100, …, 800 ms and then of 1 s, each from its upper half.
		if broken < 12 || broken > 24 {
			t.Errorf("%d exchanges in the 10 s in which each broke its connection, want about 16", broken)
		}
		s := balanced(t, e)
		if s.SettledAs(int(workload.OK)) < 18_000 || s.Shed() != 0 {
			t.Errorf("%d ok, %d shed of 20000", s.SettledAs(int(workload.OK)), s.Shed())
		}
	})
}

// The drain deadline ends exchanges that do not end, and settles what is still
// queued.
func TestDrainDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: quick(time.Hour)}
		e := f.startEngine(fakeOptions(f, 1000))
		time.Sleep(time.Second + 500*us)
		before := time.Now()
		e.Drain(5 * time.Second)
		if took := time.Since(before); took != 5*time.Second {
			t.Errorf("the drain took %v, want its deadline of 5 s", took)
		}
		s := balanced(t, e)
		if s.QueuedCommands != 0 || s.InFlightCommands != 0 {
			t.Errorf("%d queued, %d in flight after the drain", s.QueuedCommands, s.InFlightCommands)
		}
		if u, a := s.SettledAs(int(workload.Uncertain)), s.SettledAs(int(workload.Abandoned)); u != 8 || a != 992 {
			t.Errorf("%d uncertain, %d abandoned, want 4 batches of 2 and the rest", u, a)
		}
	})
}

// With nothing to wait for, a stop is at once, whatever the engine waits for.
func TestStopIsPrompt(t *testing.T) {
	for name, rate := range map[string]float64{"paused": 0, "rare": 0.2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeTarget{serve: quick(ms)}
				e := f.startEngine(fakeOptions(f, rate))
				time.Sleep(11 * time.Second)
				before := time.Now()
				e.Drain(5 * time.Second)
				if took := time.Since(before); took > 0 {
					t.Errorf("the drain took %v", took)
				}
				if s := balanced(t, e); s.Arrivals() != uint64(11*rate) || s.SettledAs(int(workload.OK)) != s.Arrivals() {
					t.Errorf("%d arrivals at %v/s in 11 s, %d ok", s.Arrivals(), rate, s.SettledAs(int(workload.OK)))
				}
			})
		})
	}
}

// A drain while the target is down ends with its deadline, and not before: what
// is queued may still be sent.
func TestDrainWhileDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := 2 * time.Second
		f := &fakeTarget{serve: quick(ms), open: func(at time.Duration) error {
			if at < back {
				return errBroken
			}
			return nil
		}}
		e := f.startEngine(fakeOptions(f, 100))
		time.Sleep(time.Second + 500*us)
		e.Drain(5 * time.Second)
		s := balanced(t, e)
		if s.SettledAs(int(workload.OK)) != 100 {
			t.Errorf("%d of 100 commands are ok: the target came back within the drain", s.SettledAs(int(workload.OK)))
		}
		if took := time.Since(f.start); took < back || took > back+200*ms {
			t.Errorf("the drain ended at %v, want soon after the target is back at %v", took, back)
		}
	})
}

// The schedule begins when every connection is open, or not at all.
func TestConnectBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{start: time.Now(), serve: quick(us), open: func(time.Duration) error {
			time.Sleep(100 * ms)
			return nil
		}}
		e := NewEngine(fakeOptions(f, 1000))
		if err := e.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.Start()
		time.Sleep(time.Second)
		e.Drain(time.Second)
		s := balanced(t, e)
		if wait := s.DispatchWait().Max(); wait != 0 {
			t.Errorf("a dispatch wait of %v: the first arrivals must not wait for handshakes", time.Duration(wait))
		}

		tried := 0
		f = &fakeTarget{start: time.Now(), open: func(time.Duration) error {
			if tried++; tried == 3 {
				return errBroken
			}
			return nil
		}}
		if err := NewEngine(fakeOptions(f, 1000)).Connect(t.Context()); err == nil || err.Error() != "connection 3 of 4: broken on purpose" {
			t.Errorf("%v", err)
		}
	})
}

// Under the closed process each connection has one full batch in flight, and a
// command is due when it is sent.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTarget{serve: quick(10 * ms)}
		o := fakeOptions(f, 0)
		o.Process, _ = arrival.ProcessByName("closed")
		o.Limits.Commands = 16
		e := f.startEngine(o)
		time.Sleep(95 * ms)
		if s := balanced(t, e); s.InFlightBatches != 4 || s.InFlightCommands != 64 || s.QueuedCommands != 0 {
			t.Errorf("%d batches of %d commands in flight, %d queued, want 4 of 64 and none", s.InFlightBatches, s.InFlightCommands, s.QueuedCommands)
		}
		e.Drain(time.Second)
		s := balanced(t, e)
		if s.SettledAs(int(workload.OK)) != 4*16*10 {
			t.Errorf("%d commands ok, want 10 exchanges of 16 on each of 4 connections", s.SettledAs(int(workload.OK)))
		}
		if q := s.QueueingDelay().Max(); q != 0 {
			t.Errorf("a queueing delay of %v: a closed process has none", time.Duration(q))
		}
		if e.Rate() != 0 {
			t.Errorf("an offered rate of %v", e.Rate())
		}
	})
}

// An arrival that the daemon notices too late, since it was suspended itself,
// is shed: there is no storm when it wakes up.
func TestSuspendedDaemonShedsTooLate(t *testing.T) {
	f := &fakeTarget{serve: quick(ms)}
	l := NewEngine(fakeOptions(f, 1000)).lane
	l.admit(3*time.Second + 500*us)
	if late := l.ledger.Shed[shedTooLate]; late != 2000 || l.former.Queued() != 1000 {
		t.Errorf("after 3 s of suspension %d are shed too_late and %d queued, want 2000 and 1000", late, l.former.Queued())
	}
	if l.ledger.Arrivals[workload.Get] != 3000 {
		t.Errorf("%d arrivals, want 3000: all count", l.ledger.Arrivals[workload.Get])
	}
}

// The same seed offers the same commands at the same instants.
func TestSeed(t *testing.T) {
	draw := func(seed uint64) (all []workload.Command) {
		o := fakeOptions(&fakeTarget{}, 1000)
		o.Seed = seed
		o.Process, _ = arrival.ProcessByName("poisson")
		l := NewEngine(o).lane
		for range 1000 {
			all = append(all, l.draw())
		}
		return all
	}
	first, again, other := draw(7), draw(7), draw(8)
	same := 0
	for i := range first {
		if first[i] != again[i] {
			t.Fatalf("command %d is %+v, then %+v", i, first[i], again[i])
		}
		if first[i] == other[i] {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d of 1000 commands are the same under another seed", same)
	}
}

// A connection that waited for the lane's lock takes all that has arrived by
// then: its clock must not be from before the wait.
func TestTakeReadsTheClockUnderTheLock(t *testing.T) {
	e := NewEngine(fakeOptions(&fakeTarget{}, 1000))
	l, c := e.lane, e.connections[0]
	l.clock = clock{time.Now()}
	l.lead <- struct{}{}
	l.mu.Lock()
	taken := make(chan bool)
	go func() { taken <- l.take(c) }()
	time.Sleep(20 * ms) // it waits for the lock
	now := l.now()
	l.admit(now)
	l.former.Drain(now)
	l.next, l.draining = arrival.Never, true
	l.mu.Unlock()
	if !<-taken || l.former.Queued() > 0 {
		t.Errorf("%d commands are taken and %d left behind", len(c.commands), l.former.Queued())
	}
}
