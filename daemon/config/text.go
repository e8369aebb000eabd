package config

import (
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// anyText is the form of text that means nothing to the configuration itself.
var anyText = text("text that can be printed", func(string) string { return "" })

func prefix() form {
	return text(`text without spaces and without any of * ? [ ] \`, func(prefix string) string {
		switch {
		case prefix == "":
			return "is empty"
		case strings.ContainsFunc(prefix, unicode.IsSpace):
			return "has a space"
		case strings.ContainsAny(prefix, `*?[]\`): // the daemon looks for its keys with SCAN MATCH
			return "has a glob character"
		}
		return ""
	})
}

func listenAddress() form {
	return text(`host:port with a port from 0 to 65535, or ""`, func(address string) string {
		if address == "" {
			return ""
		}
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return "is not host:port"
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "has no such port"
		}
		return ""
	})
}

// servedPaths are those of the daemon's other pages.
var servedPaths = []string{"/", "/config", "/-/healthy", "/-/ready"}

func telemetryPath() form {
	accepts := "a path like /metrics, and none of " + strings.Join(servedPaths, " ")
	return text(accepts, func(p string) string {
		switch {
		case !strings.HasPrefix(p, "/"):
			return "does not start with /"
		case slices.Contains(servedPaths, p):
			return "is another page"
		case path.Clean(p) != p, strings.ContainsAny(p, " {}?#%"):
			return "is not a plain path"
		}
		return ""
	})
}

// printable tells whether text survives a page and a terminal as it is.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) })
}
