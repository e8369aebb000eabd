package target

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// scripted are sentinels of the test's own, by address, and who was dialled in
// which order. An address without one refuses.
type scripted struct {
	answers map[string]string // to the question, or accepted, or hangs
	refuse  string            // the reply to a user and password; "": takes them

	running sync.WaitGroup

	mu    sync.Mutex
	dials []string
	asked [][]string // all commands
}

func (s *scripted) dial(ctx context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	s.dials = append(s.dials, address)
	answer, listens := s.answers[address]
	s.mu.Unlock()
	if answer == hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if !listens {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	client, server := net.Pipe()
	s.running.Go(func() {
		defer server.Close()
		s.serve(server, answer)
	})
	return client, nil
}

func (s *scripted) serve(conn net.Conn, answer string) {
	r := bufio.NewReaderSize(conn, questionSize)
	for {
		q, err := readRequest(r)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.asked = append(s.asked, q.args)
		s.mu.Unlock()
		reply := (&fake{}).greeting(q.args)
		switch {
		case q.args[0] == "sentinel":
			reply = answer
		case s.refuse != "" && slices.Contains(q.args, "auth"):
			reply = s.refuse
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// dialled waits for the end of all connections, and returns who was dialled
// since it last did.
func (s *scripted) dialled() []string {
	s.running.Wait()
	dials := s.dials
	s.dials = nil
	return dials
}

// options have as many sentinels as there are addresses.
func (s *scripted) options(addresses ...string) SentinelOptions {
	return SentinelOptions{
		Options: Options{
			Protocol: 2, DialTimeout: time.Second, ReadTimeout: 2 * time.Second, WriteTimeout: time.Second, Dial: s.dial,
		},
		Addresses: addresses, Master: "m",
	}
}

// at is a sentinel's answer.
func at(host, port string) string { return "*2\r\n" + bulk(host) + bulk(port) }

const (
	nobody   = "*-1\r\n" // there is no such master
	accepted = ""        // and nothing answered
	hangs    = "hangs"   // not even accepted
)

func TestMaster(t *testing.T) {
	const here, there = "10.0.0.1:6379", "10.0.0.2:6379"
	first, second := at("10.0.0.1", "6379"), at("10.0.0.2", "6379")
	for _, c := range []struct {
		name    string
		answers map[string]string // of the sentinels a, b, c
		allowed string            // "": all
		want    string
		fails   []string // lines of the error, if there is to be one
		then    string   // who is dialled by two questions
	}{
		{
			name: "all answer", want: here, then: "a a",
			answers: map[string]string{"a": first, "b": second, "c": second},
		},
		{
			name: "the one that answered last is asked first", want: there, then: "a b b",
			answers: map[string]string{"b": second, "c": first},
		},
		{
			name: "the turn goes round", want: there, then: "a b c c",
			answers: map[string]string{"c": second},
		},
		{
			name: "all are down", then: "a b c a b c",
			fails: []string{"ask sentinel a: dial tcp: connect: connection refused", "ask sentinel b: dial ", "ask sentinel c: dial "},
		},
		{
			name: "no such master", then: "a b c a b c",
			answers: map[string]string{"a": nobody, "b": nobody, "c": nobody},
			fails:   []string{`sentinel a knows no master "m"`, `sentinel b knows no master "m"`, `sentinel c knows no master "m"`},
		},
		{
			name: "one does not know it", want: here, then: "a b b",
			answers: map[string]string{"a": nobody, "b": first},
		},
		{
			name: "an address that is not allowed", then: "a b c a b c", allowed: here,
			answers: map[string]string{"a": second, "b": second, "c": second},
			fails:   []string{"sentinel a leads to 10.0.0.2:6379: the address is not allowed", "sentinel b leads to ", "sentinel c leads to "},
		},
		{
			name: "one leads astray", want: here, then: "a b b", allowed: here,
			answers: map[string]string{"a": second, "b": first, "c": second},
		},
		{
			name: "IPv6", want: "[fe80::1]:6380", then: "a a", allowed: "[fe80::1]:6380",
			answers: map[string]string{"a": at("fe80::1", "6380")},
		},
		{
			name: "not an answer", then: "a b c a b c",
			answers: map[string]string{"a": "-ERR I am no sentinel\r\n", "b": "*1\r\n$1\r\nx\r\n", "c": "HTTP/1.1 400 Bad Request\r\n"},
			fails: []string{
				"ask sentinel a: ERR I am no sentinel", `sentinel b answers ["x"] instead of a host and a port`, "ask sentinel c: redis: ",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := &scripted{answers: c.answers}
			o := script.options("a", "b", "c")
			if c.allowed != "" {
				o.Allows = func(address string) bool { return address == c.allowed }
			}
			s := NewSentinels(o)
			for range 2 {
				got, err := s.Master(t.Context())
				if got != c.want || (err != nil) != (c.fails != nil) {
					t.Errorf("Master is %q, %v; want %q", got, err, c.want)
				}
				if err != nil && !slices.EqualFunc(strings.Split(err.Error(), "\n"), c.fails, strings.HasPrefix) {
					t.Errorf("fails with\n%v\nwant\n%s", err, strings.Join(c.fails, "\n"))
				}
				if astray := c.fails != nil && c.allowed != ""; astray != errors.Is(err, ErrNotAllowed) {
					t.Errorf("ErrNotAllowed: %v", err)
				}
			}
			if got := strings.Join(script.dialled(), " "); got != c.then {
				t.Errorf("dialled %s; want %s", got, c.then)
			}
		})
	}
	if got, err := NewSentinels((&scripted{}).options()).Master(t.Context()); got != "" || err == nil {
		t.Errorf("without a sentinel: %q, %v", got, err)
	}
}

// TestQuestion holds all that a sentinel is sent: no database, no name.
func TestQuestion(t *testing.T) {
	script := &scripted{answers: map[string]string{"a": at("10.0.0.1", "6379")}}
	o := script.options("a")
	o.Options.Username, o.Options.Password, o.Options.Database = "u", "p", 7
	o.Options.Network, o.Options.Address = "unix", "/of/the/target"
	if _, err := NewSentinels(o).Master(t.Context()); err != nil {
		t.Fatal(err)
	}
	script.running.Wait()
	want := [][]string{{"hello", "2", "auth", "u", "p"}, {"sentinel", "get-master-addr-by-name", "m"}}
	if !slices.EqualFunc(script.asked, want, slices.Equal) {
		t.Errorf("sent %q\nwant %q", script.asked, want)
	}
}

// TestSentinelRefuses: a wrong password is told as such, and not told.
func TestSentinelRefuses(t *testing.T) {
	const password = "hush"
	script := &scripted{
		answers: map[string]string{"a": at("10.0.0.1", "6379")},
		refuse:  "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
	}
	o := script.options("a")
	o.Options.Password = password
	got, err := NewSentinels(o).Master(t.Context())
	if got != "" || err == nil || FailureOf(err) != Auth || !strings.HasPrefix(err.Error(), "ask sentinel a: ") {
		t.Errorf("%q, %v", got, err)
	}
	if err != nil && strings.Contains(err.Error(), password) {
		t.Errorf("the error tells the password: %v", err)
	}
	script.running.Wait()
	for _, args := range script.asked {
		if args[0] == "sentinel" {
			t.Errorf("sent %q", args)
		}
	}
}

// TestMasterInTime asks sentinels that do not answer, at exact instants.
func TestMasterInTime(t *testing.T) {
	const dial, read = time.Second, 2 * time.Second // the timeouts
	good := at("10.0.0.1", "6379")
	for _, c := range []struct {
		name     string
		answers  map[string]string
		deadline time.Duration // 0: none
		cancel   time.Duration // 0: not
		took     time.Duration
		dialled  string
		cause    error // nil: there is an answer
	}{
		{"dial timeout", map[string]string{"a": hangs, "b": good}, 0, 0, dial, "a b", nil},
		{"read timeout", map[string]string{"a": accepted, "b": good}, 0, 0, read, "a b", nil},
		{"all time out", map[string]string{"a": hangs, "b": accepted, "c": hangs}, 0, 0, dial + read + dial, "a b c", context.DeadlineExceeded},
		{"a third of the time", map[string]string{"a": hangs, "b": good}, 900 * time.Millisecond, 0, 300 * time.Millisecond, "a b", nil},
		{"a third, then half of the rest", map[string]string{"a": accepted, "b": hangs, "c": good}, 900 * time.Millisecond, 0, 600 * time.Millisecond, "a b c", nil},
		{"what others left", map[string]string{"b": hangs, "c": good}, 900 * time.Millisecond, 0, 450 * time.Millisecond, "a b c", nil},
		{"more time than the timeouts", map[string]string{"a": hangs, "b": good}, time.Minute, 0, dial, "a b", nil},
		{"expires", map[string]string{"a": accepted, "b": accepted, "c": accepted}, 900 * time.Millisecond, 0, 900 * time.Millisecond, "a b c", context.DeadlineExceeded},
		{"cancelled while it dials", map[string]string{"a": hangs, "b": good}, 0, 70 * time.Millisecond, 70 * time.Millisecond, "a", context.Canceled},
		{"cancelled while it reads", map[string]string{"a": accepted, "b": good}, 0, 70 * time.Millisecond, 70 * time.Millisecond, "a", context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := &scripted{answers: c.answers}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				begin := time.Now()
				got, err := NewSentinels(script.options("a", "b", "c")).Master(ctx)
				if took := time.Since(begin); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if (got == "") != (c.cause != nil) || !caused(err, c.cause) {
					t.Errorf("%q, %v; want %v", got, err, c.cause)
				}
				if dialled := strings.Join(script.dialled(), " "); dialled != c.dialled {
					t.Errorf("dialled %s; want %s", dialled, c.dialled)
				}
			})
		})
	}
}

// caused tells whether err is due to the cause; a timeout shows in several ways.
func caused(err, cause error) bool {
	return errors.Is(err, cause) || cause == context.DeadlineExceeded && FailureOf(err) == Timeout
}

// TestMasterTogether: many ask at once, while a sentinel comes and goes.
func TestMasterTogether(t *testing.T) {
	answer := at("10.0.0.2", "6379")
	script := &scripted{answers: map[string]string{"b": answer, "c": answer}}
	s := NewSentinels(script.options("a", "b", "c"))
	ask := func() {
		if got, err := s.Master(t.Context()); got != "10.0.0.2:6379" {
			t.Errorf("%q, %v", got, err)
		}
	}
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for range 20 {
				ask()
			}
		})
	}
	for range 10 {
		script.mu.Lock()
		delete(script.answers, "b")
		script.mu.Unlock()
		ask()
		script.mu.Lock()
		script.answers["b"] = answer
		script.mu.Unlock()
		ask()
	}
	asking.Wait()
	script.running.Wait()
}
