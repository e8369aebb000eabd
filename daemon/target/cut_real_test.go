package target

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"soakline/daemon/workload"
)

// pipelined are ten commands and what a real server says to them, where key 1
// has a value, key 5 is a list and all else is missing.
var pipelined = []answered{
	{get(1), value(1, 3), workload.OK},
	{incr(3), ":1\r\n", workload.OK},
	{set(2, 7), "+OK\r\n", workload.OK},
	{get(4), "$-1\r\n", workload.OK},
	{get(5), "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n", workload.ErrorReply},
	{incr(6), ":1\r\n", workload.OK},
	{get(2), value(2, 7), workload.OK},
	{incr(3), ":2\r\n", workload.OK},
	{set(9, 8), "+OK\r\n", workload.OK},
	{incr(3), ":3\r\n", workload.OK},
}

// severed is a network between connections and a real server, which breaks in
// the exchange of each as a test says. It shakes hands itself; what follows is
// the server's.
type severed struct {
	t       *testing.T
	fake    *fake
	options *Options // lead to the server over the network
	admin   *Control // leads past it
	socket  string
	plays   chan func(client net.Conn, r io.Reader, server *net.UnixConn) // of the next connections, one each
	next    uint32                                                        // generation of counters
}

func sever(t *testing.T, network, address string) *severed {
	t.Helper()
	p := private(t)
	s := &severed{t: t, admin: control(t, p.Options(usual)), socket: p.Socket}
	s.plays = make(chan func(net.Conn, io.Reader, *net.UnixConn), 1)
	s.fake = &fake{play: s.play}
	s.options = s.fake.listening(t, network, address)
	s.options.ReadTimeout, s.options.WriteTimeout = time.Minute, time.Minute
	return s
}

func (s *severed) play(client net.Conn, r *bufio.Reader) {
	select {
	case play := <-s.plays:
		server, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: s.socket})
		if err != nil {
			s.t.Error(err)
			return
		}
		defer server.Close()
		play(client, r, server)
	default: // nobody should have come
	}
}

// severing is one exchange over a network that breaks.
type severing struct {
	what     string
	outcomes []workload.Outcome
	err      error
	calls    map[workload.Kind]int // that the server has executed
	doubted  int64                 // increments, of which
	executed int64                 // so many had executed
}

// exchange sends commands over a connection of their own.
func (s *severed) exchange(what string, l *workload.Layout, rows []answered, play func(client net.Conn, r io.Reader, server *net.UnixConn)) severing {
	s.t.Helper()
	ctx := s.t.Context()
	over := make(chan struct{})
	s.plays <- func(client net.Conn, r io.Reader, server *net.UnixConn) {
		defer close(over)
		play(client, r, server)
	}
	conn, err := Open(ctx, s.options, Seat{Layout: l, Counters: l.NewCounters(0, s.next), Writes: l.NewWrites(1, true)})
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	s.next++
	if err := s.admin.client.ConfigResetStat(ctx).Err(); err != nil {
		s.t.Fatal(err)
	}
	e := severing{what: what}
	e.outcomes, e.err = exchange(ctx, conn, commandsOf(rows)...)
	<-over
	e.calls = s.calls()
	doubts := conn.Doubts()
	var names []string
	for _, d := range doubts {
		names = append(names, d.Name)
	}
	values, err := s.admin.Values(ctx, names)
	if err != nil {
		s.t.Fatal(err)
	}
	for i, d := range doubts {
		n := int64(0) // nothing has made the counter
		if values[i] != nil {
			n = *values[i]
		}
		executed, ok := d.Executed(n)
		if !ok {
			s.t.Errorf("%s: %+v cannot be told from %d", what, d, n)
		}
		e.doubted += d.Count
		e.executed += executed
	}
	return e
}

// calls are the commands that the server has executed since its statistics were
// reset.
func (s *severed) calls() map[workload.Kind]int {
	s.t.Helper()
	text, err := s.admin.client.Info(s.t.Context(), "commandstats").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	info := parseInfo(text)
	calls := map[workload.Kind]int{}
	for i, row := range workload.Commands {
		stats, _, _ := strings.Cut(info["cmdstat_"+row.Name], ",")
		n := 0
		if stats != "" {
			if _, err := fmt.Sscanf(stats, "calls=%d", &n); err != nil {
				s.t.Fatal(err)
			}
		}
		calls[workload.Kind(i)] = n
	}
	return calls
}

