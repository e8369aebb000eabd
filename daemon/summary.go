package daemon

import (
	"fmt"
	"time"

	"soakline/daemon/batch"
	"soakline/daemon/target"
	"soakline/daemon/workload"
	"soakline/metrics"
)

// Summary is what a run came to. Its JSON form is for other programs: fields
// are added to it, never renamed.
type Summary struct {
	ElapsedSeconds float64 `json:"elapsed_seconds"` // from the first arrival's instant to the end of the drain
	LoadSeconds    float64 `json:"load_seconds"`    // of these, those with arrivals: without the drain
	Offered        float64 `json:"offered"`         // arrivals per second of LoadSeconds
	Throughput     float64 `json:"throughput"`      // settled commands per second of ElapsedSeconds
	Goodput        float64 `json:"goodput"`         // commands settled ok per second of ElapsedSeconds
	BrakedSeconds  float64 `json:"braked_seconds"`  // of LoadSeconds, those in which a brake held arrivals
	OpenLoop       bool    `json:"open_loop"`       // false: arrivals waited for completions
	GeneratorValid bool    `json:"generator_valid"` // false: for some of the time the generator set the numbers

	Ledger  Ledger            `json:"ledger"`
	Seconds Times             `json:"seconds"`
	Batches Batches           `json:"batches"`
	Errors  map[string]uint64 `json:"errors"` // error replies, by code
	Reads   map[string]uint64 `json:"reads"`  // that were answered: hit or miss
	Seed    uint64            `json:"seed"`   // in effect
	Config  map[string]any    `json:"config"`
	Target  target.Facts      `json:"target"` // at the end

	Increments    Increments        `json:"uncertain_increments"`
	LostWrites    uint64            `json:"lost_writes"`    // acknowledged, and found to be gone
	TargetChanges map[string]uint64 `json:"target_changes"` // by fact
	Brakes        []Braked          `json:"brakes"`         // that stopped the load, in their order; the last hundred
	BrakeTrips    uint64            `json:"brake_trips"`    // all of them
	Preloaded     uint64            `json:"preloaded"`      // keys that were written beforehand
	PreloadCut    bool              `json:"preload_cut"`    // by a brake: reads of the others miss

	unbalanced error
}

// Increments are those of outcome uncertain, by what came out when their
// counters were read back.
type Increments struct {
	Executed    uint64 `json:"executed"`
	NotExecuted uint64 `json:"not_executed"`
	Unknown     uint64 `json:"unknown"` // the counter was lost, or could not be read
}

// Ledger is where every arrival went.
type Ledger struct {
	Arrivals   uint64            `json:"arrivals"`
	Shed       uint64            `json:"shed"`
	ShedReason map[string]uint64 `json:"shed_by_reason"`
	Settled    map[string]uint64 `json:"settled"` // by outcome
	Queued     uint64            `json:"queued"`
	InFlight   uint64            `json:"in_flight"`
}

// Times are the distributions in seconds.
type Times struct {
	QueueingDelay  Distribution `json:"queueing_delay"`
	FormationDelay Distribution `json:"formation_delay"`
	DispatchWait   Distribution `json:"dispatch_wait"`
	ScheduleLag    Distribution `json:"schedule_lag"`
	ServiceTime    Distribution `json:"service_time"` // one per exchange
	ResponseTime   Distribution `json:"response_time"`
}

// Distribution sums up a histogram, in seconds. Its quantiles are within 1 %.
type Distribution struct {
	Count    uint64  `json:"count"`
	Mean     float64 `json:"mean"`
	P50      float64 `json:"p50"`
	P95      float64 `json:"p95"`
	P99      float64 `json:"p99"`
	P999     float64 `json:"p999"`
	Max      float64 `json:"max"`
	Overflow uint64  `json:"overflow"` // beyond the histogram's range; counted, and in max
}

// Batches sums up the batches that were sent.
type Batches struct {
	Count        uint64            `json:"count"`
	MeanCommands float64           `json:"mean_commands"`
	ByReason     map[string]uint64 `json:"by_reason"`
}

// Balance is the ledger's check: nil when every arrival is accounted for once,
// with nothing queued or in flight.
func (s *Summary) Balance() error { return s.unbalanced }

