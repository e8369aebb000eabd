package daemon

import (
	"time"

	"golang.org/x/sys/unix"
)

// preciseSleeper waits in clock_nanosleep on the absolute monotonic time, with
// timer slack of 1 ns: the kernel's default slack would add 50 µs, Go's timers
// up to 1 ms.
func preciseSleeper(c clock) sleeper {
	zero := monotonic() - c.now() // the run's start on CLOCK_MONOTONIC
	return func(at time.Duration) {
		// Slack belongs to a thread, and a goroutine may be on any.
		_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0)
		until := unix.NsecToTimespec(int64(zero + at))
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &until, nil) == unix.EINTR {
			// the runtime's own signals end a sleep early
		}
	}
}

func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // there is no Linux without this clock
	}
	return time.Duration(now.Nano())
}
