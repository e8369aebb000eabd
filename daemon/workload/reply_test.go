package workload_test

import (
	"testing"

	"soakline/daemon/workload"
)

func text(s string) workload.Reply {
	return workload.Reply{Kind: workload.Bytes, Bytes: []byte(s)}
}

func TestCheck(t *testing.T) {
	l := sized(100)
	get := workload.Command{Kind: workload.Get, Key: 5}
	set := workload.Command{Kind: workload.Set, Key: 5, Version: 9}
	incr := workload.Command{Kind: workload.Incr, Key: 5}
	value := string(l.AppendValue(nil, 5, 9))
	for _, tt := range []struct {
		name  string
		c     workload.Command
		reply workload.Reply
		sent  bool
		want  workload.Outcome
	}{
		{"get, its value", get, text(value), true, workload.OK},
		{"get, no such key", get, workload.Reply{Kind: workload.Nil}, true, workload.OK},
		{"get, a SET's reply", get, text("OK"), true, workload.Mismatch},
		{"get, an INCR's reply", get, text("1"), true, workload.Mismatch},
		{"get, the value of another key", get, text(string(l.AppendValue(nil, 6, 9))), true, workload.Mismatch},
		{"get, a foreign reply", get, workload.Reply{Kind: workload.Foreign}, true, workload.Mismatch},
		{"get, a foreign reply that carries the value", get, workload.Reply{Kind: workload.Foreign, Bytes: []byte(value)}, true, workload.Mismatch},

		{"set, OK", set, text("OK"), true, workload.OK},
		{"set, ok", set, text("ok"), true, workload.Mismatch},
		{"set, nothing", set, text(""), true, workload.Mismatch},
		{"set, QUEUED", set, text("QUEUED"), true, workload.Mismatch},
		{"set, a GET's reply", set, text(value), true, workload.Mismatch},
		{"set, nil", set, workload.Reply{Kind: workload.Nil}, true, workload.Mismatch},
		{"set, a foreign reply", set, workload.Reply{Kind: workload.Foreign, Bytes: []byte("OK")}, true, workload.Mismatch},

		{"incr, the first number", incr, text("1"), true, workload.OK},
		{"incr, nil", incr, workload.Reply{Kind: workload.Nil}, true, workload.Mismatch},
		{"incr, a SET's reply", incr, text("OK"), true, workload.Mismatch},
		{"incr, a foreign reply", incr, workload.Reply{Kind: workload.Foreign, Bytes: []byte("1")}, true, workload.Mismatch},
		{"incr, nothing", incr, text(""), true, workload.Mismatch},
		{"incr, a sign", incr, text("+1"), true, workload.Mismatch},
		{"incr, below zero", incr, text("-1"), true, workload.Mismatch},
		{"incr, a leading zero", incr, text("01"), true, workload.Mismatch},
		{"incr, a space", incr, text("1 "), true, workload.Mismatch},
		{"incr, a fraction", incr, text("1.0"), true, workload.Mismatch},
		{"incr, 2⁶⁴+1, which wraps round to 1", incr, text("18446744073709551617"), true, workload.Mismatch},
	} {
		if got := l.Check(tt.c, tt.reply, tt.sent, l.NewCounters(0, 0)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for _, c := range []workload.Command{get, set, incr} {
		for _, tt := range []struct {
			name  string
			reply workload.Reply
			sent  bool
			want  workload.Outcome
		}{
			{"no reply to what was sent", workload.Reply{}, true, workload.Uncertain},
			{"no reply to what was not sent", workload.Reply{}, false, workload.Unsent},
			{"an error reply", workload.Reply{Kind: workload.Failure, Code: workload.CodeOf("OOM")}, true, workload.ErrorReply},
		} {
			if got := l.Check(c, tt.reply, tt.sent, l.NewCounters(0, 0)); got != tt.want {
				t.Errorf("%v, %s: %v, want %v", c.Kind, tt.name, got, tt.want)
			}
		}
	}
}

func TestCodeOf(t *testing.T) {
	for _, tt := range []struct{ message, want string }{
		{"ERR unknown command 'gut'", "ERR"},
		{"ERR", "ERR"},
		{"WRONGTYPE Operation against a key holding the wrong kind of value", "WRONGTYPE"},
		{"OOM command not allowed when used memory > 'maxmemory'.", "OOM"},
		{"MOVED 3999 127.0.0.1:6381", "MOVED"},
		{"MOVEDX 3999", "other"},
		{"err lower case", "other"},
		{"other", "other"},
		{"CUSTOM from a script", "other"},
		{" ERR", "other"},
		{"", "other"},
	} {
		if got := workload.CodeOf(tt.message).String(); got != tt.want {
			t.Errorf("CodeOf(%q) = %s, want %s", tt.message, got, tt.want)
		}
	}
	seen := map[string]bool{}
	for i, name := range workload.Codes {
		if seen[name] {
			t.Errorf("%s is listed twice", name)
		}
		seen[name] = true
		if got := workload.CodeOf(name + " text"); int(got) != i {
			t.Errorf("CodeOf(%q) = %d, want %d", name+" text", got, i)
		}
	}
}

func TestOutcomeNames(t *testing.T) {
	for outcome, want := range map[workload.Outcome]string{
		workload.OK:         "ok",
		workload.ErrorReply: "error_reply",
		workload.Mismatch:   "mismatch",
		workload.Uncertain:  "uncertain",
		workload.Unsent:     "unsent",
		workload.Abandoned:  "abandoned",
	} {
		if got := outcome.String(); got != want {
			t.Errorf("Outcome(%d) is %q, want %q", outcome, got, want)
		}
	}
}
