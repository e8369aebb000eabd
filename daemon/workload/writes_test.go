package workload_test

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"soakline/daemon/workload"
)

// store is a target that executes commands at once, one after the other, and
// the connections to it.
type store struct {
	layout   *workload.Layout
	writes   *workload.Writes
	versions map[uint64]uint64 // by key
	next     uint64            // version
	conns    []conn
	late     []workload.Command // writes of broken connections that may execute yet
	lost     int                // that were found
}

// conn is a connection's batch, if it has one.
type conn struct {
	batch   []workload.Command
	floors  []uint64 // of reads, once sent
	replies []uint64 // what reads returned, as far as executed
	horizon uint64
	sent    bool
}

func newStore(connections int) *store {
	l := workload.NewLayout(workload.Layout{Run: "r", Keys: 3, ValueSize: 100})
	return &store{
		layout: l, writes: l.NewWrites(connections, true), versions: map[uint64]uint64{},
		next: workload.Preloaded, conns: make([]conn, connections),
	}
}

func (s *store) set(key uint64) workload.Command {
	s.next++
	return workload.Command{Kind: workload.Set, Key: key, Version: s.next}
}

func (s *store) take(owner int, batch ...workload.Command) {
	s.writes.Take(owner, batch)
	s.conns[owner] = conn{batch: batch}
}

func (s *store) send(owner int) {
	c := &s.conns[owner]
	c.sent, c.horizon = true, s.writes.Horizon()
	for i := range c.batch {
		c.floors = append(c.floors, s.writes.Floor(c.batch[i].Key))
	}
}

// execute executes the next command of a batch.
func (s *store) execute(owner int) {
	c := &s.conns[owner]
	command := c.batch[len(c.replies)]
	if command.Kind == workload.Set {
		s.versions[command.Key] = command.Version
	}
	c.replies = append(c.replies, s.versions[command.Key])
}

// settle settles a batch whose first known replies have been read.
func (s *store) settle(owner, known int) {
	c := &s.conns[owner]
	for i, command := range c.batch {
		switch {
		case i >= known && command.Kind == workload.Set:
			s.writes.Wrote(command, workload.Uncertain, c.horizon)
			if i >= len(c.replies) {
				s.late = append(s.late, command)
			}
		case i >= known:
		case command.Kind == workload.Set:
			s.writes.Wrote(command, workload.OK, c.horizon)
		case c.replies[i] != 0:
			value := s.layout.AppendValue(nil, command.Key, c.replies[i])
			if s.writes.Lost(s.layout, command.Key, value, c.floors[i]) {
				s.lost++
			}
		}
	}
	s.writes.Settle(owner)
	*c = conn{}
}

// through takes a batch through everything.
func (s *store) through(owner int, batch ...workload.Command) {
	s.take(owner, batch...)
	s.send(owner)
	for range batch {
		s.execute(owner)
	}
	s.settle(owner, len(batch))
}

// A target that loses nothing is never said to have lost a write, in whatever
// order connections take, send, execute and settle, whatever replies are lost,
// and however late their commands execute.
func TestNoWriteIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(3)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			owner := rapid.IntRange(0, len(s.conns)-1).Draw(t, "connection")
			c := &s.conns[owner]
			switch {
			case len(s.late) > 0 && rapid.IntRange(0, 9).Draw(t, "late") == 0:
				i := rapid.IntRange(0, len(s.late)-1).Draw(t, "which")
				s.versions[s.late[i].Key] = s.late[i].Version
				s.late = slices.Delete(s.late, i, i+1)
			case c.batch == nil:
				var batch []workload.Command
				for range rapid.IntRange(1, 3).Draw(t, "commands") {
					key := rapid.Uint64Range(0, 2).Draw(t, "key")
					if rapid.Bool().Draw(t, "read") {
						batch = append(batch, workload.Command{Kind: workload.Get, Key: key})
					} else {
						batch = append(batch, s.set(key))
					}
				}
				s.take(owner, batch...)
			case !c.sent:
				s.send(owner)
			case rapid.IntRange(0, 9).Draw(t, "breaks") == 0:
				s.settle(owner, rapid.IntRange(0, len(c.replies)).Draw(t, "replies"))
			case len(c.replies) < len(c.batch):
				s.execute(owner)
			default:
				s.settle(owner, len(c.batch))
			}
			if s.lost > 0 {
				t.Fatalf("lost a write of %v", s.versions)
			}
		}
	})
}

// A target that goes back to what it held before acknowledged writes has lost
// them: each key says so once, to the first read that returns.
func TestWritesAreLost(t *testing.T) {
	read := func(key uint64) workload.Command { return workload.Command{Kind: workload.Get, Key: key} }
	s := newStore(2)
	s.through(0, s.set(0), s.set(1), s.set(2))
	old := maps.Clone(s.versions)
	s.through(1, s.set(0))
	s.through(0, s.set(1))
	s.versions = maps.Clone(old)

	s.through(0, read(2))
	if s.lost != 0 {
		t.Fatal("a key that was not written again is said to be lost")
	}
	s.take(1, read(0))
	s.send(1)
	s.through(0, read(0), read(0), read(1))
	if s.lost != 2 {
		t.Errorf("%d lost writes were found, want 2", s.lost)
	}
	s.execute(1)
	s.settle(1, 1)
	s.through(0, read(0), read(1))
	if s.lost != 2 {
		t.Errorf("%d lost writes were found, want the same 2 however often they are read", s.lost)
	}
	s.through(0, s.set(0))
	s.versions = maps.Clone(old)
	s.through(0, read(0))
	if s.lost != 3 {
		t.Errorf("%d lost writes were found, want the third, of a key that was lost before", s.lost)
	}
}

// What can be told has bounds: a key that is gone is a miss, short values have
// no version, and keys beyond the first 2²⁰ are not watched.
func TestUntoldLosses(t *testing.T) {
	l := workload.NewLayout(workload.Layout{Run: "r", Keys: 1 << 21, ValueSize: 100})
	w := l.NewWrites(1, true)
	for _, key := range []uint64{1<<20 - 1, 1 << 20} {
		w.Wrote(workload.Command{Kind: workload.Set, Key: key, Version: 9}, workload.OK, 9)
	}
	last, beyond := w.Floor(1<<20-1), w.Floor(1<<20)
	if last != 9 || beyond != 0 {
		t.Errorf("the floors are %d and %d, want 9 and 0", last, beyond)
	}
	short := workload.NewLayout(workload.Layout{Run: "r", Keys: 1 << 21, ValueSize: 27})
	if w.Lost(short, 0, short.AppendValue(nil, 0, 1), 9) {
		t.Error("a value without a version is said to be older than another")
	}
}

// The writes in doubt that are remembered are the last ones.
func TestDoubtedWritesAreBounded(t *testing.T) {
	const remembered = 1 << 16
	l := workload.NewLayout(workload.Layout{Run: "r", Keys: 2, ValueSize: 100})
	w := l.NewWrites(1, true)
	for v := range uint64(remembered + 1) {
		w.Wrote(workload.Command{Kind: workload.Set, Key: 0, Version: v + 2}, workload.Uncertain, v+2)
	}
	for version, want := range map[uint64]bool{2: true, 3: false, remembered + 2: false} {
		w.Wrote(workload.Command{Kind: workload.Set, Key: 1, Version: 1 << 20}, workload.OK, 1<<20)
		if got := w.Lost(l, 1, l.AppendValue(nil, 1, version), w.Floor(1)); got != want {
			t.Errorf("version %d is lost: %t, want %t", version, got, want)
		}
	}
}
