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
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"soakline/daemon/arrival"
	"soakline/daemon/batch"
	"soakline/daemon/config"
	"soakline/daemon/target"
	"soakline/daemon/workload"
	"soakline/metrics"
)

const (
	// surveyDeadline bounds the search for foreign keys before a run, and
	// cleanDeadline the removal of the run's own keys after it.
	surveyDeadline = 10 * time.Second
	cleanDeadline  = 10 * time.Second
)

// ErrUnsafe is the error of a run that was refused because of what the target
// holds.
var ErrUnsafe = errors.New("refused for safety")

// Options say what a daemon does, and to whom it reports.
type Options struct {
	Config config.Config // valid, secrets read
	Build  metrics.Build
	Log    *zap.Logger
	Report func(*Summary) error // called after the drain, before HTTP closes
}

// Daemon is one run.
type Daemon struct {
	options Options
	config  *config.Config
	log     *zap.Logger
	seed    uint64
	layout  *workload.Layout
	server  atomic.Pointer[server] // nil until it is open
	control *target.Control
	upkeep  upkeep
	facts   atomic.Pointer[target.Facts]
	engine  atomic.Pointer[Engine]

	invalid     atomic.Bool // the generator, over the last seconds
	everInvalid atomic.Bool // the same, at any time
	silent      atomic.Bool // the target, to the last ping
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

	engine := NewEngine(d.engineOptions())
	if err := engine.Connect(ctx); err != nil {
		d.clean()
		return d.unlessStopped(ctx, err)
	}
	engine.Start()
	d.engine.Store(engine)
	d.announce(web)
	defer d.attend()()
	load := d.watch(ctx, engine)

	d.log.Info("draining", zap.Duration("timeout", d.config.DrainTimeout))
	engine.Drain(d.config.DrainTimeout)
	elapsed := engine.now()
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

// open reaches the target and makes sure that it may be written to.
func (d *Daemon) open(ctx context.Context) error {
	server, err := openServer(ctx, d.config)
	if err != nil {
		return err
	}
	d.server.Store(server)
	d.control = target.NewControl(&server.options, d.layout)
	facts, err := server.facts(ctx, d.control)
	if err == nil {
		d.facts.Store(&facts)
		err = d.survey(ctx)
	}
	if err != nil {
		return errors.Join(err, d.shut())
	}
	return nil
}

// survey refuses to write to a database that is somebody else's.
func (d *Daemon) survey(ctx context.Context) error {
	if d.server.Load().own || d.config.Safety.AllowShared || !d.writes() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, surveyDeadline)
	defer cancel()
	foreign, err := d.control.ForeignKey(ctx)
	switch {
	case errors.Is(err, target.ErrUnsurveyed):
		return fmt.Errorf("%w: %w: set safety.allow_shared: true if this load may share it", ErrUnsafe, err)
	case err != nil:
		return fmt.Errorf("look for foreign keys: %w", err)
	case foreign != "":
		return fmt.Errorf("%w: the database holds keys of others, such as %q: choose an empty one with target.database, or set safety.allow_shared: true if this load may share it",
			ErrUnsafe, foreign)
	}
	return nil
}

// shut leaves the target.
func (d *Daemon) shut() error {
	return errors.Join(d.control.Close(), d.server.Load().stop())
}

// clean removes the keys of this run from a server that goes on without it.
func (d *Daemon) clean() {
	if d.server.Load().own || !d.writes() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanDeadline)
	defer cancel()
	removed, err := d.control.Remove(ctx)
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

func (d *Daemon) engineOptions() EngineOptions {
	c := d.config
	mode, limits, queue := d.batches()
	mix := d.mix()
	seat := target.Seat{
		Layout: d.layout, Mode: mode,
		Counts: slices.ContainsFunc(mix, func(s workload.Share) bool { return s.Kind == workload.Incr }),
	}
	return EngineOptions{
		Process:      d.process(),
		Profile:      arrival.Constant(c.Arrival.Rate),
		Seed:         d.seed,
		MaxCatchUp:   c.Arrival.MaxCatchUp,
		Spin:         c.Arrival.Pacing == "spin",
		Layout:       d.layout,
		Mix:          mix,
		Mode:         mode,
		Limits:       limits,
		Queue:        queue,
		Connections:  c.Target.Connections,
		ReconnectMin: c.Target.Reconnect.Min,
		ReconnectMax: c.Target.Reconnect.Max,
		Open: func(ctx context.Context, owner int, generation uint32) (link, error) {
			seat := seat
			seat.Counters = d.layout.NewCounters(owner, generation)
			conn, err := target.Open(ctx, &d.server.Load().options, seat)
			if err != nil {
				return nil, err
			}
			if seat.Counts {
				d.upkeep.set(owner, d.layout.Names(seat.Counters))
			}
			return conn, nil
		},
		Log: d.log,
	}
}

// process is the row of the arrival process, which the configuration names.
func (d *Daemon) process() arrival.Row {
	row, _ := arrival.ProcessByName(d.config.Arrival.Process)
	return row
}

// batches are the mode, the limits and the queue's bounds that the
// configuration names.
func (d *Daemon) batches() (batch.Mode, batch.Limits, batch.Queue) {
	c := d.config
	mode, _ := batch.ModeByName(c.Batch.Mode)
	return mode, batch.Limits{
		Commands:     c.Batch.MaxCommands,
		RequestBytes: int(c.Batch.MaxRequestBytes),
		ReplyBytes:   int(c.Batch.MaxReplyBytes),
		Delay:        c.Batch.MaxDelay,
	}, batch.Queue{Commands: c.Queue.MaxCommands, Bytes: int64(c.Queue.MaxBytes)}
}

func (d *Daemon) mix() []workload.Share {
	var mix []workload.Share
	for _, share := range d.config.Workload.Mix {
		kind, _ := workload.KindByName(share.Command)
		mix = append(mix, workload.Share{Kind: kind, Weight: share.Weight})
	}
	return mix
}

// writes tells whether the load leaves anything at the target.
func (d *Daemon) writes() bool {
	return slices.ContainsFunc(d.mix(), func(s workload.Share) bool { return workload.Commands[s.Kind].Writes })
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
