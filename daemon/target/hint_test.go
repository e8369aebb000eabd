package target

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHint: each text that a person may meet at the start has its hint, which
// does not repeat it.
func TestHint(t *testing.T) {
	o := &Options{DialTimeout: 3 * time.Second, ReadTimeout: 5 * time.Second}
	failed := func(op, call string, err error) error {
		return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(call, err)}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{failed("dial", "connect", syscall.ECONNREFUSED), "nobody listens there"},
		{failed("dial", "connect", syscall.ENOENT), "nobody listens there"},
		{failed("dial", "connect", syscall.EHOSTUNREACH), "this machine has no way to that address"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "x"}}, "is the name right, and does this machine's DNS answer?"},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "nothing answers there within 3s: the address is wrong, or a firewall in between"},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, "connected, but no answer within 5s"},
		{&tlsError{os.ErrDeadlineExceeded}, "connected, but no TLS within 3s: perhaps it does not speak TLS there"},
		{&tlsError{errors.New("shake hands over TLS: EOF")}, ""},
		{&dismissal{"", io.EOF}, "a proxy that does not know HELLO, a target that expects TLS, or one that is going down"},
		{io.EOF, ""},

		{refusal("NOAUTH Authentication required."), "it wants a password"},
		{refusal("NOPERM this user has no permissions to run the 'ping' command"), "the user's ACL has to allow it"},
		{refusal("WRONGPASS invalid username-password pair or user is disabled."), ""},
		{refusal("ERR invalid password"), ""},
		{refusal("ERR Client sent AUTH, but no password is set"), "it has no password: give none"},
		{refusal("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"), "it has no password: give none"},
		{refusal("ERR wrong number of arguments for 'auth' command"), "it is too old for users: give the password only"},

		{refusal("LOADING Redis is loading the dataset in memory"), "it answers when it has loaded its data set"},
		{refusal("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."), "it cannot save its data: see its log"},
		{refusal("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), ""},
		{refusal("READONLY You can't write against a read only replica."), "it is a replica: load its master"},
		{refusal("ERR DB index is out of range"), "it has fewer databases"},
		{refusal("ERR SELECT is not allowed in cluster mode"), "a cluster has database 0 only"},
		{refusal("ERR max number of clients reached"), "raise its maxclients, or close other clients"},
		{errors.New(`redis: can't parse reply="HTTP/1.1 400 Bad Request" reading string`), "it is no Redis server, or expects TLS"},
		{errors.New("anything else"), ""},
	} {
		if got := o.Hint(c.err); got != c.want {
			t.Errorf("the hint for %v is %q, want %q", c.err, got, c.want)
		}
	}
}

// TestHintOverTLS does not advise what is done already.
func TestHintOverTLS(t *testing.T) {
	o := &Options{TLS: &TLS{}}
	for _, err := range []error{&dismissal{"", io.EOF}, errors.New("redis: invalid reply")} {
		if got := o.Hint(err); got == "" || strings.Contains(got, "TLS") {
			t.Errorf("the hint for %v is %q", err, got)
		}
	}
}

// TestHints: no row hides another.
func TestHints(t *testing.T) {
	for i, h := range hints {
		for _, before := range hints[:i] {
			if before.failure == h.failure && strings.Contains(h.part, before.part) {
				t.Errorf("%q is never reached: %q comes before it", h.part, before.part)
			}
		}
	}
}
