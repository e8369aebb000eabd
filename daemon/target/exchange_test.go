package target

import (
	"bufio"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"soakline/daemon/workload"
)

// answering is a fake that reads each of the batches whole and then writes its
// replies; after the last one it waits for the client's end.
func answering(batches ...[]answered) *fake {
	f := &fake{}
	f.play = func(conn net.Conn, r *bufio.Reader) {
		for _, rows := range batches {
			f.take(r, len(rows))
			for _, row := range rows {
				_, _ = io.WriteString(conn, row.reply)
			}
		}
		f.take(r, endless)
	}
	return f
}

func wanted(rows []answered) []workload.Outcome {
	outcomes := make([]workload.Outcome, len(rows))
	for i, row := range rows {
		outcomes[i] = row.want
	}
	return outcomes
}

// TestReplies: a reply that is an error or wrong concerns its own command
// alone, and leaves nothing behind in the slots.
func TestReplies(t *testing.T) {
	wrong := []answered{
		{get(1), "-ERR something\r\n", workload.ErrorReply},
		{get(2), "+OK\r\n", workload.Mismatch},
		{get(2), value(3, 1), workload.Mismatch}, // another key's
		{get(2), bulk("short"), workload.Mismatch},
		{get(2), bulk(""), workload.Mismatch},
		{get(2), value(2, 0), workload.Mismatch}, // versions begin at 1
		{set(1, 1), ":1\r\n", workload.Mismatch},
		{set(1, 1), "$-1\r\n", workload.Mismatch},
		{set(1, 1), "+QUEUED\r\n", workload.Mismatch},
		{set(1, 1), value(1, 1), workload.Mismatch},
		{incr(1), "+OK\r\n", workload.Mismatch},
		{incr(1), "$-1\r\n", workload.Mismatch},
		{incr(1), ":2\r\n", workload.Mismatch}, // the two above count as executed
		{incr(1), ":4\r\n", workload.Mismatch},
		{get(1), "$-1\r\n", workload.OK},
		{incr(1), "-MADEUP by nobody\r\n", workload.ErrorReply},
	}
	right := []answered{
		{set(5, 6), "+OK\r\n", workload.OK},
		{get(2), value(2, 9), workload.OK},
		{incr(1), ":5\r\n", workload.OK},
		{incr(2), ":1\r\n", workload.OK},
		{get(7), "$-1\r\n", workload.OK},
		{set(5, 7), "+OK\r\n", workload.OK},
	}
	f := answering(wrong, right, wrong[:3], right[:2])
	conn := open(t, f.options())
	for i, rows := range [][]answered{wrong, right, wrong[:3], right[:2]} {
		got, err := exchange(t.Context(), conn, commandsOf(rows)...)
		if want := wanted(rows); !slices.Equal(got, want) || err != nil {
			t.Errorf("exchange %d: %v, %v\nwant %v", i, got, err, want)
		}
	}
	_ = conn.Close()
	if sent := f.taken(t); len(sent) != len(wrong)+len(right)+3+2 {
		t.Errorf("%d commands were sent", len(sent))
	}
}

