package metrics

import "time"

// Gauges are what the daemon says about itself at a scrape. No recorder and no
// ledger counts any of it: what is a counter here has been counted by the
// daemon since the start, and never falls. Nobody writes to its slices once
// it has been handed over.
type Gauges struct {
	Build  Build
	Target Target

	TargetAnswers  bool    // to a ping, at last
	OfferedRate    float64 // λ(t) now, in commands per second
	OpenLoop       bool    // false: arrivals wait for completions
	GeneratorValid bool    // false: the generator, not the target, sets the numbers
	Brakes         []bool  // by Labels.Brakes: true while it has stopped the load; nil: all off

	BatchCommands     int           // the limits of a batch in force
	BatchRequestBytes int           // encoded
	BatchReplyBytes   int           // encoded
	BatchDelay        time.Duration // 0: send when a connection is free

	QueueCommands int // the limits of all lanes' queues together
	QueueBytes    int // encoded request bytes

	UncertainExecuted    uint64   // uncertain increments that were read back and had executed
	UncertainNotExecuted uint64   // uncertain increments that were read back and had not
	TargetChanges        []uint64 // by Labels.Facts; nil: zeros
}

// Build says which build of the daemon runs.
type Build struct {
	Version   string
	Revision  string
	GoVersion string
}

// Target says what is loaded. Fields are empty until the target has told them.
type Target struct {
	Server      string
	Version     string
	Mode        string
	Topology    string
	Persistence string
}
