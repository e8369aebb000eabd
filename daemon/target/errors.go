package target

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"soakline/daemon/workload"
)

// Failure is why a connection could not be opened or was lost, an index into
// Failures.
type Failure uint8

const (
	Other      Failure = iota // none of these
	Refused                   // nobody listens there
	Timeout                   // no answer in time
	Reset                     // the target broke the connection
	Closed                    // the target closed the connection
	Unknown                   // the name or the route does not exist
	Auth                      // user or password are wrong
	Rejected                  // the target answered the handshake with another error
	Protocol                  // a reply that cannot be read
	Role                      // the target became read-only
	Handshake                 // TLS was not agreed on
	MaxClients                // the target has as many clients as it takes
	Mismatch                  // a wrong reply: those behind it may be other commands'
)

// Failures lists the names of the failures, indexed by Failure.
var Failures = []string{
	"other", "refused", "timeout", "reset", "closed", "unknown_address", "auth", "rejected", "protocol", "role",
	"tls", "max_clients", "mismatch",
}

func (f Failure) String() string { return Failures[f] }

// ErrDemoted is the error of a target that is no master any more, of the class
// Role.
var ErrDemoted = errors.New("it is no master")

// ErrMismatch is the error of a connection that brought a wrong reply, of the
// class Mismatch.
var ErrMismatch = errors.New("a reply was wrong, and those behind it may be other commands'")

var readOnly = workload.CodeOf("READONLY")

// authCodes are the codes with which a target refuses a user.
var authCodes = map[workload.Code]bool{
	workload.CodeOf("NOAUTH"):    true,
	workload.CodeOf("WRONGPASS"): true,
	workload.CodeOf("NOPERM"):    true,
}

// FailureOf classes an error of Open or Exchange.
func FailureOf(err error) Failure {
	var secure *tlsError
	var dns *net.DNSError
	var network net.Error
	var number *strconv.NumError // of a reply's length
	said := refusalOf(err)
	switch {
	case errors.Is(err, ErrDemoted):
		return Role
	case errors.Is(err, ErrMismatch):
		return Mismatch
	case said != "":
		code := workload.CodeOf(said)
		switch {
		case strings.Contains(said, "max number of clients"):
			return MaxClients
		case code == readOnly:
			return Role
		case authCodes[code], strings.Contains(said, "AUTH"), strings.Contains(said, "invalid password"): // before Redis 6
			return Auth
		}
		return Rejected
	case errors.As(err, &secure):
		switch f := FailureOf(secure.err); f {
		case Timeout, Reset, Closed: // as any connection may end
			return f
		}
		return Handshake
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return Refused
	case errors.As(err, &dns), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Unknown
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, redis.ErrClosed):
		return Closed
	case errors.As(err, &number), strings.HasPrefix(err.Error(), "redis: "):
		return Protocol
	}
	return Other
}

// refusalOf is the error that the target sent, in its own words; "" if err is
// another.
func refusalOf(err error) string {
	var refused redis.Error
	var dismissed *dismissal
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.As(err, &dismissed):
		return dismissed.said
	}
	return ""
}

// foreign tells whether err says that a whole reply was read, of a type or
// length that the command cannot have. go-redis has no error values for these:
// the texts are those of its ReadStringInto.
func foreign(err error) bool {
	text := err.Error()
	if strings.HasPrefix(text, "redis: buffer too small") {
		return true
	}
	quoted, found := strings.CutPrefix(text, `redis: can't parse reply="`)
	return found && quoted != "" && strings.IndexByte("*%~>#(=", quoted[0]) >= 0
}
