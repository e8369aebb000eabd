package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"soakline/daemon/workload"
)

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
			return fmt.Errorf("refresh the TTL of keys: %w", err)
		}
		names = names[n:]
	}
	return nil
}

// preloadBytes bounds the values of one chunk of a preload.
const preloadBytes = 256 << 10

// Preload writes the values of the keys from on, up to a chunk of them and no
// further than the key space, and says where to go on. Its error says what the
// target refused, or why it could not be reached.
func (c *Control) Preload(ctx context.Context, from uint64) (next uint64, err error) {
	n := max(1, min(chunk, preloadBytes/c.layout.ValueSize))
	next = min(c.layout.Keys, from+uint64(n))
	pipe := c.client.Pipeline()
	for key := from; key < next; key++ {
		pipe.Set(ctx, c.layout.Key(key), c.layout.AppendValue(nil, key, workload.Preloaded), c.layout.TTL)
	}
	_, err = pipe.Exec(ctx)
	return next, err
}

// Rehearse sends one command of each kind, and removes what they have written.
// Its error says which of them the target refuses. It is for before a run: it
// uses the first key and the first counters.
func (c *Control) Rehearse(ctx context.Context, kinds []workload.Kind) error {
	counters := c.layout.NewCounters(0, 0)
	pipe := c.client.Pipeline()
	for _, kind := range kinds {
		var a workload.Args
		c.layout.Args(&a, workload.Command{Kind: kind, Version: workload.Preloaded}, counters)
		args := make([]any, len(a.Strings))
		for i, s := range a.Strings {
			args[i] = s
		}
		pipe.Do(ctx, args...)
	}
	commands, err := each(ctx, pipe)
	if err != nil {
		return err
	}
	var faults []error
	writes := false
	for i, command := range commands {
		if err := command.Err(); err != nil && !errors.Is(err, redis.Nil) {
			faults = append(faults, fmt.Errorf("the target refuses %s: %w", kinds[i], err))
		} else {
			writes = writes || workload.Commands[kinds[i]].Writes
		}
	}
	if writes {
		// Where it is refused, the keys have their TTL, and cleaning up comes
		// by them again.
		_ = c.client.Del(ctx, c.layout.Key(0), c.layout.Counter(counters, 0)).Err()
	}
	return errors.Join(faults...)
}

// each sends commands that may be refused each by itself, which they tell. An
// error concerns all of them, as a refusal at the handshake does: go-redis tells
// the commands nothing of it.
func each(ctx context.Context, pipe redis.Pipeliner) ([]redis.Cmder, error) {
	commands, err := pipe.Exec(ctx)
	var refused redis.Error
	if errors.As(err, &refused) && slices.ContainsFunc(commands, func(c redis.Cmder) bool { return c.Err() != nil }) {
		err = nil
	}
	return commands, err
}

var wrongType = workload.CodeOf("WRONGTYPE")

// Values reads counters. One that does not exist, or is no number, is nil.
func (c *Control) Values(ctx context.Context, names []string) ([]*int64, error) {
	values := make([]*int64, 0, len(names))
	for len(names) > 0 {
		n := min(chunk, len(names))
		pipe := c.client.Pipeline()
		replies := make([]*redis.StringCmd, n)
		for i, name := range names[:n] {
			replies[i] = pipe.Get(ctx, name)
		}
		if _, err := each(ctx, pipe); err != nil {
			return nil, fmt.Errorf("read counters: %w", err)
		}
		var refused redis.Error
		for _, reply := range replies {
			v, err := reply.Int64()
			switch {
			case err == nil:
				values = append(values, &v)
			case errors.Is(err, redis.Nil), !errors.As(err, &refused), workload.CodeOf(refused.Error()) == wrongType:
				values = append(values, nil)
			default:
				return nil, fmt.Errorf("read counters: %w", err)
			}
		}
		names = names[n:]
	}
	return values, nil
}
