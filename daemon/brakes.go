package daemon

import (
	"fmt"
	"time"

	"soakline/daemon/config"
)

// The brakes, indices into brakeNames.
const (
	brakeMemory = iota // the target is nearly full
	brakeEviction
	brakeErrorRatio
	brakeRate
	brakeCount
)

var brakeNames = []string{"memory", "eviction", "error_ratio", "rate"}

const (
	// coolDown is how long a brake that may let go by itself stays on, so that
	// a target which fails under load is not hammered.
	coolDown = 30 * time.Second
	// leastSettled is of how many commands an error ratio is one.
	leastSettled = 20
)

// observation is what brakes judge.
type observation struct {
	at      time.Duration // since the start
	full    float64       // used memory of the target's maxmemory; 0: it has none, or does not tell
	evicted int64         // keys that the target has evicted since the load began, or last went on
	settled uint64        // commands, over the window
	failed  uint64        // of these, not ok
	rate    float64       // arrivals offered, per second
	arrived float64       // the same over the window, where no schedule offers any; 0: one does
}

// brakes stop the load when going on would harm the target, or measure
// nothing. Time is an argument.
type brakes struct {
	limits config.Safety
	why    [brakeCount]string        // "": it is off
	since  [brakeCount]time.Duration // when it tripped
}

// braked is a brake that has tripped, or been let go.
type braked struct {
	brake int
	why   string // "": let go
}

// judge trips brakes and, where they may, lets them go again, and lists those
// that have changed.
func (b *brakes) judge(o observation) []braked {
	var changed []braked
	for i, why := range b.faults(o) {
		was := b.why[i] != ""
		switch {
		case why != "" && !was:
			b.since[i] = o.at
		case why == "" && was && b.limits.Resume == "auto" && o.at-b.since[i] >= coolDown:
		default:
			continue
		}
		b.why[i] = why
		changed = append(changed, braked{i, why})
	}
	return changed
}

// faults says of each brake why it should be on, "" if it should not.
func (b *brakes) faults(o observation) (why [brakeCount]string) {
	l := b.limits
	if l.MaxMemoryRatio > 0 && o.full > l.MaxMemoryRatio {
		why[brakeMemory] = fmt.Sprintf("the target uses %.1f%% of its maxmemory, more than safety.max_memory_ratio, %g", 100*o.full, l.MaxMemoryRatio)
	}
	if l.StopOnEviction && o.evicted > 0 {
		why[brakeEviction] = fmt.Sprintf("the target has evicted %d keys, which safety.stop_on_eviction forbids", o.evicted)
	}
	if l.MaxErrorRatio > 0 && o.settled >= leastSettled && float64(o.failed) > l.MaxErrorRatio*float64(o.settled) {
		why[brakeErrorRatio] = fmt.Sprintf("%d of the last %d commands were not ok, more than safety.max_error_ratio, %g", o.failed, o.settled, l.MaxErrorRatio)
	}
	if l.MaxRate > 0 && o.rate > l.MaxRate {
		why[brakeRate] = fmt.Sprintf("%.0f arrivals a second are more than safety.max_rate, %g", o.rate, l.MaxRate)
	}
	return why
}

// on tells which brakes are on.
func (b *brakes) on() []bool {
	on := make([]bool, brakeCount)
	for i, why := range b.why {
		on[i] = why != ""
	}
	return on
}

// reason is why the load is stopped; "" if it is not.
func (b *brakes) reason() string {
	for i, why := range b.why {
		if why != "" {
			return brakeNames[i] + ": " + why
		}
	}
	return ""
}
