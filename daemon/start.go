package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"soakline/daemon/target"
	"soakline/daemon/workload"
)

// surveyDeadline bounds the search for foreign keys before a run.
const surveyDeadline = 10 * time.Second

// open starts the server, if it is one of the daemon's own.
func (d *Daemon) open(ctx context.Context) error {
	server, err := openServer(ctx, d.config)
	if err != nil {
		return err
	}
	if server.unproven {
		d.log.Warn("insecure_skip_verify is set: whoever answers is taken for the target, and given its password")
	}
	d.server.Store(server)
	d.controls.Store(target.NewControl(&server.options, d.layout))
	return nil
}

// reach makes everything ready for the load: it may be written to, takes every
// command of the mix, holds the key space, and all connections are open. It
// tries for as long as the options say, and ends with ctx.
func (d *Daemon) reach(ctx context.Context) (*Engine, error) {
	defer d.cutting(ctx)()
	give := time.Now().Add(d.options.Wait)
	pause := d.config.Target.Reconnect.Min
	for {
		engine, err := d.ready(ctx)
		left := time.Until(give)
		switch {
		case err == nil:
			return engine, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, ErrUnsafe), left <= 0:
			return nil, d.explained(err)
		}
		err = d.explained(err)
		pause = min(pause, left)
		d.starting.Store(new("waiting for the target: " + err.Error()))
		d.log.Warn("waiting for the target", zap.Error(err), zap.Duration("pause", pause))
		if err := rest(ctx, pause); err != nil {
			return nil, err
		}
		pause = min(2*pause, d.config.Target.Reconnect.Max)
	}
}

// rest waits for d, or until ctx is done, which is its error.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// cutting cuts what is under way at the target when ctx is done, for which
// go-redis would wait regardless, until the returned function is called. What
// comes after that has a control of its own.
func (d *Daemon) cutting(ctx context.Context) (done func()) {
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cut)
		d.renew()
	})
	return func() {
		if !stop() {
			<-cut
		}
	}
}

// explained is err with what helps a person with it.
func (d *Daemon) explained(err error) error {
	if hint := d.server.Load().options.Hint(err); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	return err
}

// ready is one attempt of reach.
func (d *Daemon) ready(ctx context.Context) (*Engine, error) {
	d.safety.begin()
	if err := d.learn(ctx); err != nil {
		return nil, err
	}
	d.starting.Store(nil)
	d.brake(observation{})
	for _, step := range []func(context.Context) error{d.survey, d.rehearse, d.preload} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	engine := NewEngine(d.engineOptions())
	if err := engine.Connect(ctx); err != nil {
		return nil, err
	}
	return engine, nil
}

// survey refuses to write to a database that is somebody else's.
func (d *Daemon) survey(ctx context.Context) error {
	if d.server.Load().own || d.config.Safety.AllowShared || !d.leaves() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, surveyDeadline)
	defer cancel()
	foreign, err := d.control().ForeignKey(ctx)
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

// rehearse makes sure that the target takes every command of the mix.
func (d *Daemon) rehearse(ctx context.Context) error {
	var kinds []workload.Kind
	for _, share := range d.mix() {
		kinds = append(kinds, share.Kind)
	}
	d.wrote.Store(d.leaves())
	return d.control().Rehearse(ctx, kinds)
}
