package config

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Kind says what a target is.
type Kind uint8

const (
	Auto     Kind = iota // Private where a server binary is found, else Embedded
	Private              // a server of the daemon's own, as its child
	Embedded             // a server within the daemon's process
	Given                // an address
)

// Kinds lists the names of the kinds, indexed by Kind. All but Given are words
// of target.url.
var Kinds = []string{"auto", "private", "embedded", "address"}

func (k Kind) String() string { return Kinds[k] }

// Address is the parsed form of target.url and of the fields beside it.
type Address struct {
	Kind     Kind
	Network  string // "tcp" or "unix"; "" unless Kind is Given
	Address  string // host:port, or the socket's path; "" unless Kind is Given, and where sentinels tell it
	Username string // "": the server's default user
	Password Password
	Database int
	TLS      bool
}

const (
	defaultPort = "6379"
	urlForms    = "auto, private, embedded, redis[s]://[user[:password]@]host[:port][/database] or unix:///path[?db=database]"
)

// Address is where t is. Its error, an *Error, says why t has no address, or
// which of its fields contradict each other.
func (t Target) Address() (Address, error) {
	a, problem := t.parse()
	if problem != "" {
		return Address{}, asError(address().check("target.url", t.URL))
	}
	if err := asError(t.contradictions()); err != nil {
		return Address{}, err
	}
	if t.Username != "" {
		a.Username = t.Username
	}
	if t.Password != "" {
		a.Password = t.Password
	}
	if t.Database != 0 {
		a.Database = t.Database
	}
	a.TLS = a.TLS || t.TLS.Enabled
	return a.Address, nil
}

// parse is what the url and the topology say.
func (t Target) parse() (a parsedURL, problem string) {
	a, problem = parseURL(string(t.URL))
	if problem == "" && t.Topology == sentinel {
		a = parsedURL{Address: Address{Kind: Given, Network: "tcp"}}
	}
	return a, problem
}

// parsedURL is what a url says by itself.
type parsedURL struct {
	Address
	hasDatabase bool
}

// parseURL reads the url text. Otherwise problem is a phrase that follows the
// url, and holds nothing of it: a secret may stand anywhere.
func parseURL(text string) (a parsedURL, problem string) {
	if i := slices.Index(Kinds[:Given], text); i >= 0 {
		a.Kind = Kind(i)
		return a, ""
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || !printable(text) {
		return a, "is not a url"
	}
	a.Kind = Given
	switch u.Scheme {
	case "redis", "rediss":
		a.TLS = u.Scheme == "rediss"
		return a.tcp(u)
	case "unix":
		return a.unix(u)
	case "":
		return a, "has no scheme"
	}
	return a, "has an unknown scheme"
}

// tcp completes a with redis[s]://[user[:password]@]host[:port][/database].
func (a parsedURL) tcp(u *url.URL) (parsedURL, string) {
	host, port := u.Hostname(), u.Port()
	if host == "" {
		return a, "has no host"
	}
	if strings.Contains(host, ":") && !strings.HasPrefix(u.Host, "[") {
		return a, bareIPv6
	}
	if port == "" {
		port = defaultPort
	}
	if !isPort(port) {
		return a, noSuchPort
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return a, "has more than a database after the host"
	}
	a.Network, a.Address.Address = "tcp", net.JoinHostPort(host, port)
	a.Username = u.User.Username()
	password, _ := u.User.Password()
	a.Password = Password(password)
	if u.Path == "" || u.Path == "/" {
		return a, ""
	}
	return a.database(u.Path[1:])
}

// unix completes a with unix:///path[?db=database].
func (a parsedURL) unix(u *url.URL) (parsedURL, string) {
	query, err := url.ParseQuery(u.RawQuery)
	number, given := query["db"]
	switch {
	case u.Host != "" || u.User != nil:
		return a, "has something before the path"
	case u.Path == "" || u.Path == "/":
		return a, "has no path"
	case err != nil, u.Fragment != "", len(query) > 1, len(query) == 1 && len(number) != 1:
		return a, "has more than a database after the path"
	}
	a.Network, a.Address.Address = "unix", u.Path
	if !given {
		return a, ""
	}
	return a.database(number[0])
}

func (a parsedURL) database(text string) (parsedURL, string) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return a, "has a database that is not a whole number"
	}
	a.Database, a.hasDatabase = int(n), true
	return a, ""
}

// address is the form of target.url.
func address() form {
	return scalar{
		name:    "text",
		accepts: urlForms,
		tags:    []string{yamlText},
		parse:   func(text string) (any, string) { return URL(text), "" },
		limit: func(value any) string {
			_, problem := parseURL(string(value.(URL)))
			return problem
		},
		print: func(value any) any { return value.(URL).String() },
		show:  func(text string) string { return URL(text).String() },
	}
}
