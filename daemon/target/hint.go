package target

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// go-redis begins every connection with HELLO, which no option leaves out.
const (
	helloEnded        = "a proxy that does not know HELLO, a target that expects TLS, or one that is going down"
	helloEndedOverTLS = "a proxy that does not know HELLO, or a target that is going down"
)

// hints say what is not in an error itself, for people: the first row that
// matches counts. They are short, and no sentences.
var hints = []struct {
	failure Failure
	part    string // of the error's text; "": any
	hint    string
	overTLS string // instead, where TLS is spoken; "": hint
}{
	{Refused, "", "nobody listens there", ""},
	{Unknown, "lookup ", "is the name right, and does this machine's DNS answer?", ""},
	{Unknown, "", "this machine has no way to that address", ""},
	{Auth, "NOAUTH", "it wants a password", ""},
	{Auth, "NOPERM", "the user's ACL has to allow it", ""},
	{Auth, "without any password", "it has no password: give none", ""},
	{Auth, "no password is set", "it has no password: give none", ""},
	{MaxClients, "", "raise its maxclients, or close other clients", ""},
	{Role, "", "it is a replica: load its master", ""},
	{Rejected, "LOADING", "it answers when it has loaded its data set", ""},
	{Rejected, "DENIED", "give it a password, or load it from its own machine", ""},
	{Rejected, "MISCONF", "it cannot save its data: see its log", ""},
	{Rejected, "DB index", "it has fewer databases", ""},
	{Rejected, "SELECT is not allowed", "a cluster has database 0 only", ""},
	{Rejected, "for 'auth'", "it is too old for users: give the password only", ""},
	{Protocol, "", "it is no Redis server, or expects TLS", "it is no Redis server"},

	{Handshake, "unknown authority", "ca_file has to hold who signed its certificate", ""},
	{Handshake, "x509: certificate is valid for", "server_name has to be in its certificate", ""},
	{Handshake, "is not valid for any names", "its certificate has no name: another one is needed", ""},
	{Handshake, "any IP SANs", "server_name has to be in its certificate, which has no IP address", ""},
	{Handshake, "x509: certificate has expired", "its certificate has to be renewed, or a clock is wrong", ""},
	{Handshake, "does not look like a TLS", "it does not speak TLS there", ""},
	{Handshake, "answered with a TLS alert", "it expects TLS", ""},
	{Handshake, "protocol version", "it has no version of TLS that min_version allows", ""},
	{Handshake, "certificate required", "it wants a client certificate: cert_file and key_file", ""},
	{Handshake, "remote error: tls: handshake failure", "it wants a client certificate, or another version of TLS", ""},
	{Handshake, "remote error: tls: ", "it does not accept the client certificate", ""},

	{Closed, "over TLS", "perhaps it does not speak TLS there", ""},
	{Reset, "over TLS", "perhaps it does not speak TLS there", ""},
	{Closed, "on HELLO", helloEnded, helloEndedOverTLS},
	{Reset, "on HELLO", helloEnded, helloEndedOverTLS},
}

// Hint is what helps a person with err, with which the target could not be
// reached, beyond what err says; "" where that is all.
func (o *Options) Hint(err error) string {
	failure, text := FailureOf(err), err.Error()
	if failure == Timeout {
		return o.silent(err)
	}
	for _, h := range hints {
		if h.failure == failure && strings.Contains(text, h.part) {
			if o.TLS != nil && h.overTLS != "" {
				return h.overTLS
			}
			return h.hint
		}
	}
	return ""
}

// silent says how far a connection came on which nothing was heard in time.
func (o *Options) silent(err error) string {
	var network *net.OpError
	var secure *tlsError
	switch {
	case errors.As(err, &secure):
		return fmt.Sprintf("connected, but no TLS within %v: perhaps it does not speak TLS there", o.DialTimeout)
	case errors.As(err, &network) && network.Op == "dial":
		return fmt.Sprintf("nothing answers there within %v: the address is wrong, or a firewall in between", o.DialTimeout)
	}
	return fmt.Sprintf("connected, but no answer within %v", o.ReadTimeout)
}
