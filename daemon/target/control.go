package target

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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

// Facts are what a target says about itself, in its own words.
type Facts struct {
	Server      string `json:"server"`      // redis, valkey or embedded
	Version     string `json:"version"`     // of the server
	Mode        string `json:"mode"`        // standalone, cluster or sentinel
	Topology    string `json:"topology"`    // how soakline sees it
	Persistence string `json:"persistence"` // none, rdb, aof, rdb+aof; unknown where it is not told
	Real        bool   `json:"real"`        // false: in-process, its numbers say nothing about a server
}

// Facts asks the target. What it does not tell is "unknown".
func (c *Control) Facts(ctx context.Context) (Facts, error) {
	f := Facts{Server: "redis", Version: "unknown", Mode: "unknown", Topology: "standalone", Persistence: "unknown", Real: true}
	if err := c.Ping(ctx); err != nil {
		return f, err
	}
	text, err := c.client.Info(ctx).Result()
	var refused redis.Error
	if errors.As(err, &refused) {
		return f, nil // a proxy, or an ACL without INFO
	}
	if err != nil {
		return f, fmt.Errorf("ask the target about itself: %w", err)
	}
	info := parseInfo(text)
	if v, ok := info["redis_version"]; ok {
		f.Version = v
	}
	if v, ok := info["valkey_version"]; ok {
		f.Server, f.Version = "valkey", v
	}
	if v, ok := info["redis_mode"]; ok {
		f.Mode = v
	}
	if v, ok := info["server_mode"]; ok {
		f.Mode = v
	}
	save, err := c.client.ConfigGet(ctx, "save").Result()
	if aof, ok := info["aof_enabled"]; ok && err == nil {
		f.Persistence = persistence(save["save"] != "", aof == "1")
	}
	return f, nil
}

func persistence(rdb, aof bool) string {
	switch {
	case rdb && aof:
		return "rdb+aof"
	case rdb:
		return "rdb"
	case aof:
		return "aof"
	}
	return "none"
}

// parseInfo reads the key:value lines of INFO.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[key] = value
		}
	}
	return info
}

// ErrUnsurveyed is the error of ForeignKey when the time did not suffice.
var ErrUnsurveyed = errors.New("the database is too large to be searched for foreign keys in time")

// ForeignKey finds a key in the database that does not have soakline's prefix,
// whatever its run: "" where there is none. The search is read-only, in chunks,
// and ends with ctx.
func (c *Control) ForeignKey(ctx context.Context) (string, error) {
	iterator := c.client.Scan(ctx, 0, "", chunk).Iterator()
	for iterator.Next(ctx) {
		if !strings.HasPrefix(iterator.Val(), c.layout.Prefix) {
			return iterator.Val(), nil
		}
	}
	err := iterator.Err()
	if deadline, ok := ctx.Deadline(); err != nil && ok && !time.Now().Before(deadline) {
		return "", ErrUnsurveyed // the error is that of ctx, or of a read that ended with it
	}
	return "", err
}

// Remove deletes the keys of this run, and says how many there were. It walks
// the database in chunks and ends with ctx; what is left has its TTL.
func (c *Control) Remove(ctx context.Context) (removed int64, err error) {
	var cursor uint64
	for {
		keys, next, err := c.client.Scan(ctx, cursor, c.layout.Pattern(), chunk).Result()
		if err != nil {
			return removed, fmt.Errorf("look for this run's keys: %w", err)
		}
		if len(keys) > 0 {
			n, err := c.client.Unlink(ctx, keys...).Result()
			if err != nil {
				return removed, fmt.Errorf("remove this run's keys: %w", err)
			}
			removed += n
		}
		if cursor = next; cursor == 0 {
			return removed, nil
		}
	}
}

// Refresh puts the TTL of the given keys back to its full length.
func (c *Control) Refresh(ctx context.Context, names []string, ttl time.Duration) error {
	for len(names) > 0 {
		n := min(chunk, len(names))
		pipe := c.client.Pipeline()
		for _, name := range names[:n] {
			pipe.Expire(ctx, name, ttl)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("refresh the TTL of counters: %w", err)
		}
		names = names[n:]
	}
	return nil
}