// once is what executing each of the commands once comes to.
func once(commands []workload.Command) map[workload.Kind]int {
	calls := map[workload.Kind]int{}
	for i := range workload.Commands {
		calls[workload.Kind(i)] = 0
	}
	for _, c := range commands {
		calls[c.Kind]++
	}
	return calls
}

func requestSize(commands []workload.Command) int {
	n := 0
	for _, c := range commands {
		n += int(c.RequestBytes)
	}
	return n
}

// prepare brings the server to what pipelined expects.
func (s *severed) prepare() {
	s.t.Helper()
	ctx, client := s.t.Context(), s.admin.client
	pipe := client.TxPipeline()
	pipe.FlushAll(ctx)
	pipe.Set(ctx, layout.Key(1), layout.AppendValue(nil, 1, 3), 0)
	pipe.LPush(ctx, layout.Key(5), "a list")
	if _, err := pipe.Exec(ctx); err != nil {
		s.t.Fatal(err)
	}
}

// TestCutRepliesOfServer breaks the network after every byte of what a real
// server answers: a reply that is whole counts, and the server has executed
// every command, once, which the counters tell of increments.
func TestCutRepliesOfServer(t *testing.T) {
	s := sever(t, "tcp", "127.0.0.1:0")
	commands := commandsOf(pipelined)
	all, _, _ := cutAt(pipelined, streamSize(pipelined))
	for n := range len(all) + 1 {
		s.prepare()
		_, want, whole := cutAt(pipelined, n)
		e := s.exchange(fmt.Sprintf("cut after %d bytes", n), layout, pipelined, func(client net.Conn, r io.Reader, server *net.UnixConn) {
			request, replies := make([]byte, requestSize(commands)), make([]byte, len(all))
			for _, step := range []func() (int, error){
				func() (int, error) { return io.ReadFull(r, request) },
				func() (int, error) { return server.Write(request) },
				func() (int, error) { return io.ReadFull(server, replies) },
				func() (int, error) { return client.Write(replies[:n]) },
			} {
				if _, err := step(); err != nil {
					t.Errorf("cut after %d bytes: %v", n, err)
				}
			}
			if string(replies) != all {
				t.Errorf("the server answers %q, want %q", replies, all)
			}
		})
		if !slices.Equal(e.outcomes, want) {
			t.Errorf("%s: %v, want %v", e.what, e.outcomes, want)
		}
		if whole != (e.err == nil) || !whole && FailureOf(e.err) != Closed {
			t.Errorf("%s: Exchange returned %v", e.what, e.err)
		}
		if wanted := once(commands); fmt.Sprint(e.calls) != fmt.Sprint(wanted) {
			t.Errorf("%s: the server has executed %v, want %v", e.what, e.calls, wanted)
		}
		if lost := uncertainIncrements(commands, e.outcomes); e.doubted != lost || e.executed != lost {
			t.Errorf("%s: %d increments are in doubt and %d had executed, want %d", e.what, e.doubted, e.executed, lost)
		}
	}
	s.dialled(len(all) + 1)
}

// dialled checks that nobody has connected more often than asked to.
func (s *severed) dialled(times int) {
	s.t.Helper()
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	if s.fake.dials != times {
		s.t.Errorf("connected %d times for %d exchanges", s.fake.dials, times)
	}
}

func uncertainIncrements(commands []workload.Command, outcomes []workload.Outcome) (n int64) {
	for i, c := range commands {
		if c.Kind == workload.Incr && outcomes[i] == workload.Uncertain {
			n++
		}
	}
	return n
}

// arrived parts the first commands, which are whole within n request bytes,
// from the others.
func arrived(commands []workload.Command, n int) (whole []workload.Command) {
	for i, c := range commands {
		if n -= int(c.RequestBytes); n < 0 {
			return commands[:i]
		}
	}
	return commands
}

// relay hands n request bytes on to the server, and waits until it has done
// with what it can make of them.
func (s *severed) relay(r io.Reader, n int, server *net.UnixConn) {
	_, err := io.CopyN(server, r, int64(n))
	if err == nil {
		err = server.CloseWrite()
	}
	if err == nil {
		_, err = io.Copy(io.Discard, server)
	}
	if err != nil {
		s.t.Errorf("relay %d bytes: %v", n, err)
	}
}

