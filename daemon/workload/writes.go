package workload

import (
	"math"
	"sync"
	"sync/atomic"
)

const (
	// watchedKeys bounds the keys whose writes are watched, to the first of the
	// key space, and doubtedWrites the writes that are remembered as in doubt:
	// the state stays constant.
	watchedKeys   = 1 << 20
	doubtedWrites = 1 << 16
)

// Writes finds acknowledged writes that a target has lost: a read that returns
// an older value than it may. It may be used by several goroutines.
//
// A write is in flight from when its batch is taken until it is settled.
// Versions are taken in their order. So when a write is sent, every older
// version from before the oldest one in flight has been settled: once this
// write is acknowledged, a read that is sent then cannot return any of those,
// unless its own write was left in doubt and executed late. Versions of writes
// that were in flight together may execute in either order, and are never
// called lost.
type Writes struct {
	floors   []atomic.Uint64 // by key: the least version that a read may return
	inFlight []lowest        // by connection

	mu      sync.Mutex // guards what is below
	doubted map[uint64]struct{}
	order   []uint64 // doubted, as a ring
	oldest  int      // in order
}

// lowest is the oldest version that one connection has in flight; none: idle.
type lowest struct {
	atomic.Uint64
	_ [56]byte // a cache line of its own
}

const none = math.MaxUint64

// NewWrites watches the writes of so many connections. Where nothing reads,
// there is nothing to find.
func (l *Layout) NewWrites(connections int, reads bool) *Writes {
	w := &Writes{inFlight: make([]lowest, connections), doubted: map[uint64]struct{}{}}
	if reads {
		w.floors = make([]atomic.Uint64, min(l.Keys, watchedKeys))
	}
	for i := range w.inFlight {
		w.inFlight[i].Store(none)
	}
	return w
}

// Take puts the writes among commands in flight on the connection owner. It is
// called in the order of their versions, one call at a time.
func (w *Writes) Take(owner int, commands []Command) {
	for i := range commands {
		if v := commands[i].Version; v != 0 {
			w.inFlight[owner].Store(v)
			return
		}
	}
}

// Settle says that the writes of the connection owner have been noted.
func (w *Writes) Settle(owner int) { w.inFlight[owner].Store(none) }

// Horizon is the oldest version in flight, now that a batch is to be sent.
func (w *Writes) Horizon() uint64 {
	horizon := uint64(none)
	for i := range w.inFlight {
		horizon = min(horizon, w.inFlight[i].Load())
	}
	return horizon
}

// Floor is the least version that a read of key may return that is sent now.
func (w *Writes) Floor(key uint64) uint64 {
	if key >= uint64(len(w.floors)) {
		return 0
	}
	return w.floors[key].Load()
}

// Wrote notes the outcome of a write. horizon is that of its batch.
func (w *Writes) Wrote(c Command, outcome Outcome, horizon uint64) {
	if c.Key >= uint64(len(w.floors)) {
		return
	}
	switch outcome {
	case OK:
		floor := &w.floors[c.Key]
		for was := floor.Load(); was < horizon; was = floor.Load() {
			if floor.CompareAndSwap(was, horizon) {
				return
			}
		}
	case Uncertain, Mismatch:
		w.doubt(c.Version)
	}
}

// doubt remembers a write that may execute at any time.
func (w *Writes) doubt(version uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) < doubtedWrites {
		w.order = append(w.order, version)
	} else {
		delete(w.doubted, w.order[w.oldest])
		w.order[w.oldest] = version
		w.oldest = (w.oldest + 1) % doubtedWrites
	}
	w.doubted[version] = struct{}{}
}

// Lost tells whether a write has been lost, where a read of key returned value
// and floor was its Floor when it was sent. It is told once: the key then goes
// on from that value's version. Values that are too short for a version tell
// nothing.
func (w *Writes) Lost(l *Layout, key uint64, value []byte, floor uint64) bool {
	version := l.version(value)
	if version >= floor || version == 0 {
		return false
	}
	w.mu.Lock()
	_, doubted := w.doubted[version]
	w.mu.Unlock()
	return !doubted && w.floors[key].CompareAndSwap(floor, version)
}
