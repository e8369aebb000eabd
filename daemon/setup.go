package daemon

import (
	"context"
	"slices"

	"soakline/daemon/arrival"
	"soakline/daemon/batch"
	"soakline/daemon/target"
	"soakline/daemon/workload"
)

func (d *Daemon) engineOptions() EngineOptions {
	c := d.config
	mode, limits, queue := d.batches()
	mix := d.mix()
	seat := target.Seat{Layout: d.layout, Writes: d.writes, Counts: d.draws(workload.Incr)}
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
		Writes:       d.writes,
		Held:         d.safety.reason() != "",
		Doubt:        d.doubts.add,
		Demoted:      d.renew,
		Open: func(ctx context.Context, owner int, generation uint32) (link, error) {
			seat := seat
			seat.Counters = d.layout.NewCounters(owner, generation)
			d.upkeep.set(owner, nil)
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

// leaves tells whether the run leaves anything at the target.
func (d *Daemon) leaves() bool {
	return d.preloads() || slices.ContainsFunc(d.mix(), func(s workload.Share) bool { return workload.Commands[s.Kind].Writes })
}

// draws tells whether the mix has a kind of command.
func (d *Daemon) draws(kind workload.Kind) bool {
	return slices.ContainsFunc(d.mix(), func(s workload.Share) bool { return s.Kind == kind })
}

// reads tells whether the load reads the keys of its key space.
func (d *Daemon) reads() bool { return d.draws(workload.Get) }

// preloads tells whether the key space is to be written before the load.
func (d *Daemon) preloads() bool { return d.config.Workload.Preload && d.reads() }
