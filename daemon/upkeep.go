package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"soakline/daemon/target"
)

const (
	pingEvery     = time.Second
	surveyEvery   = 5 * time.Second // for facts and usage: INFO is not free
	refreshEvery  = 10 * time.Second
	readBackEvery = time.Second
	attendTimeout = time.Second // of each: after it the target does not answer
	sweepChunk    = 200         // keys whose TTL is refreshed at once
	sweepLeast    = time.Millisecond
)

// attend keeps in touch with the target beside the load, until the returned
// function is called: it asks every second whether the target answers, which
// idle connections would not notice, and sometimes what it is and how full.
func (d *Daemon) attend() (stop func()) {
	return background(func(ctx context.Context) {
		ping := time.NewTicker(pingEvery)
		defer ping.Stop()
		survey := time.NewTicker(surveyEvery)
		defer survey.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ping.C:
				d.silent.Store(d.try(ctx, d.control().Ping) != nil)
				_ = d.try(ctx, d.follow) // sentinels that do not answer are asked again
			case <-survey.C:
				_ = d.try(ctx, d.learn) // that it does not answer, the pings say
			}
		}
	})
}

// follow asks the sentinels, if there are any, where the master is, and leaves
// an old one: alive, it would go on answering reads. It leaves it also where
// the new one must not be loaded; then "" is the address, and nothing is there.
func (d *Daemon) follow(ctx context.Context) error {
	server := d.server.Load()
	if server.options.Locate == nil {
		return nil
	}
	engine := d.engine.Load()
	asked := engine.now()
	at, err := server.options.Locate(ctx)
	if err != nil && !errors.Is(err, target.ErrNotAllowed) {
		return err
	}
	if was, moved := engine.Follow(at, asked); moved {
		d.log.Warn("the master has moved", zap.String("from", was), zap.String("to", at), zap.Error(err))
		d.renew()
	}
	return err
}

// learn asks the target what it is, and how full. What has changed is logged
// and counted, once.
func (d *Daemon) learn(ctx context.Context) error {
	d.learning.Lock()
	defer d.learning.Unlock()
	facts, usage, err := d.server.Load().facts(ctx, d.control())
	if err != nil {
		return err
	}
	d.safety.used(usage)
	if d.safety.sightless() {
		d.log.Warn("the target does not tell how full it is: brakes on memory and evictions see nothing")
	}
	known := facts
	if was := d.facts.Load(); was != nil {
		known = *was
		for _, change := range known.Learn(facts) {
			d.changes[change.Fact].Add(1)
			d.log.Warn("the target has changed: numbers before and after are not of the same experiment",
				zap.String("fact", target.FactNames()[change.Fact]), zap.String("from", change.From), zap.String("to", change.To))
		}
	}
	d.facts.Store(&known)
	return nil
}

// changed counts the changes of each fact.
func (d *Daemon) changed() []uint64 {
	counts := make([]uint64, len(d.changes))
	for i := range d.changes {
		counts[i] = d.changes[i].Load()
	}
	return counts
}

// maintain looks after the run's keys beside the load, until the returned
// function is called: it refreshes their TTL and reads counters back that are
// in doubt.
func (d *Daemon) maintain() (stop func()) {
	return background(func(ctx context.Context) {
		readBack := time.NewTicker(readBackEvery)
		defer readBack.Stop()
		refresh, stop := d.refreshing()
		defer stop()
		sweep, stop := d.sweeping()
		defer stop()
		var failed [3]bool // by task
		for {
			var task int
			var err error
			select {
			case <-ctx.Done():
				return
			case <-readBack.C:
				task, err = 0, d.try(ctx, d.readBack)
			case <-refresh:
				task, err = 1, d.try(ctx, d.refresh)
			case <-sweep:
				task, err = 2, d.try(ctx, d.sweep)
			}
			if err != nil && !failed[task] && ctx.Err() == nil {
				d.log.Warn("cannot look after the run's keys", zap.Error(err))
			}
			failed[task] = err != nil
		}
	})
}

