package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"soakline/daemon/workload"
)

func TestForeignKey(t *testing.T) {
	p := private(t)
	c := control(t, p.Options(usual))
	expect := func(want string) {
		t.Helper()
		if got, err := c.ForeignKey(t.Context()); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	expect("")
	for i := range 3 * chunk { // of another run
		c.client.Set(t.Context(), fmt.Sprintf("soakline:other:k%d", i), 1, 0)
	}
	expect("")
	c.client.Set(t.Context(), "soaklin", 1, 0)
	expect("soaklin")
}

// TestForeignKeyInTime: a search that is not over at its deadline found nothing
// out, wherever the deadline met it. Other errors are told as they are.
func TestForeignKeyInTime(t *testing.T) {
	slow := func(conn net.Conn, r *bufio.Reader) { // a database without end
		for {
			if _, err := readRequest(r); err != nil {
				return
			}
			time.Sleep(30 * time.Millisecond)
			_, _ = io.WriteString(conn, "*2\r\n$1\r\n7\r\n*1\r\n"+bulk("soakline:test:k001"))
		}
	}
	silent := func(_ net.Conn, r *bufio.Reader) { (&fake{}).take(r, endless) }
	broken := func(net.Conn, *bufio.Reader) {}
	for name, c := range map[string]struct {
		play     func(net.Conn, *bufio.Reader)
		deadline time.Duration
		took     time.Duration
		searched bool // the error is another than ErrUnsurveyed
	}{
		"while it waits":      {silent, 100 * time.Millisecond, 100 * time.Millisecond, false},
		"between two chunks":  {slow, 100 * time.Millisecond, 100 * time.Millisecond, false},
		"before the first":    {silent, 0, 0, false},
		"the read times out":  {silent, time.Minute, time.Second, true},
		"the connection ends": {broken, time.Minute, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{play: c.play}
			control := control(t, *f.options())
			// the fake plays once it has answered a PING
			if err := control.client.Ping(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
			defer cancel()
			begin := time.Now()
			key, err := control.ForeignKey(ctx)
			if took := time.Since(begin); key != "" || err == nil || errors.Is(err, ErrUnsurveyed) == c.searched || took != c.took {
				t.Errorf("%s: %q, %v after %v", name, key, err, took)
			}
			_ = control.Close()
			f.running.Wait()
		})
	}
}

// TestRemove: this run's keys, and no others, however alike.
func TestRemove(t *testing.T) {
	p := private(t)
	c := control(t, p.Options(usual))
	others := []string{"soakline:test", "soakline:test2:k001", "soakline:tes:k001", "xsoakline:test:k001", "soakline:other:test:1", "test:k001", "foreign"}
	pipe := c.client.Pipeline()
	for _, name := range others {
		pipe.Set(t.Context(), name, 1, 0)
	}
	const own = 3*chunk + 7
	for key := range uint64(own - 1) {
		pipe.Set(t.Context(), layout.Key(key), 1, 0)
	}
	pipe.Set(t.Context(), layout.Counter(layout.NewCounters(1, 2), 3), 1, 0)
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Remove(t.Context()); n != own || err != nil {
		t.Errorf("removed %d, %v; want %d", n, err, own)
	}
	left, err := c.client.Keys(t.Context(), "*").Result()
	slices.Sort(left)
	slices.Sort(others)
	if !slices.Equal(left, others) || err != nil {
		t.Errorf("left are %q, %v", left, err)
	}
	if n, err := c.Remove(t.Context()); n != 0 || err != nil {
		t.Errorf("removed %d more, %v", n, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Remove(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestRefresh: a counter has its TTL from the first, INCR leaves it alone, and
// Refresh puts it back.
func TestRefresh(t *testing.T) {
	p := private(t)
	o := p.Options(usual)
	c := control(t, o)
	names := make(map[string]bool)
	for owner := range 32 { // more counters than one chunk
		counters := layout.NewCounters(owner, 0)
		conn, err := Open(t.Context(), &o, Seat{Layout: layout, Counters: counters, Writes: layout.NewWrites(1, true), Counts: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got, err := exchange(t.Context(), conn, incr(0), incr(0)); err != nil || got[1] != workload.OK {
			t.Fatalf("%v, %v", got, err)
		}
		for _, name := range layout.Names(counters) {
			names[name] = true
		}
	}
	if len(names) <= chunk {
		t.Fatalf("%d counters are too few", len(names))
	}
	lived := func(least, most time.Duration) {
		t.Helper()
		for name := range names {
			if ttl, err := c.client.TTL(t.Context(), name).Result(); ttl < least || ttl > most || err != nil {
				t.Fatalf("the TTL of %s is %v, %v", name, ttl, err)
			}
		}
	}
	lived(layout.TTL-time.Minute, layout.TTL)
	for name := range names {
		c.client.Expire(t.Context(), name, time.Minute)
	}
	lived(0, time.Minute)
	if err := c.Refresh(t.Context(), slices.Collect(maps.Keys(names)), layout.TTL); err != nil {
		t.Fatal(err)
	}
	lived(layout.TTL-time.Minute, layout.TTL)
	if err := c.Refresh(t.Context(), nil, layout.TTL); err != nil {
		t.Errorf("nothing to refresh: %v", err)
	}
}

// TestControlConnects once, whatever it is asked.
func TestControlConnects(t *testing.T) {
	c := control(t, private(t).Options(usual))
	if _, _, err := c.Facts(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Refresh(t.Context(), []string{"soakline:test:c"}, layout.TTL); err != nil {
		t.Error(err)
	}
	list, err := c.client.ClientList(t.Context()).Result()
	if n := strings.Count(list, "\n"); n != 1 || err != nil {
		t.Errorf("%d connections, %v:\n%s", n, err, list)
	}
}

// TestPreload writes the key space in chunks, each value as a read expects it.
func TestPreload(t *testing.T) {
	p := private(t)
	for _, size := range []int{1, 70, 100_000, 300_000} {
		l := workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: fmt.Sprint(size), Keys: 1001, ValueSize: size, TTL: time.Hour})
		if size > 1000 {
			l = workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: fmt.Sprint(size), Keys: 5, ValueSize: size, TTL: time.Hour})
		}
		o := p.Options(usual)
		c := NewControl(&o, l)
		t.Cleanup(func() { _ = c.Close() })
		chunks := 0
		for from := uint64(0); from < l.Keys; chunks++ {
			next, err := c.Preload(t.Context(), from)
			if err != nil || next <= from {
				t.Fatalf("%d bytes: from %d to %d, %v", size, from, next, err)
			}
			if next-from > 1 && int(next-from)*size > preloadBytes {
				t.Errorf("%d values of %d bytes in one chunk", next-from, size)
			}
			from = next
		}
		if chunks < 3 {
			t.Errorf("%d bytes: %d chunks", size, chunks)
		}
		for key := range l.Keys {
			v, err := c.client.Get(t.Context(), l.Key(key)).Result()
			reply := workload.Reply{Kind: workload.Bytes, Bytes: []byte(v)}
			if outcome := l.Check(workload.Command{Kind: workload.Get, Key: key}, reply, true, nil); err != nil || outcome != workload.OK {
				t.Fatalf("key %d: %s, %v", key, outcome, err)
			}
		}
		if ttl, err := c.client.TTL(t.Context(), l.Key(1)).Result(); err != nil || ttl <= 0 || ttl > time.Hour {
			t.Errorf("the TTL of a key is %v, %v", ttl, err)
		}
	}
}

// TestRehearse: what a target refuses is told by command, and nothing is left.
func TestRehearse(t *testing.T) {
	o := private(t).Options(usual)
	admin := control(t, o)
	all := []workload.Kind{workload.Get, workload.Set, workload.Incr}
	if err := admin.Rehearse(t.Context(), all); err != nil {
		t.Error(err)
	}
	for user, tt := range map[string]struct {
		rules []any
		kinds []workload.Kind
		want  []string
	}{
		"reader": {[]any{"~*", "+get", "+ping"}, all, []string{"the target refuses set: NOPERM", "the target refuses incr: NOPERM"}},
		"read":   {[]any{"~*", "+get", "+ping"}, all[:1], nil},
		"no":     {[]any{"~*", "+@all", "-get", "-del"}, all, []string{"the target refuses get: NOPERM"}},
		"keys":   {[]any{"~other:*", "+@all"}, all[:1], []string{"the target refuses get: NOPERM"}},
	} {
		rules := append([]any{"acl", "setuser", user, "on", ">p"}, tt.rules...)
		if err := admin.client.Do(t.Context(), rules...).Err(); err != nil {
			t.Fatal(err)
		}
		limited := o
		limited.Username, limited.Password = user, "p"
		err := control(t, limited).Rehearse(t.Context(), tt.kinds)
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s: %v, want %q", user, err, tt.want)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v does not say %q", user, err, want)
			}
		}
		if user != "no" { // which cannot remove what it has written
			if n, err := admin.client.DBSize(t.Context()).Result(); n != 0 || err != nil {
				t.Errorf("%s: %d keys are left, %v", user, n, err)
			}
		}
		admin.client.FlushDB(t.Context())
	}
	o.Network, o.Address = "unix", filepath.Join(t.TempDir(), "none")
	if err := control(t, o).Rehearse(t.Context(), all); FailureOf(err) != Refused {
		t.Errorf("nobody there: %v", err)
	}
}

// TestValues: a counter that is gone, or is none, has no value; one that may
// not be read is an error.
func TestValues(t *testing.T) {
	o := private(t).Options(usual)
	c := control(t, o)
	names := []string{"soakline:test:none", "soakline:test:word", "soakline:test:list"}
	c.client.Set(t.Context(), names[1], "word", 0)
	c.client.RPush(t.Context(), names[2], 1)
	for i := range 2 * chunk {
		name := fmt.Sprintf("soakline:test:c%d", i)
		names = append(names, name)
		c.client.Set(t.Context(), name, i, 0)
	}
	got, err := c.Values(t.Context(), names)
	if err != nil || len(got) != len(names) || got[0] != nil || got[1] != nil || got[2] != nil {
		t.Fatalf("%d values of %d, %v", len(got), len(names), err)
	}
	for i, v := range got[3:] {
		if v == nil || *v != int64(i) {
			t.Errorf("counter %d is %v", i, v)
		}
	}
	c.client.Do(t.Context(), "acl", "setuser", "blind", "on", ">p", "~*", "+@all", "-get")
	o.Username, o.Password = "blind", "p"
	if got, err := control(t, o).Values(t.Context(), names); err == nil || got != nil {
		t.Errorf("%v, %v: want an error where GET is refused", got, err)
	}
}

// TestNobody: whoever is turned away at the handshake has done nothing, and
// learnt nothing.
func TestNobody(t *testing.T) {
	o := private(t).Options(usual)
	o.Username, o.Password = "nobody", "p"
	for name, do := range map[string]func(context.Context, *Control) error{
		"Ping":       func(ctx context.Context, c *Control) error { return c.Ping(ctx) },
		"Facts":      func(ctx context.Context, c *Control) error { _, _, err := c.Facts(ctx); return err },
		"ForeignKey": func(ctx context.Context, c *Control) error { _, err := c.ForeignKey(ctx); return err },
		"Rehearse":   func(ctx context.Context, c *Control) error { return c.Rehearse(ctx, []workload.Kind{workload.Set}) },
		"Preload":    func(ctx context.Context, c *Control) error { _, err := c.Preload(ctx, 0); return err },
		"Refresh":    func(ctx context.Context, c *Control) error { return c.Refresh(ctx, []string{"a"}, time.Minute) },
		"Values":     func(ctx context.Context, c *Control) error { _, err := c.Values(ctx, []string{"a"}); return err },
		"Remove":     func(ctx context.Context, c *Control) error { _, err := c.Remove(ctx); return err },
	} {
		c := NewControl(&o, layout)
		if err := do(t.Context(), c); err == nil || FailureOf(err) != Auth {
			t.Errorf("%s: %v, want WRONGPASS", name, err)
		}
		_ = c.Close()
	}
}
