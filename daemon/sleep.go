package daemon

import (
	"runtime"
	"time"
)

const (
	// wakeAhead is how long before an instant the interruptible wait ends and
	// the precise one begins: Go's timers are late by up to about 1 ms.
	wakeAhead = 2 * time.Millisecond
	// spinAhead is how long before an instant spinning begins, which covers
	// what a precise sleep is usually late by.
	spinAhead = 60 * time.Microsecond
)

// sleeper waits until an instant of the run's clock, at most wakeAhead away.
// It is the engine's one seam: inside a synctest bubble a system call would
// not move the clock, and tests use timerSleeper.
type sleeper func(at time.Duration)

// timerSleeper waits with the runtime's timers.
func timerSleeper(c clock) sleeper {
	return func(at time.Duration) { time.Sleep(at - c.now()) }
}

// spinSleeper waits with coarse for most of the time and spins for the rest:
// the least lateness, for a core's worth of CPU.
func spinSleeper(c clock, coarse sleeper) sleeper {
	return func(at time.Duration) {
		if at-c.now() > spinAhead {
			coarse(at - spinAhead)
		}
		for c.now() < at {
			runtime.Gosched()
		}
	}
}
