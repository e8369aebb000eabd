package daemon

import (
	"context"
	"errors"
	"fmt"

	"soakline/daemon/config"
	"soakline/daemon/target"
)

// server is where the load goes, and who ends it.
type server struct {
	kind    config.Kind // never Auto
	options target.Options
	own     bool            // it lives and ends with the daemon: nothing to spare, nothing to clean
	private *target.Private // nil unless kind is Private
	fixed   *target.Facts   // what there is to know without asking; nil: ask
	end     func() error
}

// openServer starts the server that c asks for, if it is one of the daemon's
// own.
func openServer(ctx context.Context, c *config.Config) (*server, error) {
	address, err := c.Target.Address()
	if err != nil {
		return nil, err
	}
	s := &server{kind: address.Kind, options: target.Options{
		Network:      address.Network,
		Address:      address.Address,
		Username:     address.Username,
		Password:     address.Password.Reveal(),
		Database:     address.Database,
		Protocol:     c.Target.Protocol,
		DialTimeout:  c.Target.DialTimeout,
		ReadTimeout:  c.Target.ReadTimeout,
		WriteTimeout: c.Target.WriteTimeout,
	}}
	if s.kind == config.Auto || s.kind == config.Private {
		private, err := target.Start(ctx)
		switch {
		case err == nil:
			s.kind, s.private, s.own, s.end = config.Private, private, true, private.Stop
			s.options = private.Options(s.options)
			return s, nil
		case s.kind == config.Private || !errors.Is(err, target.ErrNoServer):
			return nil, fmt.Errorf("target.url %s: %w", address.Kind, err)
		}
		s.kind = config.Embedded
	}
	if s.kind == config.Embedded {
		embedded, err := target.StartEmbedded()
		if err != nil {
			return nil, err
		}
		facts := embedded.Facts()
		s.fixed, s.own, s.end = &facts, true, embedded.Stop
		s.options = embedded.Options(s.options)
	}
	return s, nil
}

// facts asks the target what it is, which also shows that it can be reached.
func (s *server) facts(ctx context.Context, control *target.Control) (target.Facts, error) {
	if s.fixed != nil {
		return *s.fixed, nil
	}
	facts, err := control.Facts(ctx)
	if err != nil {
		return facts, fmt.Errorf("reach the target at %s %s: %w", s.options.Network, s.options.Address, err)
	}
	return facts, nil
}

func (s *server) stop() error {
	if s.end == nil {
		return nil
	}
	return s.end()
}

func (s *server) kill() {
	if s.private != nil {
		s.private.Kill()
	}
}

// ended is closed when a private server has ended by itself; nil for others.
func (s *server) ended() <-chan struct{} {
	if s.private == nil {
		return nil
	}
	return s.private.Done()
}
