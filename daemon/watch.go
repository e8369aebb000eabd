package daemon

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"soakline/daemon/config"
	"soakline/daemon/workload"
	"soakline/metrics"
)

const (
	watchEvery = time.Second // a step of the window
	windowSize = 10          // steps: what a log line and the validity look back on
)

// announce logs what is loaded, where, and where to look.
func (d *Daemon) announce(web *webServer) {
	c := d.config
	facts := d.facts.Load()
	server := d.server.Load()
	if server.kind == config.Embedded {
		d.log.Warn("the target is embedded in this process: numbers taken on it say nothing about Redis; install redis-server, or name a target.url")
	}
	d.log.Info("loading",
		zap.String("target", server.kind.String()),
		zap.String("address", server.options.Address),
		zap.String("server", facts.Server),
		zap.String("version", facts.Version),
		zap.String("server_mode", facts.Mode),
		zap.String("role", facts.Role),
		zap.String("persistence", facts.Persistence),
		zap.String("maxmemory", facts.MaxMemory),
		zap.String("maxmemory_policy", facts.MaxMemoryPolicy),
		zap.Bool("real", facts.Real),
		zap.String("process", c.Arrival.Process),
		zap.Float64("rate", c.Arrival.Rate),
		zap.Uint64("seed", d.seed),
		zap.String("mode", c.Batch.Mode),
		zap.Int("max_commands", c.Batch.MaxCommands),
		zap.Duration("max_delay", c.Batch.MaxDelay),
		zap.Int("connections", c.Target.Connections),
		zap.String("metrics", web.url()),
	)
}

// watch follows the engine until ctx is done or the duration has passed, and
// says how long arrivals went on.
func (d *Daemon) watch(ctx context.Context, e *Engine) time.Duration {
	if d.config.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.config.Duration)
		defer cancel()
	}
	steps := time.NewTicker(watchEvery)
	defer steps.Stop()
	server := d.server.Load()
	ended := server.ended()
	snapshot := metrics.NewSnapshot(labels())
	window := metrics.NewWindow(labels(), windowSize)
	for step := 1; ; {
		select {
		case <-ctx.Done():
			d.step(e, snapshot, window)
			return e.now()
		case <-ended:
			d.log.Error("the private server has ended", zap.String("log", server.private.Log()))
			ended = nil
		case <-steps.C:
			interval := d.step(e, snapshot, window)
			if step%windowSize == 0 {
				d.report(interval)
			}
			step++
		}
	}
}

// step moves the window on to now, and judges the generator by it.
func (d *Daemon) step(e *Engine, snapshot *metrics.Snapshot, window *metrics.Window) *metrics.Interval {
	at := e.now()
	e.Collect(snapshot)
	window.Push(at, snapshot)
	interval := window.Interval()
	d.judge(interval)
	d.brake(d.observed(e, at, interval))
	return interval
}

// judge decides whether the generator was valid over an interval. The first
// seconds of a run, too few for a p99, are judged with those that follow.
func (d *Daemon) judge(i *metrics.Interval) {
	why := ""
	if i.Elapsed > (windowSize-1)*watchEvery || i.ShedFor(shedTooLate) > 0 {
		why = d.lagging(&i.Counts)
	}
	if was := d.invalid.Swap(why != ""); why != "" && !was {
		d.everInvalid.Store(true)
		d.log.Warn("the generator is not valid: this machine, not the target, sets the numbers", zap.String("why", why))
	}
}

// lagging says in which way the generator's own lateness was too large for the
// numbers to be the target's; "" if it was not.
func (d *Daemon) lagging(c *metrics.Counts) string {
	lag := time.Duration(c.ScheduleLag().Quantile(0.99))
	if late := c.ShedFor(shedTooLate); late > 0 {
		return fmt.Sprintf("%d arrivals were noticed too late and shed", late)
	}
	if bound := d.config.Arrival.MaxLag; lag > bound {
		return fmt.Sprintf("p99 schedule lag is %v, above arrival.max_lag, %v", lag.Round(time.Microsecond), bound)
	}
	return ""
}

// report logs what happened over an interval.
func (d *Daemon) report(i *metrics.Interval) {
	seconds := i.Elapsed.Seconds()
	queueing, response := i.QueueingDelay(), i.ResponseTime()
	d.log.Info("load",
		zap.Float64("offered", whole(float64(i.Arrivals())/seconds)),
		zap.Float64("throughput", whole(float64(i.Settled())/seconds)),
		quantile("queueing_p50", queueing, 0.5),
		quantile("queueing_p95", queueing, 0.95),
		quantile("queueing_p99", queueing, 0.99),
		quantile("response_p50", response, 0.5),
		quantile("response_p95", response, 0.95),
		quantile("response_p99", response, 0.99),
		zap.Uint64("errors", i.Settled()-i.SettledAs(int(workload.OK))),
		zap.Uint64("shed", i.Shed()),
		zap.Bool("generator_valid", !d.invalid.Load()),
	)
}

// whole rounds a rate to a tenth, which is all that a log line needs.
func whole(rate float64) float64 { return float64(int64(rate*10+0.5)) / 10 }

func quantile(key string, h *metrics.Histogram, q float64) zap.Field {
	return zap.Duration(key, time.Duration(h.Quantile(q)).Round(time.Microsecond))
}
