package target

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"soakline/daemon/servertest"
	"soakline/daemon/workload"
)

// nothing is the outcome of an Open that works.
const nothing Failure = 255

// TestTLS is every field alone and together, for connections of both kinds.
func TestTLS(t *testing.T) {
	f := servertest.NewFiles(t)
	ours, theirs := servertest.NewAuthority(t), servertest.NewAuthority(t)
	ca, wrongCA := f.Write("ca", ours.PEM), f.Write("wrong-ca", theirs.PEM)
	cert, key := f.Pair("client", ours.Issue(t, servertest.Subject{}))
	strangeCert, strangeKey := f.Pair("stranger", theirs.Issue(t, servertest.Subject{}))
	local := ours.Issue(t, servertest.Loopback)
	named := ours.Issue(t, servertest.Subject{Names: []string{"redis.test"}})
	expired := ours.Issue(t, servertest.Subject{IPs: servertest.Loopback.IPs, Expired: true})
	nameless := ours.Issue(t, servertest.Subject{})
	only := func(version uint16, c *tls.Config) *tls.Config {
		c.MinVersion, c.MaxVersion = version, version
		return c
	}
	const (
		file  = "ca_file has to hold"
		name  = "server_name has to be"
		wants = "it wants a client certificate"
	)
	for _, c := range []struct {
		name   string
		server *fake
		client *TLS
		want   Failure
		hint   string // its beginning
	}{
		{"signed", &fake{tls: local.Server(t)}, &TLS{CAFile: ca}, nothing, ""},
		{"nothing given", &fake{tls: local.Server(t)}, &TLS{}, Handshake, file},
		{"wrong CA", &fake{tls: local.Server(t)}, &TLS{CAFile: wrongCA}, Handshake, file},
		{"expired", &fake{tls: expired.Server(t)}, &TLS{CAFile: ca}, Handshake, "its certificate has to be renewed"},

		{"another name", &fake{tls: named.Server(t)}, &TLS{CAFile: ca}, Handshake, name},
		{"server_name", &fake{tls: named.Server(t)}, &TLS{CAFile: ca, ServerName: "redis.test"}, nothing, ""},
		{"wrong server_name", &fake{tls: named.Server(t)}, &TLS{CAFile: ca, ServerName: "valkey.test"}, Handshake, name},
		{"server_name for an address", &fake{tls: local.Server(t)}, &TLS{CAFile: ca, ServerName: "127.0.0.1"}, nothing, ""},
		{"no name", &fake{tls: nameless.Server(t)}, &TLS{CAFile: ca, ServerName: "redis.test"}, Handshake, "its certificate has no name"},

		{"skip", &fake{tls: local.Server(t)}, &TLS{InsecureSkipVerify: true}, nothing, ""},
		{"skip, expired", &fake{tls: expired.Server(t)}, &TLS{InsecureSkipVerify: true}, nothing, ""},
		{"skip, all wrong", &fake{tls: named.Server(t)}, &TLS{CAFile: wrongCA, ServerName: "x", InsecureSkipVerify: true}, nothing, ""},

		{"1.2", &fake{tls: only(tls.VersionTLS12, local.Server(t))}, &TLS{CAFile: ca, MinVersion: "1.2"}, nothing, ""},
		{"1.2 by default", &fake{tls: only(tls.VersionTLS12, local.Server(t))}, &TLS{CAFile: ca}, nothing, ""},
		{"1.3", &fake{tls: only(tls.VersionTLS13, local.Server(t))}, &TLS{CAFile: ca, MinVersion: "1.3"}, nothing, ""},
		{"1.3, and the server has 1.2", &fake{tls: only(tls.VersionTLS12, local.Server(t))}, &TLS{CAFile: ca, MinVersion: "1.3"}, Handshake, "it has no version of TLS"},
		{"1.1 of a server", &fake{tls: only(tls.VersionTLS11, local.Server(t))}, &TLS{CAFile: ca}, Handshake, "it has no version of TLS"},

		{"client certificate", &fake{tls: servertest.Demand(local.Server(t), ours)}, &TLS{CAFile: ca, CertFile: cert, KeyFile: key}, nothing, ""},
		{"client certificate, 1.2", &fake{tls: only(tls.VersionTLS12, servertest.Demand(local.Server(t), ours))}, &TLS{CAFile: ca, CertFile: cert, KeyFile: key}, nothing, ""},
		{"one that nobody wants", &fake{tls: local.Server(t)}, &TLS{CAFile: ca, CertFile: cert, KeyFile: key}, nothing, ""},
		{"no client certificate", &fake{tls: servertest.Demand(local.Server(t), ours)}, &TLS{CAFile: ca}, Handshake, wants},
		{"no client certificate, 1.2", &fake{tls: only(tls.VersionTLS12, servertest.Demand(local.Server(t), ours))}, &TLS{CAFile: ca}, Handshake, wants},
		{"client certificate of another", &fake{tls: servertest.Demand(local.Server(t), ours)}, &TLS{CAFile: ca, CertFile: strangeCert, KeyFile: strangeKey}, Handshake, "it does not accept the client"},

		{"no TLS there", &fake{farewell: "-ERR unknown command\r\n"}, &TLS{CAFile: ca}, Handshake, "it does not speak TLS"},
		{"TLS there", &fake{farewell: "\x15\x03\x01\x00\x02\x02\x46"}, nil, Handshake, "it expects TLS"},
		{"no file", &fake{tls: local.Server(t)}, &TLS{CAFile: filepath.Join(f.Dir, "none")}, Handshake, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.server.answers = map[string]string{"get": "$-1\r\n"}
			o := c.server.listening(t, "tcp", "127.0.0.1:0")
			o.TLS = c.client
			conn, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
			if err == nil {
				if got, err := exchange(t.Context(), conn, get(1)); got[0] != workload.OK || err != nil {
					t.Errorf("%s, %v", got[0], err)
				}
				_ = conn.Close()
			}
			for _, err := range []error{err, control(t, *o).Ping(t.Context())} {
				if (err == nil) != (c.want == nothing) || err != nil && FailureOf(err) != c.want {
					t.Fatalf("%v, want failure %d", err, c.want)
				}
				if err == nil {
					continue
				}
				if hint := o.Hint(err); !strings.HasPrefix(hint, c.hint) {
					t.Errorf("the hint for %v is %q", err, hint)
				}
			}
		})
	}
}

