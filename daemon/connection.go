package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"go.uber.org/zap"

	"soakline/daemon/batch"
	"soakline/daemon/target"
	"soakline/daemon/workload"
	"soakline/metrics"
)

// link is an open connection to the target, as *target.Conn is.
type link interface {
	Prepare([]workload.Command)
	Exchange(ctx context.Context, written func()) error
	Sent() bool
	Reply(i int) workload.Reply
	Check(i int, c workload.Command) workload.Outcome
	Lost(i int, c workload.Command) bool
	Doubts() []workload.Doubt
	Demoted() error
	At() string
	Close() error
}

// connection serves a lane: it takes a batch, exchanges it, checks the replies
// and records them, for as long as the lane has any. It is one goroutine.
type connection struct {
	engine   *Engine
	lane     *lane
	recorder *metrics.Recorder
	owner    int // its number, from 0

	link       link // nil while there is none
	generation uint32
	opened     time.Duration // when its link had been opened
	free       time.Duration // when it became idle
	backOff    time.Duration // the least pause before the next attempt to connect; 0: none
	patience   time.Duration // until when what a new connection would not mend is put up with
	timer      *time.Timer   // of pauses, and of the leader
	leads      bool          // whether it holds the lane's lead
	written    func()        // pass

	batch    batch.Batch
	commands []workload.Command
	outcomes []workload.Outcome // of commands
}

func (c *connection) run() {
	defer c.engine.running.Done()
	defer c.disconnect()
	for c.connect() && c.lane.take(c) {
		c.exchange()
	}
}

// exchange sends the batch and settles it, whatever happens to it.
func (c *connection) exchange() {
	now := c.lane.now
	c.link.Prepare(c.commands)
	sent := now()
	err := c.link.Exchange(c.engine.base, c.written)
	replied := now()
	c.pass()
	c.settle(sent, replied)
	c.free = replied
	if c.link.Reply(0).Kind != workload.Missing {
		c.backOff = 0 // it answers
	}
	if p := c.engine.place.Load(); err == nil && p != nil && p.asked > c.opened && p.at != c.link.At() {
		err = errMoved
	}
	if err == nil && replied >= c.patience {
		err = c.suspicion()
	}
	if err != nil {
		c.lose(err)
	}
}

// pass passes the lead on, if the connection holds it.
func (c *connection) pass() {
	if c.leads {
		c.leads = false
		c.lane.lead <- struct{}{}
	}
}

// settle gives every command of the batch its outcome and records what it
// waited for. The parts of a response time are differences of the same few
// instants: they sum to it exactly.
func (c *connection) settle(sent, replied time.Duration) {
	c.outcomes = c.outcomes[:0]
	for i := range c.commands {
		c.outcomes = append(c.outcomes, c.link.Check(i, c.commands[i]))
	}
	c.lane.writes.Settle(c.owner)
	r := c.recorder
	r.Settle()
	defer r.Done()
	for i := range c.commands {
		command, outcome := &c.commands[i], c.outcomes[i]
		if outcome == workload.Unsent {
			r.Unsent(int(command.Kind), int(outcome))
			continue
		}
		ready := c.batch.ReadyAt(command)
		eligible := max(ready, c.free)
		r.Sent(int(command.Kind), int(outcome), metrics.Times{
			Formation:    ready - command.Intended,
			DispatchWait: eligible - ready,
			Lag:          sent - eligible,
			Queueing:     sent - command.Intended,
			Response:     replied - command.Intended,
		})
		c.note(i, outcome)
	}
	if c.link.Sent() {
		r.Exchange(metrics.Exchange{
			Service:      replied - sent,
			Mode:         int(c.engine.options.Mode),
			Flush:        int(c.batch.Reason),
			Commands:     c.batch.Commands,
			RequestBytes: c.batch.RequestBytes,
			ReplyBytes:   c.batch.ReplyBytes,
			RoundTrips:   1,
		})
	}
}

