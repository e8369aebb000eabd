package config

import (
	"encoding/json"
	"fmt"
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
	hidden := []string{inURL, inField}
	for i, s := range secrets {
		if value := s.in(&c); *value == "" {
			*value = Password(fmt.Sprintf("battery-staple-%d", i))
			hidden = append(hidden, value.Reveal())
		}
	}
	if len(hidden) != len(secrets)+1 {
		t.Fatalf("%d secrets, want those of the table and one in the url", len(hidden))
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
		for _, secret := range hidden {
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
