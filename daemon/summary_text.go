package daemon

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"soakline/daemon/batch"
	"soakline/daemon/target"
	"soakline/daemon/workload"
)

// WriteText writes s for people.
func (s *Summary) WriteText(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\t p50\t p95\t p99\t p99.9\t max\t\n")
	for _, row := range []struct {
		name string
		d    Distribution
	}{
		{"queueing delay", s.Seconds.QueueingDelay},
		{"  formation delay", s.Seconds.FormationDelay},
		{"  dispatch wait", s.Seconds.DispatchWait},
		{"  schedule lag", s.Seconds.ScheduleLag},
		{"service time", s.Seconds.ServiceTime},
		{"response time", s.Seconds.ResponseTime},
	} {
		d := row.d
		fmt.Fprintf(t, "%-18s\t %s\t %s\t %s\t %s\t %s\t\n", row.name, text(d.P50), text(d.P95), text(d.P99), text(d.P999), text(d.Max))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, `
target      %s
offered     %.1f/s for %s
throughput  %.1f/s
goodput     %.1f/s
batches     %d, mean %.1f commands, by reason: %s
ledger      %d arrivals = %d shed + %d settled + %d queued + %d in flight: %s
settled     %s
%s`,
		s.Target, s.Offered, text(s.LoadSeconds), s.Throughput, s.Goodput,
		s.Batches.Count, s.Batches.MeanCommands, counts(batch.Reasons, s.Batches.ByReason),
		s.Ledger.Arrivals, s.Ledger.Shed, sum(s.Ledger.Settled), s.Ledger.Queued, s.Ledger.InFlight, s.balance(),
		counts(workload.Outcomes, s.Ledger.Settled), s.remarks())
	return err
}

// remarks are the lines that only some runs need.
func (s *Summary) remarks() string {
	var b strings.Builder
	if s.Ledger.Shed > 0 {
		fmt.Fprintf(&b, "shed        %s\n", counts(shedReasons, s.Ledger.ShedReason))
	}
	if len(s.Errors) > 0 {
		fmt.Fprintf(&b, "errors      %s\n", counts(slices.Sorted(maps.Keys(s.Errors)), s.Errors))
	}
	if s.Reads["miss"] > 0 {
		fmt.Fprintf(&b, "reads       %s\n", counts([]string{"hit", "miss"}, s.Reads))
	}
	if i := s.Increments; i != (Increments{}) {
		fmt.Fprintf(&b, "uncertain   increments: %d had executed, %d had not, of %d it cannot be told\n", i.Executed, i.NotExecuted, i.Unknown)
	}
	if s.LostWrites > 0 {
		fmt.Fprintf(&b, "LOST WRITES: at least %d acknowledged writes are gone\n", s.LostWrites)
	}
	if len(s.TargetChanges) > 0 {
		fmt.Fprintf(&b, "TARGET CHANGED: %s; numbers before and after are not of the same experiment\n", counts(target.FactNames(), s.TargetChanges))
	}
	if n := len(s.Brakes); n > 0 {
		fmt.Fprintf(&b, "BRAKED: %d times, for %s in all, at last by %s: %s\n", s.BrakeTrips, text(s.BrakedSeconds), s.Brakes[n-1].Brake, s.Brakes[n-1].Why)
	}
	if s.PreloadCut {
		fmt.Fprintf(&b, "PRELOAD CUT SHORT: %d keys were written beforehand; reads of the others miss until they are written\n", s.Preloaded)
	}
	if s.Seconds.ResponseTime.Overflow > 0 {
		fmt.Fprintf(&b, "overflow    %d response times are beyond the histogram's range; max is exact\n", s.Seconds.ResponseTime.Overflow)
	}
	if n := s.Ledger.Settled[workload.Unsent.String()] + s.Ledger.Settled[workload.Abandoned.String()]; n > 0 {
		fmt.Fprintf(&b, "NOT ALL SENT: %d commands waited and were never sent; they have no times, so the quantiles flatter\n", n)
	}
	if s.Ledger.Shed > 0 {
		fmt.Fprintf(&b, "NOT ALL ADMITTED: %d arrivals were shed; they have no times, so the quantiles flatter\n", s.Ledger.Shed)
	}
	if !s.OpenLoop {
		b.WriteString("NOT OPEN LOOP: arrivals waited for completions, so queueing delay and response time are not what clients would feel\n")
	}
	if !s.GeneratorValid {
		b.WriteString("GENERATOR NOT VALID: for some of the time this machine, not the target, set the numbers\n")
	}
	if !s.Target.Real {
		b.WriteString("EMBEDDED TARGET: these numbers say nothing about a real server\n")
	}
	return b.String()
}

func (s *Summary) balance() string {
	if err := s.Balance(); err != nil {
		return "NOT BALANCED: " + err.Error()
	}
	return "balanced"
}

// text is a time in seconds with three digits that matter.
func text(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit).String()
		}
	}
}

// counts lists what happened, in the order of names.
func counts(names []string, m map[string]uint64) string {
	var parts []string
	for _, name := range names {
		if m[name] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func sum(m map[string]uint64) (total uint64) {
	for _, n := range m {
		total += n
	}
	return total
}