// background runs f until the returned function is called, which waits for it.
func background(f func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// try does something for attendTimeout at most.
func (d *Daemon) try(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attendTimeout)
	defer cancel()
	return do(ctx)
}

func (d *Daemon) readBack(ctx context.Context) error {
	return d.doubts.resolve(ctx, false, d.control().Values)
}

// readBackLast reads back what is still in doubt, when nothing more can be on
// its way.
func (d *Daemon) readBackLast() {
	err := d.try(context.Background(), func(ctx context.Context) error {
		return d.doubts.resolve(ctx, true, d.control().Values)
	})
	if err != nil {
		d.log.Warn("cannot read back the counters that are in doubt", zap.Error(err))
	}
}

// refresh refreshes the TTL of the counters in use. Those that a connection has
// left meanwhile are put back to what it gave them.
func (d *Daemon) refresh(ctx context.Context) error {
	names := d.upkeep.all()
	err := d.control().Refresh(ctx, names, d.layout.TTL)
	used := map[string]bool{}
	for _, name := range d.upkeep.all() {
		used[name] = true
	}
	left := slices.DeleteFunc(names, func(name string) bool { return used[name] })
	return errors.Join(err, d.control().Refresh(ctx, left, min(d.layout.TTL, target.LastIncrements)))
}

// refreshing ticks often enough that a counter in use never expires, and that
// one which somebody else deleted, and INCR made anew, soon has its TTL again.
func (d *Daemon) refreshing() (<-chan time.Time, func()) {
	if d.layout.TTL == 0 {
		return nil, func() {}
	}
	ticker := time.NewTicker(min(d.layout.TTL/4, refreshEvery))
	return ticker.C, ticker.Stop
}

// sweep refreshes the TTL of the next keys, in the order of the key space. One
// that fails is tried again.
func (d *Daemon) sweep(ctx context.Context) error {
	there := d.layout.Keys
	if d.engine.Load() == nil { // the load has not begun
		there = d.preloaded.Load()
	}
	if d.swept >= there {
		d.swept = 0
	}
	to := min(d.swept+sweepChunk, there)
	names := make([]string, 0, sweepChunk)
	for key := d.swept; key < to; key++ {
		names = append(names, d.layout.Key(key))
	}
	err := d.control().Refresh(ctx, names, d.layout.TTL)
	if err == nil {
		d.swept = to
	}
	return err
}

// sweeping ticks so that each key is refreshed twice in its life, evenly, where
// the load reads keys: the ones that it does not write for long would expire.
func (d *Daemon) sweeping() (<-chan time.Time, func()) {
	if d.layout.TTL == 0 || !d.reads() || !d.leaves() {
		return nil, func() {}
	}
	if often := 2 * float64(d.layout.Keys) / d.layout.TTL.Seconds(); often > d.config.Arrival.Rate/10 {
		d.log.Warn("to keep the TTL of keys up is a load of its own: fewer keys or a longer workload.keys.ttl make it less", zap.Float64("expire_per_second", whole(often)))
	}
	chunks := (d.layout.Keys + sweepChunk - 1) / sweepChunk
	ticker := time.NewTicker(max(d.layout.TTL/2/time.Duration(chunks), sweepLeast))
	return ticker.C, ticker.Stop
}

// upkeep lists the counters in use, whose TTL is to be refreshed: INCR does not
// do it.
type upkeep struct {
	mu    sync.Mutex
	names map[int][]string // by connection
}

// set replaces the counters of the connection owner.
func (u *upkeep) set(owner int, names []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names == nil {
		u.names = map[int][]string{}
	}
	u.names[owner] = names
}

// all lists the counters of all connections.
func (u *upkeep) all() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []string
	for _, names := range u.names {
		all = append(all, names...)
	}
	return all
}
