package config

import (
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Allows tells whether AllowedTargets has a pattern for address, which is
// host:port or the path of a unix socket. Without patterns all is allowed; one
// that is not valid allows nothing.
//
// A pattern is host[:port], where the host may hold the * ? [...] of path.Match
// and counts in either case, and the port may be *, as it is where it is left
// out; or a prefix such as 10.0.0.0/8 or fd00::/8, for hosts that are literal
// addresses, of which no name is looked up; or, with a / in front, the path of
// a unix socket, where * does not match a /.
func (s Safety) Allows(address string) bool {
	return len(s.AllowedTargets) == 0 || slices.ContainsFunc(s.AllowedTargets, func(text string) bool {
		p, problem := parsePattern(text)
		return problem == "" && p.matches(address)
	})
}

// patterns is the form of safety.allowed_targets.
func patterns() form {
	one := text("host[:port] with * ? [...] and IPv6 in brackets, a prefix like 10.0.0.0/8, or the path of a unix socket", func(text string) string {
		_, problem := parsePattern(text)
		return problem
	})
	one.show = withoutLogin
	return list{
		accepts: `a list of patterns like ["*.staging:6379", "10.0.0.0/8"]`,
		element: one,
		same: func(text string) string {
			p, _ := parsePattern(text)
			return fmt.Sprint(p)
		},
	}
}

// pattern is one that an address may match. One of its first three fields is
// set.
type pattern struct {
	socket  string // for path.Match
	host    string // for path.Match, in lower case
	network netip.Prefix
	port    uint16 // 0: any
}

// parsePattern reads a pattern. Otherwise problem is a phrase that follows it.
func parsePattern(text string) (p pattern, problem string) {
	switch {
	case strings.HasPrefix(text, "/"):
		if path.Clean(text) != text {
			return p, "is not a plain path"
		}
		p.socket = text
		return p, globProblem(text)
	case strings.Contains(text, "/"):
		return parsePrefix(text)
	}
	host := text
	if i := strings.LastIndex(text, ":"); i > strings.LastIndex(text, "]") {
		var port string
		if host, port = text[:i], text[i+1:]; port != "*" {
			n, err := strconv.ParseUint(port, 10, 16)
			if p.port = uint16(n); err != nil || n == 0 {
				return p, noSuchPort
			}
		}
	}
	inner, bracketed := strings.CutPrefix(host, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	ip, err := netip.ParseAddr(inner)
	switch literal := bracketed && closed && ip.Is6(); {
	case host == "":
		return p, "has no host"
	case err == nil && ip.Zone() != "":
		return p, "has a zone"
	case literal, err == nil && ip.Is4() && inner == host:
		ip = ip.Unmap()
		p.network = netip.PrefixFrom(ip, ip.BitLen())
		return p, ""
	case strings.Contains(host, ":"):
		return p, bareIPv6
	case strings.ContainsAny(host, "@#") || strings.ContainsFunc(host, unicode.IsSpace):
		return p, "has no such host"
	}
	p.host = strings.ToLower(host)
	return p, globProblem(host)
}

func parsePrefix(text string) (p pattern, problem string) {
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return p, "has a / and is no prefix"
	case network != network.Masked():
		return p, "has bits beyond its prefix"
	}
	p.network = network
	return p, ""
}

func globProblem(glob string) string {
	if _, err := path.Match(glob, ""); err != nil {
		return "has a [ or a \\ without its end"
	}
	return ""
}

// matches tells whether p is one of address.
func (p pattern) matches(address string) bool {
	if strings.HasPrefix(address, "/") {
		return p.socket != "" && glob(p.socket, path.Clean(address))
	}
	host, port, err := net.SplitHostPort(address)
	if n, _ := strconv.ParseUint(port, 10, 16); err != nil || p.port != 0 && uint64(p.port) != n {
		return false
	}
	if p.network.IsValid() {
		ip, err := netip.ParseAddr(host)
		ip = ip.WithZone("")
		return err == nil && (p.network.Contains(ip) || p.network.Contains(ip.Unmap()))
	}
	return p.host != "" && glob(p.host, strings.ToLower(host))
}

// glob is path.Match of a pattern that has been read.
func glob(pattern, name string) bool {
	matched, _ := path.Match(pattern, name)
	return matched
}
