package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sentinels is a target that is found by asking.
var sentinels = Target{URL: "auto", Topology: "sentinel", Addresses: []string{"a"}, Sentinel: Sentinel{Master: "m"}}

func TestAddress(t *testing.T) {
	for _, tt := range []struct {
		target Target
		want   Address
	}{
		{Target{URL: "auto"}, Address{Kind: Auto}},
		{Target{URL: "private", Database: 3}, Address{Kind: Private, Database: 3}},
		{Target{URL: "embedded"}, Address{Kind: Embedded}},
		{Target{URL: "redis://host"}, Address{Kind: Given, Network: "tcp", Address: "host:6379"}},
		{Target{URL: "redis://host:1/"}, Address{Kind: Given, Network: "tcp", Address: "host:1"}},
		{Target{URL: "REDIS://host:65535/7"}, Address{Kind: Given, Network: "tcp", Address: "host:65535", Database: 7}},
		{Target{URL: "redis://[::1]"}, Address{Kind: Given, Network: "tcp", Address: "[::1]:6379"}},
		{Target{URL: "redis://[fe80::1%25eth0]:7000/1"}, Address{Kind: Given, Network: "tcp", Address: "[fe80::1%eth0]:7000", Database: 1}},
		{
			Target{URL: "redis://alice:p%40ss%3Aw%2Frd@host"},
			Address{Kind: Given, Network: "tcp", Address: "host:6379", Username: "alice", Password: "p@ss:w/rd"},
		},
		{Target{URL: "redis://:a:b@host"}, Address{Kind: Given, Network: "tcp", Address: "host:6379", Password: "a:b"}},
		{
			Target{URL: "redis://host", Username: "ali:ce", Password: "p@ss:w/rd", Database: 4},
			Address{Kind: Given, Network: "tcp", Address: "host:6379", Username: "ali:ce", Password: "p@ss:w/rd", Database: 4},
		},
		{
			Target{URL: "redis://alice:secret@host/4", Username: "alice", Password: "secret", Database: 4},
			Address{Kind: Given, Network: "tcp", Address: "host:6379", Username: "alice", Password: "secret", Database: 4},
		},
		{Target{URL: "redis://host/4"}, Address{Kind: Given, Network: "tcp", Address: "host:6379", Database: 4}},
		{Target{URL: "rediss://host"}, Address{Kind: Given, Network: "tcp", Address: "host:6379", TLS: true}},
		{
			Target{URL: "RedisS://alice:secret@[::1]:1/2", TLS: TLS{CAFile: "ca", CertFile: "c", KeyFile: "k", ServerName: "s", MinVersion: "1.3"}},
			Address{Kind: Given, Network: "tcp", Address: "[::1]:1", Username: "alice", Password: "secret", Database: 2, TLS: true},
		},
		{Target{URL: "redis://host", TLS: TLS{Enabled: true}}, Address{Kind: Given, Network: "tcp", Address: "host:6379", TLS: true}},
		{Target{URL: "rediss://host", TLS: TLS{Enabled: true}}, Address{Kind: Given, Network: "tcp", Address: "host:6379", TLS: true}},
		{Target{URL: "unix:///run/redis.sock"}, Address{Kind: Given, Network: "unix", Address: "/run/redis.sock"}},
		{
			Target{URL: "unix:///run/a%20b@c:d?db=2", Username: "bob", Password: "secret"},
			Address{Kind: Given, Network: "unix", Address: "/run/a b@c:d", Username: "bob", Password: "secret", Database: 2},
		},
		{sentinels, Address{Kind: Given, Network: "tcp"}},
		{
			Target{
				URL: "auto", Topology: "sentinel", Addresses: []string{"a"}, Sentinel: Sentinel{Master: "m", Username: "watcher", Password: "word", TLS: TLS{Enabled: true}},
				Username: "alice", Password: "secret", Database: 4, TLS: TLS{Enabled: true, MinVersion: "1.3"},
			},
			Address{Kind: Given, Network: "tcp", Username: "alice", Password: "secret", Database: 4, TLS: true},
		},
	} {
		got, err := tt.target.Address()
		if err != nil || got != tt.want {
			t.Errorf("%+v.Address() = %+v, %v, want %+v", tt.target, got, err, tt.want)
		}
	}
}

