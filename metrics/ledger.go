package metrics

import "sync"

// Ledger counts for one lane what happens outside its connections. It is
// guarded by the lane's own lock.
type Ledger struct {
	Arrivals       []uint64   // commands that were due, by command
	Shed           []uint64   // of these, refused, by reason
	Settled        [][]uint64 // of these, settled without a connection, by command and outcome
	QueuedCommands int        // admitted and not yet taken
	QueuedBytes    int        // their encoded request bytes
}

// NewLedger returns an empty ledger.
func NewLedger(l *Labels) *Ledger {
	ledger := &Ledger{
		Arrivals: make([]uint64, len(l.Commands)),
		Shed:     make([]uint64, len(l.Shed)),
		Settled:  make([][]uint64, len(l.Commands)),
	}
	for i := range ledger.Settled {
		ledger.Settled[i] = make([]uint64, len(l.Outcomes))
	}
	return ledger
}

// Lane is a ledger, the lock that guards it, and the recorders of the lane's
// connections. Their locks are taken after the lane's. A snapshot waits for the
// lock: nobody may sleep while holding it.
type Lane struct {
	Lock      sync.Locker
	Ledger    *Ledger
	Recorders []*Recorder
}
