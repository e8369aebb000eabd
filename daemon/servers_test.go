package daemon

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"soakline/daemon/servertest"
)

// realServer is a server of a test's own, and what the test asks of it. It can
// be stopped, killed and started again where it was.
type realServer struct {
	*servertest.Server
	t     *testing.T
	admin *redis.Client // one connection, for as long as the server lives
}

// The user that a test's daemon is, unless it is the default user.
const (
	loadUser     = "load"
	loadPassword = "a-secret"
)

// newServer prepares a server without starting it.
func newServer(t *testing.T) *realServer {
	t.Helper()
	return realServerOf(t, servertest.New(t, serverOptions()))
}

// startServer starts a server and waits until it answers.
func startServer(t *testing.T, args ...string) *realServer {
	t.Helper()
	s := realServerOf(t, servertest.Start(t, serverOptions(args...)))
	s.await()
	return s
}

func serverOptions(args ...string) servertest.Options {
	return servertest.Options{Args: append([]string{
		"--lua-time-limit", "100", "--enable-debug-command", "yes",
		"--user", loadUser, "on", ">" + loadPassword, "~*", "&*", "+@all",
	}, args...)}
}

func realServerOf(t *testing.T, server *servertest.Server) *realServer {
	s := &realServer{Server: server, t: t}
	t.Cleanup(s.kill)
	return s
}

// await waits until the server answers, which one that loads its data does not.
func (s *realServer) await() {
	s.t.Helper()
	s.AwaitReady()
	s.admin = s.client()
	if err := s.admin.Ping(s.t.Context()).Err(); err != nil {
		s.t.Fatal(err)
	}
}

// client is an own connection to the server, as its default user.
func (s *realServer) client() *redis.Client {
	return redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket, PoolSize: 1, MaxRetries: -1, ReadTimeout: 30 * time.Second})
}

// shutdown makes the server save its data and end.
func (s *realServer) shutdown() {
	s.t.Helper()
	_ = s.admin.ShutdownSave(s.t.Context()).Err() // it ends the connection, too
	select {
	case <-s.Done():
		s.kill() // to close the connection
	case <-time.After(30 * time.Second):
		s.t.Fatal("the server does not end")
	}
}

// kill ends the server at once.
func (s *realServer) kill() {
	if s.admin != nil {
		_ = s.admin.Close()
		s.admin = nil
	}
	s.Kill()
}

// do sends a command beside the load.
func (s *realServer) do(args ...any) {
	s.t.Helper()
	if err := s.admin.Do(s.t.Context(), args...).Err(); err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
}

// set sets parameters of the server's configuration.
func (s *realServer) set(pairs ...any) {
	s.t.Helper()
	s.do(append([]any{"config", "set"}, pairs...)...)
}

// info is a number that the server tells about itself.
func (s *realServer) info(field string) int {
	s.t.Helper()
	text, err := s.admin.Info(s.t.Context(), "everything").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(text, "\n"+field+":")
	line, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.Atoi(line)
	if err != nil {
		s.t.Fatalf("%s is %q: %v", field, line, err)
	}
	return n
}

// kickAll closes every connection but the test's own.
func (s *realServer) kickAll() {
	s.t.Helper()
	s.do("client", "kill", "type", "normal", "skipme", "yes")
}

// url leads a daemon to the server as a user with a right to everything.
func (s *realServer) url() string {
	return "target.url=redis://" + loadUser + ":" + loadPassword + "@" + s.Address
}

// plainURL leads a daemon to the server as the default user.
func (s *realServer) plainURL() string { return "target.url=redis://" + s.Address }

// socketURL does so by the unix socket.
func (s *realServer) socketURL() string { return "target.url=unix://" + s.Socket }

// script runs a script in the background, which ends when the server or ctx
// does, and returns what ended it.
func (s *realServer) script(ctx context.Context, text string) <-chan error {
	client := s.client()
	ended := make(chan error, 1)
	go func() {
		err := client.Eval(ctx, text, nil).Err()
		_ = client.Close()
		ended <- err
	}()
	return ended
}
