package target

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"soakline/daemon/workload"
)

// embedded starts an embedded server for a test.
func embedded(t testing.TB) *Embedded {
	t.Helper()
	e, err := StartEmbedded()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Stop() })
	return e
}

// TestServers loads both servers that soakline starts itself, in every way.
func TestServers(t *testing.T) {
	servers := []struct {
		name    string
		options func(*testing.T) Options
	}{
		{"private", func(t *testing.T) Options { return private(t).Options(usual) }},
		{"embedded", func(t *testing.T) Options { return embedded(t).Options(usual) }},
	}
	for _, server := range servers {
		for protocol := 2; protocol <= 3; protocol++ {
			for _, size := range []int{1, 10} {
				t.Run(fmt.Sprintf("%s, protocol %d, %d a batch", server.name, protocol, size), func(t *testing.T) {
					o := server.options(t)
					o.Protocol = protocol
					load(t, o, size)
				})
			}
		}
	}
}

func load(t *testing.T, o Options, size int) {
	counters := layout.NewCounters(1, 1)
	conn, err := Open(t.Context(), &o, Seat{Layout: layout, Counters: counters, Writes: layout.NewWrites(1, true), Counts: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	steps := []struct {
		command workload.Command
		reply   string // its bytes; "": nil
	}{
		{get(1), ""},
		{set(1, 5), "OK"},
		{get(1), string(layout.AppendValue(nil, 1, 5))},
		{incr(2), "1"},
		{incr(2), "2"},
		{incr(3), "1"},
		{set(1, 6), "OK"},
		{get(1), string(layout.AppendValue(nil, 1, 6))},
		{get(4), ""},
		{incr(2), "3"},
	}
	for part := range slices.Chunk(steps, size) {
		var commands []workload.Command
		for _, step := range part {
			commands = append(commands, step.command)
		}
		outcomes, err := exchange(t.Context(), conn, commands...)
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range part {
			reply := conn.Reply(i)
			if outcomes[i] != workload.OK || string(reply.Bytes) != step.reply || (reply.Kind == workload.Nil) != (step.reply == "") {
				t.Errorf("%s %d: %s, %q; want %q", step.command.Kind, step.command.Key, outcomes[i], reply.Bytes, step.reply)
			}
		}
	}
	c := control(t, o)
	for _, name := range []string{layout.Key(1), layout.Counter(counters, 2)} {
		if ttl, err := c.client.TTL(t.Context(), name).Result(); ttl <= 0 || ttl > layout.TTL || err != nil {
			t.Errorf("the TTL of %s is %v, %v", name, ttl, err)
		}
	}
}

// TestErrorReplies of a real server, in the middle of a pipeline.
func TestErrorReplies(t *testing.T) {
	o := private(t).Options(usual)
	c := control(t, o)
	conn := open(t, &o)
	c.client.LPush(t.Context(), layout.Key(1), "a list")
	c.client.ConfigSet(t.Context(), "maxmemory", "1")
	got, err := exchange(t.Context(), conn, get(2), get(1), set(3, 1), get(2))
	want := []workload.Outcome{workload.OK, workload.ErrorReply, workload.ErrorReply, workload.OK}
	if !slices.Equal(got, want) || err != nil {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if a, b := conn.Reply(1).Code, conn.Reply(2).Code; a != workload.CodeOf("WRONGTYPE") || b != workload.CodeOf("OOM") {
		t.Errorf("the codes are %s and %s", a, b)
	}
}

// TestUsers: a password is taken as it is, and a wrong one is told as such.
func TestUsers(t *testing.T) {
	o := private(t).Options(usual)
	const password = "p:a@s/s?w%o#r d"
	admin := control(t, o)
	for _, args := range [][]any{
		{"acl", "setuser", "loader", "on", ">" + password, "~*", "+@all"},
		{"acl", "setuser", "mute", "on", ">" + password, "~*"},
		{"acl", "setuser", "default", "on", "resetpass", ">" + password},
	} {
		if err := admin.client.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		user, password string
		want           bool
	}{
		{"loader", password, true},
		{"", password, true}, // the default user
		{"loader", "p", false},
		{"nobody", password, false},
		{"mute", password, false}, // who may not even PING
		{"", "p", false},
		{"", "", false},
	} {
		for protocol := 2; protocol <= 3; protocol++ {
			o.Username, o.Password, o.Protocol = c.user, c.password, protocol
			conn, err := Open(t.Context(), &o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
			if c.want != (err == nil) || err != nil && FailureOf(err) != Auth {
				t.Errorf("user %q, password %q: %v", c.user, c.password, err)
			}
			if err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("the error tells the password: %v", err)
			}
			if err == nil {
				_ = conn.Close()
			}
		}
	}
}

// TestDatabase: the load goes to the database that was asked for.
func TestDatabase(t *testing.T) {
	o := private(t).Options(usual)
	admin := control(t, o) // in database 0
	o.Database = 3
	conn := open(t, &o)
	if got, err := exchange(t.Context(), conn, set(1, 1)); got[0] != workload.OK || err != nil {
		t.Errorf("%s, %v", got[0], err)
	}
	if n, err := admin.client.DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("database 0 holds %d keys: %v", n, err)
	}
	o.Database = 99
	if _, err := Open(t.Context(), &o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)}); FailureOf(err) != Rejected {
		t.Errorf("database 99: %v", err)
	}
}
