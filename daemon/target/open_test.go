package target

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"soakline/daemon/workload"
)

// TestHandshake holds all that a new connection sends: nothing about itself,
// nothing that changes how the target treats it.
func TestHandshake(t *testing.T) {
	small := workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: "r", Keys: 2, ValueSize: 8, TTL: time.Minute})
	forever := workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: "r", Keys: 1, ValueSize: 8})
	for _, c := range []struct {
		name    string
		options Options
		noHello bool
		seat    Seat
		want    [][]string
	}{
		{
			name: "protocol 2", options: Options{Protocol: 2}, seat: Seat{Layout: small},
			want: [][]string{{"hello", "2"}, {"ping"}},
		},
		{
			name: "protocol 3", options: Options{Protocol: 3}, seat: Seat{Layout: small},
			want: [][]string{{"hello", "3"}, {"ping"}},
		},
		{
			name: "a user, a database, counters", seat: Seat{Layout: small, Counts: true},
			options: Options{Protocol: 2, Username: "u", Password: "p", Database: 3},
			want: [][]string{
				{"hello", "2", "auth", "u", "p"},
				{"select", "3"},
				{"ping"},
				{"ping"},
				{"set", "soakline:r:c00050000000700", "0", "ex", "60"},
				{"set", "soakline:r:c00050000000701", "0", "ex", "60"},
				{"expire", "soakline:r:c00050000000600", "60"},
				{"expire", "soakline:r:c00050000000601", "60"},
			},
		},
		{
			name: "counters without a TTL", options: Options{Protocol: 2}, seat: Seat{Layout: forever, Counts: true},
			want: [][]string{{"hello", "2"}, {"ping"}, {"ping"}, {"set", "soakline:r:c00050000000700", "0"}, {"expire", "soakline:r:c00050000000600", "60"}},
		},
		{
			name: "no HELLO", options: Options{Protocol: 3, Username: "u", Password: "p", Database: 1},
			noHello: true, seat: Seat{Layout: small},
			want: [][]string{{"hello", "3", "auth", "u", "p"}, {"auth", "u", "p"}, {"select", "1"}, {"ping"}},
		},
		{
			name: "no HELLO, no user", options: Options{Protocol: 2, Password: "p"},
			noHello: true, seat: Seat{Layout: small},
			want: [][]string{{"hello", "2", "auth", "default", "p"}, {"auth", "p"}, {"ping"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fake{noHello: c.noHello}
			o := f.options()
			o.Protocol, o.Username, o.Password, o.Database = c.options.Protocol, c.options.Username, c.options.Password, c.options.Database
			c.seat.Counters, c.seat.Writes = c.seat.Layout.NewCounters(5, 7), c.seat.Layout.NewWrites(1, true)
			conn, err := Open(t.Context(), o, c.seat)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
			f.taken(t)
			var got [][]string
			for _, q := range f.hands {
				got = append(got, q.args)
			}
			if !slices.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("sent %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestOpenEnds at exact instants, although the target accepts and says nothing.
func TestOpenEnds(t *testing.T) {
	const read = 500 * time.Millisecond // the read timeout
	after := func(d time.Duration) func(*testing.T) context.Context {
		return func(t *testing.T) context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(d, cancel)
			t.Cleanup(cancel)
			return ctx
		}
	}
	by := func(d time.Duration) func(*testing.T) context.Context {
		return func(t *testing.T) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			t.Cleanup(cancel)
			return ctx
		}
	}
	dead := func(t *testing.T) context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}
	hang := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, c := range []struct {
		name  string
		ctx   func(*testing.T) context.Context
		dial  dialer // nil: the target accepts
		took  time.Duration
		cause error // nil: a timeout
	}{
		{"read timeout", (*testing.T).Context, nil, read, nil},
		{"cancelled before", dead, nil, 0, context.Canceled},
		{"cancelled", after(70 * time.Millisecond), nil, 70 * time.Millisecond, context.Canceled},
		{"expires", by(70 * time.Millisecond), nil, 70 * time.Millisecond, nil},
		{"dial timeout", (*testing.T).Context, hang, time.Second, nil},
		{"cancelled while it dials", after(70 * time.Millisecond), hang, 70 * time.Millisecond, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{mute: true}
				o := f.options()
				o.ReadTimeout = read
				if c.dial != nil {
					o.Dial = c.dial
				}
				ctx := c.ctx(t)
				begin := time.Now()
				conn, err := Open(ctx, o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
				if took := time.Since(begin); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if conn != nil || err == nil {
					t.Fatalf("opened: %v", err)
				}
				if c.cause != nil && !errors.Is(err, c.cause) {
					t.Errorf("%v, want %v", err, c.cause)
				}
				if c.cause == nil && FailureOf(err) != Timeout {
					t.Errorf("FailureOf(%v) = %s", err, FailureOf(err))
				}
			})
		})
	}
}

// TestOpenDialsOnce: a back-off between attempts is the daemon's, and nothing
// dials behind its back.
func TestOpenDialsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		o := (&fake{}).options()
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			return nil, errors.New("no way")
		}
		if _, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)}); err == nil {
			t.Error("opened")
		}
		time.Sleep(time.Minute)
		if n := dials.Load(); n != 1 {
			t.Errorf("dialled %d times", n)
		}
	})
}

// TestOpenRefused: a target that refuses the counters is still loaded, since
// its refusals are what there is to see; one that refuses PING is not.
func TestOpenRefused(t *testing.T) {
	small := workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: "r", Keys: 3, ValueSize: 8})
	for _, text := range []string{
		"OOM command not allowed when used memory > 'maxmemory'.",
		"READONLY You can't write against a read only replica.",
	} {
		refuse := &fake{play: func(conn net.Conn, r *bufio.Reader) {
			for {
				q, err := readRequest(r)
				if err != nil {
					return
				}
				reply := "-" + text
				if q.args[0] == "ping" {
					reply = "+PONG"
				}
				_, _ = io.WriteString(conn, reply+"\r\n")
			}
		}}
		conn, err := Open(t.Context(), refuse.options(), Seat{Layout: small, Counters: small.NewCounters(0, 0), Writes: small.NewWrites(1, true), Counts: true})
		if err != nil {
			t.Fatal(err)
		}
		got, err := exchange(t.Context(), conn, incr(0))
		if got[0] != workload.ErrorReply || err != nil {
			t.Errorf("%s: %s, %v", text, got[0], err)
		}
		_ = conn.Close()
	}
}

// TestIPv6 opens a literal address.
func TestIPv6(t *testing.T) {
	if listener, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip(err)
	} else {
		_ = listener.Close()
	}
	rows := []answered{{get(1), "$-1\r\n", workload.OK}}
	conn := open(t, answering(rows).listening(t, "tcp", "[::1]:0"))
	if got, err := exchange(t.Context(), conn, get(1)); got[0] != workload.OK || err != nil {
		t.Errorf("%s, %v", got[0], err)
	}
}
