package target

import (
	"context"

	"github.com/redis/go-redis/v9"

	"soakline/daemon/workload"
)

// minReply is the least size in bytes of a slot's reply buffer, enough for a
// status and for any integer.
const minReply = 64

// slot is one place in a batch: a go-redis command that is used again for each
// exchange. It reads any single reply into a buffer of its own, and takes its
// arguments from args.
//
// go-redis calls SetErr on each command as soon as its reply has been read,
// and once more on all of them when the exchange fails, which overwrites the
// replies that had arrived. A slot keeps what it was told first.
type slot struct {
	*redis.ZeroCopyStringCmd
	conn  *Conn
	args  workload.Args
	argv  []any  // pointers to args.Strings
	ahead uint64 // request bytes of the exchange before this command's
	floor uint64 // the least version that a read may return
	reply workload.Reply
	told  bool
}

var _ redis.Cmder = (*slot)(nil)

func newSlot(conn *Conn, replySize int) *slot {
	return &slot{
		// The embedded command's own arguments are never sent.
		ZeroCopyStringCmd: redis.NewZeroCopyStringCmd(context.Background(), make([]byte, max(replySize, minReply)), "slot"),
		conn:              conn,
	}
}

// prepare sets the slot to send c.
func (s *slot) prepare(c workload.Command) {
	s.conn.layout.Args(&s.args, c, s.conn.counters)
	strings := s.args.Strings
	if cap(s.argv) < len(strings) { // else they have not moved
		s.argv = make([]any, cap(strings))
		for i := range s.argv {
			s.argv[i] = &strings[:cap(strings)][i]
		}
	}
	s.argv = s.argv[:len(strings)]
	s.told = false
	s.reply = workload.Reply{}
}

// Args are the arguments that go-redis encodes.
func (s *slot) Args() []any { return s.argv }

// SetErr is told what reading the reply came to.
func (s *slot) SetErr(err error) {
	if s.told {
		return
	}
	s.told = true
	switch {
	case err == nil:
		s.reply = workload.Reply{Kind: workload.Bytes, Bytes: s.Bytes()}
	case err == redis.Nil:
		s.reply.Kind = workload.Nil
	default:
		s.reply = s.conn.failure(err)
	}
}
