//go:build !linux

package daemon

// preciseSleeper is the runtime's timer where there is no clock_nanosleep to
// the absolute time.
func preciseSleeper(c clock) sleeper { return timerSleeper(c) }
