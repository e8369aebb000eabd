package daemon

import (
	"strings"
	"testing"

	"soakline/daemon/target"
)

// What happened to a run, and why not to believe its numbers, is said in the
// summary, and nothing is said of what did not.
func TestRemarks(t *testing.T) {
	quiet := func() Summary { return Summary{OpenLoop: true, GeneratorValid: true, Target: target.Facts{Real: true}} }
	for _, tt := range []struct {
		want   string // a line; "": none
		change func(*Summary)
	}{
		{"", func(*Summary) {}},
		{"shed        queue_full 3", func(s *Summary) {
			s.Ledger.Shed, s.Ledger.ShedReason = 3, map[string]uint64{"queue_full": 3}
		}},
		{"NOT ALL ADMITTED: 3 arrivals were shed; they have no times, so the quantiles flatter", func(s *Summary) { s.Ledger.Shed = 3 }},
		{"NOT ALL SENT: 7 commands waited and were never sent; they have no times, so the quantiles flatter", func(s *Summary) {
			s.Ledger.Settled = map[string]uint64{"unsent": 3, "abandoned": 4}
		}},
		{"errors      BUSY 2, OOM 1", func(s *Summary) { s.Errors = map[string]uint64{"OOM": 1, "BUSY": 2} }},
		{"reads       hit 5, miss 1", func(s *Summary) { s.Reads = map[string]uint64{"hit": 5, "miss": 1} }},
		{"uncertain   increments: 5 had executed, 2 had not, of 1 it cannot be told", func(s *Summary) { s.Increments = Increments{5, 2, 1} }},
		{"LOST WRITES: at least 4 acknowledged writes are gone", func(s *Summary) { s.LostWrites = 4 }},
		{"TARGET CHANGED: role 2, run_id 1; numbers before and after are not of the same experiment", func(s *Summary) {
			s.TargetChanges = map[string]uint64{"run_id": 1, "role": 2}
		}},
		{"BRAKED: 101 times, for 12.5s in all, at last by memory: full", func(s *Summary) {
			s.Brakes, s.BrakeTrips, s.BrakedSeconds = []Braked{{Brake: "eviction", Why: "gone"}, {Brake: "memory", Why: "full"}}, 101, 12.5
		}},
		{"PRELOAD CUT SHORT: 12 keys were written beforehand; reads of the others miss until they are written", func(s *Summary) {
			s.PreloadCut, s.Preloaded = true, 12
		}},
		{"NOT OPEN LOOP: arrivals waited for completions, so queueing delay and response time are not what clients would feel", func(s *Summary) { s.OpenLoop = false }},
		{"GENERATOR NOT VALID: for some of the time this machine, not the target, set the numbers", func(s *Summary) { s.GeneratorValid = false }},
		{"EMBEDDED TARGET: these numbers say nothing about a real server", func(s *Summary) { s.Target.Real = false }},
	} {
		s := quiet()
		tt.change(&s)
		got := s.remarks()
		if tt.want == "" && got != "" || !strings.Contains("\n"+got, "\n"+tt.want) || tt.want != "" && !strings.Contains(got, tt.want+"\n") {
			t.Errorf("%q is not among %q", tt.want, got)
		}
	}
}
