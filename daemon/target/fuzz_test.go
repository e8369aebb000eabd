package target

import (
	"bufio"
	"bytes"
	"net"
	"strconv"
	"strings"
	"testing"

	"soakline/daemon/workload"
)

// FuzzReplies answers a pipeline of four with arbitrary bytes. Whatever they
// are, each command gets an outcome that they justify.
func FuzzReplies(f *testing.F) {
	commands := []workload.Command{get(1), set(2, 1), incr(3), get(4)}
	right := value(1, 3) + "+OK\r\n:1\r\n$-1\r\n"
	for _, seed := range []string{
		right, right[:40], right + right, "", "hello\r\n",
		"-ERR a\r\n-READONLY b\r\n-OOM c\r\n-d\r\n",
		"+OK\r\n$2\r\nOK\r\n,1\r\n_\r\n",
		"_\r\n*0\r\n", "%1\r\n+a\r\n+b\r\n", "|1\r\n+a\r\n+b\r\n" + right, "#t\r\n", "(1\r\n", "=5\r\ntxt:a\r\n",
		value(4, 3) + "+OK\r\n:2\r\n" + value(4, 1),
		"$9223372036854775807\r\n", "*-1\r\n$-1\r\n:-1\r\n$0\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		if bytes.IndexByte(stream, '!') >= 0 {
			t.Skip("go-redis allocates what a RESP3 blob error announces, before it has come")
		}
		server := &fake{}
		server.play = func(conn net.Conn, r *bufio.Reader) {
			server.take(r, len(commands))
			_, _ = conn.Write(stream)
		}
		conn := open(t, server.options())
		got, err := exchange(t.Context(), conn, commands...)
		_ = conn.Close()
		if sent := server.taken(t); len(sent) != len(commands) {
			t.Errorf("%d commands were sent", len(sent))
		}

		lost := false
		replies, more := scalars(stream)
		for i, outcome := range got {
			reply := conn.Reply(i)
			if lost && outcome != workload.Uncertain {
				t.Errorf("command %d is %s behind one that was lost", i, outcome)
			}
			switch outcome {
			case workload.OK:
				if i < len(replies) && !rightReply(commands[i], replies[i]) || i >= len(replies) && !more {
					t.Errorf("command %d is ok: %q of %q", i, reply.Bytes, replies)
				}
			case workload.ErrorReply:
			case workload.Mismatch:
				lost = reply.Kind == workload.Foreign
			case workload.Uncertain:
				lost = true
			default:
				t.Errorf("command %d is %s", i, outcome)
			}
		}
		if (err != nil) != lost {
			t.Errorf("%v: Exchange returned %v", got, err)
		}
	})
}

// nilReply stands for a nil among scalars.
const nilReply = "\x00nil"

// scalars reads the replies of a stream without go-redis: the text of statuses,
// integers and bulk strings, nil, and errors with their mark. It ends at the
// first reply that is none of these or is not whole; more tells that it ended
// at an attribute, which go-redis skips.
func scalars(stream []byte) (replies []string, more bool) {
	rest := string(stream)
	for {
		line, after, ok := strings.Cut(rest, "\n")
		line, whole := strings.CutSuffix(line, "\r")
		if !ok || !whole || line == "" {
			return replies, false
		}
		rest = after
		switch mark, text := line[0], line[1:]; {
		case line == "$-1", line == "*-1", mark == '_':
			replies = append(replies, nilReply)
		case mark == '+', mark == ':', mark == ',':
			replies = append(replies, text)
		case mark == '-':
			replies = append(replies, line)
		case mark == '$':
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > len(rest)-len("\r\n") {
				return replies, false
			}
			replies = append(replies, rest[:n])
			rest = rest[n+len("\r\n"):] // go-redis does not look at these two
		default:
			return replies, mark == '|'
		}
	}
}

// rightReply judges a reply without workload's checks. go-redis does not tell
// of which type a scalar was.
func rightReply(c workload.Command, reply string) bool {
	switch c.Kind {
	case workload.Get:
		if reply == nilReply {
			return true
		}
		for version := range uint64(256) {
			if reply == string(layout.AppendValue(nil, c.Key, version+1)) {
				return true
			}
		}
		return false
	case workload.Set:
		return reply == "OK"
	}
	return reply == "1"
}
