// Package daemon knows a run's life: it opens the target, starts the engine,
// watches it, serves HTTP, drains and sums up. It must never know Redis or
// Prometheus' types: what speaks to a target is daemon/target's, what counts
// and exposes is metrics'.
package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"soakline/daemon/config"
	"soakline/daemon/target"
	"soakline/daemon/workload"
	"soakline/metrics"
)

// cleanDeadline bounds the removal of the run's own keys after it.
const cleanDeadline = 10 * time.Second

// ErrUnsafe is the error of a run that was refused because of what the target
// holds.
var ErrUnsafe = errors.New("refused for safety")

// Options say what a daemon does, and to whom it reports.
type Options struct {
	Config config.Config // valid, secrets read
	Build  metrics.Build
	Log    *zap.Logger
	Wait   time.Duration        // for a target that cannot be used yet, before the load has begun; 0: none
	Report func(*Summary) error // called after the drain, before HTTP closes
}

// Daemon is one run.
type Daemon struct {
	options  Options
	config   *config.Config
	log      *zap.Logger
	seed     uint64
	layout   *workload.Layout
	server   atomic.Pointer[server]         // nil until it is open
	controls atomic.Pointer[target.Control] // the one in use
	writes   *workload.Writes
	upkeep   upkeep
	doubts   doubts
	swept    uint64 // the key whose TTL is to be refreshed next
	safety   safety
	learning sync.Mutex // one at a time
	facts    atomic.Pointer[target.Facts]
	changes  []atomic.Uint64 // of facts, by their index
	engine   atomic.Pointer[Engine]

	invalid     atomic.Bool            // the generator, over the last seconds
	everInvalid atomic.Bool            // the same, at any time
	silent      atomic.Bool            // the target, to the last ping
	wrote       atomic.Bool            // keys of the run may be at the target
	starting    atomic.Pointer[string] // what the load waits for that has not begun; nil: nothing in particular
	preloaded   atomic.Uint64          // keys from the first on that were written beforehand
}

// New prepares a run; it does no I/O.
func New(o Options) *Daemon {
	d := &Daemon{options: o, config: &o.Config, log: o.Log, seed: o.Config.Arrival.Seed}
	if d.seed == 0 {
		d.seed = entropy()
	}
	d.layout = workload.NewLayout(workload.Layout{
		Prefix:    o.Config.Workload.Keys.Prefix,
		Run:       runName(),
		Keys:      uint64(o.Config.Workload.Keys.Count),
		ValueSize: int(o.Config.Workload.Value.Size),
		TTL:       o.Config.Workload.Keys.TTL,
	})
	d.writes = d.layout.NewWrites(o.Config.Target.Connections, d.reads())
	d.changes = make([]atomic.Uint64, len(target.FactNames()))
	d.safety.brakes.limits = o.Config.Safety
	return d
}

// Run offers load until ctx is done or the configured duration has passed,
// drains, reports and returns. An error says why it could not begin, or what
// went wrong at the end. If ctx is done before the load has begun, there is
// nothing to report.
func (d *Daemon) Run(ctx context.Context) (err error) {
	web, err := d.serve()
	if err != nil {
		return err
	}
	defer web.close()
	if err := d.open(ctx); err != nil {
		return d.unlessStopped(ctx, err)
	}
	defer func() { err = errors.Join(err, d.shut()) }()

	neglect := d.maintain()
	engine, err := d.reach(ctx)
	if err != nil {
		neglect()
		d.clean()
		return d.unlessStopped(ctx, err)
	}
	d.announce(web) // before it is ready: who waits for that can look where
	engine.Start()
	d.engine.Store(engine)
	leave := d.attend()
	load := d.watch(ctx, engine)

	d.log.Info("draining", zap.Duration("timeout", d.config.DrainTimeout))
	engine.Drain(d.config.DrainTimeout)
	elapsed := engine.now()
	neglect()
	leave()
	_ = d.try(context.Background(), d.learn) // what has changed in the last seconds
	d.readBackLast()
	d.clean()
	return d.options.Report(d.summary(engine, load, elapsed))
}

// unlessStopped is the error of a start, unless it is only that ctx is done.
func (d *Daemon) unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	d.log.Info("stopped before the load began")
	return nil
}

// control speaks to the target beside the load.
func (d *Daemon) control() *target.Control { return d.controls.Load() }

// renew leaves the target that control speaks to for the one where it is now.
func (d *Daemon) renew() {
	_ = d.controls.Swap(target.NewControl(&d.server.Load().options, d.layout)).Close() // what it cuts is tried again
}

// shut leaves the target.
func (d *Daemon) shut() error {
	return errors.Join(d.control().Close(), d.server.Load().stop())
}

// clean removes the keys of this run from a server that goes on without it.
func (d *Daemon) clean() {
	if d.server.Load().own || !d.wrote.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanDeadline)
	defer cancel()
	removed, err := d.control().Remove(ctx)
	switch {
	case err != nil && d.layout.TTL == 0:
		d.log.Error("own keys are left behind, and have no TTL", zap.String("pattern", d.layout.Pattern()), zap.Error(err))
	case err != nil:
		d.log.Warn("own keys are left to their TTL", zap.Duration("ttl", d.layout.TTL), zap.Error(err))
	default:
		d.log.Info("removed own keys", zap.Int64("keys", removed))
	}
}

// Kill ends a private server at once, for an exit that does not drain.
func (d *Daemon) Kill() {
	if s := d.server.Load(); s != nil {
		s.kill()
	}
}

// runName tells this run's keys from those of any other.
func runName() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// entropy is a seed from 1 up, small enough for readers of JSON that know no
// larger integers than 2⁵³.
func entropy() uint64 { return 1 + mathrand.Uint64N(1<<53) }
