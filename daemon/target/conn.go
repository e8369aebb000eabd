package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"soakline/daemon/workload"
)

// LastIncrements is how long the counters of a connection that is gone are
// kept, for increments that it may still have on the way.
const LastIncrements = time.Minute

// Conn is one connection, which carries one exchange at a time. It is used by
// one goroutine; only Close may be called by another.
type Conn struct {
	layout   *workload.Layout
	counters *workload.Counters
	writes   *workload.Writes

	client *redis.Client
	conn   *redis.Conn
	pipe   redis.Pipeliner
	wire   *wire

	slots   []*slot
	cmds    []redis.Cmder // the slots
	n       int           // of them, in this exchange
	broken  error         // why the connection is to be replaced
	demoted error         // the target's first refusal of a write because it is no master
	lost    bool          // a reply could not be read: none behind it will be
	before  uint64        // bytes written before this exchange
	horizon uint64        // of the writes of this exchange
	at      string        // where it leads
}

// Seat says for whom a connection works.
type Seat struct {
	Layout   *workload.Layout
	Counters *workload.Counters // of this connection alone
	Writes   *workload.Writes   // of all connections
	Counts   bool               // whether it will send INCR: its counters are then made
}

// Open connects, authenticates and makes the connection's counters; those of
// the connection before it expire. It ends with ctx.
func Open(ctx context.Context, o *Options, seat Seat) (*Conn, error) {
	located := *o
	c := &Conn{at: o.Address, layout: seat.Layout, counters: seat.Counters, writes: seat.Writes}
	if o.Locate != nil {
		located.Locate = func(ctx context.Context) (string, error) {
			at, err := o.Locate(ctx)
			c.at = at
			return at, err
		}
	}
	c.client = located.client(c.until(ctx, located.dialer()))
	c.conn = c.client.Conn()
	c.pipe = c.conn.Pipeline()
	cut := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer cut()
	if err := c.begin(ctx, seat.Counts); err != nil {
		_ = c.Close()
		if ctx.Err() != nil {
			err = ctx.Err() // rather than what its end did to the connection
		}
		return nil, fmt.Errorf("open %s: %w", o.Address, err)
	}
	c.wire.settle()
	return c, nil
}

// begin makes go-redis dial and shake hands.
func (c *Conn) begin(ctx context.Context, counts bool) error {
	err := c.conn.Ping(ctx).Err()
	if err != nil || !counts {
		return err
	}
	pipe := c.conn.Pipeline()
	pipe.Ping(ctx) // go-redis drops a connection if READONLY is the first reply to a pipeline
	for _, name := range c.layout.Names(c.counters) {
		pipe.Set(ctx, name, 0, c.layout.TTL)
	}
	for _, name := range c.layout.Previous(c.counters) {
		pipe.Expire(ctx, name, LastIncrements)
	}
	_, err = each(ctx, pipe) // where these are refused, the workload's will be too, and counted
	return err
}

// Prepare sets what the next exchange sends.
func (c *Conn) Prepare(commands []workload.Command) {
	for len(c.slots) < len(commands) {
		s := newSlot(c, c.layout.ValueSize+len("\r\n"))
		c.slots = append(c.slots, s)
		c.cmds = append(c.cmds, s)
	}
	c.n = len(commands)
	c.demoted = nil
	c.horizon = c.writes.Horizon()
	var ahead uint64
	for i := range commands {
		s := c.slots[i]
		s.prepare(commands[i])
		s.ahead = ahead
		if commands[i].Kind == workload.Get {
			s.floor = c.writes.Floor(commands[i].Key)
		}
		ahead += uint64(commands[i].RequestBytes)
	}
}

// Exchange sends what has been prepared and reads the replies, once. It calls
// written when the first bytes have been written, unless that fails. An error
// says why the connection is to be replaced; the replies that arrived before it
// are there all the same. Errors of single commands are not errors of the
// exchange.
func (c *Conn) Exchange(ctx context.Context, written func()) error {
	c.before = c.wire.written
	c.wire.onWrite = written
	err := c.pipe.BatchProcess(ctx, c.cmds[:c.n]...)
	if err == nil {
		_, err = c.pipe.Exec(ctx)
	}
	if c.broken == nil {
		c.broken = err
	}
	if c.broken == nil {
		c.wire.settle()
	}
	return c.broken
}

// Sent tells whether any byte of the last exchange was written.
func (c *Conn) Sent() bool { return c.wire.written != c.before }

// Reply is what came back for the i-th command of the last exchange. Its bytes
// are valid until the next one.
func (c *Conn) Reply(i int) workload.Reply { return c.slots[i].reply }

// Check judges the reply to commands[i] of the last exchange, once. Without a
// reply the command is unsent only if not one byte of it was written.
func (c *Conn) Check(i int, command workload.Command) workload.Outcome {
	s := c.slots[i]
	outcome := c.layout.Check(command, s.reply, c.wire.written-c.before > s.ahead, c.counters)
	if command.Version != 0 {
		c.writes.Wrote(command, outcome, c.horizon)
	}
	return outcome
}

// Lost tells whether the reply to a read, commands[i] of the last exchange,
// whose outcome is ok, shows that the target has lost a write.
func (c *Conn) Lost(i int, command workload.Command) bool {
	s := c.slots[i]
	return c.writes.Lost(c.layout, command.Key, s.reply.Bytes, s.floor)
}

// Doubts lists the counters whose increments may have executed without a reply.
func (c *Conn) Doubts() []workload.Doubt { return c.layout.Doubts(c.counters) }

// Demoted is the refusal of a write of the last exchange because the target is
// no master, nil if there was none: its address may by now lead to another
// server.
func (c *Conn) Demoted() error { return c.demoted }

// At is the address to which the connection leads.
func (c *Conn) At() string { return c.at }

// Close ends the connection, and with it an exchange that is under way. It may
// be called more than once, and by any goroutine.
func (c *Conn) Close() error { return c.client.Close() }

// until is dial for this connection's transport. It ends with ctx, which
// go-redis does not hand on.
func (c *Conn) until(ctx context.Context, dial dialer) dialer {
	return func(attempt context.Context, network, address string) (net.Conn, error) {
		attempt, cancel := context.WithCancel(attempt)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		conn, err := dial(attempt, network, address)
		if err != nil {
			return nil, err
		}
		c.wire = conn.(*wire) // as all that dialer makes
		return c.wire, nil
	}
}

// failure is what err, met while a reply was read, says of its command. The
// first error that is not the target's own ends the exchange: go-redis spreads
// it over the commands behind, whose replies were not read.
func (c *Conn) failure(err error) workload.Reply {
	var refused redis.Error
	if errors.As(err, &refused) {
		code := workload.CodeOf(refused.Error())
		if code == readOnly && c.demoted == nil {
			c.demoted = err
		}
		return workload.Reply{Kind: workload.Failure, Code: code}
	}
	first := !c.lost
	c.lost = true
	if c.broken == nil {
		c.broken = err
	}
	if first && foreign(err) {
		return workload.Reply{Kind: workload.Foreign}
	}
	return workload.Reply{Kind: workload.Missing}
}
