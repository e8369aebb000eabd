package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestSecretsNeverShow(t *testing.T) {
	const inURL, inField = "hunter2", "correct-horse"
	c, err := Load(Sources{
		Environ: []string{PasswordVariable + "=" + inField},
		Set:     []string{"target.url=rediss://alice:" + inField + "@host/1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Target.URL = "rediss://alice:" + inURL + "@host/1" // contradicts the field
	address, err := Target{URL: c.Target.URL}.Address()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{"YAML()": c.YAML(), "Validate()": fmt.Sprint(c.Validate())}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T %[1]v"} {
		shown[verb] = fmt.Sprintf(verb, c)
		shown[verb+" of a pointer"] = fmt.Sprintf(verb, &c)
		shown[verb+" of an address"] = fmt.Sprintf(verb, address)
		shown[verb+" of a password"] = fmt.Sprintf(verb, c.Target.Password)
		shown[verb+" of a url"] = fmt.Sprintf(verb, c.Target.URL)
	}
	for name, value := range map[string]any{"Redacted()": c.Redacted(), "Config": c, "Address": address} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		shown["JSON of "+name] = string(text)
		if text, err = yaml.Marshal(value); err != nil {
			t.Fatal(err)
		}
		shown["YAML of "+name] = string(text)
	}
	for name, text := range shown {
		for _, secret := range []string{inURL, inField} {
			for _, form := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), fmt.Sprint([]byte(secret))} {
				if strings.Contains(text, form) {
					t.Errorf("%s shows %s: %s", name, secret, text)
				}
			}
		}
	}
	if text := c.YAML(); !strings.Contains(text, "url: rediss://alice:<redacted>@host/1\n") {
		t.Errorf("YAML() does not show the url without its password:\n%s", text)
	}
	if got := c.Target.Password.Reveal(); got != inField {
		t.Errorf("Reveal() = %q, want %q", got, inField)
	}
}

func TestEmptySecretsAreEmpty(t *testing.T) {
	if text := fmt.Sprintf("%v%+v%#v%q", Password(""), Password(""), Password(""), Password("")); text != "" {
		t.Errorf("an empty password is printed as %s", text)
	}
	if text := URL("redis://alice:@host").String(); text != "redis://alice:@host" {
		t.Errorf("a url with an empty password is printed as %s", text)
	}
}

// A page must not be taken for a file: its secrets are gone.
func TestRedactedURLIsNoURL(t *testing.T) {
	c := Default()
	c.Target.URL = "rediss://alice:hunter2@host"
	if _, err := load(c.YAML()); err == nil {
		t.Error("a redacted url is accepted")
	}
}

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
