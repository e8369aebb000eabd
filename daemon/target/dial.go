package target

import (
	"context"
	"fmt"
	"net"
	"syscall"
)

// dialer reaches an address.
type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer makes a wire to where the target is at that time: names are looked up
// for each.
func (o *Options) dialer() dialer {
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: o.DialTimeout}).DialContext
	}
	if o.TLS != nil {
		dial = o.TLS.over(dial, o.DialTimeout)
	}
	dial = o.locating(dial)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: conn}, nil
	}
}

// locating is dial for where the target is at that time.
func (o *Options) locating(dial dialer) dialer {
	if o.Locate == nil {
		return dial
	}
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		address, err := o.Locate(ctx)
		if err != nil {
			return nil, fmt.Errorf("locate the target: %w", err)
		}
		return dial(ctx, network, address)
	}
}

// pooled is a wire that go-redis can look into before it takes it from its pool
// again: one that the target has closed meanwhile is then replaced. A Conn does
// without, since it must not be replaced behind its back, and since go-redis
// would look into it before every exchange of protocol 3.
type pooled struct {
	*wire
	syscall.Conn
}

// inPool makes wires for a pool of them. Into TLS, go-redis does not look. It
// does not tell when a command is answered; that something came is enough for
// the small ones of a pool.
func inPool(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if w, is := conn.(*wire); is {
			w.inPool = true
			if socket, is := w.Conn.(syscall.Conn); is {
				return pooled{w, socket}, nil
			}
		}
		return conn, err
	}
}