// TestCutRequestsOfServer breaks the network after every byte of the request.
// The client has written all of it by then, and cannot know: every command is
// uncertain, and the counters tell which increments the server did not get.
func TestCutRequestsOfServer(t *testing.T) {
	s := sever(t, "tcp", "127.0.0.1:0")
	commands := commandsOf(pipelined)
	all := requestSize(commands)
	for n := range all + 1 {
		s.prepare()
		e := s.exchange(fmt.Sprintf("cut after %d of %d bytes", n, all), layout, pipelined, func(_ net.Conn, r io.Reader, server *net.UnixConn) {
			request := make([]byte, all)
			if _, err := io.ReadFull(r, request); err != nil {
				t.Error(err)
			}
			s.relay(strings.NewReader(string(request)), n, server)
		})
		if want := slices.Repeat([]workload.Outcome{workload.Uncertain}, len(commands)); !slices.Equal(e.outcomes, want) || e.err == nil {
			t.Errorf("%s: %v, %v", e.what, e.outcomes, e.err)
		}
		s.checkArrived(e, commands, arrived(commands, n))
	}
	s.dialled(all + 1)
}

// checkArrived checks that the server has executed the commands that it got
// whole, once, and nothing else.
func (s *severed) checkArrived(e severing, commands, whole []workload.Command) {
	s.t.Helper()
	calls := once(whole)
	if fmt.Sprint(e.calls) != fmt.Sprint(calls) {
		s.t.Errorf("%s: the server has executed %v, want %v", e.what, e.calls, calls)
	}
	if doubted := uncertainIncrements(commands, e.outcomes); e.doubted != doubted || e.executed != int64(calls[workload.Incr]) {
		s.t.Errorf("%s: %d increments are in doubt and %d had executed, want %d and %d", e.what, e.doubted, e.executed, doubted, calls[workload.Incr])
	}
}

// TestCutLargeRequestsOfServer breaks the network while a request is written
// that it does not hold at once: the commands of which no byte was written are
// unsent, and no others.
func TestCutLargeRequestsOfServer(t *testing.T) {
	large := workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: "large", Keys: 100, ValueSize: 150_000, TTL: time.Minute})
	var commands []workload.Command
	for i := range uint64(10) {
		kind, version := workload.Set, i+2
		if i%2 == 1 {
			kind, version = workload.Incr, 0
		}
		commands = append(commands, workload.Command{Kind: kind, Key: i, Version: version, RequestBytes: int32(large.RequestBytes(kind))})
	}
	rows := make([]answered, len(commands))
	for i, c := range commands {
		rows[i].command = c
	}
	// A unix socket holds what its sender's buffer does, and no more.
	s := sever(t, "unix", filepath.Join(t.TempDir(), "s"))
	first := int(commands[0].RequestBytes)
	cuts := []int{0, 1, first - 1, first, first + 1, requestSize(commands[:2]), requestSize(commands[:5]) - 1, requestSize(commands[:6])}
	for _, n := range cuts {
		e := s.exchange(fmt.Sprintf("cut after %d of %d bytes", n, requestSize(commands)), large, rows, func(_ net.Conn, r io.Reader, server *net.UnixConn) {
			s.relay(r, n, server)
		})
		unsent := slices.Index(e.outcomes, workload.Unsent)
		if unsent < 0 || e.err == nil {
			t.Fatalf("%s: %v, %v: want some unsent", e.what, e.outcomes, e.err)
		}
		want := append(slices.Repeat([]workload.Outcome{workload.Uncertain}, unsent), slices.Repeat([]workload.Outcome{workload.Unsent}, len(commands)-unsent)...)
		if !slices.Equal(e.outcomes, want) {
			t.Errorf("%s: %v, want %v", e.what, e.outcomes, want)
		}
		if got := requestSize(commands[:unsent]); got < n {
			t.Errorf("%s: only the first %d bytes are said to be written", e.what, got)
		}
		s.checkArrived(e, commands, arrived(commands, n))
		for _, c := range commands[unsent:] {
			if exists, err := s.admin.client.Exists(t.Context(), large.Key(c.Key)).Result(); exists != 0 || err != nil {
				t.Errorf("%s: a command of outcome unsent has executed, or %v", e.what, err)
			}
		}
		s.admin.client.FlushAll(t.Context())
	}
	s.dialled(len(cuts))
}
