package target

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"soakline/daemon/workload"
)

// fake is a server of the test's own. It shakes hands as a real one does; what
// follows is play's.
type fake struct {
	noHello bool // it is too old to know HELLO
	mute    bool // it accepts, and answers nothing

	tls      *tls.Config       // that it speaks; nil: none
	farewell string            // it says this on accepting, and closes; "": it serves
	answers  map[string]string // to commands of the handshake, instead; "": it closes

	// play has the connection once PING has been answered, and it is closed
	// when play returns; nil: the fake goes on as in a handshake.
	play func(conn net.Conn, r *bufio.Reader)

	running sync.WaitGroup

	mu    sync.Mutex
	dials int
	hands []request // of the handshakes
	load  []request // that play has taken
}

// request is what one command was on the wire.
type request struct {
	args  []string
	bytes int
}

// endless is more commands than any test sends.
const endless = math.MaxInt

// options lead to the fake over a net.Pipe, which works in a synctest bubble.
func (f *fake) options() *Options {
	return &Options{
		Network: "tcp", Address: "127.0.0.1:6379", Protocol: 2,
		DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			f.accept(server)
			return client, nil
		},
	}
}

// listening leads to the fake over a real socket.
func (f *fake) listening(t *testing.T, network, address string) *Options {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	f.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			f.accept(conn)
		}
	})
	t.Cleanup(func() { _ = listener.Close() })
	o := f.options()
	o.Network, o.Address, o.Dial = network, listener.Addr().String(), nil
	return o
}

func (f *fake) accept(conn net.Conn) {
	f.mu.Lock()
	f.dials++
	f.mu.Unlock()
	f.running.Go(func() {
		if f.tls != nil {
			conn = tls.Server(conn, f.tls)
		}
		defer conn.Close()
		if f.farewell != "" {
			_, _ = io.WriteString(conn, f.farewell)
			return
		}
		f.serve(conn)
	})
}

func (f *fake) serve(conn net.Conn) {
	// A pipe has no buffer: what the client writes at once must fit into this
	// one, since it does not read while it writes.
	r := bufio.NewReaderSize(conn, 64<<10)
	for {
		q, err := readRequest(r)
		if err != nil {
			return
		}
		f.mu.Lock()
		f.hands = append(f.hands, q)
		f.mu.Unlock()
		if f.mute {
			continue
		}
		answer, fixed := f.answers[q.args[0]]
		if !fixed {
			answer = f.greeting(q.args)
		}
		if answer == "" {
			return
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
		if q.args[0] == "ping" && f.play != nil {
			f.play(conn, r)
			return
		}
	}
}

// greeting answers a command of the handshake.
func (f *fake) greeting(args []string) string {
	switch {
	case args[0] == "ping":
		return "+PONG\r\n"
	case args[0] != "hello":
		return "+OK\r\n"
	case f.noHello:
		return "-ERR unknown command 'hello'\r\n"
	case args[1] == "3":
		return "%1\r\n$5\r\nproto\r\n:3\r\n"
	}
	return "*2\r\n$5\r\nproto\r\n:2\r\n"
}

// take reads n commands of the load, or as many as come.
func (f *fake) take(r *bufio.Reader, n int) {
	for range n {
		q, err := readRequest(r)
		if err != nil {
			return
		}
		f.mu.Lock()
		f.load = append(f.load, q)
		f.mu.Unlock()
	}
}

// taken waits for the end of all connections and returns the load, which must
// have come over a single one.
func (f *fake) taken(t *testing.T) []request {
	t.Helper()
	f.running.Wait()
	if f.dials != 1 {
		t.Errorf("connected %d times", f.dials)
	}
	return f.load
}

// readRequest reads one command, strictly: an array of bulk strings.
func readRequest(r *bufio.Reader) (request, error) {
	var q request
	header := func(mark string) (int, error) {
		line, err := r.ReadString('\n')
		if err != nil {
			return 0, err
		}
		q.bytes += len(line)
		digits, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r\n"), mark)
		if !ok {
			return 0, fmt.Errorf("%q instead of %s", line, mark)
		}
		return strconv.Atoi(digits)
	}
	n, err := header("*")
	if err != nil {
		return q, err
	}
	for range n {
		size, err := header("$")
		if err != nil {
			return q, err
		}
		arg := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(r, arg); err != nil {
			return q, err
		}
		q.bytes += len(arg)
		q.args = append(q.args, string(arg[:size]))
	}
	return q, nil
}

// layout has values that fill a slot's buffer to the last byte.
var layout = workload.NewLayout(workload.Layout{
	Prefix: "soakline:", Run: "test", Keys: 1000, ValueSize: 70, TTL: time.Hour,
})

func get(key uint64) workload.Command { return command(workload.Get, key, 0) }

func set(key, version uint64) workload.Command { return command(workload.Set, key, version) }

func incr(key uint64) workload.Command { return command(workload.Incr, key, 0) }

func command(kind workload.Kind, key, version uint64) workload.Command {
	return workload.Command{Kind: kind, Key: key, Version: version, RequestBytes: int32(layout.RequestBytes(kind))}
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// value is the value of key at version, as a bulk string.
func value(key, version uint64) string { return bulk(string(layout.AppendValue(nil, key, version))) }

// open opens a connection with counters of its own and closes it with the test.
func open(t testing.TB, o *Options) *Conn {
	t.Helper()
	conn, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// exchange sends commands and returns what became of each.
func exchange(ctx context.Context, conn *Conn, commands ...workload.Command) ([]workload.Outcome, error) {
	conn.Prepare(commands)
	err := conn.Exchange(ctx, nil)
	outcomes := make([]workload.Outcome, len(commands))
	for i, c := range commands {
		outcomes[i] = conn.Check(i, c)
	}
	return outcomes, err
}
