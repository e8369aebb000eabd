package target

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"soakline/daemon/workload"
)

// answered is a command, its reply, and what becomes of it when the reply has
// been read.
type answered struct {
	command workload.Command
	reply   string
	want    workload.Outcome
}

// ten commands of a pipeline whose connection breaks.
var ten = []answered{
	{get(1), value(1, 3), workload.OK},
	{set(2, 1), "+OK\r\n", workload.OK},
	{incr(3), ":1\r\n", workload.OK},
	{get(4), "$-1\r\n", workload.OK},
	{incr(5), "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n", workload.ErrorReply},
	{set(6, 2), "-OOM command not allowed when used memory > 'maxmemory'.\r\n", workload.ErrorReply},
	{get(7), value(8, 1), workload.Mismatch},
	{incr(3), ":2\r\n", workload.OK},
	{set(9, 3), "+OK\r\n", workload.OK},
	{get(2), value(2, 1), workload.OK},
}

func commandsOf(rows []answered) []workload.Command {
	commands := make([]workload.Command, len(rows))
	for i, row := range rows {
		commands[i] = row.command
	}
	return commands
}

// cutAt is the reply stream of rows, cut after n bytes, and what becomes of the
// commands; whole tells whether nothing is missing.
func cutAt(rows []answered, n int) (stream string, want []workload.Outcome, whole bool) {
	for _, row := range rows {
		stream += row.reply
		if len(stream) <= n {
			want = append(want, row.want)
		} else {
			want = append(want, workload.Uncertain)
		}
	}
	return stream[:n], want, n == len(stream)
}

func streamSize(rows []answered) int {
	n := 0
	for _, row := range rows {
		n += len(row.reply)
	}
	return n
}

// TestCut breaks the connection after every byte of the reply stream.
func TestCut(t *testing.T) {
	batches := [][]answered{ten}
	for i := range ten[:7] {
		batches = append(batches, ten[i:i+1])
	}
	for _, rows := range batches {
		for n := range streamSize(rows) + 1 {
			stream, want, whole := cutAt(rows, n)
			f := &fake{}
			f.play = func(conn net.Conn, r *bufio.Reader) {
				f.take(r, len(rows))
				_, _ = io.WriteString(conn, stream)
			}
			conn := open(t, f.options())
			call := fmt.Sprintf("%d commands, cut after %q", len(rows), stream)
			got, err := exchange(t.Context(), conn, commandsOf(rows)...)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", call, got, want)
			}
			if whole != (err == nil) || err != nil && FailureOf(err) != Closed {
				t.Errorf("%s: Exchange returned %v", call, err)
			}
			if sent := f.taken(t); len(sent) != len(rows) {
				t.Errorf("%s: %d commands were sent", call, len(sent))
			}
			again, err := exchange(t.Context(), conn, get(1))
			if err == nil || again[0] != workload.Unsent || conn.Sent() {
				t.Errorf("%s: the next command is %s, %v", call, again[0], err)
			}
			_ = conn.Close()
		}
	}
}

// TestClosedBetweenExchanges shows what a real socket makes of a connection
// that the target closed: whether bytes still leave depends on the network.
func TestClosedBetweenExchanges(t *testing.T) {
	for _, c := range []struct {
		network, address string
		want             workload.Outcome
	}{
		{"tcp", "127.0.0.1:0", workload.Uncertain}, // the write goes into the void
		{"unix", filepath.Join(t.TempDir(), "s"), workload.Unsent},
	} {
		t.Run(c.network, func(t *testing.T) {
			closed := make(chan struct{})
			f := &fake{play: func(conn net.Conn, _ *bufio.Reader) {
				_ = conn.Close()
				close(closed)
			}}
			conn := open(t, f.listening(t, c.network, c.address))
			<-closed
			got, err := exchange(t.Context(), conn, get(1), set(2, 1))
			if want := slices.Repeat([]workload.Outcome{c.want}, 2); !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if kind := FailureOf(err); kind != Reset && kind != Closed {
				t.Errorf("FailureOf(%v) = %s", err, kind)
			}
		})
	}
}

// TestWrite breaks the connection while the request is written: any byte that
// got out makes its command uncertain, and those before it.
func TestWrite(t *testing.T) {
	all := 0
	for _, row := range ten {
		all += int(row.command.RequestBytes)
	}
	for n := range all {
		f := &fake{play: func(conn net.Conn, _ *bufio.Reader) {
			_, _ = io.ReadFull(conn, make([]byte, n))
		}}
		conn := open(t, f.options())
		var want []workload.Outcome
		ahead := 0
		for _, row := range ten {
			outcome := workload.Uncertain
			if ahead >= n {
				outcome = workload.Unsent
			}
			want = append(want, outcome)
			ahead += int(row.command.RequestBytes)
		}
		got, err := exchange(t.Context(), conn, commandsOf(ten)...)
		if !slices.Equal(got, want) || err == nil {
			t.Errorf("after %d of %d bytes: %v, %v; want %v", n, all, got, err, want)
		}
		f.taken(t)
		_ = conn.Close()
	}
}

// TestWritten is told of the first bytes that got out, once and before any
// reply, and of nothing else.
func TestWritten(t *testing.T) {
	told := make(chan struct{}, 2)
	f := &fake{}
	f.play = func(conn net.Conn, r *bufio.Reader) {
		f.take(r, 1)
		<-told
		_, _ = io.WriteString(conn, value(1, 1))
	}
	conn := open(t, f.options())
	conn.Prepare([]workload.Command{get(1)})
	if err := conn.Exchange(t.Context(), func() { told <- struct{}{} }); err != nil {
		t.Errorf("%v", err)
	}
	if len(told) != 0 {
		t.Errorf("told more than once")
	}
	f.taken(t)
	conn.Prepare([]workload.Command{get(1)})
	if err := conn.Exchange(t.Context(), func() { t.Errorf("told of a write that failed") }); err == nil {
		t.Errorf("the target is gone, and the exchange has no error")
	}
	_ = conn.Close()
}

