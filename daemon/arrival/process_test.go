package arrival_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"soakline/daemon/arrival"
)

// seeded is the fixed randomness of the statistical tests: they pass or fail
// the same way each time.
func seeded() rand.Source { return rand.NewPCG(7, 11) }

func TestProcessByName(t *testing.T) {
	for _, tt := range []struct {
		name     string
		found    bool
		openLoop bool
	}{
		{"deterministic", true, true},
		{"poisson", true, true},
		{"closed", true, false},
		{"Poisson", false, false},
		{"", false, false},
	} {
		row, found := arrival.ProcessByName(tt.name)
		if found != tt.found || row.OpenLoop() != tt.openLoop || found && row.Name != tt.name {
			t.Errorf("ProcessByName(%q) = %q, open loop %t, %t; want open loop %t, %t",
				tt.name, row.Name, row.OpenLoop(), found, tt.openLoop, tt.found)
		}
	}
}

// The gaps of a Poisson schedule follow 1−e^(−x): the Kolmogorov–Smirnov
// distance stays below the critical value at the 0.1% level, 1.95/√n.
func TestPoissonGapsAreExponential(t *testing.T) {
	const n, rate = 100_000, 1000
	s := arrival.NewSchedule(arrival.Constant(rate), arrival.Poisson, seeded())
	gaps := make([]float64, n)
	var last time.Duration
	for i := range gaps {
		at := s.Next()
		gaps[i] = (at - last).Seconds() * rate
		last = at
	}
	slices.Sort(gaps)
	var distance float64
	for i, x := range gaps {
		f := -math.Expm1(-x)
		distance = max(distance, f-float64(i)/n, float64(i+1)/n-f)
	}
	if limit := 1.95 / math.Sqrt(n); distance > limit {
		t.Errorf("Kolmogorov–Smirnov distance of the gaps is %.5f, want at most %.5f", distance, limit)
	}
}

// Counts over disjoint windows are Poisson (their variance is their mean) and
// independent (one says nothing of the next).
func TestPoissonCountsAreIndependent(t *testing.T) {
	const windows, mean, rate = 10_000, 100, 1000
	s := arrival.NewSchedule(arrival.Constant(rate), arrival.Poisson, seeded())
	counts := make([]float64, windows)
	const length = time.Second * mean / rate
	for at := s.Next(); at < windows*length; at = s.Next() {
		counts[at/length]++
	}

	var sum, squares, products float64
	for _, c := range counts {
		sum += c
	}
	for i, c := range counts {
		d := c - sum/windows
		squares += d * d
		if i > 0 {
			products += d * (counts[i-1] - sum/windows)
		}
	}
	// Their standard deviations are √(2/windows) = 0.014 and 1/√windows = 0.01.
	if dispersion := squares / sum; math.Abs(dispersion-1) > 0.05 {
		t.Errorf("index of dispersion of counts is %.3f, want 1 ± 0.05", dispersion)
	}
	if correlation := products / squares; math.Abs(correlation) > 0.04 {
		t.Errorf("lag-1 autocorrelation of counts is %.3f, want 0 ± 0.04", correlation)
	}
}

// Each process has gaps of mean 1, or the offered rate would not be the
// profile's.
func TestMeanRate(t *testing.T) {
	const n, rate = 1_000_000, 5000
	for _, row := range arrival.Processes {
		if !row.OpenLoop() {
			continue
		}
		s := arrival.NewSchedule(arrival.Constant(rate), row.Gap, seeded())
		var last time.Duration
		for range n {
			last = s.Next()
		}
		if got := n / last.Seconds(); math.Abs(got/rate-1) > 0.005 {
			t.Errorf("%s: %d arrivals at %d/s came at %.1f/s, want within 0.5%%", row.Name, n, rate, got)
		}
	}
}
