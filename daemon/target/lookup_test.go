package target

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"soakline/daemon/workload"
)

// names is a DNS server that knows one name, wherever it is now.
type names struct {
	conn net.PacketConn
	now  atomic.Pointer[netip.Addr] // nil: there is no such name
}

func serveNames(t *testing.T) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n, done := &names{conn: conn}, make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			if answer, err := n.answer(b[:size]); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return n
}

func (n *names) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	question, address := m.Questions[0], n.now.Load()
	switch {
	case address == nil:
		m.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class, TTL: 3600},
			Body:   &dnsmessage.AResource{A: address.As4()},
		}}
	}
	return m.Pack()
}

// dial asks n for names.
func (n *names) dial(ctx context.Context, network, address string) (net.Conn, error) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", n.conn.LocalAddr().String())
	}}
	return (&net.Dialer{Resolver: resolver}).DialContext(ctx, network, address)
}

// TestNameMoves: a name is looked up for each connection, so that a target
// which moved is found again.
func TestNameMoves(t *testing.T) {
	first := &fake{answers: map[string]string{"get": value(1, 1)}}
	second := &fake{answers: map[string]string{"get": value(1, 2)}}
	o := first.listening(t, "tcp", "127.0.0.1:0")
	_, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		t.Fatal(err)
	}
	if probe, err := net.Listen("tcp", "127.0.0.2:"+port); err != nil {
		t.Skip(err) // elsewhere than on Linux
	} else {
		_ = probe.Close()
	}
	second.listening(t, "tcp", "127.0.0.2:"+port)
	n := serveNames(t)
	o.Address, o.Dial = net.JoinHostPort("redis.test.", port), n.dial
	c := control(t, *o)
	for _, at := range []struct {
		address string // "": the name is gone
		want    string
	}{
		{"127.0.0.1", string(layout.AppendValue(nil, 1, 1))},
		{"127.0.0.2", string(layout.AppendValue(nil, 1, 2))},
		{"", ""},
		{"127.0.0.1", string(layout.AppendValue(nil, 1, 1))},
	} {
		n.now.Store(nil)
		if at.address != "" {
			address := netip.MustParseAddr(at.address)
			n.now.Store(&address)
		}
		conn, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
		if at.address == "" {
			if err == nil || FailureOf(err) != Unknown || o.Hint(err) != "is the name right, and does this machine's DNS answer?" {
				t.Errorf("without the name: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := exchange(t.Context(), conn, get(1))
		if got[0] != workload.OK || err != nil || string(conn.Reply(0).Bytes) != at.want {
			t.Errorf("at %s: %s, %v, %q", at.address, got[0], err, conn.Reply(0).Bytes)
		}
		_ = conn.Close()
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
