// Package servertest runs a real redis-server or valkey-server for a test; only
// tests import it. It knows how to find a server, to start it where nobody else
// is, to tell that it answers, to end it, and to sign certificates. It must
// never know go-redis, nor anything else of this module: what is asked of the
// server is the test's.
package servertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Options say what a server is started with.
type Options struct {
	// Config is the text of its configuration file, after what every server
	// gets: the places below, and no persistence. A sentinel and a replica
	// write into that file.
	Config string
	Args   []string // command-line arguments; they win over Config
	TLS    bool     // it speaks nothing but TLS on its port; Args hold its certificates
}

// Server is a process of the test's own, which ends with the test: on Linux
// even if that is killed. It can be killed and started again where it was. It
// is for the test's own goroutine, and what fails ends the test.
type Server struct {
	Address string // host:port, on the loopback interface
	Socket  string // the path of its unix socket, which never speaks TLS

	t      testing.TB
	binary string // its path
	dir    string // holds its socket, its data, its configuration and its log
	args   []string

	process *os.Process
	done    chan struct{}
}

const (
	startDeadline = 30 * time.Second
	poll          = 10 * time.Millisecond
	logSize       = 4 << 10 // bytes
)

// New prepares a server without starting it: its port is free. Where none is
// installed the test is skipped, or fails if SOAKLINE_REQUIRE_SERVER is set.
// The log of a test that fails ends with the server's.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		binary, err = exec.LookPath("valkey-server")
	}
	if err != nil {
		const missing = "no redis-server or valkey-server in PATH"
		if os.Getenv("SOAKLINE_REQUIRE_SERVER") == "" {
			t.Skip(missing)
		}
		t.Fatal(missing)
	}
	dir, err := os.MkdirTemp("", "soakline-test-") // t.TempDir is too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		Address: FreeAddress(t), Socket: filepath.Join(dir, "s"),
		t: t, binary: binary, dir: dir, args: slices.Clone(o.Args), done: make(chan struct{}),
	}
	close(s.done)
	t.Cleanup(s.remove)

	_, port, _ := net.SplitHostPort(s.Address)
	ports := "port " + port
	if o.TLS {
		ports = "port 0\ntls-port " + port
	}
	config := fmt.Sprintf("bind 127.0.0.1\n%s\nunixsocket %q\ndir %q\ndaemonize no\nsave \"\"\nappendonly no\n%s", ports, s.Socket, dir, o.Config)
	if err := os.WriteFile(s.path("conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Start starts a server and waits until it answers, having loaded its data. A
// port that somebody else took in the meantime is replaced.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	for range 3 {
		s := New(t, o)
		s.Restart()
		err := s.await(false)
		if err == nil {
			return s
		}
		if !errors.Is(err, errTaken) {
			t.Fatal(err)
		}
	}
	t.Fatal(errTaken)
	return nil
}

// FreeAddress is a loopback address, host:port, where nobody listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Restart starts the server where it was, with more arguments for this time; one
// that runs is killed first. It does not wait until it answers.
func (s *Server) Restart(more ...string) {
	s.t.Helper()
	s.Kill()
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(s.binary, slices.Concat([]string{s.path("conf")}, s.args, more)...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, attributes()
	started, done := make(chan error), make(chan struct{})
	go func() {
		// a process that is to die with the test dies with the thread that
		// started it
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()
	if err := <-started; err != nil {
		s.t.Fatal(err)
	}
	s.process, s.done = cmd.Process, done
}

// AwaitListening waits until the server answers, even if it only says that it
// loads its data.
func (s *Server) AwaitListening() {
	s.t.Helper()
	if err := s.await(true); err != nil {
		s.t.Fatal(err)
	}
}

// AwaitReady waits until the server answers, having loaded its data.
func (s *Server) AwaitReady() {
	s.t.Helper()
	if err := s.await(false); err != nil {
		s.t.Fatal(err)
	}
}

// errTaken is how a server ends whose port somebody else has.
var errTaken = errors.New("the port is taken")

// await waits until the server answers; it says why it never will.
func (s *Server) await(loading bool) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), startDeadline)
	defer cancel()
	for {
		err := s.ping(ctx, loading)
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			if strings.Contains(s.Log(), "Address already in use") {
				return errTaken
			}
			return fmt.Errorf("%s has ended by itself", s.binary)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", s.binary, err)
		case <-time.After(poll):
		}
	}
}

// ping asks by the unix socket: nobody else can answer there, and the server
// does not until it has its port, too. Every answer counts, a refusal as well:
// that the data is being loaded only if loading does.
func (s *Server) ping(ctx context.Context, loading bool) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", s.Socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	reply, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && strings.HasPrefix(reply, "-LOADING") && !loading {
		return errors.New("it loads its data")
	}
	return err
}

// Signal sends a signal to the server, which must be running.
func (s *Server) Signal(signal os.Signal) {
	s.t.Helper()
	if err := s.process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// Kill ends the server at once, if it runs.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Kill() // it may have ended
		<-s.done
	}
}

// Done is closed while the server does not run: once it has ended, and before it
// is started.
func (s *Server) Done() <-chan struct{} { return s.done }

// Log is the end of what the server has printed, in all its runs.
func (s *Server) Log() string {
	text, _ := os.ReadFile(s.path("log"))
	return string(text[max(0, len(text)-logSize):])
}

// remove ends the server with the test.
func (s *Server) remove() {
	s.Kill()
	if s.t.Failed() {
		s.t.Logf("the log of the server at %s:\n%s", s.Address, s.Log())
	}
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Error(err)
	}
}

// path of one of its files.
func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }
