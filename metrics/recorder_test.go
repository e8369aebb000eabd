package metrics

import (
	"testing"
	"time"
)

var labels = &Labels{
	Commands: []string{"get", "set"},
	Outcomes: []string{"ok", "error_reply", "uncertain", "unsent", "abandoned"},
	Shed:     []string{"queue_full", "too_late"},
	Codes:    []string{"other", "ERR"},
	Flushes:  []string{"commands", "delay"},
	Modes:    []string{"pipeline", "single"},
	Failures: []string{"dial", "read"},
	Facts:    []string{"version", "role", "run_id"},
	Brakes:   []string{"memory", "eviction", "rate"},
}

// Indices into labels.
const (
	get, set = 0, 1

	ok, errorReply, uncertain, unsent, abandoned = 0, 1, 2, 3, 4

	queueFull, tooLate = 0, 1
	codeErr, dialFault = 1, 0
	full, delayed      = 0, 1
	pipeline, single   = 0, 1
)

var someTimes = Times{
	Response:     5 * time.Millisecond,
	Queueing:     4 * time.Millisecond,
	Lag:          50 * time.Microsecond,
	Formation:    950 * time.Microsecond,
	DispatchWait: 3 * time.Millisecond,
}

// settle records a batch of n GETs that all went well.
func settle(r *Recorder, n int) {
	r.Begin(n)
	r.Settle()
	for range n {
		r.Sent(get, ok, someTimes)
		r.Read(true)
	}
	r.Exchange(Exchange{
		Service: time.Millisecond, Mode: pipeline, Flush: delayed,
		Commands: n, RequestBytes: 40 * n, ReplyBytes: 107 * n, RoundTrips: 1,
	})
	r.Done()
}

// lose records n reads of lost writes.
func lose(r *Recorder, n int) {
	r.Settle()
	for range n {
		r.LostWrite()
	}
	r.Done()
}

func TestRecordingAllocatesNothing(t *testing.T) {
	r := NewRecorder(labels)
	if n := testing.AllocsPerRun(100, func() { settle(r, 64) }); n != 0 {
		t.Errorf("a batch allocates %v times", n)
	}
}

func TestWhatWasNotSentHasNoTimes(t *testing.T) {
	r := NewRecorder(labels)
	r.Settle()
	r.Unsent(set, unsent)
	r.Done()
	if r.counts.Settled() != 1 || r.counts.SettledAs(unsent) != 1 {
		t.Errorf("settled %d, as unsent %d, want 1, 1", r.counts.Settled(), r.counts.SettledAs(unsent))
	}
	for i := range r.counts.histograms {
		if n := r.counts.histograms[i].Count(); n != 0 {
			t.Errorf("histogram %d has %d observations", i, n)
		}
	}
}

func BenchmarkSent(b *testing.B) {
	r := NewRecorder(labels)
	t := someTimes
	for b.Loop() {
		t.Response = (t.Response + 7919) & 0xffffff
		r.Sent(get, ok, t)
	}
}

func BenchmarkBatchOf64(b *testing.B) {
	r := NewRecorder(labels)
	for b.Loop() {
		settle(r, 64)
	}
}