func TestAddressRefuses(t *testing.T) {
	for _, tt := range []struct {
		target Target
		want   string
	}{
		{Target{URL: "rediss://"}, `target.url: "rediss://…" has no host: want ` + urlForms},
		{Target{URL: ""}, `target.url: "" has no scheme: want ` + urlForms},
		{Target{URL: "redis://a@host", Username: "b"}, `target.username: "b" is not the user in target.url: want only one of them`},
		{Target{URL: "redis://:a@host", Password: "b"}, `target.password: it is not the password in target.url: want only one of them`},
		{Target{URL: "unix:///s?db=1", Database: 2}, `target.database: 2 is not the database in target.url: want only one of them`},
		{Target{URL: "auto", Password: "b"}, `target.password: it is of no use with target.url auto: want a redis://, rediss:// or unix:// url`},
		{Target{URL: "unix:///s", TLS: TLS{Enabled: true}}, `target.tls.enabled: true is of no use with a unix:// target.url: want a rediss:// url`},
		{Target{URL: "auto", Topology: "sentinel", Addresses: []string{"a"}}, "target.sentinel.master: is empty: want the name of a master with target.topology sentinel"},
		{Target{URL: "redis://h", Sentinel: Sentinel{Password: "b"}}, "target.sentinel.password: it is of no use with target.topology standalone: want target.topology sentinel"},
	} {
		got, err := tt.target.Address()
		if err == nil || err.Error() != tt.want {
			t.Errorf("%+v.Address() = %+v, %v, want %s", tt.target, got, err, tt.want)
		}
	}
}

func TestSeeds(t *testing.T) {
	for _, tt := range []struct{ addresses, want []string }{
		{nil, nil},
		{
			[]string{"a", "b:1", "10.0.0.1", "[::1]", "[fe80::1%eth0]:65535", "C"},
			[]string{"a:26379", "b:1", "10.0.0.1:26379", "[::1]:26379", "[fe80::1%eth0]:65535", "C:26379"},
		},
		{[]string{"", "::1", "a:0", "[]", "]", "[::1"}, nil},
	} {
		if got := (Target{Addresses: tt.addresses}).Seeds(); !slices.Equal(got, tt.want) {
			t.Errorf("the seeds of %q are %q, want %q", tt.addresses, got, tt.want)
		}
	}
}

// Whatever a user and a password are made of, a url that is escaped as urls
// are gives them back, and shows the user only.
func TestAddressRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		user := rapid.StringMatching(`[a-z:@/?#%\[\] <>]{0,8}`).Draw(t, "user")
		secret := rapid.StringMatching(`([0-9:@/?#%\[\] <>]|é){1,8}`).Draw(t, "password")
		port := rapid.IntRange(1, 65535).Draw(t, "port")
		database := rapid.IntRange(0, 1<<31-1).Draw(t, "database")
		host := rapid.SampledFrom([]string{"host", "10.0.0.1", "::1"}).Draw(t, "host")
		hostPort := net.JoinHostPort(host, strconv.Itoa(port))
		scheme := rapid.SampledFrom([]string{"redis://", "rediss://"}).Draw(t, "scheme")
		text := scheme + url.UserPassword(user, secret).String() + "@" + hostPort + "/" + strconv.Itoa(database)

		got, err := Target{URL: URL(text)}.Address()
		want := Address{Kind: Given, Network: "tcp", Address: hostPort, Username: user, Password: Password(secret), Database: database, TLS: scheme == "rediss://"}
		if err != nil || got != want {
			t.Fatalf("the address of %s is %+v (%v), want %+v", text, got, err, want)
		}
		shown := URL(text).String()
		if wanted := scheme + url.User(user).String() + ":<redacted>@" + hostPort + "/" + strconv.Itoa(database); shown != wanted {
			t.Fatalf("%s is shown as %s, want %s", text, shown, wanted)
		}
	})
}

// No text makes the reader of urls show what may be a password.
func TestURLShowsNoPassword(t *testing.T) {
	const secret = "hunter2"
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.StringMatching(`(redis|rediss|unix|http|x)?(:|://|:/|:///)(alice)?:`).Draw(t, "before")
		after := rapid.StringMatching(`[:@/?#%\[\] a0]{0,6}`).Draw(t, "after")
		text := before + secret + after
		if a, problem := parseURL(text); problem == "" && !strings.Contains(string(a.Password), secret) {
			t.Skip("the secret is part of a path")
		}
		if shown := URL(text).String(); strings.Contains(shown, secret) {
			t.Fatalf("%q is shown as %q", text, shown)
		}
	})
}
