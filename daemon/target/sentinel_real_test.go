package target

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"soakline/daemon/batch"
	"soakline/daemon/workload"
)

// process is a server of the test's own on a loopback port, which ends with the
// test.
type process struct {
	address string
	options Options // to speak to it

	cmd  *exec.Cmd
	log  tail
	done chan struct{} // closed when it has ended
}

// launch starts a server with a configuration file of its own, which begins
// with what all have, and waits until it answers. A port that somebody else
// took in the meantime is replaced.
func launch(t *testing.T, config, password string, args ...string) *process {
	t.Helper()
	binary := serverBinary(t)
	var p *process
	for range 3 {
		dir := t.TempDir()
		port := freePort(t)
		path := filepath.Join(dir, "conf") // a sentinel writes into it
		config := fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\ndaemonize no\n%s", port, dir, config)
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		p = &process{
			address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
			options: usual,
			cmd:     exec.Command(binary, append([]string{path}, args...)...),
			done:    make(chan struct{}),
		}
		p.options.Network, p.options.Address = "tcp", p.address
		p.options.Username, p.options.Password, p.options.Database = "", password, 0
		p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = &p.log, &p.log, childAttributes()
		started := make(chan error, 1)
		go p.run(started)
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.kill)
		if p.answers(t) {
			return p
		}
	}
	t.Fatalf("%s does not answer at %s: %s", binary, p.address, p.log.String())
	return nil
}

// run owns the thread that starts the process, with which it is to die.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // it is killed
		close(p.done)
	}
}

// kill ends the process by its pid and waits for its end; it may have ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// answers waits until the server answers, it and no other at its port, and
// tells whether it ever will.
func (p *process) answers(t *testing.T) (does bool) {
	itself := p.tells(t, fmt.Sprintf("process_id:%d\r\n", p.cmd.Process.Pid))
	until(t, func() bool {
		does = itself()
		select {
		case <-p.done:
			return true
		default:
			return does
		}
	})
	return does
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

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// serverBinary finds a server. Where none is installed the test is skipped, or
// fails if SOAKLINE_REQUIRE_SERVER=1.
func serverBinary(t *testing.T) string {
	t.Helper()
	for _, name := range servers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("SOAKLINE_REQUIRE_SERVER") != "1" {
		t.Skip(ErrNoServer)
	}
	t.Fatal(ErrNoServer)
	return ""
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
	const server = "save \"\"\nappendonly no\nrepl-diskless-sync-delay 0\n"
	r := &replicated{master: launch(t, server, "")}
	host, port, _ := net.SplitHostPort(r.master.address)
	r.replica = launch(t, server+fmt.Sprintf("replicaof %s %s\n", host, port), "")
	if !until(t, r.replica.tells(t, "master_link_status:up")) {
		t.Fatalf("the replica does not follow: %s", r.replica.log.String())
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
		if !until(t, s.tells(t, "status=ok,address="+r.master.address+",slaves=1,sentinels=3")) {
			t.Fatalf("the sentinels do not find each other: %s", s.log.String())
		}
	}
	return r
}

// addresses of the sentinels.
func (r *replicated) addresses() (all []string) {
	for _, s := range r.sentinels {
		all = append(all, s.address)
	}
	return all
}

// TestFailover: what is dialled once the master has moved is the replica, which
// has become it, whether the old one died or lives on.
func TestFailover(t *testing.T) {
	crash := func(t *testing.T, r *replicated) {
		if err := syscall.Kill(r.master.cmd.Process.Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-r.master.done
	}
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
		if got, err := sentinels.Master(t.Context()); got != p.address || err != nil {
			t.Errorf("the master is %q, %v; want %q", got, err, p.address)
		}
		conn := open(t, &o, batch.Single)
		if got, err := exchange(t.Context(), conn, set(1, 1)); got[0] != workload.OK || err != nil {
			t.Errorf("SET: %s, %v", got[0], err)
		}
		if n, err := p.ask(t, "exists", layout.Key(1)); n != "1" || err != nil {
			t.Errorf("the key is not at %s: %v", p.address, err)
		}
	}
	serves(r.master)
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("PING: %v", err)
	}

	move(t, r)
	moved := func() bool {
		got, err := sentinels.Master(t.Context())
		return err == nil && got == r.replica.address
	}
	if !until(t, moved) {
		t.Fatalf("no failover: %s", r.sentinels[1].log.String())
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
		{"x", password, "sentinel " + s.address + ` knows no master "x"`, Other},
		{"m", "wrong", "ask sentinel " + s.address + ": ", Auth},
		{"m", "", "ask sentinel " + s.address + ": NOAUTH", Auth},
	} {
		for protocol := 2; protocol <= 3; protocol++ {
			o := usual
			o.Username, o.Password, o.Protocol = "", c.password, protocol
			_, err := NewSentinels(SentinelOptions{Options: o, Addresses: []string{s.address}, Master: c.name}).Master(t.Context())
			if (err == nil) != (c.want == "") || err != nil && (!strings.HasPrefix(err.Error(), c.want) || FailureOf(err) != c.failure) {
				t.Errorf("master %s, password %q, protocol %d: %v", c.name, c.password, protocol, err)
			}
		}
	}
}
