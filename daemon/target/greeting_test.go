package target

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"soakline/daemon/workload"
)

const (
	maxClients = "ERR max number of clients reached"
	denied     = "DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. "
)

// TestDismissed: a target that turns a connection away says why, and its word
// is the error, for connections of both kinds.
func TestDismissed(t *testing.T) {
	protected := denied + strings.Repeat("and so on ", 90)
	for _, c := range []struct {
		farewell string // without end
		text     string // of the error
		want     Failure
		hint     string
	}{
		{"-" + maxClients, maxClients, MaxClients, "raise its maxclients, or close other clients"},
		{"-" + protected, protected[:greetingSize-1] + "…", Rejected, "give it a password, or load it from its own machine"},
		{"-NOAUTH Authentication required.", "NOAUTH Authentication required.", Auth, "it wants a password"},
		{"-ERR go away", "ERR go away", Rejected, ""},
	} {
		for _, network := range []string{"tcp", "unix"} {
			for _, password := range []string{"", "p"} {
				t.Run(fmt.Sprintf("%s, %s, %q", network, c.text[:10], password), func(t *testing.T) {
					f := &fake{farewell: c.farewell + "\r\n"}
					address := map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")}[network]
					o := f.listening(t, network, address)
					o.Password = password
					for range 10 { // whoever is first
						dismissed(t, o, c.text, c.want, c.hint)
					}
				})
			}
		}
	}
}

func dismissed(t *testing.T, o *Options, text string, want Failure, hint string) {
	t.Helper()
	_, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
	if err == nil || FailureOf(err) != want || err.Error() != "open "+o.Address+": "+text || o.Hint(err) != hint {
		t.Errorf("Open: %v", err)
	}
	c := NewControl(o, layout)
	defer c.Close()
	if err := c.Ping(t.Context()); err == nil || FailureOf(err) != want || err.Error() != text {
		t.Errorf("Ping: %v", err)
	}
	if _, _, err := c.Facts(t.Context()); err == nil || FailureOf(err) != want {
		t.Errorf("Facts: %v", err)
	}
}

// TestDismissedAtOnce: the target has closed before HELLO is written, which on
// a unix socket fails, with the reason unread.
func TestDismissedAtOnce(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			closed := make(chan struct{})
			address := map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")}[network]
			listener, err := net.Listen(network, address)
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			go func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					_, _ = io.WriteString(conn, "-"+maxClients+"\r\n")
					_ = conn.Close()
					closed <- struct{}{}
				}
			}()
			o := (&fake{}).options()
			o.Network, o.Address = network, listener.Addr().String()
			o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				<-closed
				return conn, err
			}
			_, err = Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
			if err == nil || FailureOf(err) != MaxClients {
				t.Errorf("Open: %v", err)
			}
			if err := control(t, *o).Ping(t.Context()); err == nil || FailureOf(err) != MaxClients {
				t.Errorf("Ping: %v", err)
			}
		})
	}
}

// TestUnversed: servers and proxies that do not know all of the handshake are
// loaded all the same, whatever they say about it.
func TestUnversed(t *testing.T) {
	for _, answers := range []map[string]string{
		{"hello": "-ERR unknown command `hello`, with args beginning with: `3`, \r\n"},
		{"hello": "-ERR unknown command 'hello'\r\n", "client": "-ERR unknown command 'client'\r\n"},
		{"hello": "-NOPROTO unsupported protocol version\r\n"},
		{"hello": "-NOPROTO sorry, this protocol version is not supported.\r\n", "client": ""},
		{"hello": "-ERR Protocol version is not an integer or out of range\r\n"},
		{"client": "-ERR unknown command 'client'\r\n"},
		{"client": ""},
	} {
		for protocol := 2; protocol <= 3; protocol++ {
			t.Run(fmt.Sprintf("%q, protocol %d", answers, protocol), func(t *testing.T) {
				f := &fake{answers: answers}
				f.play = func(conn net.Conn, r *bufio.Reader) {
					for range 2 {
						f.take(r, 1)
						_, _ = io.WriteString(conn, "+OK\r\n")
					}
				}
				o := f.options()
				o.Protocol, o.Username, o.Password, o.Database = protocol, "u", "p", 3
				conn := open(t, o)
				for range 2 {
					if got, err := exchange(t.Context(), conn, set(1, 1)); got[0] != workload.OK || err != nil {
						t.Errorf("%s, %v", got[0], err)
					}
				}
				_ = conn.Close()
				f.taken(t)
				sent := map[string]string{}
				for _, q := range f.hands {
					sent[q.args[0]] = strings.Join(q.args[1:], " ")
				}
				if _, known := answers["hello"]; sent["select"] != "3" || known && sent["auth"] != "u p" {
					t.Errorf("sent %q", sent)
				}
				f.play = nil
				if err := control(t, *o).Ping(t.Context()); err != nil {
					t.Errorf("Ping: %v", err)
				}
			})
		}
	}
}

