package target

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// Embedded is a server inside the daemon's own process, for machines that have
// none: everything works, and its numbers say nothing about a real server.
type Embedded struct{ server *miniredis.Miniredis }

// StartEmbedded starts it on a free loopback port.
func StartEmbedded() (*Embedded, error) {
	server, err := miniredis.Run()
	if err != nil {
		return nil, fmt.Errorf("start the embedded server: %w", err)
	}
	return &Embedded{server}, nil
}

// Options leads o to the server.
func (e *Embedded) Options(o Options) Options {
	o.Network, o.Address = "tcp", e.server.Addr()
	o.Username, o.Password, o.Database, o.TLS = "", "", 0, nil
	return o
}

// Facts of a server that is not real.
func (e *Embedded) Facts() Facts {
	return Facts{
		Server: "embedded", Version: "none", Mode: "standalone", Role: "master", Topology: "standalone", Persistence: "none",
		MaxMemory: "0", MaxMemoryPolicy: "noeviction", RunID: "none",
	}
}

// Stop ends the server.
func (e *Embedded) Stop() error {
	e.server.Close()
	return nil
}
