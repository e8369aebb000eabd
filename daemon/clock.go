package daemon

import "time"

// clock tells the time of a run as the offset from its start, on the monotonic
// clock.
type clock struct{ start time.Time }

func (c clock) now() time.Duration { return time.Since(c.start) }
