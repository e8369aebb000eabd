package batch_test

import (
	"testing"
	"time"

	"soakline/daemon/batch"
	"soakline/daemon/workload"
)

// steady forms batches of 64 commands, 100 ns apart, for ever: what the engine
// does while it keeps up.
type steady struct {
	former  *batch.Former
	next    time.Duration
	scratch []workload.Command
}

func newSteady() *steady {
	limits := batch.Limits{Commands: 64, RequestBytes: 64 << 10, ReplyBytes: 256 << 10, Delay: time.Millisecond}
	return &steady{former: batch.NewFormer(limits, batch.Queue{Commands: 100_000, Bytes: 64 << 20})}
}

// batch plans, admits and takes one batch, and returns its size.
func (s *steady) batch() int {
	ready, ok := s.former.Ready(s.next)
	for ; !ok; ready, ok = s.former.Ready(s.next) {
		c := workload.Command{Intended: s.next, RequestBytes: 40, ReplyBytes: 100}
		s.former.Plan(&c)
		s.next += 100
	}
	for c, due := s.former.Due(ready); due; c, due = s.former.Due(ready) {
		s.former.Admit(&c)
	}
	b, taken := s.former.Take(ready, s.scratch[:0])
	s.scratch = taken
	return b.Commands
}

func TestFormingDoesNotAllocate(t *testing.T) {
	s := newSteady()
	s.batch() // grows what is used again
	commands := 0
	if n := testing.AllocsPerRun(100, func() { commands += s.batch() }); n != 0 {
		t.Errorf("a batch allocates %v times", n)
	}
	if want := 101 * 64; commands != want {
		t.Errorf("101 batches held %d commands, want %d", commands, want)
	}
}

// BenchmarkForming tells the cost of a command, not of a batch.
func BenchmarkForming(b *testing.B) {
	s := newSteady()
	b.ReportAllocs()
	commands := 0
	for b.Loop() {
		if commands == 0 {
			commands = s.batch()
		}
		commands--
	}
}
