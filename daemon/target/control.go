package target

import (
	"context"

	"github.com/redis/go-redis/v9"

	"soakline/daemon/workload"
)

// chunk is how many keys one control command names: enough to be quick, too
// few to be felt by the target's other clients.
const chunk = 500

// Control speaks to a target beside the load: facts, safety, upkeep of keys.
// It may be used by several goroutines.
type Control struct {
	client *redis.Client
	layout *workload.Layout
}

// NewControl does not connect yet.
func NewControl(o *Options, layout *workload.Layout) *Control {
	return &Control{client: o.client(inPool(o.dialer())), layout: layout}
}

// Close ends the control connection.
func (c *Control) Close() error { return c.client.Close() }

// Ping tells whether the target answers, and takes user, password and database.
func (c *Control) Ping(ctx context.Context) error { return c.client.Ping(ctx).Err() }
