package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// questionSize is the size in bytes of the buffers of a connection to a
// sentinel: it carries one question.
const questionSize = 4 << 10

// ErrNotAllowed is the error of Master where a sentinel leads to an address to
// which the load must not go.
var ErrNotAllowed = errors.New("the address is not allowed")

// SentinelOptions say which sentinels to ask for which master.
type SentinelOptions struct {
	// Options are those of the sentinels themselves, of which Address, Network,
	// Database and Locate are not used.
	Options   Options
	Addresses []string // host:port of each sentinel, at least one
	Master    string   // the name by which they know it

	// Allows tells whether the load may go to an address. It may be called by
	// several goroutines at once. nil: to every address.
	Allows func(address string) bool
}

// Sentinels tell where the master of a replicated target is at present. They
// are those that are configured: others that these know of are not asked. Each
// question has a connection of its own, which ends with it, so that there is
// nothing to close and no answer comes over a connection that is long dead.
//
// A sentinel can be behind, and a planned failover leaves the old master alive:
// whoever has connections to a master asks again from time to time, and leaves
// an address that is no longer the answer.
type Sentinels struct {
	options SentinelOptions
	first   atomic.Int64 // index of the sentinel to ask first
}

// NewSentinels does not connect yet.
func NewSentinels(o SentinelOptions) *Sentinels {
	o.Options.Network, o.Options.Database, o.Options.Locate = "tcp", 0, nil
	return &Sentinels{options: o}
}

// Master is the address of the master: the answer of the first sentinel that
// has one. They are asked in turn, once each, beginning with the one that
// answered last. Each has the dial and read timeouts, and of the time that ctx
// leaves no more than an equal share, lest one that hangs uses up the time of
// the others. The errors of all are joined. It may be called by several
// goroutines at once.
func (s *Sentinels) Master(ctx context.Context) (address string, err error) {
	n := len(s.options.Addresses)
	if n == 0 {
		return "", errors.New("there is no sentinel to ask")
	}
	first := int(s.first.Load())
	var errs []error
	for i := range n {
		at := (first + i) % n
		address, err := s.ask(ctx, s.options.Addresses[at], n-i)
		if err == nil {
			s.first.Store(int64(at))
			return address, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return "", errors.Join(errs...)
}

// ask asks one sentinel, with a share of the time that ctx leaves.
func (s *Sentinels) ask(ctx context.Context, sentinel string, shares int) (string, error) {
	ctx, cancel := share(ctx, shares)
	defer cancel()
	answer, err := s.question(ctx, sentinel)
	if errors.Is(err, redis.Nil) {
		return "", fmt.Errorf("sentinel %s knows no master %q", sentinel, s.options.Master)
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // rather than what its end did to the connection
	}
	if err != nil {
		return "", fmt.Errorf("ask sentinel %s: %w", sentinel, err)
	}
	if len(answer) != 2 {
		return "", fmt.Errorf("sentinel %s answers %q instead of a host and a port", sentinel, answer)
	}
	address := net.JoinHostPort(answer[0], answer[1])
	if s.options.Allows != nil && !s.options.Allows(address) {
		return "", fmt.Errorf("sentinel %s leads to %s: %w", sentinel, address, ErrNotAllowed)
	}
	return address, nil
}

// question puts the question over a new connection, which ends with ctx at the
// latest.
func (s *Sentinels) question(ctx context.Context, sentinel string) ([]string, error) {
	o := s.options.Options
	o.Address = sentinel
	dialling, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	conn, err := o.dialer()(dialling, o.Network, sentinel)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	settings := o.redisOptions(func(context.Context, string, string) (net.Conn, error) { return conn, nil })
	settings.ReadBufferSize, settings.WriteBufferSize = questionSize, questionSize
	client := redis.NewSentinelClient(settings)
	defer client.Close()
	return client.GetMasterAddrByName(ctx, s.options.Master).Result()
}

// share is ctx for one of n equal parts of the time it leaves.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(n))
}
