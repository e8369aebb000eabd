package batch_test

import (
	"fmt"
	"math"
	"time"

	"soakline/daemon/batch"
	"soakline/daemon/workload"
)

// never is when an arrival is due that does not come, and when a lane stops
// that is not to.
const never = time.Duration(math.MaxInt64)

// lane drives a Former in virtual time, as the engine does in real time: it
// plans ahead, sleeps until a batch is ready, admits what has arrived, takes.
type lane struct {
	former   *batch.Former
	arrivals []workload.Command // still to be drawn, in the order of Intended
	stop     time.Duration      // drains from then on
	late     func() time.Duration
	pause    func(from, to time.Duration) time.Duration // the housekeeper's next tick, up to to

	now      time.Duration
	draining bool
	shed     []workload.Command
}

// exchange is one batch as it was sent.
type exchange struct {
	batch.Batch
	commands   []workload.Command
	free, sent time.Duration
	draining   bool
	foretold   time.Duration // what Ready said at the instant of Take
}

func (l *lane) next() time.Duration {
	if len(l.arrivals) == 0 {
		return never
	}
	return l.arrivals[0].Intended
}

func (l *lane) draw() workload.Command {
	c := l.arrivals[0]
	l.arrivals = l.arrivals[1:]
	return c
}

// ready plans as far as the next batch needs. It is not ok once nothing more
// will ever be ready.
func (l *lane) ready() (time.Duration, bool) {
	for {
		at, ok := l.former.Ready(l.next())
		if ok || l.next() == never {
			return at, ok
		}
		c := l.draw()
		l.former.Plan(&c)
	}
}

func (l *lane) admit(now time.Duration) {
	for {
		c, due := l.former.Due(now)
		if !due {
			break
		}
		if !l.former.Admit(&c) {
			l.shed = append(l.shed, c)
			l.former.Shed()
		}
	}
	for l.next() <= now {
		if c := l.draw(); !l.former.Admit(&c) {
			l.shed = append(l.shed, c)
		}
	}
}

// advance lets time pass until to.
func (l *lane) advance(to time.Duration) {
	for {
		at := to
		if l.now < to {
			at = l.pause(l.now, to)
		}
		if at >= l.stop && !l.draining {
			l.admit(l.stop)
			l.former.Drain(l.stop)
			l.arrivals, l.draining = nil, true
		}
		l.admit(at)
		l.now = at
		if at == to {
			return
		}
	}
}

// exchange sends the next batch on a connection that is idle from free on, or
// says that there is none.
func (l *lane) exchange(free time.Duration) (exchange, bool) {
	l.advance(max(l.now, free))
	for {
		at, ok := l.ready()
		if l.draining && l.former.Queued() == 0 || !ok && !l.draining {
			return exchange{}, false
		}
		if l.draining || at <= l.now {
			x := exchange{free: free, sent: l.now, draining: l.draining, foretold: at}
			x.Batch, x.commands = l.former.Take(l.now, nil)
			if len(x.commands) == 0 {
				panic(fmt.Sprintf("a batch is ready at %d and empty at %d", at, l.now))
			}
			return x, true
		}
		l.advance(max(l.now, min(at+l.late(), l.stop)))
	}
}
