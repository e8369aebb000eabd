package daemon

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	pingEvery     = time.Second
	refreshEvery  = 10 * time.Second
	attendTimeout = time.Second // of either: after it the target does not answer
)

// attend keeps in touch with the target beside the load, until the returned
// function is called: it asks every second whether the target answers, which
// idle connections would not notice, and refreshes the TTL of counters.
func (d *Daemon) attend() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ping := time.NewTicker(pingEvery)
		defer ping.Stop()
		refresh, stop := d.refreshing()
		defer stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ping.C:
				d.silent.Store(d.try(ctx, d.control.Ping) != nil)
			case <-refresh:
				if err := d.try(ctx, d.refresh); err != nil {
					d.log.Warn("cannot refresh the TTL of counters", zap.Error(err))
				}
			}
		}
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

func (d *Daemon) refresh(ctx context.Context) error {
	return d.control.Refresh(ctx, d.upkeep.all(), d.layout.TTL)
}

// refreshing ticks often enough that a key in use never expires, and that one
// which somebody else deleted, and INCR made anew, soon has its TTL again.
func (d *Daemon) refreshing() (<-chan time.Time, func()) {
	if d.layout.TTL == 0 {
		return nil, func() {}
	}
	ticker := time.NewTicker(min(d.layout.TTL/4, refreshEvery))
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
