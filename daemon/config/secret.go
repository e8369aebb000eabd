package config

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// redacted stands for a secret wherever one would be written.
const redacted = "<redacted>"

// Password is a secret. However it is printed or encoded, it comes out as
// "<redacted>", or as nothing when it is empty; Reveal is the only way to it.
// fmt prints unexported fields without asking their types: keep it in exported
// ones.
type Password string

// Reveal is the secret itself.
func (p Password) Reveal() string { return string(p) }

// String is "<redacted>", or "" of an empty password.
func (p Password) String() string {
	if p == "" {
		return ""
	}
	return redacted
}

// Format prints String under every verb, %#v and %x included.
func (p Password) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

// MarshalJSON encodes String.
func (p Password) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }

// MarshalYAML encodes String.
func (p Password) MarshalYAML() (any, error) { return p.String(), nil }

// URL is target.url as it was written. A password in it comes out as
// "<redacted>" however the URL is printed or encoded, as with Password.
type URL string

// String is the URL without its password. Of one that cannot be read, where a
// password might be anywhere, it is the beginning.
func (u URL) String() string {
	text := string(u)
	a, problem := parseURL(text)
	if problem != "" {
		return abbreviated(text)
	}
	if a.Password == "" {
		return text
	}
	start := strings.Index(text, "://") + len("://")
	end := strings.LastIndex(text, "@")
	user, _, _ := strings.Cut(text[start:end], ":")
	return text[:start] + user + ":" + redacted + text[end:]
}

// Format prints String under every verb, %#v and %x included.
func (u URL) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, u.String()) }

// MarshalJSON encodes String.
func (u URL) MarshalJSON() ([]byte, error) { return json.Marshal(u.String()) }

// MarshalYAML encodes String.
func (u URL) MarshalYAML() (any, error) { return u.String(), nil }

// abbreviated is what may be shown of a url that is not one: what stands
// before anything that may part a name from a password.
func abbreviated(text string) string {
	i := strings.IndexAny(text, ":@/?#")
	switch {
	case i < 0:
		return text
	case strings.HasPrefix(text[i:], "://"):
		return text[:i] + "://…"
	}
	return text[:i+1] + "…"
}
