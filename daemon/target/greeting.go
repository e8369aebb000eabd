package target

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"time"

	"soakline/daemon/workload"
)

const (
	greetingSize = 256                    // bytes that are kept; protected mode's are 1,000
	lastWordsFor = 100 * time.Millisecond // a bound only: a connection that is gone has them at once
)

// greeting is the first line that a target says, if it is an error, for as long
// as nothing follows it. go-redis takes an error in reply to HELLO for that of
// an old server and goes on, so that all it reports of a target which turned
// the connection away is that a later write failed.
type greeting struct {
	line  []byte // without its end; nil: nothing said, or no error
	cut   bool   // the line, to greetingSize
	ended bool   // the line
	over  bool   // more was said than an error: it is of no account
}

// hear takes what was read.
func (g *greeting) hear(b []byte) {
	if g.over || len(b) == 0 {
		return
	}
	if len(g.line) == 0 && b[0] != '-' && b[0] != tlsAlert || g.ended {
		*g = greeting{over: true}
		return
	}
	line, rest, ended := bytes.Cut(b, []byte("\n"))
	room := greetingSize - len(g.line)
	g.line = append(g.line, line[:min(len(line), room)]...)
	g.cut, g.ended = g.cut || len(line) > room, ended
	if len(rest) > 0 {
		*g = greeting{over: true}
	}
}

// lastWords explains err, with which a write failed, by what the target said
// before: go-redis would not read it.
func (g *greeting) lastWords(conn net.Conn, err error) error {
	if g.over || g.ended || !brokenOff(err) {
		return g.explain(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(lastWordsFor))
	b := make([]byte, greetingSize)
	for !g.over && !g.ended {
		n, last := conn.Read(b)
		g.hear(b[:n])
		if alerted(last) {
			return g.explain(last)
		}
		if last != nil {
			break
		}
	}
	return g.explain(err)
}

// explain is err, with which the connection failed, and what the target said
// of it.
func (g *greeting) explain(err error) error {
	switch {
	case alerted(err):
		return &tlsError{err}
	case g.over || !brokenOff(err):
		return err
	case len(g.line) == 0:
		return &dismissal{err: err}
	case g.line[0] == tlsAlert:
		return &tlsError{errors.New("answered with a TLS alert")}
	}
	said := strings.TrimSuffix(string(g.line[1:]), "\r")
	if unversed(said) {
		return err
	}
	if g.cut {
		said += "…"
	}
	return &dismissal{said, err}
}

// brokenOff tells whether err is that the other side ended the connection.
func brokenOff(err error) bool {
	switch FailureOf(err) {
	case Reset, Closed:
		return !errors.Is(err, net.ErrClosed) // by this side
	}
	return false
}

// unversed tells whether an error reply only says that the target does not know
// HELLO, which go-redis gets by without. Proxies have many words for it.
func unversed(said string) bool {
	code, lower := workload.CodeOf(said), strings.ToLower(said)
	return strings.HasPrefix(said, "NOPROTO") ||
		code == plainError && (strings.Contains(lower, "command") || strings.Contains(lower, "hello"))
}

var plainError = workload.CodeOf("ERR")

// dismissal is the error of a connection that the target ended before it had
// answered anything else.
type dismissal struct {
	said string // the error that it sent; "": it ended without a word, on HELLO
	err  error
}

func (d *dismissal) Error() string {
	if d.said == "" {
		return "closed the connection on HELLO: " + d.err.Error()
	}
	return d.said
}

// Unwrap has a list since go-redis takes one layer off errors of a handshake,
// unless it is one.
func (d *dismissal) Unwrap() []error { return []error{d.err} }
