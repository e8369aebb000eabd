package arrival_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"soakline/daemon/arrival"
)

func TestScheduleOfEqualGaps(t *testing.T) {
	for _, tt := range []struct {
		rate arrival.Constant
		want [3]time.Duration
	}{
		{0.2, [3]time.Duration{5 * time.Second, 10 * time.Second, 15 * time.Second}},
		{1, [3]time.Duration{time.Second, 2 * time.Second, 3 * time.Second}},
		{3, [3]time.Duration{333_333_333, 666_666_666, time.Second}},
		{1e6, [3]time.Duration{1000, 2000, 3000}},
		{0, [3]time.Duration{arrival.Never, arrival.Never, arrival.Never}},
	} {
		s := arrival.NewSchedule(tt.rate, arrival.Deterministic, seeded())
		for i, want := range tt.want {
			if got := s.Next(); got != want {
				t.Errorf("rate %g/s: arrival %d is due at %v, want %v", float64(tt.rate), i+1, got, want)
			}
		}
	}
}

// Drawn one by one for a month, arrivals are where n/rate says.
func TestScheduleDoesNotDrift(t *testing.T) {
	for _, tt := range awkward {
		if tt.rate > 10 {
			continue // too many to draw; TestEpochDoesNotDrift has them
		}
		s := arrival.NewSchedule(arrival.Constant(tt.rate), arrival.Deterministic, seeded())
		n := int64(month.Seconds() * tt.rate)
		var last time.Duration
		for range n {
			last = s.Next()
		}
		if off := float64(last) - exactly(n, tt.exact); math.Abs(off) > 2 {
			t.Errorf("rate %g/s: arrival %d is due at %v, off by %g ns", tt.rate, n, last, off)
		}
	}
}

// The sum of gaps that no float64 holds, added up ten million times. Added up
// plainly, tenths would be 160 µs off and Poisson's gaps a few.
func TestSumIsCompensated(t *testing.T) {
	tenth := func(*rand.Rand) float64 { return 0.1 }
	for _, tt := range []struct {
		name string
		gap  arrival.Process
	}{
		{"tenths", tenth},
		{"poisson", arrival.Poisson},
	} {
		s := arrival.NewSchedule(arrival.Constant(1), tt.gap, seeded())
		r := rand.New(seeded())
		var high, low float64 // the sum, to about 106 bits
		var last time.Duration
		for range 10_000_000 {
			last = s.Next()
			high, low = add(high, low, tt.gap(r))
		}
		// Offsets beyond 2⁵³ ns, 104 days, come in steps of 2 ns.
		if off := (last.Seconds() - high - low) * float64(time.Second); math.Abs(off) > 4 {
			t.Errorf("%s: the schedule is off by %g ns at %v", tt.name, off, last)
		}
	}
}

// add adds x to high+low.
func add(high, low, x float64) (float64, float64) {
	if high < x {
		high, x = x, high
	}
	sum := high + x
	return sum, low + (x - (sum - high))
}

// bunches is a process of gaps of all magnitudes, many of them 0: the worst for
// a compensated sum.
func bunches(r *rand.Rand) float64 {
	if r.IntN(2) == 0 {
		return 0
	}
	return math.Ldexp(r.Float64(), r.IntN(10))
}

func TestNextNeverDecreases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := arrival.Constant(anyRate().Draw(t, "rate"))
		gap := rapid.SampledFrom([]arrival.Process{arrival.Deterministic, arrival.Poisson, bunches}).Draw(t, "process")
		s := arrival.NewSchedule(rate, gap, rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var last time.Duration
		for i := range 200 {
			at := s.Next()
			if at < last {
				t.Fatalf("arrival %d is due at %d, the one before it at %d", i, at, last)
			}
			last = at
		}
	})
}

// everyBit is a profile under which the least step of the sum shows: it orders
// epochs as float64 orders n.
type everyBit struct{ arrival.Constant }

func (everyBit) Epoch(n float64) time.Duration { return time.Duration(math.Float64bits(n)) }

// A gap of 0 after one that outweighs the sum: without an exact error term the
// next arrival comes before the last.
func TestNextAfterAGapThatOutweighsTheSum(t *testing.T) {
	for seed := range uint64(1000) {
		s := arrival.NewSchedule(everyBit{}, bunches, rand.NewPCG(seed, 0))
		var last time.Duration
		for i := range 10 {
			at := s.Next()
			if at < last {
				t.Fatalf("seed %d: arrival %d is due before the one before it", seed, i)
			}
			last = at
		}
	}
}

func TestSameSeedSameSchedule(t *testing.T) {
	draw := func(seed uint64) (at [1000]time.Duration) {
		s := arrival.NewSchedule(arrival.Constant(5000), arrival.Poisson, rand.NewPCG(seed, 0))
		for i := range at {
			at[i] = s.Next()
		}
		return at
	}
	if first := draw(1); first != draw(1) {
		t.Error("two schedules of seed 1 differ")
	}
	if draw(1) == draw(2) {
		t.Error("the schedules of seeds 1 and 2 are the same")
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	s := arrival.NewSchedule(arrival.Constant(5000), arrival.Poisson, seeded())
	if n := testing.AllocsPerRun(1000, func() { s.Next() }); n != 0 {
		t.Errorf("Next allocates %v times", n)
	}
}

func BenchmarkScheduleNext(b *testing.B) {
	s := arrival.NewSchedule(arrival.Constant(5000), arrival.Poisson, seeded())
	b.ReportAllocs()
	for b.Loop() {
		s.Next()
	}
}
