package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadSecrets(t *testing.T) {
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, tt := range []struct {
		content string
		target  Target
		want    Password
		wantErr string // with FILE for the file's name
	}{
		{content: "a:b@c\n", want: "a:b@c"},
		{content: "secret\r\n", want: "secret"},
		{content: "secret", want: "secret"},
		{content: " two\n\n", want: " two\n"},
		{content: "secret\n", target: Target{Password: "secret"}, want: "secret"},
		{content: "secret", target: Target{URL: "redis://:secret@host"}, want: "secret"},
		{content: "\n", wantErr: `target.password_file: "FILE" is empty: want a file that holds the password`},
		{
			content: "secret", target: Target{Password: "other"}, want: "other",
			wantErr: `target.password_file: "FILE" holds another password than SOAKLINE_TARGET_PASSWORD: want only one of them`,
		},
		{
			content: "secret", target: Target{URL: "redis://:other@host"}, want: "secret",
			wantErr: "target.password: it is not the password in target.url: want only one of them",
		},
	} {
		c := Default()
		c.Target = tt.target
		c.Target.PasswordFile = file(tt.content)
		if c.Target.URL == "" {
			c.Target.URL = "redis://host"
		}
		err := c.ReadSecrets()
		text := ""
		if err != nil {
			text = strings.ReplaceAll(err.Error(), c.Target.PasswordFile, "FILE")
		}
		if text != tt.wantErr || c.Target.Password != tt.want {
			t.Errorf("of a file %q beside %+v: %s, %q, want %s, %q", tt.content, tt.target,
				text, c.Target.Password.Reveal(), tt.wantErr, tt.want.Reveal())
		}
	}

	c := Default()
	if err := c.ReadSecrets(); err != nil || c.Target.Password != "" {
		t.Errorf("without a file: %v", err)
	}
	c.Target.PasswordFile = "testdata/absent"
	err := c.ReadSecrets()
	const want = "target.password_file: open testdata/absent: no such file or directory: want a file that holds the password"
	if err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of an absent file: %v, want %s", err, want)
	}
}

// Every secret comes from its variable or from its file.
func TestSecretsFromEverySource(t *testing.T) {
	set := []string{"target.topology=sentinel", "target.addresses=[a]", "target.sentinel.master=m"}
	for _, s := range secrets {
		value := "correct-horse-" + s.noun
		c, err := Load(Sources{Environ: []string{s.variable + "=" + value}, Set: set})
		if err != nil || s.in(&c).Reveal() != value {
			t.Errorf("from %s, %s is %q (%v), want %q", s.variable, s.path, s.in(&c).Reveal(), err, value)
		}
		file := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err = Load(Sources{Set: append([]string{s.key() + "=" + file}, set...)})
		if err == nil {
			err = c.ReadSecrets()
		}
		if err != nil || s.in(&c).Reveal() != value {
			t.Errorf("from %s, %s is %q (%v), want %q", s.key(), s.path, s.in(&c).Reveal(), err, value)
		}
	}
}

// What is wrong with the files is told together.
func TestFaultsOfAllSecrets(t *testing.T) {
	c := Default()
	for _, s := range secrets {
		if _, is := keyAt(s.key()); !is {
			t.Errorf("%s has no key for its file", s.path)
		}
	}
	c.Target.PasswordFile, c.Target.Sentinel.PasswordFile = "testdata/absent", "testdata/neither"
	c.Target.Password = "other"
	c.Web.AdminTokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(c.Web.AdminTokenFile, []byte("fifteen-letters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := c.ReadSecrets()
	const want = "target.password_file: open testdata/absent: no such file or directory: want a file that holds the password\n" +
		"target.sentinel.password_file: open testdata/neither: no such file or directory: want a file that holds the password\n" +
		`web.admin_token_file: "FILE" holds a token that is too short: want at least 16 characters` + "\n" +
		"target.password: it is of no use with target.url auto: want a redis://, rediss:// or unix:// url"
	if err == nil || strings.ReplaceAll(err.Error(), c.Web.AdminTokenFile, "FILE") != want {
		t.Errorf("ReadSecrets() = %v, want %s", err, want)
	}
	if e, ok := errors.AsType[*Error](err); !ok || len(e.Faults) != 4 {
		t.Errorf("ReadSecrets fails with a %T, want an *Error with each fault", err)
	}
	if c.Web.AdminToken != "" {
		t.Error("a token that is too short is taken")
	}
}

func TestSecretsOfTheEnvironment(t *testing.T) {
	_, err := Load(Sources{Environ: []string{
		"SOAKLINE_SENTINEL_PASSWORD=hunter2", "SOAKLINE_TARGET_PASSWORD=hunter2", "SOAKLINE_WEB_ADMIN_TOKEN=fifteen-létters",
	}})
	const want = `target.sentinel.password: it is of no use with target.topology standalone: want target.topology sentinel (SOAKLINE_SENTINEL_PASSWORD)
target.password: it is of no use with target.url auto: want a redis://, rediss:// or unix:// url (SOAKLINE_TARGET_PASSWORD)
web.admin_token: it is too short: want at least 16 characters (SOAKLINE_WEB_ADMIN_TOKEN)`
	if err == nil || err.Error() != want {
		t.Errorf("Load fails with\n%v\nwant\n%s", err, want)
	}
	c, err := Load(Sources{Environ: []string{
		"SOAKLINE_SENTINEL_PASSWORD=", "SOAKLINE_TARGET_PASSWORD=", "SOAKLINE_WEB_ADMIN_TOKEN=sixteen-lettersß",
	}})
	if err != nil || c.Web.AdminToken != "sixteen-lettersß" {
		t.Errorf("Load = %q, %v", c.Web.AdminToken.Reveal(), err)
	}
}
