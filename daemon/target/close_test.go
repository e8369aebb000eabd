package target

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"soakline/daemon/servertest"
	"soakline/daemon/workload"
)

// TestClose: the target sees a good-bye where it owed nothing, and a reset
// where the connection was given up, also beneath TLS.
func TestClose(t *testing.T) {
	a := servertest.NewAuthority(t)
	ca := servertest.NewFiles(t).Write("ca", a.PEM)
	for _, secure := range []*tls.Config{nil, a.Issue(t, servertest.Loopback).Server(t)} {
		for _, c := range []struct {
			name    string
			replies string // to two GET
			read    time.Duration
			cut     bool // Close comes while the exchange waits
			hard    bool
		}{
			{"answered", "$-1\r\n$-1\r\n", time.Minute, false, false},
			{"an error each", "-OOM no\r\n-OOM no\r\n", time.Minute, false, false},
			{"cut, no answer", "", time.Minute, true, true},
			{"cut, half an answer", "$-1\r\n", time.Minute, true, true},
			{"read timeout", "$-1\r\n", 20 * time.Millisecond, false, true},
			{"no reply of GET's", "*1\r\n$-1\r\n$-1\r\n", time.Minute, false, true},
			{"no protocol", "\r\n", time.Minute, false, true},
		} {
			t.Run(fmt.Sprintf("%s, TLS %t", c.name, secure != nil), func(t *testing.T) {
				wrote, ended := make(chan struct{}), make(chan error, 1)
				f := &fake{tls: secure}
				f.play = func(conn net.Conn, r *bufio.Reader) {
					f.take(r, 2)
					_, _ = io.WriteString(conn, c.replies)
					close(wrote)
					_, err := r.ReadByte()
					ended <- err
				}
				o := f.listening(t, "tcp", "127.0.0.1:0")
				o.ReadTimeout = c.read
				if secure != nil {
					o.TLS = &TLS{CAFile: ca}
				}
				conn := open(t, o)
				if c.cut {
					go func() {
						<-wrote
						_ = conn.Close()
					}()
				}
				_, _ = exchange(t.Context(), conn, get(1), get(2))
				_ = conn.Close()
				err := <-ended
				if hard := errors.Is(err, syscall.ECONNRESET); hard != c.hard || !hard && !errors.Is(err, io.EOF) {
					t.Errorf("the target saw %v", err)
				}
			})
		}
	}
}

// TestUnsentNeverArrives: what waits in this machine's kernel when a connection
// to a target that hangs is given up does not reach the target later.
func TestUnsentNeverArrives(t *testing.T) {
	closed, got := make(chan struct{}), make(chan int64, 1)
	var ended error
	f := &fake{play: func(conn net.Conn, r *bufio.Reader) {
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		<-closed
		n, err := io.Copy(io.Discard, r)
		ended = err
		got <- n
	}}
	o := f.listening(t, "tcp", "127.0.0.1:0")
	o.WriteTimeout = 50 * time.Millisecond
	large := workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: "r", Keys: 1000, ValueSize: 64 << 10})
	conn, err := Open(t.Context(), o, Seat{Layout: large, Counters: large.NewCounters(0, 0), Writes: large.NewWrites(1, true)})
	if err != nil {
		t.Fatal(err)
	}
	before := conn.wire.written
	commands := make([]workload.Command, 300) // more than any kernel's buffers
	for i := range commands {
		commands[i] = workload.Command{Kind: workload.Set, Key: uint64(i), RequestBytes: int32(large.RequestBytes(workload.Set))}
	}
	conn.Prepare(commands)
	if err := conn.Exchange(t.Context(), nil); FailureOf(err) != Timeout {
		t.Fatal(err)
	}
	_ = conn.Close()
	close(closed)
	if n, written := <-got, int64(conn.wire.written-before); n >= written || !errors.Is(ended, syscall.ECONNRESET) {
		t.Errorf("%d of %d bytes arrived, then %v", n, written, ended)
	}
}

// TestCloseAtRest: connections of both kinds that have done nothing but shake
// hands end without a reset, also under TLS.
func TestCloseAtRest(t *testing.T) {
	a := servertest.NewAuthority(t)
	ca := servertest.NewFiles(t).Write("ca", a.PEM)
	for _, secure := range []*tls.Config{nil, a.Issue(t, servertest.Loopback).Server(t)} {
		ended := make(chan error, 1)
		f := &fake{tls: secure, play: func(_ net.Conn, r *bufio.Reader) {
			_, err := r.ReadByte()
			ended <- err
		}}
		o := f.listening(t, "tcp", "127.0.0.1:0")
		if secure != nil {
			o.TLS = &TLS{CAFile: ca}
		}
		c := NewControl(o, layout)
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		_ = c.Close()
		if err := <-ended; err != io.EOF {
			t.Errorf("TLS %t: the target saw %v of Control", secure != nil, err)
		}
		_ = open(t, o).Close()
		if err := <-ended; err != io.EOF {
			t.Errorf("TLS %t: the target saw %v of Conn", secure != nil, err)
		}
	}
}

// TestControlReplaces a connection that the target has closed while it was
// idle: nothing is lost by it.
func TestControlReplaces(t *testing.T) {
	closed := make(chan struct{})
	f := &fake{play: func(conn net.Conn, _ *bufio.Reader) {
		_ = conn.Close()
		closed <- struct{}{}
	}}
	o := f.listening(t, "tcp", "127.0.0.1:0")
	c := control(t, *o)
	for range 3 {
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		<-closed
	}
}
