package target

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"soakline/daemon/workload"
)

// refusal is an error reply.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

func TestFailureOf(t *testing.T) {
	wire := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	call := func(name string, err error) error { return wire(name, os.NewSyscallError(name, err)) }
	for _, c := range []struct {
		err  error
		want Failure
	}{
		{errors.New("something"), Other},
		{context.Canceled, Other},
		{call("connect", syscall.ECONNREFUSED), Refused},
		{call("connect", syscall.ENOENT), Refused}, // a unix socket
		{wire("dial", &net.DNSError{Err: "no such host", Name: "nowhere", IsNotFound: true}), Unknown},
		{wire("dial", &net.DNSError{Err: "i/o timeout", Name: "nowhere", IsTimeout: true}), Unknown},
		{call("connect", syscall.EHOSTUNREACH), Unknown},
		{call("connect", syscall.ENETUNREACH), Unknown},
		{wire("read", os.ErrDeadlineExceeded), Timeout},
		{call("connect", syscall.ETIMEDOUT), Timeout},
		{context.DeadlineExceeded, Timeout},
		{call("read", syscall.ECONNRESET), Reset},
		{call("write", syscall.EPIPE), Reset},
		{io.EOF, Closed},
		{io.ErrUnexpectedEOF, Closed},
		{wire("read", net.ErrClosed), Closed},
		{redis.ErrClosed, Closed},
		{refusal("NOAUTH Authentication required."), Auth},
		{refusal("WRONGPASS invalid username-password pair or user is disabled."), Auth},
		{refusal("NOPERM this user has no permissions to run the 'ping' command"), Auth},
		{refusal("ERR Client sent AUTH, but no password is set"), Auth},
		{refusal("LOADING Redis is loading the dataset in memory"), Rejected},
		{refusal("ERR DB index is out of range"), Rejected},
		{refusal("ERR invalid password"), Auth}, // before Redis 6
		{refusal("ERR max number of clients reached"), MaxClients},
		{refusal("ERR max number of clients + cluster connections reached"), MaxClients},
		{&dismissal{"ERR max number of clients reached", io.EOF}, MaxClients},
		{&dismissal{"DENIED Redis is running in protected mode", call("write", syscall.EPIPE)}, Rejected},
		{&dismissal{"NOAUTH Authentication required.", io.EOF}, Auth},
		{&dismissal{"", io.EOF}, Closed},
		{&dismissal{"", call("read", syscall.ECONNRESET)}, Reset},
		{&tlsError{errors.New("anything")}, Handshake},
		{&tlsError{call("open", syscall.ENOENT)}, Handshake}, // a file
		{&tlsError{io.EOF}, Closed},
		{&tlsError{call("read", syscall.ECONNRESET)}, Reset},
		{&tlsError{context.DeadlineExceeded}, Timeout},
		{refusal("READONLY You can't write against a read only replica."), Role},
		{errors.New("redis: invalid reply: \"\\r\\n\""), Protocol},
	} {
		for _, err := range []error{c.err, fmt.Errorf("open: %w", c.err)} {
			if c.want == Protocol && err != c.err {
				continue // go-redis does not wrap what it cannot read
			}
			if got := FailureOf(err); got != c.want {
				t.Errorf("FailureOf(%v) = %s, want %s", err, got, c.want)
			}
		}
	}
}

// TestTexts holds the texts by which foreign replies are told: they are those
// of the go-redis in go.mod, really met.
func TestTexts(t *testing.T) {
	have := layout.ValueSize + len("\r\n")
	long := strings.Repeat("x", have+1)
	cannot := func(line string) string { return `redis: can't parse reply="` + line + `" reading string into buffer` }
	small := fmt.Sprintf("redis: buffer too small: need %d bytes, have %d", have+1, have)
	for _, c := range []struct {
		reply, text string
		foreign     bool
	}{
		{"*2\r\n", cannot("*2"), true},
		{"%1\r\n", cannot("%1"), true},
		{"~1\r\n", cannot("~1"), true},
		{">1\r\n", cannot(">1"), true},
		{"#t\r\n", cannot("#t"), true},
		{"(123\r\n", cannot("(123"), true},
		{"=5\r\n", cannot("=5"), true},
		{bulk(long), small, true},
		{"+" + long + "\r\n", small, true},
		{":" + long + "\r\n", small, true},
		{"hello\r\n", cannot("hello"), false},
		{"HTTP/1.1 400 Bad Request\r\n", cannot("HTTP/1.1 400 Bad Request"), false},
		{"\r\n", `redis: invalid reply: "\r\n"`, false},
		{"+OK\n", `redis: invalid reply: "+OK\n"`, false},
		{"$-2\r\n", `redis: invalid reply: "$-2"`, false},
		{"$many\r\n", `strconv.Atoi: parsing "many": invalid syntax`, false},
		{"", "EOF", false},
		{bulk(long)[:20], "EOF", false},
	} {
		f := &fake{}
		f.play = func(conn net.Conn, r *bufio.Reader) {
			f.take(r, 1)
			_, _ = io.WriteString(conn, c.reply)
		}
		conn := open(t, f.options())
		_, err := exchange(t.Context(), conn, get(1))
		if err == nil || err.Error() != c.text || foreign(err) != c.foreign {
			t.Errorf("%q: %v, foreign %t; want %s, %t", c.reply, err, foreign(err), c.text, c.foreign)
		}
		if got := conn.Reply(0).Kind == workload.Foreign; got != c.foreign {
			t.Errorf("%q: the reply is foreign: %t", c.reply, got)
		}
	}
}

// TestRefused: nobody listens there.
func TestRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().String()
	_ = listener.Close()
	stale := filepath.Join(t.TempDir(), "s") // a socket whose server was killed
	unix, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	unix.SetUnlinkOnClose(false)
	_ = unix.Close()
	for _, c := range []struct{ network, address string }{
		{"tcp", port}, {"unix", stale}, {"unix", filepath.Join(t.TempDir(), "none")},
	} {
		o := (&fake{}).options()
		o.Network, o.Address, o.Dial = c.network, c.address, nil
		conn, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
		if conn != nil || FailureOf(err) != Refused {
			t.Errorf("Open of %s is %s: %v", c.address, FailureOf(err), err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "open "+c.address+": ") {
			t.Errorf("the error does not name %s: %v", c.address, err)
		}
	}
}
