package metrics

import (
	"fmt"
	"sync"
)

// Snapshot is the state of all lanes and connections at one instant: what has
// been counted since the start, and what is under way.
type Snapshot struct {
	Counts
	QueuedCommands   int
	QueuedBytes      int // encoded request bytes
	InFlightCommands int
	InFlightBatches  int
	ConnectionsUp    int
}

// NewSnapshot returns the snapshot of a daemon that has not started.
func NewSnapshot(l *Labels) *Snapshot { return &Snapshot{Counts: *newCounts(l)} }

// Balance checks the conservation law: arrivals = shed + settled + queued + in
// flight. The error says by how much it is off.
func (s *Snapshot) Balance() error {
	accounted := s.Shed() + s.Settled() + uint64(s.QueuedCommands) + uint64(s.InFlightCommands)
	if off := int64(s.Arrivals() - accounted); off != 0 {
		return fmt.Errorf("balance the ledger: arrivals %d, but shed %d + settled %d + queued %d + in flight %d: off by %+d",
			s.Arrivals(), s.Shed(), s.Settled(), s.QueuedCommands, s.InFlightCommands, off)
	}
	return nil
}

func (s *Snapshot) reset() {
	s.Counts.reset()
	*s = Snapshot{Counts: s.Counts}
}

// Totals sums over all lanes and connections since the start.
type Totals struct {
	mu     sync.Mutex // guards what follows, and is taken before any lane's lock
	lanes  []Lane
	counts *Counts   // of all recorders, up to the last collection
	spares []*Counts // an empty one for each recorder, lane by lane
}

// NewTotals returns the totals of lanes.
func NewTotals(l *Labels, lanes []Lane) *Totals {
	t := &Totals{lanes: lanes, counts: newCounts(l)}
	for _, lane := range lanes {
		for range lane.Recorders {
			t.spares = append(t.spares, newCounts(l))
		}
	}
	return t
}

// Collect overwrites s with a snapshot. All locks are held at once, for as
// long as it takes to read the ledgers and to exchange a pointer for each
// recorder; what the recorders counted is merged afterwards.
func (t *Totals) Collect(s *Snapshot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.reset()
	t.take(s)
	for _, c := range t.spares {
		t.counts.add(c)
		c.reset()
	}
	s.add(t.counts)
}

// take exchanges the counts of each recorder for its spare, and puts everything
// else into s.
func (t *Totals) take(s *Snapshot) {
	for _, lane := range t.lanes {
		lane.Lock.Lock()
		for _, r := range lane.Recorders {
			r.mu.Lock()
		}
	}
	i := 0
	for _, lane := range t.lanes {
		s.addLedger(lane.Ledger)
		for _, r := range lane.Recorders {
			r.counts, t.spares[i] = t.spares[i], r.counts
			i++
			s.InFlightCommands += r.inFlightCommands
			s.InFlightBatches += r.inFlightBatches
			if r.up {
				s.ConnectionsUp++
			}
		}
	}
	for _, lane := range t.lanes {
		for _, r := range lane.Recorders {
			r.mu.Unlock()
		}
		lane.Lock.Unlock()
	}
}

func (s *Snapshot) addLedger(l *Ledger) {
	addTo(s.arrivals, l.Arrivals)
	addTo(s.shed, l.Shed)
	for command, settled := range l.Settled {
		addTo(s.commands[command*s.outcomes:], settled)
	}
	s.QueuedCommands += l.QueuedCommands
	s.QueuedBytes += l.QueuedBytes
}
