package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
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
		open(t, o, 0)
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
	_, err := Open(t.Context(), o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0)})
	if !errors.Is(err, lost) || err.Error() != "open the master: locate the target: nowhere" {
		t.Errorf("%v", err)
	}
	if len(dialled) != 3 {
		t.Errorf("dialled %q", dialled[3:])
	}
}
