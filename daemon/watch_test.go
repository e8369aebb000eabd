package daemon

import (
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"soakline/daemon/config"
	"soakline/metrics"
)

// The generator is valid while its own lateness is small and the daemon was
// not suspended, as seen over the last ten seconds; only a change is logged.
func TestJudge(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	d := New(Options{Config: config.Default(), Log: zap.New(core)})
	recorder, ledger := metrics.NewRecorder(labels()), metrics.NewLedger(labels())
	totals := metrics.NewTotals(labels(), []metrics.Lane{{Lock: &sync.Mutex{}, Ledger: ledger, Recorders: []*metrics.Recorder{recorder}}})
	snapshot, window := metrics.NewSnapshot(labels()), metrics.NewWindow(labels(), windowSize)

	second := 0
	// step is one second in which 100 commands were late by lag.
	step := func(lag time.Duration, tooLate uint64) bool {
		recorder.Settle()
		for range 100 {
			recorder.Sent(0, 0, metrics.Times{Lag: lag})
		}
		recorder.Done()
		ledger.Shed[shedTooLate] += tooLate
		second++
		totals.Collect(snapshot)
		window.Push(time.Duration(second)*time.Second, snapshot)
		d.judge(window.Interval())
		return !d.invalid.Load()
	}
	for i, s := range []struct {
		lag   time.Duration
		times int
		valid bool
	}{
		{5 * ms, 1, true}, // too early to tell
		{100 * us, 8, true},
		{100 * us, 1, false}, // a tenth of the window: p99 is above 1 ms
		{100 * us, 1, true},
		{990 * us, 3, true},
		{1100 * us, 1, false},
	} {
		for range s.times {
			if got := step(s.lag, 0); got != s.valid {
				t.Errorf("row %d, second %d: valid %t, want %t", i+1, second, got, s.valid)
			}
		}
	}
	for range 9 {
		step(100*us, 0)
	}
	if !step(100*us, 0) {
		t.Error("not valid though the bad second is no longer in the window")
	}
	if step(0, 1) {
		t.Error("valid though an arrival was shed too_late")
	}
	if logs.Len() != 3 {
		t.Errorf("%d log lines, want one for each change for the worse", logs.Len())
	}
	if !d.everInvalid.Load() {
		t.Error("the summary would not know")
	}
}

// The log line says what an interval was like.
func TestReport(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	d := New(Options{Config: config.Default(), Log: zap.New(core)})
	recorder, ledger := metrics.NewRecorder(labels()), metrics.NewLedger(labels())
	totals := metrics.NewTotals(labels(), []metrics.Lane{{Lock: &sync.Mutex{}, Ledger: ledger, Recorders: []*metrics.Recorder{recorder}}})
	snapshot, window := metrics.NewSnapshot(labels()), metrics.NewWindow(labels(), windowSize)
	ledger.Arrivals[0], ledger.Shed[shedQueueFull] = 110, 10
	recorder.Settle()
	for range 99 {
		recorder.Sent(0, 0, metrics.Times{Queueing: ms, Response: 2 * ms})
	}
	recorder.Sent(0, 1, metrics.Times{Queueing: 5 * ms, Response: 6 * ms})
	recorder.Done()
	totals.Collect(snapshot)
	window.Push(10*time.Second, snapshot)
	d.report(window.Interval())
	got := logs.All()[0].ContextMap()
	for key, want := range map[string]any{
		"offered": 11.0, "throughput": 10.0, "errors": uint64(1), "shed": uint64(10), "generator_valid": true,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	for key, want := range map[string]time.Duration{
		"queueing_p50": ms, "queueing_p95": ms, "queueing_p99": ms, "response_p50": 2 * ms, "response_p95": 2 * ms, "response_p99": 2 * ms,
	} {
		if d, ok := got[key].(time.Duration); !ok || d < want*99/100 || d > want*101/100 {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}
