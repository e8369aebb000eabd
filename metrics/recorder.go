// Package metrics knows what is counted and how it is exposed: the metric
// table, the histograms, the recorder of a connection, the ledger of a lane,
// consistent snapshots of both, and the exporter. It must never know Redis, a
// clock or a goroutine. Label values go by small integers; their names come
// from outside.
package metrics

import (
	"sync"
	"time"
)

// Recorder counts for one connection. Its lock is taken twice a batch: when
// the batch is taken, and when its commands are settled.
type Recorder struct {
	mu               sync.Mutex
	counts           *Counts // since the last collection, which takes it away
	inFlightCommands int
	inFlightBatches  int
	up               bool
}

// Times are those of one sent command, in the words of the metric table:
// Queueing = Formation + DispatchWait + Lag, and Response = Queueing + the
// exchange's service time, to the nanosecond.
type Times struct {
	Response     time.Duration
	Queueing     time.Duration
	Lag          time.Duration
	Formation    time.Duration
	DispatchWait time.Duration
}

// Exchange is one batch of which at least one byte was written.
type Exchange struct {
	Service      time.Duration
	Mode         int
	Flush        int // why the batch was closed
	Commands     int
	RequestBytes int // encoded
	ReplyBytes   int // encoded, expected
	RoundTrips   int
}

// NewRecorder returns the recorder of a connection that is not up.
func NewRecorder(l *Labels) *Recorder { return &Recorder{counts: newCounts(l)} }

// Begin puts a batch of commands in flight. The caller holds the lock of the
// lane's ledger, from which it takes them: no snapshot falls in between.
func (r *Recorder) Begin(commands int) {
	r.mu.Lock()
	r.inFlightCommands = commands
	r.inFlightBatches = 1
	r.mu.Unlock()
}

// Settle locks the recorder until Done. In between, every command of the batch
// that is in flight gets its outcome by Sent or Unsent.
func (r *Recorder) Settle() {
	r.mu.Lock()
	r.inFlightCommands = 0
	r.inFlightBatches = 0
}

// Done ends what Settle began.
func (r *Recorder) Done() { r.mu.Unlock() }

// Sent settles a command that was written, or partly written.
func (r *Recorder) Sent(command, outcome int, t Times) {
	c := r.counts
	c.commands[command*c.outcomes+outcome]++
	c.responseTime[command].Record(int64(t.Response))
	c.queueingDelay.Record(int64(t.Queueing))
	c.scheduleLag.Record(int64(t.Lag))
	c.formationDelay.Record(int64(t.Formation))
	c.dispatchWait.Record(int64(t.DispatchWait))
}

// Unsent settles a command that was not written: it has no times.
func (r *Recorder) Unsent(command, outcome int) {
	c := r.counts
	c.commands[command*c.outcomes+outcome]++
}

// ErrorReply counts the code of an error reply, beside the command's outcome.
func (r *Recorder) ErrorReply(code int) { r.counts.errorReplies[code]++ }

// Read counts what a read found, beside the command's outcome.
func (r *Recorder) Read(hit bool) {
	if hit {
		r.counts.reads[readHit]++
	} else {
		r.counts.reads[readMiss]++
	}
}

// LostWrite counts a read that returned an older version than one already
// acknowledged for that key to this daemon, beside what Read counts.
func (r *Recorder) LostWrite() { r.counts.lostWrites[0]++ }

// Exchange counts the exchange of the batch that is being settled.
func (r *Recorder) Exchange(x Exchange) {
	c := r.counts
	c.batches[x.Flush]++
	c.roundTrips[0] += uint64(x.RoundTrips)
	c.serviceTime[x.Mode].Record(int64(x.Service))
	c.batchCommands.Record(int64(x.Commands))
	c.batchRequestBytes.Record(int64(x.RequestBytes))
	c.batchReplyBytes.Record(int64(x.ReplyBytes))
}

// Opened says that the connection is up. It must not be called between Settle
// and Done.
func (r *Recorder) Opened() {
	r.mu.Lock()
	r.counts.connectionsOpened[0]++
	r.up = true
	r.mu.Unlock()
}

// Failed says that the connection broke or could not be made. It must not be
// called between Settle and Done.
func (r *Recorder) Failed(reason int) {
	r.mu.Lock()
	r.counts.failures[reason]++
	r.up = false
	r.mu.Unlock()
}

// The results of a read, and the values of the label result.
const (
	readHit = iota
	readMiss
)

var readResults = []string{readHit: "hit", readMiss: "miss"}
