package target

import "net"

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
}

func (w *wire) Write(b []byte) (int, error) {
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
		return n, w.greeting.explain(err)
	}
	return n, nil
}
