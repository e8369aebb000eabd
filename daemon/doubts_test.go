package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"soakline/daemon/workload"
)

// Increments have not executed once their counter has stopped moving. A step
// is what the counter is read as ("-": it is gone, "!": it cannot be read, and
// "last" in front: for the last time), and what has come out then: executed,
// not executed, lost, open.
func TestDoubtsResolve(t *testing.T) {
	for _, tt := range []struct{ name, steps string }{
		{"all executed", "15: 5 0 0 0"},
		{"none", "10: 0 0 0 5; 10: 0 5 0 0"},
		{"some", "12: 2 0 0 3; 12: 2 3 0 0"},
		{"late ones", "10: 0 0 0 5; 12: 2 0 0 3; 14: 4 0 0 1; 14: 4 1 0 0"},
		{"at the end", "last 12: 2 3 0 0"},
		{"late at the end", "11: 1 0 0 4; last 12: 2 3 0 0"},
		{"gone", "-: 0 0 5 0"},
		{"gone later", "12: 2 0 0 3; -: 2 0 3 0"},
		{"lost by a failover", "9: 0 0 5 0"},
		{"written by others", "16: 0 0 5 0"},
		{"lost later", "12: 2 0 0 3; 11: 2 0 3 0"},
		{"not to be read", "!: 0 0 0 5; 12: 2 0 0 3; !: 2 0 0 3; 12: 2 3 0 0"},
	} {
		var d doubts
		d.add([]workload.Doubt{{Name: "c", Known: 10, Count: 5}})
		var got []string
		for step := range strings.SplitSeq(tt.steps, "; ") {
			read, _, _ := strings.Cut(step, ":")
			value, last := strings.CutPrefix(read, "last ")
			err := d.resolve(t.Context(), last, func(_ context.Context, names []string) ([]*int64, error) {
				if len(names) != 1 || names[0] != "c" {
					t.Fatalf("%s: reads %q", tt.name, names)
				}
				switch value {
				case "-":
					return []*int64{nil}, nil
				case "!":
					return nil, errors.New("no answer")
				}
				var n int64
				_, err := fmt.Sscan(value, &n)
				return []*int64{&n}, err
			})
			if (err != nil) != (value == "!") {
				t.Errorf("%s: %v", tt.name, err)
			}
			executed, not, lost, open := d.count()
			got = append(got, fmt.Sprintf("%s: %d %d %d %d", read, executed, not, lost, open))
		}
		if got := strings.Join(got, "; "); got != tt.steps {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.steps)
		}
	}
}

// Counters that come while others are read wait for the next time; more than a
// bound are given up.
func TestDoubtsCome(t *testing.T) {
	var d doubts
	d.add([]workload.Doubt{{Name: "a", Count: 1}})
	one := int64(1)
	values := func(_ context.Context, names []string) ([]*int64, error) {
		d.add([]workload.Doubt{{Name: "b", Count: 7}})
		return []*int64{&one}, nil
	}
	if err := d.resolve(t.Context(), true, values); err != nil {
		t.Fatal(err)
	}
	if executed, _, _, open := d.count(); executed != 1 || open != 7 {
		t.Errorf("%d executed and %d open, want 1 and 7", executed, open)
	}
	if err := d.resolve(t.Context(), true, func(_ context.Context, names []string) ([]*int64, error) { return make([]*int64, len(names)), nil }); err != nil {
		t.Fatal(err)
	}
	if err := d.resolve(t.Context(), true, nil); err != nil {
		t.Errorf("nothing to read: %v", err)
	}
	for range maxDoubts + 3 {
		d.add([]workload.Doubt{{Name: "c", Count: 2}})
	}
	if _, _, lost, open := d.count(); open != 2*maxDoubts || lost != 7+6 {
		t.Errorf("%d open and %d lost, want %d and 13", open, lost, 2*maxDoubts)
	}
}
