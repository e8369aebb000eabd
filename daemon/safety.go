package daemon

import (
	"math"
	"sync"
	"time"

	"go.uber.org/zap"

	"soakline/daemon/target"
	"soakline/daemon/workload"
	"soakline/metrics"
)

// safety is the state of the brakes, and what they judge by.
type safety struct {
	mu      sync.Mutex
	brakes  brakes
	usage   target.Usage  // as last told
	spared  target.Usage  // the same when the load began, or last went on
	goneOn  time.Duration // when it last went on after a brake
	stopped []Braked      // those that have tripped, in their order; the last maxBraked
	trips   uint64        // all of them
	blind   bool          // the target does not tell how full it is, which has been said
}

// maxBraked bounds what a summary lists of a load that stops and goes for a
// week.
const maxBraked = 100

// Braked is one trip of a brake.
type Braked struct {
	Brake   string  `json:"brake"`
	Why     string  `json:"why"`
	Seconds float64 `json:"seconds"` // after the start
}

// used takes over how full the target is.
func (s *safety) used(u target.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case u == target.Usage{}: // it is not told any more: what is known stays
		return
	case s.usage == target.Usage{}:
		s.spared = u
	case s.spared.RunID != u.RunID && u.Uptime <= 2*surveyEvery:
		s.spared = target.Usage{RunID: u.RunID} // a new process: all that it has evicted was under this load
	case s.spared.RunID != u.RunID:
		s.spared = u // one with a past
	case s.brakes.why[brakeEviction] != "":
		s.spared = s.usage // it is over when nothing is evicted any more
	}
	s.usage = u
}

// begin lets brakes go that tripped before an earlier attempt to begin failed.
func (s *safety) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release()
}

// release lets all brakes go, and forgets the evictions that there have been.
// The lock is held.
func (s *safety) release() {
	s.brakes.why = [brakeCount]string{}
	s.spared = s.usage
}

// room is the target's maxmemory in bytes; without one, more than any.
func (s *safety) room() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usage.MaxMemory == 0 {
		return math.MaxInt64
	}
	return s.usage.MaxMemory
}

// sightless tells, once, that brakes are set which see nothing.
func (s *safety) sightless() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.brakes.limits
	if s.blind || s.usage != (target.Usage{}) || l.MaxMemoryRatio == 0 && !l.StopOnEviction {
		return false
	}
	s.blind = true
	return true
}

// on tells which brakes are on.
func (s *safety) on() []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.brakes.on()
}

// reason is why the load is stopped; "" if it is not.
func (s *safety) reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.brakes.reason()
}

// history is what has stopped the load, and how often.
func (s *safety) history() ([]Braked, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Braked{}, s.stopped...), s.trips
}

// observe completes o with what the target has told.
func (s *safety) observe(o observation) observation {
	if s.usage.MaxMemory > 0 {
		o.full = float64(s.usage.Memory) / float64(s.usage.MaxMemory)
	}
	o.evicted = s.usage.Evicted - s.spared.Evicted
	if s.goneOn > 0 && o.at-s.goneOn < windowSize*watchEvery {
		o.settled, o.failed = 0, 0 // the window reaches back to what had tripped a brake
		o.arrived = 0
	}
	if o.arrived > 0 {
		o.rate = o.arrived
	}
	return o
}

// brake judges whether the load may go on.
func (d *Daemon) brake(o observation) {
	s := &d.safety
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.brakes.judge(s.observe(o)) {
		name := zap.String("brake", brakeNames[b.brake])
		if b.why == "" {
			d.log.Info("a brake lets go", name)
			continue
		}
		d.log.Error("a brake stops the load", name, zap.String("why", b.why), zap.String("resume", d.config.Safety.Resume))
		s.trips++
		s.stopped = append(s.stopped[max(0, len(s.stopped)+1-maxBraked):], Braked{brakeNames[b.brake], b.why, o.at.Seconds()})
	}
	d.hold()
}

// hold stops the engine while a brake is on. The lock is held.
func (d *Daemon) hold() {
	e := d.engine.Load()
	if e == nil {
		return
	}
	on := d.safety.brakes.reason() != ""
	if e.Hold(on) && !on {
		d.safety.spared = d.safety.usage
		d.safety.goneOn = e.now()
		d.log.Info("the load goes on", zap.Uint64("keys_preloaded", d.preloaded.Load()), zap.Uint64("of", d.layout.Keys))
	}
}

// resume lets all brakes go, and says whether any was on. One whose reason
// still holds trips again within a second.
func (d *Daemon) resume() bool {
	s := &d.safety
	s.mu.Lock()
	defer s.mu.Unlock()
	on := s.brakes.reason() != ""
	s.release()
	d.hold()
	return on
}

// observed is what an interval of the load shows to the brakes.
func (d *Daemon) observed(e *Engine, at time.Duration, i *metrics.Interval) observation {
	o := observation{at: at, rate: e.Rate(), settled: i.Settled()}
	o.failed = o.settled - i.SettledAs(int(workload.OK))
	if !d.process().OpenLoop() {
		o.arrived = float64(i.Arrivals()) / i.Elapsed.Seconds()
	}
	return o
}
