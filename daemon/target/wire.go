package target

import (
	"net"
	"sync/atomic"
)

// wire is a connection's transport; below it may be TLS, so that all it counts
// is plain text. It counts what has been written, which parts what may have
// executed from what certainly has not; its errors tell what the target said
// before it broke off. Only the goroutine that owns the connection reads and
// writes; anyone may Close.
type wire struct {
	net.Conn
	written  uint64 // bytes
	onWrite  func() // called once, after the next write that works; nil: none
	greeting greeting
	inPool   bool        // every read settles it
	owed     atomic.Bool // the target has not answered all that was written
}

func (w *wire) Write(b []byte) (int, error) {
	w.owed.Store(true)
	n, err := w.Conn.Write(b)
	w.written += uint64(n)
	if err != nil {
		return n, w.greeting.lastWords(w.Conn, err)
	}
	if w.onWrite != nil {
		w.onWrite()
		w.onWrite = nil
	}
	return n, nil
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.greeting.hear(b[:n])
	if err != nil {
		w.owed.Store(true)
		return n, w.greeting.explain(err)
	}
	if w.inPool {
		w.settle()
	}
	return n, nil
}

// settle says that the target has answered all that was written.
func (w *wire) settle() { w.owed.Store(false) }

// Close ends the connection, and hard if the target owes an answer or the
// connection is broken. What the kernel has not sent by then, it never sends: a
// target that hung, or a network that comes back, must not execute minutes
// later what was given up here. What has reached the target's own kernel cannot
// be called back, which on a unix socket is everything.
func (w *wire) Close() error {
	if !w.owed.Load() {
		return w.Conn.Close()
	}
	raw := beneath(w.Conn)
	if tcp, is := raw.(interface{ SetLinger(seconds int) error }); is {
		_ = tcp.SetLinger(0) // it fails on a closed connection only
	}
	if raw == w.Conn {
		return raw.Close()
	}
	err := raw.Close() // first: TLS would say good-bye, and wait for it
	_ = w.Conn.Close() // which can no longer be sent
	return err
}

// beneath is the connection under TLS, or under whatever else wraps it.
func beneath(conn net.Conn) net.Conn {
	for {
		wrapper, is := conn.(interface{ NetConn() net.Conn })
		if !is {
			return conn
		}
		conn = wrapper.NetConn()
	}
}
