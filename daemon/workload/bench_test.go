package workload_test

import (
	"testing"
	"time"

	"soakline/daemon/workload"
)

// busy is a connection at work: what it uses again for each command.
type busy struct {
	layout   *workload.Layout
	counters *workload.Counters
	args     workload.Args
	replies  map[workload.Kind]workload.Reply
}

func newBusy() *busy {
	l := workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: "r1", Keys: 10_000, ValueSize: 100, TTL: time.Hour})
	return &busy{layout: l, counters: l.NewCounters(0, 0), replies: map[workload.Kind]workload.Reply{
		workload.Get:  {Kind: workload.Bytes, Bytes: l.AppendValue(nil, 5, 9)},
		workload.Set:  text("OK"),
		workload.Incr: text("1"),
	}}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	b := newBusy()
	source := b.layout.NewSource(mix, seeded(1))
	if n := testing.AllocsPerRun(1000, func() { source.Next() }); n != 0 {
		t.Errorf("Next allocates %v times", n)
	}
	for _, kind := range kinds {
		c := workload.Command{Kind: kind, Key: 5, Version: 9}
		if n := testing.AllocsPerRun(1000, func() { b.layout.Args(&b.args, c, b.counters) }); n != 0 {
			t.Errorf("Args of %v allocates %v times", kind, n)
		}
		if n := testing.AllocsPerRun(1000, func() { b.layout.Check(c, b.replies[kind], true, b.counters) }); n != 0 {
			t.Errorf("Check of %v allocates %v times", kind, n)
		}
	}
}

func BenchmarkSourceNext(b *testing.B) {
	source := sized(100).NewSource(mix, seeded(1))
	b.ReportAllocs()
	for b.Loop() {
		source.Next()
	}
}

func BenchmarkArgs(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.String(), func(b *testing.B) {
			busy := newBusy()
			b.ReportAllocs()
			for b.Loop() {
				busy.layout.Args(&busy.args, workload.Command{Kind: kind, Key: 5, Version: 9}, busy.counters)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind.String(), func(b *testing.B) {
			busy := newBusy()
			reply := busy.replies[kind]
			b.ReportAllocs()
			for b.Loop() {
				busy.layout.Check(workload.Command{Kind: kind, Key: 5, Version: 9}, reply, true, busy.counters)
			}
		})
	}
}
