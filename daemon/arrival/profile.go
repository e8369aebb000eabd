package arrival

import (
	"math"
	"time"
)

// Never is the epoch of an arrival that does not come: the profile's integral
// stays below it.
const Never = time.Duration(math.MaxInt64)

// Profile is the offered rate over time, λ(t), t from the schedule's start.
type Profile interface {
	// Rate is λ(t) in commands per second.
	Rate(t time.Duration) float64
	// Epoch is the inverse of Λ(t) = ∫₀ᵗ λ: the instant by which n commands
	// are due, or Never. It does not decrease with n.
	Epoch(n float64) time.Duration
}

// Constant is the profile λ(t) = c, in commands per second. Fractions are
// rates too (0.2 is one command in five seconds), and 0 is a pause for ever.
type Constant float64

// Rate is c at every t.
func (c Constant) Rate(time.Duration) float64 { return float64(c) }

// Epoch is n/c, computed from n alone: nothing accumulates, so a month-long
// schedule ends where it should.
func (c Constant) Epoch(n float64) time.Duration {
	if c <= 0 {
		return Never
	}
	ns := n / float64(c) * float64(time.Second)
	if ns >= float64(Never) {
		return Never
	}
	return time.Duration(ns)
}
