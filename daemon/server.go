package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"soakline/daemon/config"
	"soakline/daemon/target"
)

// server is where the load goes, and who ends it.
type server struct {
	kind     config.Kind // never Auto
	topology string      // a word of config.Topologies
	options  target.Options
	own      bool            // it lives and ends with the daemon: nothing to spare, nothing to clean
	private  *target.Private // nil unless kind is Private
	unproven bool            // TLS takes any certificate somewhere
	fixed    *target.Facts   // what there is to know without asking; nil: ask
	end      func() error
}

// openServer starts the server that c asks for, if it is one of the daemon's
// own.
func openServer(ctx context.Context, c *config.Config) (*server, error) {
	address, err := c.Target.Address()
	if err != nil {
		return nil, err
	}
	s := &server{kind: address.Kind, topology: c.Target.Topology}
	s.options = reaching(c, address.Username, address.Password, secured(c.Target.TLS, address.TLS))
	s.options.Network, s.options.Address, s.options.Database = address.Network, address.Address, address.Database
	s.unproven = address.TLS && c.Target.TLS.InsecureSkipVerify
	if s.topology == "sentinel" {
		s.followSentinels(c)
	}
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

// reaching are the options to reach anything of the target's.
func reaching(c *config.Config, username string, password config.Password, tls *target.TLS) target.Options {
	return target.Options{
		TLS:          tls,
		Username:     username,
		Password:     password.Reveal(),
		Protocol:     c.Target.Protocol,
		DialTimeout:  c.Target.DialTimeout,
		ReadTimeout:  c.Target.ReadTimeout,
		WriteTimeout: c.Target.WriteTimeout,
	}
}

// secured is how to speak TLS; nil: not at all.
func secured(c config.TLS, enabled bool) *target.TLS {
	if !enabled {
		return nil
	}
	return &target.TLS{
		CAFile:             c.CAFile,
		CertFile:           c.CertFile,
		KeyFile:            c.KeyFile,
		ServerName:         c.ServerName,
		MinVersion:         c.MinVersion,
		InsecureSkipVerify: c.InsecureSkipVerify,
	}
}

// CheckFiles finds what is wrong with the files that a configuration names for
// TLS, which only a connection needs. Each fault names its section.
func CheckFiles(c *config.Config) error {
	address, err := c.Target.Address()
	if err != nil {
		return err
	}
	var faults []error
	for _, section := range []struct {
		path string
		tls  *target.TLS
	}{
		{"target.tls", secured(c.Target.TLS, address.TLS)},
		{"target.sentinel.tls", secured(c.Target.Sentinel.TLS, c.Target.Sentinel.TLS.Enabled)},
	} {
		if section.tls == nil {
			continue
		}
		if err := section.tls.Check(); err != nil {
			for line := range strings.Lines(err.Error()) {
				faults = append(faults, fmt.Errorf("%s.%s", section.path, strings.TrimSuffix(line, "\n")))
			}
		}
	}
	return errors.Join(faults...)
}

// followSentinels leads to the master that the sentinels know.
func (s *server) followSentinels(c *config.Config) {
	o := c.Target.Sentinel
	sentinels := target.NewSentinels(target.SentinelOptions{
		Options:   reaching(c, o.Username, o.Password, secured(o.TLS, o.TLS.Enabled)),
		Addresses: c.Target.Seeds(),
		Master:    o.Master,
		Allows:    c.Safety.Allows,
	})
	s.unproven = s.unproven || o.TLS.Enabled && o.TLS.InsecureSkipVerify
	s.options.Locate = sentinels.Master
	s.options.Address = fmt.Sprintf("master %s of sentinels %s", o.Master, strings.Join(c.Target.Seeds(), ", "))
}

// facts asks the target what it is, and how full.
func (s *server) facts(ctx context.Context, control *target.Control) (target.Facts, target.Usage, error) {
	if s.fixed != nil {
		return *s.fixed, target.Usage{RunID: s.fixed.RunID}, nil
	}
	facts, usage, err := control.Facts(ctx)
	facts.Topology = s.topology
	if err != nil {
		err = fmt.Errorf("reach the target at %s: %w", s.options.Address, err)
	}
	return facts, usage, err
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