// TestHangsUp: some proxies close the connection on a command that they do not
// know. HELLO cannot be left out, so it is at least told.
func TestHangsUp(t *testing.T) {
	f := &fake{answers: map[string]string{"hello": ""}}
	o := f.listening(t, "tcp", "127.0.0.1:0")
	_, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
	for _, err := range []error{err, control(t, *o).Ping(t.Context())} {
		if err == nil || FailureOf(err) != Closed || !strings.Contains(err.Error(), "closed the connection on HELLO: ") {
			t.Errorf("%v", err)
		} else if hint := o.Hint(err); !strings.HasPrefix(hint, "a proxy that does not know HELLO") {
			t.Errorf("the hint for %v is %q", err, hint)
		}
	}
}

// TestGreeting: only an error that is all that was ever said counts.
func TestGreeting(t *testing.T) {
	const hello = "closed the connection on HELLO: EOF"
	for _, c := range []struct {
		said []string // one Read each
		want string   // the error, which was EOF
	}{
		{nil, hello},
		{[]string{""}, hello},
		{[]string{"-" + maxClients + "\r\n"}, maxClients},
		{[]string{"-" + maxClients + "\n"}, maxClients},
		{[]string{"-" + maxClients}, maxClients},
		{[]string{"-", "ERR ", "no\r", "\n"}, "ERR no"},
		{[]string{"-ERR no\r\n", "+"}, "EOF"},
		{[]string{"-ERR no\r\n+OK\r\n"}, "EOF"},
		{[]string{"-ERR no\r\n", "-ERR yes\r\n"}, "EOF"},
		{[]string{"+OK\r\n"}, "EOF"},
		{[]string{"+", "-ERR no\r\n"}, "EOF"},
		{[]string{"%1\r\n"}, "EOF"},
		{[]string{"-ERR unknown command 'hello'\r\n"}, "EOF"},
		{[]string{"-ERR Unsupported COMMAND\r\n"}, "EOF"},
		{[]string{"-NOPROTO no\r\n"}, "EOF"},
		{[]string{"-" + strings.Repeat("x", greetingSize-2) + "\r\n"}, strings.Repeat("x", greetingSize-2)},
		{[]string{"-" + strings.Repeat("x", greetingSize), "yy\r\n"}, strings.Repeat("x", greetingSize-1) + "…"},
		{[]string{"-" + strings.Repeat("x", greetingSize), "yy\r\n", "+"}, "EOF"},
		{[]string{"\x15\x03\x03\x00\x02\x02\x28"}, "answered with a TLS alert"},
		{[]string{"\x15", "\x03"}, "answered with a TLS alert"},
	} {
		var g greeting
		for _, s := range c.said {
			g.hear([]byte(s))
		}
		if got := g.explain(io.EOF); got.Error() != c.want {
			t.Errorf("after %q: %v, want %s", c.said, got, c.want)
		}
		for _, other := range []error{net.ErrClosed, context.DeadlineExceeded, io.ErrShortWrite} {
			if got := g.explain(other); got != other {
				t.Errorf("after %q: %v became %v", c.said, other, got)
			}
		}
		if len(g.line) > greetingSize {
			t.Errorf("after %q: %d bytes are kept", c.said, len(g.line))
		}
	}
}
