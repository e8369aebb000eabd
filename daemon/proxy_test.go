package daemon

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy is a network of the test's own between daemons and a real server,
// which can be broken and mended while it runs.
type proxy struct {
	t       *testing.T
	socket  string // of the server
	address string // host:port of its own
	running sync.WaitGroup
	dialled atomic.Int64 // connections, in all

	mu       sync.Mutex // guards what is below
	listener net.Listener
	open     map[*proxied]bool
	relay    relay         // what becomes of replies; nil: they pass
	silent   bool          // requests go nowhere
	delay    time.Duration // each way
}

// proxied is a connection through a proxy. Its fields are those of the
// goroutine that hands replies on.
type proxied struct {
	client, server net.Conn
	out            *bufio.Writer // to the client
	last           []byte        // the server's reply before this one; nil for the first
	seen           int           // what a relay counts
}

// relay hands one reply of the server on, in whatever form. An error ends the
// connection.
type relay func(c *proxied, reply []byte) error

// errProxyCut is the error of a relay that cuts the connection.
var errProxyCut = errors.New("cut on purpose")

// proxyTo is a proxy to a server that url names as shared does, and the url by
// which daemons reach it.
func proxyTo(t *testing.T, url string) (p *proxy, through string) {
	t.Helper()
	p = &proxy{t: t, socket: strings.TrimPrefix(url, "target.url=unix://"), address: "127.0.0.1:0", open: map[*proxied]bool{}}
	p.listen()
	p.address = p.listener.Addr().String()
	t.Cleanup(func() {
		p.refuse()
		p.running.Wait()
	})
	return p, "target.url=redis://" + p.address
}

// listen accepts connections, again after refuse.
func (p *proxy) listen() {
	p.t.Helper()
	var listener net.Listener
	var err error
	for range 100 { // somebody may have the port for an instant
		if listener, err = net.Listen("tcp", p.address); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listener = listener
	p.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			p.dialled.Add(1)
			p.accept(client, listener)
		}
	})
}

// refuse ends all connections and accepts no more.
func (p *proxy) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
	for c := range p.open {
		c.end()
	}
}

// through makes replies go through a relay; nil lets them pass.
func (p *proxy) through(r relay) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relay = r
}

// mute makes the network accept and read, and nothing come of it, or ends that.
func (p *proxy) mute(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = silent
}

// slow makes what is read from now on take d each way.
func (p *proxy) slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// connections counts those that are open.
func (p *proxy) connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

func (p *proxy) accept(client net.Conn, by net.Listener) {
	server, err := net.Dial("unix", p.socket)
	if err != nil { // it is down
		_ = client.Close()
		return
	}
	c := &proxied{client: client, server: server, out: bufio.NewWriter(client)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != by {
		c.end()
		return
	}
	p.open[c] = true
	replies := bufio.NewReader(server)
	p.running.Go(func() {
		p.line(c, func() ([]byte, error) { return proxyRequests(client) }, p.request(c))
	})
	p.running.Go(func() {
		p.line(c, func() ([]byte, error) { return proxyReply(replies) }, p.reply(c))
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, c)
	})
}

func (c *proxied) end() {
	_ = c.client.Close()
	_ = c.server.Close()
}

// proxyParcel is what is under way in one direction.
type proxyParcel struct {
	due   time.Time
	bytes []byte
}

// line carries what read gives to hand, in its order, each parcel after the
// delay that was set when it was read, and then ends the connection. It hands
// nil when there is nothing more for now.
func (p *proxy) line(c *proxied, read func() ([]byte, error), hand func([]byte) error) {
	parcels := make(chan proxyParcel, 1024)
	p.running.Go(func() {
		defer close(parcels)
		for {
			b, err := read()
			if err != nil {
				return
			}
			p.mu.Lock()
			due := time.Now().Add(p.delay)
			p.mu.Unlock()
			parcels <- proxyParcel{due, b}
		}
	})
	var err error
	for next := range parcels {
		if err != nil {
			continue // until the reader has noticed
		}
		time.Sleep(time.Until(next.due))
		err = hand(next.bytes)
		if err == nil && len(parcels) == 0 {
			err = hand(nil)
		}
		if err != nil {
			c.end()
		}
	}
	c.end()
}