// note counts what the reply to the i-th command says beside its outcome.
func (c *connection) note(i int, outcome workload.Outcome) {
	command, reply := c.commands[i], c.link.Reply(i)
	switch {
	case reply.Kind == workload.Failure:
		c.recorder.ErrorReply(int(reply.Code))
	case command.Kind != workload.Get:
	case reply.Kind == workload.Bytes:
		c.recorder.Read(true)
		if outcome == workload.OK && c.link.Lost(i, command) {
			c.recorder.LostWrite()
		}
	case reply.Kind == workload.Nil:
		c.recorder.Read(false)
	}
}

// connect makes sure that there is a link, for as long as there is anything to
// take. The first attempt is at once. Further ones, up to the first reply, are
// spaced by a back-off that doubles up to its cap, each drawn from its upper
// half so that connections do not come back in step.
func (c *connection) connect() bool {
	for c.link == nil {
		if c.backOff > 0 {
			c.pause(c.backOff/2 + rand.N(c.backOff/2+1))
		}
		if c.engine.closing.Err() != nil || c.lane.drained() {
			return false
		}
		c.backOff = min(max(2*c.backOff, c.engine.options.ReconnectMin), c.engine.options.ReconnectMax)
		link, err := c.engine.options.Open(c.engine.closing, c.owner, c.generation)
		if err == nil {
			c.attach(link)
			c.opened = c.lane.now()
			c.free = c.opened
		} else if c.engine.closing.Err() == nil {
			c.recorder.Failed(int(target.FailureOf(err)))
			c.engine.log.Warn("cannot connect to the target", zap.Int("connection", c.owner), zap.Error(err))
		}
	}
	return c.engine.closing.Err() == nil
}

func (c *connection) attach(link link) {
	c.link = link
	c.generation++
	c.recorder.Opened()
	if up := c.engine.links.add(link); up == 1 && c.generation > 1 {
		c.engine.log.Info("the target answers again")
	}
}

// pause waits for d, or until the engine wants the connection to look around.
func (c *connection) pause(d time.Duration) {
	c.timer.Reset(d)
	select {
	case <-c.timer.C:
	case <-c.engine.stopping.Done():
		// a drain is short: try again soon, and stop with it
		c.timer.Reset(min(d, drainPause))
		select {
		case <-c.timer.C:
		case <-c.engine.closing.Done():
		}
	}
	c.timer.Stop()
}

// suspicion is why a connection that works is better replaced, if it is: its
// address may lead to another server by now, or the replies that it brings may
// be those of other commands.
func (c *connection) suspicion() error {
	if slices.Contains(c.outcomes, workload.Mismatch) {
		return target.ErrMismatch
	}
	return c.link.Demoted()
}

// errMoved is why a connection is left that leads to where the target was.
var errMoved = fmt.Errorf("the target has moved: %w", target.ErrDemoted)

// lose gives up a link that broke, or that is suspect. The latter, which a new
// one may well be too, not more often than attempts to connect that fail.
func (c *connection) lose(err error) {
	failure := target.FailureOf(err)
	c.recorder.Failed(int(failure))
	if failure == target.Role || failure == target.Mismatch {
		c.patience = c.lane.now() + c.engine.options.ReconnectMax
	}
	if failure == target.Role && c.engine.options.Demoted != nil {
		c.engine.options.Demoted()
	}
	c.engine.log.Warn("lost a connection to the target", zap.Int("connection", c.owner), zap.Error(err))
	c.disconnect()
}

func (c *connection) disconnect() {
	if c.link != nil {
		_ = c.link.Close() // nothing depends on how it ends
		if doubts := c.link.Doubts(); doubts != nil && c.engine.options.Doubt != nil {
			c.engine.options.Doubt(doubts)
		}
		if up := c.engine.links.remove(c.link); up == 0 && !c.engine.Draining() {
			c.engine.log.Warn("no connection to the target is left; arrivals go on")
		}
		c.link = nil
	}
}
