package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"soakline/daemon/arrival"
	"soakline/daemon/batch"
	"soakline/daemon/target"
	"soakline/daemon/workload"
	"soakline/metrics"
)

const (
	// keepEvery is how often the housekeeper brings the ledger up to date:
	// how late a stall shows in the queue, and how much is admitted at once.
	keepEvery = 5 * time.Millisecond
	// drainPause bounds the wait between attempts to connect during a drain.
	drainPause = 50 * time.Millisecond
	// logEvery and logFirst bound how often the same change of a connection's
	// state is logged; each is counted in the metrics.
	logEvery = 10 * time.Second
	logFirst = 4
)

// labels are the values of the closed label sets, in the order of their
// integers.
func labels() *metrics.Labels {
	return &metrics.Labels{
		Commands: workload.CommandNames(),
		Outcomes: workload.Outcomes,
		Shed:     shedReasons,
		Codes:    workload.Codes,
		Flushes:  batch.Reasons,
		Modes:    batch.Modes,
		Failures: target.Failures,
		Facts:    target.FactNames(),
		Brakes:   brakeNames,
	}
}

// EngineOptions say what an engine offers, and to whom.
type EngineOptions struct {
	Process      arrival.Row
	Profile      arrival.Profile // of an open-loop process
	Seed         uint64          // of schedule and commands
	MaxCatchUp   time.Duration   // an arrival noticed later than this is shed
	Spin         bool            // spin for the last of a wait
	Layout       *workload.Layout
	Mix          []workload.Share
	Mode         batch.Mode
	Limits       batch.Limits
	Queue        batch.Queue
	Connections  int
	ReconnectMin time.Duration
	ReconnectMax time.Duration
	Writes       *workload.Writes // of all connections
	Held         bool             // arrivals are held from the start

	// Doubt is told of counters whose increments may have executed, once the
	// connection that sent them is closed; nil: nobody is.
	Doubt func([]workload.Doubt)
	// Demoted is called when a connection is replaced because its target is no
	// master; nil: nobody is.
	Demoted func()
	// Open opens the link of the connection number owner, for the generation-th
	// time.
	Open func(ctx context.Context, owner int, generation uint32) (link, error)
	// Timer makes the engine wait with the runtime's timers alone, for tests
	// inside a synctest bubble.
	Timer bool
	Log   *zap.Logger
}

// Engine offers load: one lane and its connections.
type Engine struct {
	clock
	options     EngineOptions
	lane        *lane
	connections []*connection
	totals      *metrics.Totals
	running     sync.WaitGroup // connections
	keeping     sync.WaitGroup // the housekeeper

	base     context.Context // of exchanges: never cancelled
	stopping context.Context // done when the drain begins
	stop     context.CancelFunc
	closing  context.Context // done when the drain deadline has passed
	close    context.CancelFunc
	finished context.Context // done when the engine has stopped
	finish   context.CancelFunc
	links    linkSet
	place    atomic.Pointer[place] // where the target is; nil: where it always was
	log      *zap.Logger
}

// NewEngine prepares an engine.
func NewEngine(o EngineOptions) *Engine {
	e := &Engine{options: o, base: context.Background()}
	e.log = o.Log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(core, logEvery, logFirst, 0)
	}))
	e.stopping, e.stop = context.WithCancel(e.base)
	e.closing, e.close = context.WithCancel(e.base)
	e.finished, e.finish = context.WithCancel(e.base)
	l := &lane{
		open:       o.Process.OpenLoop(),
		limits:     o.Limits.In(o.Mode),
		maxCatchUp: o.MaxCatchUp,
		lead:       make(chan struct{}, 1),
		wake:       make(chan struct{}, 1),
		source:     o.Layout.NewSource(o.Mix, rand.NewPCG(o.Seed, 1)),
		writes:     o.Writes,
		next:       arrival.Never,
		ledger:     metrics.NewLedger(labels()),
	}
	if l.open {
		l.schedule = arrival.NewSchedule(o.Profile, o.Process.Gap, rand.NewPCG(o.Seed, 0))
		l.former = batch.NewFormer(l.limits, o.Queue)
		l.advance()
	}
	if o.Held {
		l.stopAt(0)
	}
	l.released.L = &l.mu
	e.lane = l
	var recorders []*metrics.Recorder
	for owner := range o.Connections {
		c := &connection{engine: e, lane: l, owner: owner, recorder: metrics.NewRecorder(labels())}
		c.written = c.pass
		recorders = append(recorders, c.recorder)
		e.connections = append(e.connections, c)
	}
	e.totals = metrics.NewTotals(labels(), []metrics.Lane{{Lock: l, Ledger: l.ledger, Recorders: recorders}})
	return e
}

