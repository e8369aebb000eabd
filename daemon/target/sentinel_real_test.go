package target

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"soakline/daemon/servertest"
	"soakline/daemon/workload"
)

// process is a server of the test's own, and how to speak to it.
type process struct {
	*servertest.Server
	options Options
}

// launch starts one and waits until it answers.
func launch(t *testing.T, config, password string, args ...string) *process {
	t.Helper()
	p := &process{Server: servertest.Start(t, servertest.Options{Config: config, Args: args}), options: usual}
	p.options.Network, p.options.Address = "tcp", p.Address
	p.options.Username, p.options.Password, p.options.Database = "", password, 0
	return p
}

// ask sends a command over a connection of its own, and returns what the reply
// says.
func (p *process) ask(t *testing.T, args ...any) (string, error) {
	client := p.options.client(p.options.dialer())
	defer client.Close()
	reply, err := client.Do(t.Context(), args...).Result()
	return fmt.Sprint(reply), err
}

// tells is whether the server's INFO has a text by now.
func (p *process) tells(t *testing.T, text string) func() bool {
	return func() bool {
		info, _ := p.ask(t, "info")
		return strings.Contains(info, text)
	}
}

// until waits until done, and tells whether it is. It waits for up to a minute:
// sentinels that do not agree on a leader try again after six seconds and more.
func until(t *testing.T, done func() bool) bool {
	deadline := time.After(time.Minute)
	for !done() {
		select {
		case <-t.Context().Done():
			return false
		case <-deadline:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return true
}

// replicated is a master with one replica, watched by three sentinels that know
// it as m, and each other.
type replicated struct {
	master, replica *process
	sentinels       []*process
}

// replicate starts them; password is that of the sentinels, "" for none.
func replicate(t *testing.T, password string) *replicated {
	t.Helper()
	const server = "repl-diskless-sync-delay 0\n"
	r := &replicated{master: launch(t, server, "")}
	host, port, _ := net.SplitHostPort(r.master.Address)
	r.replica = launch(t, server+fmt.Sprintf("replicaof %s %s\n", host, port), "")
	if !until(t, r.replica.tells(t, "master_link_status:up")) {
		t.Fatal("the replica does not follow")
	}
	config := fmt.Sprintf("sentinel monitor m %s %s 2\n", host, port) +
		"sentinel down-after-milliseconds m 500\nsentinel failover-timeout m 3000\nsentinel parallel-syncs m 1\n"
	if password != "" {
		config += "requirepass " + password + "\nsentinel sentinel-pass " + password + "\n"
	}
	for range 3 {
		r.sentinels = append(r.sentinels, launch(t, config, password, "--sentinel"))
	}
	for _, s := range r.sentinels {
		if !until(t, s.tells(t, "status=ok,address="+r.master.Address+",slaves=1,sentinels=3")) {
			t.Fatal("the sentinels do not find each other")
		}
	}
	return r
}

// addresses of the sentinels.
func (r *replicated) addresses() (all []string) {
	for _, s := range r.sentinels {
		all = append(all, s.Address)
	}
	return all
}

// TestFailover: what is dialled once the master has moved is the replica, which
// has become it, whether the old one died or lives on.
func TestFailover(t *testing.T) {
	crash := func(_ *testing.T, r *replicated) { r.master.Kill() }
	plan := func(t *testing.T, r *replicated) {
		if _, err := r.sentinels[0].ask(t, "sentinel", "failover", "m"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, password string // of the sentinels
		move           func(*testing.T, *replicated)
	}{
		{"crash", "", crash},
		{"crash, with a password", "secret", crash},
		{"planned", "", plan},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := replicate(t, c.password)
			failover(t, r, c.password, c.move)
		})
	}
}

func failover(t *testing.T, r *replicated, password string, move func(*testing.T, *replicated)) {
	o := usual
	o.Username, o.Password, o.Database = "", password, 0
	sentinels := NewSentinels(SentinelOptions{Options: o, Addresses: r.addresses(), Master: "m"})
	o.Network, o.Address, o.Password, o.Locate = "tcp", "m", "", sentinels.Master
	c := control(t, o)
	serves := func(p *process) {
		t.Helper()
		if got, err := sentinels.Master(t.Context()); got != p.Address || err != nil {
			t.Errorf("the master is %q, %v; want %q", got, err, p.Address)
		}
		conn := open(t, &o)
		if got, err := exchange(t.Context(), conn, set(1, 1)); got[0] != workload.OK || err != nil {
			t.Errorf("SET: %s, %v", got[0], err)
		}
		if n, err := p.ask(t, "exists", layout.Key(1)); n != "1" || err != nil {
			t.Errorf("the key is not at %s: %v", p.Address, err)
		}
	}
	serves(r.master)
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("PING: %v", err)
	}

	move(t, r)
	moved := func() bool {
		got, err := sentinels.Master(t.Context())
		return err == nil && got == r.replica.Address
	}
	if !until(t, moved) {
		t.Fatal("no failover")
	}
	// what the old master had is there: another SET is to show
	if _, err := r.replica.ask(t, "del", layout.Key(1)); err != nil {
		t.Fatal(err)
	}
	serves(r.replica)
	if !until(t, func() bool { return c.Ping(t.Context()) == nil }) {
		t.Error("the control connection does not follow")
	}
}

// TestSentinelAnswers of a real sentinel: what it does not know, and whom it
// does not take.
func TestSentinelAnswers(t *testing.T) {
	const password = "secret"
	s := launch(t, "requirepass "+password+"\nsentinel monitor m 127.0.0.1 6379 2\n", password, "--sentinel")
	for _, c := range []struct {
		name, password, want string
		failure              Failure
	}{
		{"m", password, "", 0},
		{"x", password, "sentinel " + s.Address + ` knows no master "x"`, Other},
		{"m", "wrong", "ask sentinel " + s.Address + ": ", Auth},
		{"m", "", "ask sentinel " + s.Address + ": NOAUTH", Auth},
	} {
		for protocol := 2; protocol <= 3; protocol++ {
			o := usual
			o.Username, o.Password, o.Protocol = "", c.password, protocol
			_, err := NewSentinels(SentinelOptions{Options: o, Addresses: []string{s.Address}, Master: c.name}).Master(t.Context())
			if (err == nil) != (c.want == "") || err != nil && (!strings.HasPrefix(err.Error(), c.want) || FailureOf(err) != c.failure) {
				t.Errorf("master %s, password %q, protocol %d: %v", c.name, c.password, protocol, err)
			}
		}
	}
}
