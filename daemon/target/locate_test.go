package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLocate: every dial goes to where the target is at that time, and only
// then.
func TestLocate(t *testing.T) {
	f := &fake{}
	o := f.options()
	var located int
	var dialled []string
	accept := o.Dial
	o.Address = "the master"
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return accept(ctx, network, address)
	}
	o.Locate = func(context.Context) (string, error) {
		located++
		return fmt.Sprintf("10.0.0.%d:6379", located), nil
	}
	for range 2 {
		open(t, o)
	}
	c := control(t, *o)
	for range 2 { // over one connection
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}; !slices.Equal(dialled, want) {
		t.Errorf("dialled %q, want %q", dialled, want)
	}
	lost := errors.New("nowhere")
	o.Locate = func(context.Context) (string, error) { return "10.0.0.9:6379", lost }
	_, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
	if !errors.Is(err, lost) || err.Error() != "open the master: locate the target: nowhere" {
		t.Errorf("%v", err)
	}
	if len(dialled) != 3 {
		t.Errorf("dialled %q", dialled[3:])
	}
}

// TestLocateInTime: locating has the dial's time, and ends with it.
func TestLocateInTime(t *testing.T) {
	for _, c := range []struct {
		name   string
		cancel time.Duration
		took   time.Duration
		want   error
	}{
		{"dial timeout", time.Minute, time.Second, context.DeadlineExceeded},
		{"cancelled", 70 * time.Millisecond, 70 * time.Millisecond, context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := &scripted{answers: map[string]string{"a": accepted}}
				o := (&fake{}).options()
				o.Locate = NewSentinels(script.options("a")).Master
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				defer time.AfterFunc(c.cancel, cancel).Stop()
				begin := time.Now()
				_, err := Open(ctx, o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
				if took := time.Since(begin); took != c.took || !caused(err, c.want) {
					t.Errorf("%v after %v; want %v after %v", err, took, c.want, c.took)
				}
				synctest.Wait() // a dial may outlast Open, for as long as it takes to end
				script.running.Wait()
			})
		})
	}
}

// TestLocateBySentinels: a connection opened after a failover is one to the new
// master, although the first sentinel died with the old one.
func TestLocateBySentinels(t *testing.T) {
	old, fresh := &fake{}, &fake{}
	servers := map[string]dialer{"10.0.0.1:6379": old.options().Dial, "10.0.0.2:6379": fresh.options().Dial}
	script := &scripted{answers: map[string]string{"a": at("10.0.0.1", "6379"), "b": at("10.0.0.1", "6379")}}
	o := old.options()
	o.Locate = NewSentinels(script.options("a", "b")).Master
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		return servers[address](ctx, network, address)
	}
	open(t, o)
	script.mu.Lock()
	script.answers = map[string]string{"b": at("10.0.0.2", "6379")}
	script.mu.Unlock()
	open(t, o)
	if old.dials != 1 || fresh.dials != 1 {
		t.Errorf("connected %d times to the old master, %d times to the new one", old.dials, fresh.dials)
	}
	if got := strings.Join(script.dialled(), " "); got != "a a b" {
		t.Errorf("dialled the sentinels %s", got)
	}
}
