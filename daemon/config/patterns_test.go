package config

import (
	"net"
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestAllows(t *testing.T) {
	for _, tt := range []struct {
		patterns       []string
		allowed, other []string
	}{
		{nil, []string{"h:1", "[::1]:1", "/run/s", "anything"}, nil},
		{[]string{"h"}, []string{"h:1", "H:6379"}, []string{"hh:1", "h.a:1", "h", "", "/h", "[::1]:1", "[h:1"}},
		{[]string{"H.Example:6379"}, []string{"h.example:6379", "h.EXAMPLE:6379", "h.example:06379"}, []string{"h.example:6380", "h.example:x", "h.example:71915"}},
		{[]string{"h:*"}, []string{"h:1", "h:65535"}, []string{"g:1"}},
		{[]string{"*.staging:6379"}, []string{"a.staging:6379", "a.b.staging:6379"}, []string{"staging:6379", "a.staging:1", "a.staging.com:6379"}},
		{[]string{"redis-?", "node[0-9]"}, []string{"redis-1:1", "NODE7:1"}, []string{"redis-10:1", "nodex:1"}},
		{[]string{"10.0.0.*"}, []string{"10.0.0.1:1"}, []string{"10.0.1.1:1"}},
		{[]string{"*"}, []string{"h:1", "10.0.0.1:1", "[::1]:1", "[fe80::1%eth0]:1"}, []string{"/run/s"}},
		{[]string{"10.0.0.0/8"}, []string{"10.0.0.1:1", "10.255.255.255:65535", "[::ffff:10.0.0.1]:1"}, []string{"11.0.0.1:1", "host:1", "[::1]:1", "10.0.0.1", "/10.0.0.1"}},
		{[]string{"fd00::/8", "fe80::/10"}, []string{"[fd12::1]:1", "[fe80::1%eth0]:1"}, []string{"[fc00::1]:1", "10.0.0.1:1"}},
		{[]string{"::ffff:10.0.0.0/104"}, []string{"[::ffff:10.0.0.1]:1"}, []string{"[::ffff:11.0.0.1]:1"}},
		{[]string{"10.0.0.1:6379"}, []string{"10.0.0.1:6379", "[::ffff:10.0.0.1]:6379"}, []string{"10.0.0.1:1", "10.0.0.10:6379"}},
		{[]string{"[::ffff:10.0.0.1]"}, []string{"10.0.0.1:1", "[::ffff:10.0.0.1]:1"}, []string{"10.0.0.2:1"}},
		{[]string{"[::1]:6379"}, []string{"[::1]:6379", "[0:0::1]:6379"}, []string{"[::1]:1", "[::2]:6379", "1:6379", ":6379"}},
		{[]string{"[FE80::1]"}, []string{"[fe80::1]:1", "[fe80::1%eth0]:2"}, []string{"f:1"}},
		{[]string{"/run/redis.sock"}, []string{"/run/redis.sock", "/run//redis.sock", "/run/a/../redis.sock"}, []string{"/run/Redis.sock", "/run/redis.sock2", "h:1"}},
		{[]string{"/run/*/[a-c]"}, []string{"/run/x/a"}, []string{"/run/x/d", "/run/x/y/a", "/run/../a", "/run/a"}},
		{[]string{"g", "h"}, []string{"g:1", "h:1"}, []string{"i:1"}},
		{[]string{"h:0", "[", "10.0.0.0/33", "/run/["}, nil, []string{"h:0", "h:1", "[:1", "10.0.0.1:1", "/run/["}}, // not valid
	} {
		s := Safety{AllowedTargets: tt.patterns}
		for _, address := range tt.allowed {
			if !s.Allows(address) {
				t.Errorf("%q does not allow %q", tt.patterns, address)
			}
		}
		for _, address := range tt.other {
			if s.Allows(address) {
				t.Errorf("%q allows %q", tt.patterns, address)
			}
		}
	}
}

// Whatever an address is, it is a pattern of itself, and of no other address.
func TestAddressIsItsOwnPattern(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.OneOf(
			rapid.StringMatching(`[a-z]([a-z0-9.-]{0,8}[a-z0-9])?`),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 4, 4), ipText),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), ipText),
		)
		a := net.JoinHostPort(host.Draw(t, "host"), rapid.StringMatching(`[1-9][0-9]{0,3}`).Draw(t, "port"))
		b := net.JoinHostPort(host.Draw(t, "other host"), rapid.StringMatching(`[1-9][0-9]{0,3}`).Draw(t, "other port"))
		s := Safety{AllowedTargets: []string{a}}
		if !s.Allows(a) {
			t.Fatalf("%s is not its own pattern", a)
		}
		if a != b && s.Allows(b) {
			t.Fatalf("the pattern %s allows %s", a, b)
		}
	})
}

func ipText(b []byte) string {
	ip, _ := netip.AddrFromSlice(b)
	return ip.String()
}