// AllOK tells whether nothing but ok happened: every arrival was admitted and
// had the right reply.
func (s *Summary) AllOK() bool {
	return s.Ledger.Settled[workload.OK.String()] == s.Ledger.Arrivals
}

// summary sums up a run that has drained, load after its start its arrivals
// ended and elapsed after it the drain did.
func (d *Daemon) summary(e *Engine, load, elapsed time.Duration) *Summary {
	c := metrics.NewSnapshot(labels())
	e.Collect(c)
	facts := d.facts.Load()
	executed, not, lost, open := d.doubts.count()
	brakes, trips := d.safety.history()
	return &Summary{
		ElapsedSeconds: elapsed.Seconds(),
		LoadSeconds:    load.Seconds(),
		BrakedSeconds:  min(load, e.HeldFor()).Seconds(),
		Offered:        float64(c.Arrivals()) / load.Seconds(),
		Throughput:     float64(c.Settled()) / elapsed.Seconds(),
		Goodput:        float64(c.SettledAs(int(workload.OK))) / elapsed.Seconds(),
		OpenLoop:       d.process().OpenLoop(),
		GeneratorValid: !d.everInvalid.Load() && d.lagging(&c.Counts) == "",
		Ledger: Ledger{
			Arrivals:   c.Arrivals(),
			Shed:       c.Shed(),
			ShedReason: named(shedReasons, c.ShedFor),
			Settled:    named(workload.Outcomes, c.SettledAs),
			Queued:     uint64(c.QueuedCommands),
			InFlight:   uint64(c.InFlightCommands),
		},
		Seconds: Times{
			QueueingDelay:  distribution(c.QueueingDelay()),
			FormationDelay: distribution(c.FormationDelay()),
			DispatchWait:   distribution(c.DispatchWait()),
			ScheduleLag:    distribution(c.ScheduleLag()),
			ServiceTime:    distribution(c.ServiceTime()),
			ResponseTime:   distribution(c.ResponseTime()),
		},
		Batches: Batches{
			Count:        c.BatchCommands().Count(),
			MeanCommands: c.BatchCommands().Mean(),
			ByReason:     named(batch.Reasons, c.BatchesFor),
		},
		Errors:        present(named(workload.Codes, c.ErrorRepliesFor)),
		Reads:         map[string]uint64{"hit": c.Reads(true), "miss": c.Reads(false)},
		Seed:          d.seed,
		Config:        d.config.Redacted(),
		Target:        *facts,
		Increments:    Increments{Executed: executed, NotExecuted: not, Unknown: lost + open},
		LostWrites:    c.LostWrites(),
		TargetChanges: present(named(target.FactNames(), func(i int) uint64 { return d.changes[i].Load() })),
		Brakes:        brakes,
		BrakeTrips:    trips,
		Preloaded:     d.preloaded.Load(),
		PreloadCut:    d.preloads() && d.preloaded.Load() < d.layout.Keys,
		unbalanced:    settledUp(c),
	}
}

// settledUp checks the conservation law after a drain, when nothing is queued
// or in flight any more.
func settledUp(c *metrics.Snapshot) error {
	if c.QueuedCommands != 0 || c.InFlightCommands != 0 {
		return fmt.Errorf("after the drain %d commands are queued and %d in flight", c.QueuedCommands, c.InFlightCommands)
	}
	return c.Balance()
}

func distribution(h *metrics.Histogram) Distribution {
	q := func(p float64) float64 { return time.Duration(h.Quantile(p)).Seconds() }
	return Distribution{
		Count: h.Count(), Mean: h.Mean() / float64(time.Second),
		P50: q(0.5), P95: q(0.95), P99: q(0.99), P999: q(0.999),
		Max: time.Duration(h.Max()).Seconds(), Overflow: h.Overflow(),
	}
}

// named gives each count its name.
func named(names []string, count func(int) uint64) map[string]uint64 {
	m := make(map[string]uint64, len(names))
	for i, name := range names {
		m[name] = count(i)
	}
	return m
}

// present leaves out what did not happen.
func present(m map[string]uint64) map[string]uint64 {
	for name, n := range m {
		if n == 0 {
			delete(m, name)
		}
	}
	return m
}
