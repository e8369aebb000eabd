package arrival_test

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"soakline/daemon/arrival"
)

const month = 30 * 24 * time.Hour

func TestConstantEpoch(t *testing.T) {
	for _, tt := range []struct {
		rate arrival.Constant
		n    float64
		want time.Duration
	}{
		{1, 0, 0},
		{1, 1, time.Second},
		{1000, 1, time.Millisecond},
		{1000, 0.5, 500 * time.Microsecond},
		{0.2, 1, 5 * time.Second},
		{0.2, 3, 15 * time.Second},
		{1e9, 1, 1},
		{1e12, 1, 0},
		{0, 1, arrival.Never},
		{-1, 1, arrival.Never},
		{1e-9, 9.3, arrival.Never},
		{math.SmallestNonzeroFloat64, 1, arrival.Never},
	} {
		if got := tt.rate.Epoch(tt.n); got != tt.want {
			t.Errorf("Constant(%g).Epoch(%g) = %v, want %v", float64(tt.rate), tt.n, got, tt.want)
		}
	}
}

func TestConstantRate(t *testing.T) {
	for _, rate := range []float64{0, 0.2, 5000} {
		for _, at := range []time.Duration{0, time.Second, month} {
			if got := arrival.Constant(rate).Rate(at); got != rate {
				t.Errorf("Constant(%g).Rate(%v) = %g", rate, at, got)
			}
		}
	}
}

// awkward rates, in commands per second: their periods are no whole number of
// nanoseconds, or no binary fraction, or very short.
var awkward = []struct {
	rate  float64
	exact *big.Rat
}{
	{1.0 / 7, big.NewRat(1, 7)},
	{0.2, big.NewRat(1, 5)},
	{3, big.NewRat(3, 1)},
	{4999.7, big.NewRat(49997, 10)},
	{1e6, big.NewRat(1_000_000, 1)},
}

// exactly is n/rate in nanoseconds.
func exactly(n int64, rate *big.Rat) float64 {
	r := new(big.Rat).SetInt64(n)
	r.Quo(r, rate)
	r.Mul(r, big.NewRat(int64(time.Second), 1))
	ns, _ := r.Float64()
	return ns
}

// A month from the start, the n-th arrival is where n/rate says: within the
// nanosecond that an offset is cut to and one of rounding, a thousandth of the
// shortest gap here.
func TestEpochDoesNotDrift(t *testing.T) {
	for _, tt := range awkward {
		last := int64(month.Seconds() * tt.rate)
		for _, n := range []int64{1, 2, last / 3, last - 1, last} {
			got := arrival.Constant(tt.rate).Epoch(float64(n))
			if off := float64(got) - exactly(n, tt.exact); math.Abs(off) > 2 {
				t.Errorf("Constant(%g).Epoch(%d) = %v is off by %g ns", tt.rate, n, got, off)
			}
		}
	}
}

func TestEpochNeverDecreases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := arrival.Constant(anyRate().Draw(t, "rate"))
		n := math.Ldexp(rapid.Float64Range(0, 1).Draw(t, "n"), rapid.IntRange(-40, 60).Draw(t, "exponent"))
		next := n
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			next = math.Nextafter(next, math.Inf(1))
		}
		if a, b := c.Epoch(n), c.Epoch(next); a < 0 || b < a {
			t.Fatalf("Epoch(%v) = %d, Epoch(%v) = %d", n, a, next, b)
		}
	})
}

// anyRate draws rates in commands per second: none, usual, tiny and huge ones.
func anyRate() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Just(0.0),
		rapid.Float64Range(0.001, 1e6),
		rapid.Custom(func(t *rapid.T) float64 { return math.Pow(10, rapid.Float64Range(-300, 300).Draw(t, "exponent")) }),
	)
}
