// Package target knows go-redis: how to reach a target, how to send a batch to
// it and read its replies, what its errors mean, and the servers that soakline
// starts itself. It must never know metrics or configuration files.
package target

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// bufferSize is the size in bytes of a connection's read and write buffers:
// measured, 32 to 512 KiB are equally fast and 4 KiB is slower.
const bufferSize = 128 << 10

// Options say where a target is and how to speak to it.
type Options struct {
	Network      string        // tcp or unix
	Address      string        // host:port, or a socket's path
	Username     string        // of the ACL; empty: the default user
	Password     string        // empty: no AUTH
	Database     int           // from 0
	Protocol     int           // RESP version, 2 or 3
	DialTimeout  time.Duration // for reaching the target, TLS and all
	ReadTimeout  time.Duration // for all replies of one exchange
	WriteTimeout time.Duration // for writing one batch
	TLS          *TLS          // nil: none

	// Locate is asked before each dial where the target is now, within the
	// dial's time, and may be asked by several connections at once. Address is
	// then only its name, in errors. nil: it is at Address.
	Locate func(ctx context.Context) (address string, err error)

	// Dial replaces the network, for tests; nil: net.Dialer.
	Dial dialer
}

// client is a go-redis client that does what it is told once.
func (o *Options) client(dial dialer) *redis.Client { return redis.NewClient(o.redisOptions(dial)) }

// redisOptions are those of every go-redis client: no retries of any kind, no
// second pool, nothing sent about itself. What is measured is what was asked
// for.
func (o *Options) redisOptions(dial dialer) *redis.Options {
	silence()
	return &redis.Options{
		Network:                  o.Network,
		Addr:                     o.Address,
		Username:                 o.Username,
		Password:                 o.Password,
		DB:                       o.Database,
		Protocol:                 o.Protocol,
		Dialer:                   dial,
		DialTimeout:              o.DialTimeout,
		ReadTimeout:              o.ReadTimeout,
		WriteTimeout:             o.WriteTimeout,
		ContextTimeoutEnabled:    true,
		MaxRetries:               -1,
		DialerRetries:            1,
		PoolSize:                 2, // after as many failures go-redis would dial by itself
		PipelinePoolSize:         -1,
		ReadBufferSize:           bufferSize,
		WriteBufferSize:          bufferSize,
		ConnMaxIdleTime:          -1,
		ConnMaxLifetime:          -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// silence keeps go-redis from writing to standard error by itself: what it
// would say comes back as errors, too.
var silence = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