// request hands requests on to the server.
func (p *proxy) request(c *proxied) func([]byte) error {
	return func(b []byte) error {
		p.mu.Lock()
		silent := p.silent
		p.mu.Unlock()
		if silent || b == nil {
			return nil
		}
		_, err := c.server.Write(b)
		return err
	}
}

// reply hands replies on to the client.
func (p *proxy) reply(c *proxied) func([]byte) error {
	return func(b []byte) error {
		if b == nil {
			return c.out.Flush()
		}
		p.mu.Lock()
		relay := p.relay
		p.mu.Unlock()
		defer func() { c.last = b }()
		if relay == nil {
			_, err := c.out.Write(b)
			return err
		}
		return errors.Join(relay(c, b), c.out.Flush())
	}
}

// proxyRequests reads what there is of requests, at least a byte.
func proxyRequests(r io.Reader) ([]byte, error) {
	b := make([]byte, 16<<10)
	n, err := r.Read(b)
	if n > 0 {
		err = nil // it comes again
	}
	return b[:n], err
}

// proxyReply reads a whole reply, of RESP 2.
func proxyReply(r *bufio.Reader) ([]byte, error) {
	reply, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(string(bytes.TrimSpace(reply[1:])))
	switch {
	case reply[0] == '$' && n >= 0:
		body := make([]byte, n+len("\r\n"))
		_, err = io.ReadFull(r, body)
		reply = append(reply, body...)
	case reply[0] == '*':
		for range n {
			part, failed := proxyReply(r)
			reply, err = append(reply, part...), errors.Join(err, failed)
		}
	}
	return reply, err
}

// proxyDrip hands replies on byte by byte, with a pause before each.
func proxyDrip(pause time.Duration) relay {
	return func(c *proxied, reply []byte) error {
		for _, b := range reply {
			time.Sleep(pause)
			if err := errors.Join(c.out.WriteByte(b), c.out.Flush()); err != nil {
				return err
			}
		}
		return nil
	}
}

// proxyCut cuts whatever connection carries each n-th byte of all replies, in
// front of it.
func proxyCut(n int) relay {
	var mu sync.Mutex
	left := n
	return func(c *proxied, reply []byte) error {
		mu.Lock()
		defer mu.Unlock()
		if len(reply) < left {
			left -= len(reply)
			_, err := c.out.Write(reply)
			return err
		}
		_, err := c.out.Write(reply[:left-1])
		left = n
		return errors.Join(err, errProxyCut)
	}
}

// proxySwaps count replies that have been replaced by another.
type proxySwaps struct{ atomic.Int64 }

// predecessors gives every command the reply to the one before it. Counted are
// the replies that begin with kind and are replaced by others.
func (s *proxySwaps) predecessors(kind string) relay {
	return func(c *proxied, reply []byte) error {
		told := reply
		if c.last != nil {
			told = c.last
		}
		if bytes.HasPrefix(reply, []byte(kind)) && !bytes.Equal(told, reply) {
			s.Add(1)
		}
		_, err := c.out.Write(told)
		return err
	}
}

// nth replaces each n-th of a connection's replies that begin with kind, as
// with says, which is told how many it has replaced; what it leaves alone is
// not counted.
func (s *proxySwaps) nth(n int, kind string, with func(c *proxied, reply []byte, replaced int64) []byte) relay {
	return func(c *proxied, reply []byte) error {
		told := reply
		if bytes.HasPrefix(reply, []byte(kind)) {
			if c.seen++; c.seen >= n {
				if told = with(c, reply, s.Load()); !bytes.Equal(told, reply) {
					s.Add(1)
					c.seen = 0
				}
			}
		}
		_, err := c.out.Write(told)
		return err
	}
}
