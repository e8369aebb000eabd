// Package arrival knows when commands are due: profiles λ(t), arrival
// processes, and the schedule that composes them. It is pure: time is an
// argument or a result, and it must never know a clock or a goroutine.
package arrival

import (
	"math/rand/v2"
	"time"
)

// Schedule is profile ∘ process: the intended instant of each command.
//
// The k-th arrival is due at Λ⁻¹(g₁ + … + gₖ), gᵢ the gaps that the process
// draws at unit rate (time change of a renewal process; for exponential gaps
// it is the inversion method for the non-homogeneous Poisson process, Çinlar
// 1975). The sum is compensated (Kahan), so that neither rounding nor the
// length of a run makes the schedule drift. Its error term is exact whichever
// addend is larger (TwoSum, Knuth, TAOCP 2, 4.2.2): else a gap of 0 after one
// that outweighs the sum could step back.
type Schedule struct {
	profile Profile
	gap     Process
	rand    *rand.Rand
	sum     float64 // g₁ + … + gₖ, rounded
	lost    float64 // what rounding has put into sum, exactly
}

// NewSchedule returns the schedule of profile and process, which must be open
// loop. The same source of randomness gives the same schedule.
func NewSchedule(profile Profile, process Process, source rand.Source) *Schedule {
	return &Schedule{profile: profile, gap: process, rand: rand.New(source)}
}

// Next draws the offset of the next intended arrival from the schedule's
// start, or Never. It never decreases.
func (s *Schedule) Next() time.Duration {
	y := s.gap(s.rand) - s.lost
	t := s.sum + y
	z := t - s.sum
	s.lost = (z - y) + ((t - z) - s.sum)
	s.sum = t
	return s.profile.Epoch(t)
}
