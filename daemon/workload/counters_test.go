package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"soakline/daemon/workload"
)

// One wrong reply is one mismatch: the sequence goes on after it. A step is
// what the target says to one INCR, and what that is judged to be.
func TestCounterSequences(t *testing.T) {
	for _, tt := range []struct {
		name     string
		replies  string
		outcomes string
	}{
		{"exact", "1 2 3", "ok ok ok"},
		{"from elsewhere", "7 8 9", "mismatch ok ok"},
		{"a gap", "1 3 4", "ok mismatch ok"},
		{"a repeat", "1 1 2", "ok mismatch ok"},
		{"a step back", "1 2 1 2", "ok ok mismatch ok"},
		{"zero", "0 1", "mismatch ok"},
		{"another command's reply", "1 OK 3 4", "ok mismatch ok ok"},
		{"no such key", "1 nil 3", "ok mismatch ok"},
		{"a foreign reply", "1 foreign 3", "ok mismatch ok"},
		{"an error: not executed", "1 error 2", "ok error_reply ok"},
		{"not sent: not executed", "1 unsent 2", "ok unsent ok"},
		{"to the end of the numbers", "9223372036854775806 9223372036854775807 9223372036854775808", "mismatch ok mismatch"},
	} {
		l := sized(100)
		counters := l.NewCounters(0, 0)
		var outcomes []string
		for reply := range strings.FieldsSeq(tt.replies) {
			r, sent := text(reply), true
			switch reply {
			case "nil":
				r = workload.Reply{Kind: workload.Nil}
			case "foreign":
				r = workload.Reply{Kind: workload.Foreign}
			case "error":
				r = workload.Reply{Kind: workload.Failure}
			case "unsent":
				r, sent = workload.Reply{}, false
			}
			outcomes = append(outcomes, l.Check(workload.Command{Kind: workload.Incr, Key: 5}, r, sent, counters).String())
		}
		if got := strings.Join(outcomes, " "); got != tt.outcomes {
			t.Errorf("%s: %s is judged %s, want %s", tt.name, tt.replies, got, tt.outcomes)
		}
	}
}

// Each slot counts for itself, and keys beyond the slots share them.
func TestCountersCountForThemselves(t *testing.T) {
	l := sized(100)
	one, two := l.NewCounters(0, 0), l.NewCounters(1, 0)
	for _, tt := range []struct {
		counters *workload.Counters
		key      uint64
		reply    int
	}{
		{one, 0, 1},
		{one, 0, 2},
		{one, 1, 1},
		{two, 0, 1},
		{one, 15, 1},
		{one, 16, 3},
		{one, 0, 4},
		{one, 9998, 1},
		{one, 9998 % 16, 2},
	} {
		c := workload.Command{Kind: workload.Incr, Key: tt.key}
		if got := l.Check(c, text(fmt.Sprint(tt.reply)), true, tt.counters); got != workload.OK {
			t.Errorf("key %d, reply %d: %v", tt.key, tt.reply, got)
		}
	}
}

func TestCountersStaySmall(t *testing.T) {
	for keys, want := range map[uint64]int{1: 1, 10: 10, 16: 16, 17: 16, 1 << 40: 16} {
		l := workload.NewLayout(workload.Layout{Run: "r1", Keys: keys, ValueSize: 20})
		if got := len(l.Names(l.NewCounters(0, 0))); got != want {
			t.Errorf("%d keys: %d counters, want %d", keys, got, want)
		}
	}
}

// Increments without a reply that may have executed are in doubt; those that
// were not sent, or were refused, are not.
func TestDoubts(t *testing.T) {
	l := sized(100)
	counters := l.NewCounters(3, 2)
	for _, step := range []struct {
		key   uint64
		reply workload.Reply
		sent  bool
	}{
		{5, text("1"), true},
		{5, text("2"), true},
		{7, text("1"), true},
		{5, workload.Reply{}, true},
		{5, workload.Reply{}, true},
		{5, workload.Reply{}, false},
		{6, workload.Reply{}, false},
		{8, workload.Reply{Kind: workload.Failure}, true},
		{9, workload.Reply{}, true},
	} {
		l.Check(workload.Command{Kind: workload.Incr, Key: step.key}, step.reply, step.sent, counters)
	}
	l.Check(workload.Command{Kind: workload.Get, Key: 10}, workload.Reply{}, true, counters)
	want := []workload.Doubt{
		{Name: l.Counter(counters, 5), Known: 2, Count: 2},
		{Name: l.Counter(counters, 9), Known: 0, Count: 1},
	}
	if got := l.Doubts(counters); !slices.Equal(got, want) {
		t.Errorf("in doubt are %+v, want %+v", got, want)
	}
}

func TestDoubtExecuted(t *testing.T) {
	d := workload.Doubt{Known: 10, Count: 2}
	for value, want := range map[int64]int64{9: -1, 10: 0, 11: 1, 12: 2, 13: -1, 0: -1} {
		n, ok := d.Executed(value)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("a counter at %d: %d had executed, want %d (-1: it cannot be told)", value, n, want)
		}
	}
}
