package target

import "net"

// wire is a connection's transport. It counts what has been written, which
// parts what may have executed from what certainly has not. Only the goroutine
// that owns the connection reads and writes; anyone may Close.
type wire struct {
	net.Conn
	written uint64 // bytes
	onWrite func() // called once, after the next write that works; nil: none
}

func (w *wire) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	w.written += uint64(n)
	if w.onWrite != nil && err == nil {
		w.onWrite()
		w.onWrite = nil
	}
	return n, err
}
