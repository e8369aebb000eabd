package target

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// unknown is what a target does not tell.
const unknown = "unknown"

// Facts are what a target says about itself, in its own words.
type Facts struct {
	Server          string `json:"server"`           // redis, valkey or embedded
	Version         string `json:"version"`          // of the server
	Mode            string `json:"mode"`             // standalone, cluster or sentinel
	Role            string `json:"role"`             // master or slave
	Topology        string `json:"topology"`         // how it is reached; not the target's to say
	Persistence     string `json:"persistence"`      // none, rdb, aof, rdb+aof
	MaxMemory       string `json:"maxmemory"`        // in bytes; 0: no bound
	MaxMemoryPolicy string `json:"maxmemory_policy"` // what it evicts at that bound
	RunID           string `json:"run_id"`           // of the server's process: a restart changes it
	Real            bool   `json:"real"`             // false: in-process, its numbers say nothing about a server
}

// String sums f up for people.
func (f Facts) String() string {
	return fmt.Sprintf("%s %s, %s, %s, persistence %s, maxmemory %s, %s", f.Server, f.Version, f.Mode, f.Role, f.Persistence, f.MaxMemory, f.MaxMemoryPolicy)
}

// facts is the table of what may change while a target is loaded.
var facts = []struct {
	name string
	of   func(*Facts) *string
}{
	{"server", func(f *Facts) *string { return &f.Server }},
	{"version", func(f *Facts) *string { return &f.Version }},
	{"mode", func(f *Facts) *string { return &f.Mode }},
	{"role", func(f *Facts) *string { return &f.Role }},
	{"persistence", func(f *Facts) *string { return &f.Persistence }},
	{"maxmemory", func(f *Facts) *string { return &f.MaxMemory }},
	{"maxmemory_policy", func(f *Facts) *string { return &f.MaxMemoryPolicy }},
	{"run_id", func(f *Facts) *string { return &f.RunID }},
}

// FactNames lists the facts that may change.
func FactNames() []string {
	names := make([]string, len(facts))
	for i, fact := range facts {
		names[i] = fact.name
	}
	return names
}

// Change is one fact that has changed.
type Change struct {
	Fact     int // an index into FactNames
	From, To string
}

// Learn takes over what later says, and lists what has changed since. What is
// not told, or was not, is no change.
func (f *Facts) Learn(later Facts) []Change {
	var changes []Change
	for i, fact := range facts {
		from, to := fact.of(f), *fact.of(&later)
		if to == unknown || to == *from {
			continue
		}
		if *from != unknown {
			changes = append(changes, Change{i, *from, to})
		}
		*from = to
	}
	return changes
}

// Usage is how full a target is. Numbers that it does not tell are 0.
type Usage struct {
	Memory    int64         // bytes in use
	MaxMemory int64         // its bound in bytes; 0: none
	Evicted   int64         // keys that were evicted since RunID began
	RunID     string        // of the process that counts them
	Uptime    time.Duration // of that process, in whole seconds
}

// Facts asks the target what it is and how full. What it does not tell is
// "unknown".
func (c *Control) Facts(ctx context.Context) (Facts, Usage, error) {
	f := Facts{Real: true}
	for _, fact := range facts {
		*fact.of(&f) = unknown
	}
	f.Server = "redis"
	if err := c.Ping(ctx); err != nil {
		return f, Usage{}, err
	}
	text, err := c.client.Info(ctx).Result()
	var refused redis.Error
	if errors.As(err, &refused) {
		return f, Usage{}, nil // a proxy, or an ACL without INFO
	}
	if err != nil {
		return f, Usage{}, fmt.Errorf("ask the target about itself: %w", err)
	}
	info := parseInfo(text)
	for _, told := range []struct {
		field string
		fact  *string
	}{
		{"redis_version", &f.Version},
		{"valkey_version", &f.Version},
		{"redis_mode", &f.Mode},
		{"server_mode", &f.Mode},
		{"role", &f.Role},
		{"maxmemory", &f.MaxMemory},
		{"maxmemory_policy", &f.MaxMemoryPolicy},
		{"run_id", &f.RunID},
	} {
		if value, ok := info[told.field]; ok {
			*told.fact = value
		}
	}
	if _, ok := info["valkey_version"]; ok {
		f.Server = "valkey"
	}
	save, err := c.client.ConfigGet(ctx, "save").Result()
	if aof, ok := info["aof_enabled"]; ok && err == nil {
		f.Persistence = persistence(save["save"] != "", aof == "1")
	}
	number := func(field string) int64 {
		n, _ := strconv.ParseInt(info[field], 10, 64)
		return n
	}
	uptime := time.Duration(number("uptime_in_seconds")) * time.Second
	return f, Usage{number("used_memory"), number("maxmemory"), number("evicted_keys"), f.RunID, uptime}, nil
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