// TestShortValues: a slot has room for any status and integer, however short
// the values are.
func TestShortValues(t *testing.T) {
	short := workload.NewLayout(workload.Layout{Run: "r", Keys: 1, ValueSize: 1})
	rows := []answered{
		{set(0, 1), "+OK\r\n", workload.OK},
		{incr(0), ":1\r\n", workload.OK},
		{incr(0), ":9223372036854775807\r\n", workload.Mismatch},
		{get(0), bulk(string(short.AppendValue(nil, 0, 1))), workload.OK},
	}
	conn, err := Open(t.Context(), answering(rows).options(), Seat{Layout: short, Counters: short.NewCounters(0, 0), Writes: short.NewWrites(1, true)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := exchange(t.Context(), conn, commandsOf(rows)...); !slices.Equal(got, wanted(rows)) || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestSingle: one plain command out, and its reply judged as in a pipeline.
func TestSingle(t *testing.T) {
	rows := []answered{
		{set(1, 1), "+OK\r\n", workload.OK},
		{get(1), value(2, 1), workload.Mismatch},
		{get(1), "-LOADING Redis is loading the dataset in memory\r\n", workload.ErrorReply},
		{get(1), "$-1\r\n", workload.OK},
		{get(1), value(1, 1), workload.OK},
		{incr(4), ":2\r\n", workload.Mismatch},
		{incr(4), ":3\r\n", workload.OK},
	}
	batches := make([][]answered, len(rows))
	for i := range rows {
		batches[i] = rows[i : i+1]
	}
	f := answering(batches...)
	conn := open(t, f.options())
	for _, row := range rows {
		got, err := exchange(t.Context(), conn, row.command)
		if got[0] != row.want || err != nil {
			t.Errorf("%s answered by %q: %s, %v; want %s", row.command.Kind, row.reply, got[0], err, row.want)
		}
	}
	_ = conn.Close()
	sent := f.taken(t)
	if len(sent) != len(rows) {
		t.Fatalf("%d commands were sent", len(sent))
	}
	if want := []string{"get", layout.Key(1)}; !slices.Equal(sent[1].args, want) {
		t.Errorf("sent %q, want %q", sent[1].args, want)
	}
}

// TestCodes: the code of an error reply is its own, whatever type go-redis
// makes of it.
func TestCodes(t *testing.T) {
	var rows []answered
	for _, code := range workload.Codes[1:] {
		if code != "READONLY" {
			rows = append(rows, answered{get(1), "-" + code + " 1 127.0.0.1:7000\r\n", workload.ErrorReply})
		}
	}
	rows = append(rows, answered{get(1), "-MADEUP\r\n", workload.ErrorReply})
	conn := open(t, answering(rows).options())
	if got, err := exchange(t.Context(), conn, commandsOf(rows)...); !slices.Equal(got, wanted(rows)) || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for i, row := range rows {
		code, _, _ := strings.Cut(strings.Trim(row.reply, "-\r\n"), " ")
		if got := conn.Reply(i).Code; got != workload.CodeOf(code) {
			t.Errorf("the code of %q is %s", row.reply, got)
		}
	}
}

// TestReadOnly: the connection says that its address may by now lead to another
// server, and goes on; what came back counts.
func TestReadOnly(t *testing.T) {
	readOnly := answered{set(1, 1), "-READONLY You can't write against a read only replica.\r\n", workload.ErrorReply}
	for at := range len(ten) {
		rows := slices.Insert(slices.Clone(ten), at, readOnly)
		f := answering(rows, ten[:1])
		conn := open(t, f.options())
		if err := conn.Demoted(); err != nil {
			t.Errorf("demoted at once: %v", err)
		}
		got, err := exchange(t.Context(), conn, commandsOf(rows)...)
		if want := wanted(rows); !slices.Equal(got, want) || err != nil {
			t.Errorf("READONLY at %d: %v, %v; want %v", at, got, err, want)
		}
		if err := conn.Demoted(); FailureOf(err) != Role {
			t.Errorf("READONLY at %d: the connection is demoted by %v", at, err)
		}
		if got, err := exchange(t.Context(), conn, ten[0].command); got[0] != workload.OK || err != nil {
			t.Errorf("READONLY at %d: after it %v, %v", at, got, err)
		}
		if err := conn.Demoted(); err != nil {
			t.Errorf("READONLY at %d: demoted for ever: %v", at, err)
		}
		_ = conn.Close()
		if sent := f.taken(t); len(sent) != len(rows)+1 {
			t.Errorf("READONLY at %d: %d commands were sent", at, len(sent))
		}
	}
}

// TestReadOnlyThenLost: both at once are told apart all the same.
func TestReadOnlyThenLost(t *testing.T) {
	const readOnly = "-READONLY You can't write against a read only replica.\r\n"
	for _, c := range []struct {
		stream string
		want   workload.Outcome // of the second command
	}{
		{readOnly, workload.Uncertain},
		{readOnly + "*0\r\n", workload.Mismatch},
	} {
		f := &fake{}
		f.play = func(conn net.Conn, r *bufio.Reader) {
			f.take(r, 3)
			_, _ = io.WriteString(conn, c.stream)
		}
		conn := open(t, f.options())
		got, err := exchange(t.Context(), conn, set(1, 1), get(1), get(2))
		if want := []workload.Outcome{workload.ErrorReply, c.want, workload.Uncertain}; !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", c.stream, got, want)
		}
		if err == nil || FailureOf(conn.Demoted()) != Role {
			t.Errorf("%q: Exchange returned %v, and the connection is demoted by %v", c.stream, err, conn.Demoted())
		}
	}
}

// TestForeign: a reply that the command cannot have is a mismatch where a whole
// one was seen; what follows it cannot be trusted.
func TestForeign(t *testing.T) {
	long := strings.Repeat("x", layout.ValueSize+3)
	for _, c := range []struct {
		reply string
		want  workload.Outcome
	}{
		{"*2\r\n$1\r\na\r\n$1\r\nb\r\n", workload.Mismatch},
		{"*0\r\n", workload.Mismatch},
		{"%1\r\n$1\r\na\r\n$1\r\nb\r\n", workload.Mismatch},
		{"~1\r\n:1\r\n", workload.Mismatch},
		{">1\r\n:1\r\n", workload.Mismatch},
		{"(12345678901234567890\r\n", workload.Mismatch},
		{"#t\r\n", workload.Mismatch},
		{"=5\r\ntxt:a\r\n", workload.Mismatch},
		{bulk(long), workload.Mismatch},
		{"+" + long + "\r\n", workload.Mismatch},
		{":" + strings.Repeat("1", len(long)) + "\r\n", workload.Mismatch},
		{"hello\r\n", workload.Uncertain},
		{"\r\n", workload.Uncertain},
		{"+OK\n", workload.Uncertain},
		{"$-2\r\n", workload.Uncertain},
		{"$many\r\n", workload.Uncertain},
	} {
		for _, command := range []workload.Command{get(1), set(1, 1), incr(1)} {
			rows := []answered{
				{set(2, 1), "+OK\r\n", workload.OK},
				{command, c.reply, c.want},
				{get(3), value(3, 1), workload.Uncertain},
				{incr(4), ":1\r\n", workload.Uncertain},
			}
			f := answering(rows)
			conn := open(t, f.options())
			got, err := exchange(t.Context(), conn, commandsOf(rows)...)
			if !slices.Equal(got, wanted(rows)) {
				t.Errorf("%s answered by %q: %v, want %v", command.Kind, c.reply, got, wanted(rows))
			}
			if err == nil || FailureOf(err) != Protocol {
				t.Errorf("%s answered by %q: Exchange returned %v", command.Kind, c.reply, err)
			}
			_ = conn.Close()
			if sent := f.taken(t); len(sent) != len(rows) {
				t.Errorf("%d commands were sent", len(sent))
			}
		}
	}
}
