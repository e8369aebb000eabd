package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
)

// sentinelPort is that of a sentinel whose address has none.
const sentinelPort = "26379"

const (
	bareIPv6   = "has an IPv6 address without brackets"
	noSuchPort = "has no such port"
)

// Seeds are the Addresses in the form host:port. One that is not valid is left
// out.
func (t Target) Seeds() []string {
	var seeds []string
	for _, text := range t.Addresses {
		if host, port, problem := hostPort(text, sentinelPort); problem == "" {
			seeds = append(seeds, net.JoinHostPort(host, port))
		}
	}
	return seeds
}

// addresses is the form of target.addresses.
func addresses() form {
	one := text("host[:port], with an IPv6 address in brackets", func(text string) string {
		_, _, problem := hostPort(text, sentinelPort)
		return problem
	})
	one.show = withoutLogin
	return list{
		accepts: "a list of host[:port]",
		element: one,
		same: func(text string) string {
			host, port, _ := hostPort(text, sentinelPort)
			return strings.ToLower(net.JoinHostPort(host, port))
		},
	}
}

// hostPort takes host[:port] apart; absent is the port where it is left out.
// Otherwise problem is a phrase that follows the text.
func hostPort(text, absent string) (host, port, problem string) {
	if !strings.Contains(text, ":") || strings.HasSuffix(text, "]") {
		text += ":" + absent
	}
	bracketed := strings.HasPrefix(text, "[")
	if !bracketed && strings.Count(text, ":") > 1 {
		return "", "", bareIPv6
	}
	host, port, err := net.SplitHostPort(text)
	switch {
	case err != nil:
		return "", "", "is not host[:port]"
	case host == "":
		return "", "", "has no host"
	case strings.ContainsAny(host, `/@?#[]*\`) || strings.ContainsFunc(host, unicode.IsSpace) || bracketed && !isIPv6(host):
		return "", "", "has no such host"
	case !isPort(port):
		return "", "", noSuchPort
	}
	return host, port, ""
}

func isIPv6(text string) bool {
	ip, err := netip.ParseAddr(text)
	return err == nil && ip.Is6()
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// withoutLogin is what may be shown of text that should be an address and might
// hold a password before an @.
func withoutLogin(text string) string {
	if strings.Contains(text, "@") {
		return abbreviated(text)
	}
	return text
}
