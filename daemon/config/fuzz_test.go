package config

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

// Whatever a file holds, Load fails with one line for each fault or returns a
// valid configuration that survives being written and read again.
func FuzzLoad(f *testing.F) {
	example, err := os.ReadFile("../../deploy/soakline.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, content := range []string{
		"", "- 1", "a: &a [*a]", "batch: {max_delay: 5}\n---\n", "target: {url: 'redis://a:b@[::1]:1/2'}", "? {a: b}\n: c",
		"target: {url: 'unix:///a@b:c?db=1', username: 'ä: #'}", "arrival: {rate: 1e-9, seed: 18446744073709551615}",
		"target: {topology: sentinel, addresses: ['[::1]:1', a], sentinel: {master: 'ä: #', tls: {enabled: true, min_version: 1.3}}}",
		"safety: {allowed_targets: ['*', '[::1]:*', 10.0.0.0/8, /a, '[a-'], max_rate: 5001.5, resume: auto}",
		"workload: {mix: [{command: get, weight: 0.1}], keys: {prefix: '- {a}', ttl: 36h}, value: {size: 1001kB}}",
	} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := Load(Sources{File: "f", Content: append([]byte{}, content...)})
		if err != nil {
			e, ok := errors.AsType[*Error](err)
			if !ok || len(e.Faults) == 0 || strings.Count(err.Error(), "\n") != len(e.Faults)-1 {
				t.Fatalf("%T with the text %q, want an *Error with a line for each fault", err, err)
			}
			return
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("Load accepts what Validate does not: %v", err)
		}
		if a, err := c.Target.Address(); err != nil || a.Password != "" {
			if err != nil {
				t.Fatalf("a valid target has no address: %v", err)
			}
			return // a redacted url is no url
		}
		again, err := load(c.YAML())
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("%+v is written as\n%s\nwhich reads as %+v, %v", c, c.YAML(), again, err)
		}
	})
}