// TestReadTimeout is exact: the time is that of all replies of an exchange, so
// a target that trickles does not stretch it.
func TestReadTimeout(t *testing.T) {
	for _, answered := range []int{0, 3, 7} {
		for _, pause := range []time.Duration{0, 100 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				f.play = func(conn net.Conn, r *bufio.Reader) {
					f.take(r, len(ten))
					for _, row := range ten[:answered] {
						time.Sleep(pause)
						_, _ = io.WriteString(conn, row.reply)
					}
					f.take(r, endless)
				}
				conn := open(t, f.options())
				begin := time.Now()
				got, err := exchange(t.Context(), conn, commandsOf(ten)...)
				if took := time.Since(begin); took != time.Second {
					t.Errorf("took %v", took)
				}
				for i, outcome := range got {
					if want := ten[i].want; i < answered && outcome != want || i >= answered && outcome != workload.Uncertain {
						t.Errorf("with %d replies the outcome of %d is %s", answered, i, outcome)
					}
				}
				if kind := FailureOf(err); kind != Timeout {
					t.Errorf("FailureOf(%v) = %s", err, kind)
				}
				_ = conn.Close()
				if sent := f.taken(t); len(sent) != len(ten) {
					t.Errorf("%d commands were sent", len(sent))
				}
			})
		}
	}
}

// TestWriteTimeout: the target does not read.
func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := make(chan struct{})
		f := &fake{play: func(net.Conn, *bufio.Reader) { <-deaf }}
		o := f.options()
		o.WriteTimeout = 300 * time.Millisecond
		conn := open(t, o)
		begin := time.Now()
		got, err := exchange(t.Context(), conn, get(1), incr(2))
		if took := time.Since(begin); took != o.WriteTimeout || FailureOf(err) != Timeout {
			t.Errorf("%v after %v", err, took)
		}
		if !slices.Equal(got, []workload.Outcome{workload.Unsent, workload.Unsent}) {
			t.Errorf("%v", got)
		}
		close(deaf)
		f.taken(t)
	})
}

// TestCloseUnderWay closes a connection whose exchange waits for replies.
func TestCloseUnderWay(t *testing.T) {
	taken := make(chan struct{})
	f := &fake{}
	f.play = func(_ net.Conn, r *bufio.Reader) {
		f.take(r, 2)
		close(taken)
		f.take(r, endless)
	}
	o := f.listening(t, "tcp", "127.0.0.1:0")
	o.ReadTimeout = time.Minute
	conn := open(t, o)
	go func() {
		<-taken
		_ = conn.Close()
		_ = conn.Close()
	}()
	got, err := exchange(t.Context(), conn, get(1), set(2, 1))
	if !slices.Equal(got, []workload.Outcome{workload.Uncertain, workload.Uncertain}) || FailureOf(err) != Closed {
		t.Errorf("%v, %v", got, err)
	}
}

// TestExchangeAfterClose: nothing is sent.
func TestExchangeAfterClose(t *testing.T) {
	f := &fake{}
	f.play = func(_ net.Conn, r *bufio.Reader) { f.take(r, endless) }
	conn := open(t, f.listening(t, "tcp", "127.0.0.1:0"))
	_ = conn.Close()
	got, err := exchange(t.Context(), conn, get(1))
	if got[0] != workload.Unsent || FailureOf(err) != Closed {
		t.Errorf("%s, FailureOf(%v) = %s", got[0], err, FailureOf(err))
	}
}

// TestLostWrite: a read that returns less than what was acknowledged before it
// was sent.
func TestLostWrite(t *testing.T) {
	rows := []answered{
		{set(1, 7), "+OK\r\n", workload.OK},
		{get(1), value(1, 7), workload.OK},
		{get(1), value(1, 6), workload.OK},
		{get(1), value(1, 6), workload.OK},
		{get(2), value(2, 6), workload.OK},
		{get(1), "$-1\r\n", workload.OK},
		{get(1), value(2, 6), workload.Mismatch},
	}
	var batches [][]answered
	for i := range rows {
		batches = append(batches, rows[i:i+1])
	}
	conn := open(t, answering(batches...).options())
	for i, row := range rows {
		conn.writes.Take(0, []workload.Command{row.command})
		got, err := exchange(t.Context(), conn, row.command)
		conn.writes.Settle(0)
		if got[0] != row.want || err != nil {
			t.Errorf("%d: %s, %v; want %s", i, got[0], err, row.want)
		}
		lost := row.command.Kind == workload.Get && got[0] == workload.OK && conn.Lost(0, row.command)
		if lost != (i == 2) {
			t.Errorf("%d: a write is lost: %t", i, lost)
		}
	}
}

// TestDoubts: increments without a reply are in doubt once they were written.
func TestDoubts(t *testing.T) {
	f := &fake{}
	f.play = func(conn net.Conn, r *bufio.Reader) {
		f.take(r, 4)
		_, _ = io.WriteString(conn, ":1\r\n:2\r\n")
	}
	conn := open(t, f.options())
	if doubts := conn.Doubts(); doubts != nil {
		t.Errorf("in doubt at once: %v", doubts)
	}
	_, _ = exchange(t.Context(), conn, incr(3), incr(3), incr(3), incr(4))
	want := []workload.Doubt{
		{Name: layout.Counter(conn.counters, 3), Known: 2, Count: 1},
		{Name: layout.Counter(conn.counters, 4), Known: 0, Count: 1},
	}
	if got := conn.Doubts(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
