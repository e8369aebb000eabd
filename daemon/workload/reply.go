package workload

// ReplyKind says what was read for one command.
type ReplyKind uint8

const (
	Missing ReplyKind = iota // no reply was read
	Nil                      // the reply that says "no such key"
	Bytes                    // a status, an integer or a bulk string
	Failure                  // an error reply
	Foreign                  // a reply of a type or length that the command cannot have
)

// Reply is what came back for one command.
type Reply struct {
	Kind  ReplyKind
	Bytes []byte // of a Bytes reply; valid until the connection's next exchange
	Code  Code   // of a Failure
}

// Check judges the reply r to c on the connection that owns counters. sent
// says whether any byte of the command was written: without a reply it parts
// uncertain from unsent.
func (l *Layout) Check(c Command, r Reply, sent bool, counters *Counters) Outcome {
	switch r.Kind {
	case Missing:
		if !sent {
			return Unsent
		}
		if c.Kind == Incr {
			counters.doubts[l.slot(c.Key)]++
		}
		return Uncertain
	case Failure:
		return ErrorReply
	}
	return Commands[c.Kind].check(l, c, r, counters)
}

// integer is the value of a reply that is a decimal integer, written as the
// target writes one: no sign, no leading zero.
func integer(r Reply) (int64, bool) {
	if r.Kind != Bytes || len(r.Bytes) == 0 {
		return 0, false
	}
	if r.Bytes[0] == '0' && len(r.Bytes) > 1 {
		return 0, false
	}
	var n int64
	for _, c := range r.Bytes {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := int64(c - '0')
		if n > (1<<63-1-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}
