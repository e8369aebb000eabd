package daemon

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"soakline/daemon/arrival"
	"soakline/daemon/batch"
	"soakline/daemon/workload"
	"soakline/metrics"
)

// fakeTarget is a target in virtual time. Its fields may change between
// exchanges only under its lock.
type fakeTarget struct {
	mu        sync.Mutex
	start     time.Time
	exchanges []exchanged
	dials     int
	at        string // what links say where they lead

	// serve says how long an exchange takes that begins at an offset from the
	// start, and how it ends.
	serve func(at time.Duration) (time.Duration, error)
	// deaf makes exchanges wait for the target before their bytes are taken.
	deaf bool
	// demoted is what links say of the target's role.
	demoted error
	// open says whether a connection can be made at an offset from the start.
	open func(at time.Duration) error
}

// exchanged is one exchange as the target saw it.
type exchanged struct {
	owner         int
	sent, replied time.Duration
	commands      []workload.Command
}

var errBroken = errors.New("broken on purpose")

type fakeLink struct {
	target   *fakeTarget
	owner    int
	at       string
	prepared []workload.Command
	err      error
	cut      chan struct{}
	once     sync.Once
}

func (f *fakeTarget) dial(_ context.Context, owner int, _ uint32) (link, error) {
	if f.open != nil {
		if err := f.open(time.Since(f.start)); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials++
	return &fakeLink{target: f, at: f.at, owner: owner, cut: make(chan struct{})}, nil
}

// move makes new links lead elsewhere.
func (f *fakeTarget) move(at string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
}

// dialled is how many connections were opened.
func (f *fakeTarget) dialled() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dials
}

func (l *fakeLink) Prepare(commands []workload.Command) { l.prepared = commands }

func (l *fakeLink) Exchange(_ context.Context, written func()) error {
	if !l.target.deaf {
		written()
	}
	f := l.target
	x := exchanged{owner: l.owner, sent: time.Since(f.start), commands: append([]workload.Command(nil), l.prepared...)}
	var d time.Duration
	d, l.err = f.serve(x.sent)
	select {
	case <-time.After(d):
	case <-l.cut:
		l.err = errBroken
	}
	x.replied = time.Since(f.start)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exchanges = append(f.exchanges, x)
	return l.err
}

func (l *fakeLink) Sent() bool { return true }

func (l *fakeLink) Reply(int) workload.Reply {
	if l.err != nil {
		return workload.Reply{}
	}
	return workload.Reply{Kind: workload.Bytes}
}

func (l *fakeLink) Check(int, workload.Command) workload.Outcome {
	if l.err != nil {
		return workload.Uncertain
	}
	return workload.OK
}

func (l *fakeLink) Lost(int, workload.Command) bool { return false }

func (l *fakeLink) Doubts() []workload.Doubt { return nil }

func (l *fakeLink) Demoted() error { return l.target.demoted }

func (l *fakeLink) At() string { return l.at }

func (l *fakeLink) Close() error {
	l.once.Do(func() { close(l.cut) })
	return nil
}

// arrived lists the commands in the order in which they were due.
func (f *fakeTarget) arrived() []workload.Command {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []workload.Command
	for _, x := range f.exchanges {
		all = append(all, x.commands...)
	}
	slices.SortFunc(all, func(a, b workload.Command) int { return cmp.Compare(a.Intended, b.Intended) })
	return all
}

// quick serves every exchange in d.
func quick(d time.Duration) func(time.Duration) (time.Duration, error) {
	return func(time.Duration) (time.Duration, error) { return d, nil }
}

// fakeOptions are those of an engine in a bubble: deterministic arrivals at
// rate, batches of at most 64 or 1 ms, 4 connections.
func fakeOptions(f *fakeTarget, rate float64) EngineOptions {
	process, _ := arrival.ProcessByName("deterministic")
	layout := workload.NewLayout(workload.Layout{Prefix: "p:", Run: "r", Keys: 100, ValueSize: 100})
	return EngineOptions{
		Process:      process,
		Profile:      arrival.Constant(rate),
		Seed:         1,
		MaxCatchUp:   time.Second,
		Layout:       layout,
		Writes:       layout.NewWrites(4, true),
		Mix:          []workload.Share{{Kind: workload.Get, Weight: 1}},
		Limits:       batch.Limits{Commands: 64, RequestBytes: 1 << 20, ReplyBytes: 1 << 20, Delay: time.Millisecond},
		Queue:        batch.Queue{Commands: 100_000, Bytes: 64 << 20},
		Connections:  4,
		ReconnectMin: 50 * time.Millisecond,
		ReconnectMax: 5 * time.Second,
		Open:         f.dial,
		Timer:        true,
		Log:          zap.NewNop(),
	}
}

// start starts an engine for f, whose clock is the target's.
func (f *fakeTarget) startEngine(o EngineOptions) *Engine {
	f.start = time.Now()
	e := NewEngine(o)
	e.Start()
	return e
}

// balanced collects a snapshot, in which the conservation law must hold.
func balanced(t *testing.T, e *Engine) *metrics.Snapshot {
	t.Helper()
	s := metrics.NewSnapshot(labels())
	e.Collect(s)
	if err := s.Balance(); err != nil {
		t.Error(err)
	}
	return s
}

// parts checks that the histograms count every sent command once, and that the
// parts of all queueing delays sum to the nanosecond.
func parts(t *testing.T, s *metrics.Snapshot, sent uint64) {
	t.Helper()
	for name, h := range map[string]*metrics.Histogram{
		"response time": s.ResponseTime(), "queueing delay": s.QueueingDelay(), "formation delay": s.FormationDelay(),
		"dispatch wait": s.DispatchWait(), "schedule lag": s.ScheduleLag(),
	} {
		if h.Count() != sent {
			t.Errorf("%s has %d observations, want %d", name, h.Count(), sent)
		}
	}
	sum := s.FormationDelay().Sum() + s.DispatchWait().Sum() + s.ScheduleLag().Sum()
	if sum != s.QueueingDelay().Sum() {
		t.Errorf("parts sum to %v ns, queueing delays to %v ns", sum, s.QueueingDelay().Sum())
	}
}
