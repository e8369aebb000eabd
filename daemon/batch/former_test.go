package batch_test

import (
	"slices"
	"testing"
	"time"

	"soakline/daemon/batch"
	"soakline/daemon/workload"
)

var (
	wide = batch.Limits{Commands: plenty, RequestBytes: plenty, ReplyBytes: plenty, Delay: 10}
	room = batch.Queue{Commands: plenty, Bytes: plenty}
)

func due(at time.Duration) *workload.Command {
	return &workload.Command{Intended: at, RequestBytes: 10, ReplyBytes: 10}
}

func TestEmptyFormer(t *testing.T) {
	f := batch.NewFormer(wide, room)
	if at, ok := f.Ready(5); ok {
		t.Errorf("Ready = %d of an empty window", at)
	}
	if c, ok := f.Due(never); ok {
		t.Errorf("Due = %+v of an empty window", c)
	}
	kept := []workload.Command{*due(1)}
	if b, taken := f.Take(5, kept); b.Commands != 0 || len(taken) != 1 {
		t.Errorf("Take = %+v, %v of an empty window", b, taken)
	}
}

func TestReadyAsksForTheNextArrivalAsLongAsItMatters(t *testing.T) {
	for _, tt := range []struct {
		name    string
		delay   time.Duration
		planned []time.Duration
		next    time.Duration
		at      time.Duration
		ok      bool
	}{
		{name: "the next arrives before the deadline", delay: 10, planned: []time.Duration{3, 5}, next: 12},
		{name: "the next arrives at the deadline", delay: 10, planned: []time.Duration{3}, next: 13},
		{name: "the next arrives after it", delay: 10, planned: []time.Duration{3}, next: 14, at: 13, ok: true},
		{name: "there is no next", delay: 10, planned: []time.Duration{3}, next: never, at: 13, ok: true},
		{name: "one that is planned arrives after it", delay: 10, planned: []time.Duration{3, 14}, next: 14, at: 13, ok: true},
		{name: "no delay", planned: []time.Duration{3}, next: 4, at: 3, ok: true},
		{name: "no delay, the next at the same instant", planned: []time.Duration{3}, next: 3},
		{name: "a delay beyond the end of time, and no next", delay: never, planned: []time.Duration{3}, next: never},
	} {
		limits := wide
		limits.Delay = tt.delay
		f := batch.NewFormer(limits, room)
		for _, at := range tt.planned {
			f.Plan(due(at))
		}
		if at, ok := f.Ready(tt.next); at != tt.at || ok != tt.ok {
			t.Errorf("%s: Ready(%d) = %d, %t, want %d, %t", tt.name, tt.next, at, ok, tt.at, tt.ok)
		}
	}
}

// What is planned is in no queue and in no batch before it is due.
func TestPlannedCommandsArriveWhenTheyAreDue(t *testing.T) {
	f := batch.NewFormer(wide, room)
	for _, at := range []time.Duration{0, 5, 9} {
		f.Plan(due(at))
	}
	f.Ready(never)
	if n := f.Queued(); n != 0 {
		t.Errorf("%d commands are queued, though only planned", n)
	}
	for _, want := range []struct {
		now time.Duration
		due bool
	}{{0, true}, {4, false}, {5, true}, {8, false}} {
		c, ok := f.Due(want.now)
		if ok != want.due {
			t.Errorf("Due(%d) = %+v, %t, want %t", want.now, c, ok, want.due)
		}
		if ok && !f.Admit(&c) {
			t.Errorf("%+v is not admitted", c)
		}
	}
	if n, bytes := f.Queued(), f.QueuedBytes(); n != 2 || bytes != 20 {
		t.Errorf("%d commands of %d bytes are queued, want 2 of 20", n, bytes)
	}
	f.Drain(8)
	if b, taken := f.Take(9, nil); b.Reason != batch.Drain || b.Ready != 8 || len(taken) != 2 {
		t.Errorf("Take = %+v, %v, want a drain of two at 8", b, taken)
	}
	if c, ok := f.Due(never); ok {
		t.Errorf("%+v is due after the drain", c)
	}
}

// A window far longer than a batch keeps its order while it grows and wraps.
func TestLongWindow(t *testing.T) {
	limits := wide
	limits.Commands = 7
	f := batch.NewFormer(limits, batch.Queue{Commands: 1_000_000, Bytes: 1 << 40})
	var in, out time.Duration
	for f.Queued() < 1000 {
		for range 11 {
			in++
			f.Admit(due(in))
		}
		_, taken := f.Take(in, nil)
		for _, c := range taken {
			out++
			if c.Intended != out {
				t.Fatalf("took the arrival of %d, want that of %d", c.Intended, out)
			}
		}
	}
}

// What is unplanned does not arrive, and can be planned again for later.
func TestUnplan(t *testing.T) {
	limits := batch.Limits{Commands: 3, RequestBytes: 1000, ReplyBytes: 1000, Delay: 10}
	f := batch.NewFormer(limits, batch.Queue{Commands: 10, Bytes: 1000})
	arrivals := []workload.Command{{Intended: 1, RequestBytes: 1, ReplyBytes: 1}, {Intended: 2, RequestBytes: 1, ReplyBytes: 1}, {Intended: 3, RequestBytes: 1, ReplyBytes: 1}}
	f.Admit(&arrivals[0])
	f.Plan(&arrivals[1])
	f.Plan(&arrivals[2])
	if at, ok := f.Ready(4); at != 3 || !ok {
		t.Errorf("ready at %d, %t: want 3, which fills it", at, ok)
	}
	kept := f.Unplan(nil)
	if !slices.Equal(kept, arrivals[1:]) {
		t.Errorf("unplanned %+v", kept)
	}
	if _, due := f.Due(never); due || f.Queued() != 1 {
		t.Errorf("something planned is left, or what had arrived is not: %t, %d", due, f.Queued())
	}
	if at, ok := f.Ready(never); at != 11 || !ok {
		t.Errorf("ready at %d, %t: want 11, the delay after what has arrived", at, ok)
	}
	for i := range kept {
		kept[i].Intended += 5
		f.Plan(&kept[i])
	}
	if at, ok := f.Ready(9); at != 8 || !ok {
		t.Errorf("ready at %d, %t: want 8, which fills it later", at, ok)
	}
}