// TestTLSHost: the certificate has to be the dialled host's, whose name goes
// along. It may be an IPv6 address, and the connection may be made elsewhere.
func TestTLSHost(t *testing.T) {
	a := servertest.NewAuthority(t)
	ca := servertest.NewFiles(t).Write("ca", a.PEM)
	server := a.Issue(t, servertest.Subject{Names: []string{"redis.test"}, IPs: []net.IP{net.IPv6loopback}}).Server(t)
	for address, want := range map[string]Failure{
		"redis.test:6379": nothing, "[::1]:6379": nothing, "valkey.test:6379": Handshake, "[::2]:6379": Handshake,
	} {
		o := (&fake{tls: server}).listening(t, "tcp", "127.0.0.1:0")
		o.Dial = elsewhere(o.Address)
		o.Address, o.TLS = address, &TLS{CAFile: ca}
		conn, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
		if err == nil {
			_ = conn.Close()
		}
		if (err == nil) != (want == nothing) || err != nil && FailureOf(err) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// elsewhere dials address, whatever is asked for.
func elsewhere(address string) dialer {
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
}

// TestTLSStalls: a target that accepts and does not shake hands, whether it
// reads or not, costs the dial timeout exactly.
func TestTLSStalls(t *testing.T) {
	deaf := func(net.Conn) {}
	for _, listen := range []func(net.Conn){deaf, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }} {
		synctest.Test(t, func(t *testing.T) {
			o := (&fake{}).options()
			o.TLS = &TLS{InsecureSkipVerify: true}
			o.DialTimeout, o.ReadTimeout, o.WriteTimeout = 700*time.Millisecond, time.Hour, time.Hour
			o.Dial = func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				t.Cleanup(func() { _ = server.Close() })
				go listen(server)
				return client, nil
			}
			for name, open := range map[string]func() error{
				"Open": func() error {
					_, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
					return err
				},
				"Ping": func() error { return control(t, *o).Ping(t.Context()) },
				"dialer": func() error { // without the bound that go-redis sets
					_, err := o.dialer()(context.Background(), "tcp", o.Address)
					return err
				},
			} {
				begin := time.Now()
				err := open()
				if took := time.Since(begin); err == nil || FailureOf(err) != Timeout || took != o.DialTimeout {
					t.Errorf("%s: %v after %v", name, err, took)
				} else if hint := o.Hint(err); !strings.HasPrefix(hint, "connected, but no TLS within 700ms") {
					t.Errorf("%s: the hint for %v is %q", name, err, hint)
				}
			}
		})
	}
}

