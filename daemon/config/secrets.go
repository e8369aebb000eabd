package config

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The environment variables with the passwords of the target and of its
// sentinels, and with the token of web.admin_token_file.
const (
	PasswordVariable         = "SOAKLINE_TARGET_PASSWORD"
	SentinelPasswordVariable = "SOAKLINE_SENTINEL_PASSWORD"
	AdminTokenVariable       = "SOAKLINE_WEB_ADMIN_TOKEN"
)

// secret is one line of the table of secrets.
type secret struct {
	path     string // where people look for it; with _file, the key of its file
	variable string
	noun     string
	least    int // characters
	in       func(*Config) *Password
	file     func(*Config) string // its path, "": none
}

const (
	targetPassword   = "target.password"
	sentinelPassword = "target.sentinel.password"
)

// secrets is the table of what is not a key, for it has no place in a file that
// holds keys or on a command line.
var secrets = []secret{
	{
		targetPassword, PasswordVariable, "password", 1,
		func(c *Config) *Password { return &c.Target.Password },
		func(c *Config) string { return c.Target.PasswordFile },
	},
	{
		sentinelPassword, SentinelPasswordVariable, "password", 1,
		func(c *Config) *Password { return &c.Target.Sentinel.Password },
		func(c *Config) string { return c.Target.Sentinel.PasswordFile },
	},
	{
		"web.admin_token", AdminTokenVariable, "token", 16, // what nobody guesses
		func(c *Config) *Password { return &c.Web.AdminToken },
		func(c *Config) string { return c.Web.AdminTokenFile },
	},
}

// secretAt finds the row of path, secretOf that of variable.
func secretAt(path string) (secret, bool) {
	return findSecret(func(s secret) bool { return s.path == path })
}

func secretOf(variable string) (secret, bool) {
	return findSecret(func(s secret) bool { return s.variable == variable })
}

func findSecret(found func(secret) bool) (secret, bool) {
	i := slices.IndexFunc(secrets, found)
	if i < 0 {
		return secret{}, false
	}
	return secrets[i], true
}

// key is the path of the key of s's file.
func (s secret) key() string { return s.path + "_file" }

// misplaced is the fault of s where others can read it.
func (s secret) misplaced() fault {
	return fault{
		path: s.path,
		what: "a " + s.noun + " has no place here",
		want: s.key() + " or the variable " + s.variable,
	}
}

// short tells whether value has fewer characters than s must have.
func (s secret) short(value string) bool { return utf8.RuneCountInString(value) < s.least }

// enough is what s may be.
func (s secret) enough() string { return fmt.Sprintf("at least %d characters", s.least) }

// secretContradictions are the faults of secrets that are there.
func (c Config) secretContradictions() []fault {
	var faults []fault
	for _, s := range secrets {
		if value := s.in(&c).Reveal(); value != "" && s.short(value) {
			faults = append(faults, fault{path: s.path, what: "it is too short", want: s.enough()})
		}
	}
	return faults
}

// ReadSecrets reads the files that hold secrets into c, without a trailing
// newline: each Password from the PasswordFile beside it, and Web.AdminToken
// likewise. Its error is an *Error with every fault, and names the keys and the
// files.
func (c *Config) ReadSecrets() error {
	var faults []error
	for _, s := range secrets {
		if err := s.read(c); err != nil {
			faults = append(faults, err)
		}
	}
	for _, f := range c.contradictions() {
		if _, isSecret := secretAt(f.path); isSecret {
			faults = append(faults, f)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &Error{faults}
}

func (s secret) read(c *Config) error {
	file := s.file(c)
	if file == "" {
		return nil
	}
	want := "a file that holds the " + s.noun
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s: %w: want %s", s.key(), err, want)
	}
	text, newline := strings.CutSuffix(string(content), "\n")
	if newline {
		text = strings.TrimSuffix(text, "\r")
	}
	f := fault{path: s.key()}
	switch value := s.in(c); {
	case text == "":
		f.what, f.want = "is empty", want
	case s.short(text):
		f.what, f.want = "holds a "+s.noun+" that is too short", s.enough()
	case *value != "" && value.Reveal() != text:
		f.what, f.want = "holds another "+s.noun+" than "+s.variable, "only one of them"
	default:
		*value = Password(text)
		return nil
	}
	f.what = strconv.Quote(file) + " " + f.what
	return f
}
