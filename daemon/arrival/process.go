package arrival

import "math/rand/v2"

// Process draws one gap between two arrivals at unit rate: its mean is 1, and
// the profile turns it into time. Nil for a process without a schedule.
type Process func(*rand.Rand) float64

// Row is one line of the table of arrival processes.
type Row struct {
	Name string  // as in arrival.process
	Gap  Process // nil: not open loop, arrivals wait for completions
	Help string  // one line for --help and the example file
}

// OpenLoop tells whether arrivals follow a schedule and never wait for
// completions.
func (r Row) OpenLoop() bool { return r.Gap != nil }

// Processes lists every arrival process. To add one, write its gap and its row.
var Processes = []Row{
	{"deterministic", Deterministic, "equal gaps"},
	{"poisson", Poisson, "exponential gaps: independent clients"},
	{"closed", nil, "not open loop: one full exchange always in flight on each connection, as benchmarks do"},
}

// Deterministic is the process of equal gaps.
func Deterministic(*rand.Rand) float64 { return 1 }

// Poisson is the process of exponential gaps, whose counts over disjoint
// windows are independent.
func Poisson(r *rand.Rand) float64 { return r.ExpFloat64() }

// ProcessByName finds a row of Processes.
func ProcessByName(name string) (Row, bool) {
	for _, row := range Processes {
		if row.Name == name {
			return row, true
		}
	}
	return Row{}, false
}