// Connect opens every connection once before the schedule begins, so that the
// first arrivals wait for no handshake. An error says which could not be
// opened; then none is open.
func (e *Engine) Connect(ctx context.Context) error {
	for _, c := range e.connections {
		link, err := e.options.Open(ctx, c.owner, c.generation)
		if err != nil {
			e.links.closeAll()
			return fmt.Errorf("connection %d of %d: %w", c.owner+1, len(e.connections), err)
		}
		c.attach(link)
	}
	return nil
}

// Start lets the schedule begin now. Connections that are not open yet open
// while it runs.
func (e *Engine) Start() {
	e.clock = clock{time.Now()}
	l := e.lane
	l.clock = e.clock
	switch {
	case e.options.Timer:
		l.sleep = timerSleeper(e.clock)
	case e.options.Spin:
		l.sleep = spinSleeper(e.clock, preciseSleeper(e.clock))
	default:
		l.sleep = preciseSleeper(e.clock)
	}
	for _, c := range e.connections {
		c.timer = time.NewTimer(time.Hour)
		c.timer.Stop()
		e.running.Add(1)
		go c.run()
	}
	l.lead <- struct{}{}
	e.keeping.Add(1)
	go e.keep()
}

// keep is the housekeeper.
func (e *Engine) keep() {
	defer e.keeping.Done()
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			e.lane.Lock() // brings it up to date
			e.lane.Unlock()
		case <-e.finished.Done():
			return
		}
	}
}

// Drain ends the schedule, sends what has arrived and waits for its replies,
// at most for deadline; then it cuts the connections and settles the rest.
// Afterwards nothing of the engine runs.
func (e *Engine) Drain(deadline time.Duration) {
	e.stop()
	e.lane.drain()
	cut := time.AfterFunc(deadline, func() {
		e.close()
		e.links.closeAll()
	})
	e.running.Wait()
	cut.Stop()
	e.close()
	e.lane.abandon()
	e.finish()
	e.keeping.Wait()
}

// place is where a target is, as was found out by a question.
type place struct {
	at    string
	asked time.Duration // when it was asked
}

// Follow makes connections leave that lead elsewhere than to at, where the
// target is to who asked at the given offset from the start. Those that were
// opened later know better. It says where the target was.
func (e *Engine) Follow(at string, asked time.Duration) (was string, moved bool) {
	old := e.place.Swap(&place{at, asked})
	if old == nil {
		return "", false
	}
	return old.at, old.at != at
}

// Hold stops arrivals, or lets them go on: what has arrived is sent, and the
// schedule's clock stands still meanwhile. It says whether that was news.
func (e *Engine) Hold(hold bool) bool { return e.lane.hold(hold) }

// Draining tells whether the schedule has ended.
func (e *Engine) Draining() bool { return e.stopping.Err() != nil }

// Collect overwrites s with the engine's state at one instant.
func (e *Engine) Collect(s *metrics.Snapshot) { e.totals.Collect(s) }

// Rate is the offered rate now, in commands per second: λ(t), or 0 where
// arrivals have no schedule.
func (e *Engine) Rate() float64 {
	if !e.lane.open || e.Draining() {
		return 0
	}
	shift, held := e.lane.heldFor()
	if held {
		return 0
	}
	return e.options.Profile.Rate(e.now() - shift)
}

// HeldFor is how long arrivals have been held in all.
func (e *Engine) HeldFor() time.Duration {
	d, _ := e.lane.heldFor()
	return d
}