// TestTLSRotates: the files count as they are when a connection is made.
func TestTLSRotates(t *testing.T) {
	f := servertest.NewFiles(t)
	old, next := servertest.NewAuthority(t), servertest.NewAuthority(t)
	o := (&fake{tls: servertest.Demand(old.Issue(t, servertest.Loopback).Server(t), old)}).listening(t, "tcp", "127.0.0.1:0")
	o.TLS = &TLS{CAFile: f.Write("ca", old.PEM)}
	o.TLS.CertFile, o.TLS.KeyFile = f.Pair("client", old.Issue(t, servertest.Subject{}))
	c := control(t, *o)
	open(t, o)
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}

	server := &fake{tls: servertest.Demand(next.Issue(t, servertest.Loopback).Server(t), next)}
	o.Dial = elsewhere(server.listening(t, "tcp", "127.0.0.1:0").Address)
	if _, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)}); FailureOf(err) != Handshake {
		t.Errorf("with the old files: %v", err)
	}
	f.Write("ca", next.PEM)
	f.Pair("client", next.Issue(t, servertest.Subject{}))
	open(t, o)
	if err := control(t, *o).Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTLSBytes: it is plain text that is counted, so that a command which was
// not written is known not to have executed.
func TestTLSBytes(t *testing.T) {
	all := 0
	for _, row := range ten {
		all += int(row.command.RequestBytes)
	}
	a := servertest.NewAuthority(t)
	f := &fake{tls: a.Issue(t, servertest.Loopback).Server(t)}
	f.play = func(conn net.Conn, r *bufio.Reader) {
		f.take(r, len(ten))
		_, _ = io.WriteString(conn, ten[0].reply)
	}
	o := f.options()
	o.TLS = &TLS{CAFile: servertest.NewFiles(t).Write("ca", a.PEM)}
	conn := open(t, o)
	before := conn.wire.written
	got, err := exchange(t.Context(), conn, commandsOf(ten)...)
	want := slices.Repeat([]workload.Outcome{workload.Uncertain}, len(ten))
	want[0] = ten[0].want
	if !slices.Equal(got, want) || FailureOf(err) != Closed || conn.wire.written-before != uint64(all) {
		t.Errorf("%v, %v, %d bytes; want %v and %d", got, err, conn.wire.written-before, want, all)
	}
	got, err = exchange(t.Context(), conn, get(1))
	if got[0] != workload.Unsent || conn.Sent() || err == nil {
		t.Errorf("the next command is %s, %v", got[0], err)
	}
}

// TestTLSCheck tells all faults before anything is dialled.
func TestTLSCheck(t *testing.T) {
	f := servertest.NewFiles(t)
	a := servertest.NewAuthority(t)
	ca := f.Write("ca", a.PEM)
	cert, key := f.Pair("client", a.Issue(t, servertest.Subject{}))
	_, otherKey := f.Pair("other", a.Issue(t, servertest.Subject{}))
	none, text := filepath.Join(f.Dir, "none"), f.Write("text", []byte("no PEM"))
	for _, c := range []struct {
		name string
		tls  TLS
		want []string // parts of the error; none: there is no error
	}{
		{"nothing", TLS{}, nil},
		{"all", TLS{CAFile: ca, CertFile: cert, KeyFile: key, ServerName: "x", MinVersion: "1.3"}, nil},
		{"no CA", TLS{CAFile: none}, []string{"ca_file: ", none}},
		{"CA is no PEM", TLS{CAFile: text}, []string{"ca_file: ", text}},
		{"cert alone", TLS{CertFile: cert}, []string{"cert_file and key_file need each other"}},
		{"key alone", TLS{KeyFile: key}, []string{"cert_file and key_file need each other"}},
		{"no cert", TLS{CertFile: none, KeyFile: key}, []string{"cert_file, key_file: ", none}},
		{"no key", TLS{CertFile: cert, KeyFile: none}, []string{"cert_file, key_file: ", none}},
		{"key is no PEM", TLS{CertFile: cert, KeyFile: text}, []string{"cert_file, key_file: ", text}},
		{"another's key", TLS{CertFile: cert, KeyFile: otherKey}, []string{"cert_file, key_file: ", otherKey}},
		{"version", TLS{MinVersion: "1.1"}, []string{`min_version is "1.1"`}},
		{"several", TLS{CAFile: none, CertFile: none, KeyFile: none, MinVersion: "TLS12"}, []string{"min_version", "ca_file: ", "cert_file, "}},
	} {
		err := c.tls.Check()
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, part := range c.want {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not tell %q", c.name, err, part)
			}
		}
	}
}

// TestTLSCancelled ends with the caller.
func TestTLSCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := (&fake{}).options()
		o.TLS = &TLS{InsecureSkipVerify: true}
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			t.Cleanup(func() { _ = server.Close() })
			return client, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(70*time.Millisecond, cancel)
		begin := time.Now()
		_, err := Open(ctx, o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
		if took := time.Since(begin); !errors.Is(err, context.Canceled) || took != 70*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
	})
}
