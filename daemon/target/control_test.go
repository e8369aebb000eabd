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

	"soakline/daemon/batch"
	"soakline/daemon/workload"
)

func TestFacts(t *testing.T) {
	p := private(t)
	c := control(t, p.Options(usual))
	server, _, _ := strings.Cut(filepath.Base(p.Binary), "-")
	want := Facts{Server: server, Mode: "standalone", Topology: "standalone", Persistence: "none", Real: true}
	for _, step := range []struct{ name, value, persistence string }{
		{"save", "", "none"}, {"appendonly", "yes", "aof"}, {"save", "3600 1", "rdb+aof"}, {"appendonly", "no", "rdb"},
	} {
		if err := c.client.ConfigSet(t.Context(), step.name, step.value).Err(); err != nil {
			t.Fatal(err)
		}
		got, err := c.Facts(t.Context())
		if err != nil || !strings.Contains(got.Version, ".") {
			t.Errorf("version %q, %v", got.Version, err)
		}
		want.Version, want.Persistence = got.Version, step.persistence
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestFactsUntold: what an ACL hides is unknown, and no reason to give up.
func TestFactsUntold(t *testing.T) {
	p := private(t)
	o := p.Options(usual)
	admin := control(t, o)
	for user, rule := range map[string]string{"a": "-info", "b": "-config"} {
		if err := admin.client.Do(t.Context(), "acl", "setuser", user, "on", ">p", "~*", "+@all", rule).Err(); err != nil {
			t.Fatal(err)
		}
		o.Username, o.Password = user, "p"
		got, err := control(t, o).Facts(t.Context())
		if err != nil || got.Persistence != "unknown" || (got.Version == "unknown") != (user == "a") {
			t.Errorf("%s: %+v, %v", rule, got, err)
		}
	}
}

func TestFactsOfEmbedded(t *testing.T) {
	e := embedded(t)
	if f := e.Facts(); f.Server != "embedded" || f.Real {
		t.Errorf("%+v", f)
	}
	if _, err := control(t, e.Options(usual)).Facts(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFactsUnreachable is the one way to fail.
func TestFactsUnreachable(t *testing.T) {
	o := usual
	o.Network, o.Address = "unix", filepath.Join(t.TempDir(), "none")
	if _, err := control(t, o).Facts(t.Context()); FailureOf(err) != Refused {
		t.Errorf("%v", err)
	}
}

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
		conn, err := Open(t.Context(), &o, Seat{Layout: layout, Counters: counters, Mode: batch.Pipeline, Counts: true})
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
	if _, err := c.Facts(t.Context()); err != nil {
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
