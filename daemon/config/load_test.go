package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// load is Load of a file called soakline.yaml.
func load(content string) (Config, error) {
	return Load(Sources{File: "soakline.yaml", Content: []byte(content)})
}

func TestLoadOfNothingIsTheDefault(t *testing.T) {
	for _, content := range []string{
		"", "\n", "# nothing\n", "---\n", "null", "{}", "batch:\n", "batch: {}\n", "batch: {max_commands: }\n",
		"target:\n  reconnect:\n", "workload:\n  mix:\n",
	} {
		if c, err := load(content); err != nil || !reflect.DeepEqual(c, Default()) {
			t.Errorf("Load(%q) = %v, %v, want the defaults", content, c, err)
		}
	}
}

func TestLoad(t *testing.T) {
	for _, tt := range []struct {
		content string
		change  func(*Config)
	}{
		{"arrival: {rate: 0.2}", func(c *Config) { c.Arrival.Rate = 0.2 }},
		{"arrival: {rate: 1e8}", func(c *Config) { c.Arrival.Rate = 1e8 }},
		{"arrival: {seed: 18446744073709551615}", func(c *Config) { c.Arrival.Seed = 1<<64 - 1 }},
		{"batch: {max_delay: 0}", func(c *Config) { c.Batch.MaxDelay = 0 }},
		{"batch: {max_delay: 1.5ms}", func(c *Config) { c.Batch.MaxDelay = 1500 * time.Microsecond }},
		{"batch: {max_request_bytes: 1kB}", func(c *Config) { c.Batch.MaxRequestBytes = 1000 }},
		{"workload: {keys: {ttl: 0}}", func(c *Config) { c.Workload.Keys.TTL = 0 }},
		{"workload: {mix: [{weight: 0.5, command: set}]}", func(c *Config) { c.Workload.Mix = []Share{{"set", 0.5}} }},
		{`web: {listen_address: ""}`, func(c *Config) { c.Web.ListenAddress = "" }},
		{"batch: {max_commands: &n 7}\ntarget: {connections: *n}", func(c *Config) { c.Batch.MaxCommands, c.Target.Connections = 7, 7 }},
		{"target: {url: 'redis://h', tls: {enabled: true, min_version: 1.3}}", func(c *Config) {
			c.Target.URL, c.Target.TLS.Enabled, c.Target.TLS.MinVersion = "redis://h", true, "1.3"
		}},
		{"target: {topology: sentinel, addresses: [a:1, b], sentinel: {master: m, tls: {enabled: true, ca_file: f}}, username: u, database: 2, tls: {enabled: true}}", func(c *Config) {
			c.Target.Topology, c.Target.Addresses, c.Target.Username, c.Target.Database = "sentinel", []string{"a:1", "b"}, "u", 2
			c.Target.Sentinel = Sentinel{Master: "m", TLS: TLS{Enabled: true, CAFile: "f", MinVersion: "1.2"}}
			c.Target.TLS.Enabled = true
		}},
		{"safety: {max_rate: 5000}", func(c *Config) { c.Safety.MaxRate = 5000 }},
		{"safety: {max_rate: 1}\narrival: {process: closed}", func(c *Config) { c.Safety.MaxRate, c.Arrival.Process = 1, "closed" }},
		{"safety: {allowed_targets: [h]}", func(c *Config) { c.Safety.AllowedTargets = []string{"h"} }}, // a private server is nobody's
		{"safety: {allowed_targets: [g, '*:6379']}\ntarget: {url: 'redis://h'}", func(c *Config) {
			c.Safety.AllowedTargets, c.Target.URL = []string{"g", "*:6379"}, "redis://h"
		}},
		{"target: {addresses: [], topology: standalone, sentinel: {}}", func(*Config) {}},
		{`target: {tls: {min_version: "1.2", enabled: false, ca_file: ""}}`, func(*Config) {}},
		{"target:\n  reconnect: {max: 1s}", func(c *Config) { c.Target.Reconnect.Max = time.Second }},
	} {
		want := Default()
		tt.change(&want)
		if c, err := load(tt.content); err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("Load(%q) = %v, %v, want\n%v", tt.content, c, err, want)
		}
	}
}

func TestFaultsOfFiles(t *testing.T) {
	const (
		sections  = "target, arrival, duration, workload, batch, queue, safety, drain_timeout, web, log"
		urls      = "want auto, private, embedded, redis[s]://[user[:password]@]host[:port][/database] or unix:///path[?db=database] (soakline.yaml:1)"
		hostPorts = "want host[:port], with an IPv6 address in brackets (soakline.yaml:1)"
		safety    = "allow_shared, allowed_targets, max_rate, max_memory_ratio, max_error_ratio, stop_on_eviction, resume"
		targets   = `want host[:port] with * ? [...] and IPv6 in brackets, a prefix like 10.0.0.0/8, or the path of a unix socket (soakline.yaml:1)`
		units     = "in ns, us, ms, s, m or h (soakline.yaml:1)"
		sizes     = "in B, kB, MB, GB, KiB, MiB or GiB (soakline.yaml:1)"
	)
	for _, tt := range []struct{ content, want string }{
		// Files.
		{"batch: [", "cannot be read as YAML, line 1: did not find expected node content: want one YAML document (soakline.yaml)"},
		{"batch: *x", "cannot be read as YAML, unknown anchor 'x' referenced: want one YAML document (soakline.yaml)"},
		{"duration: 0\n---\nduration: 1s", "there is a second document: want one YAML document (soakline.yaml)"},
		{"- 1", "a list is not a map: want a map of " + sections + " (soakline.yaml:1)"},
		{"batch", "a single value is not a map: want a map of " + sections + " (soakline.yaml:1)"},
		// Names.
		{"\nrate: 5", "rate: unknown key: want one of " + sections + " (soakline.yaml:2)"},
		{"batch: {max_cnt: 5}", "batch.max_cnt: unknown key: want one of mode, max_commands, max_request_bytes, max_reply_bytes, max_delay (soakline.yaml:1)"},
		{"batch: {Mode: single}", "batch.Mode: unknown key: want one of mode, max_commands, max_request_bytes, max_reply_bytes, max_delay (soakline.yaml:1)"},
		{"target: {reconnect: {mean: 1s}}", "target.reconnect.mean: unknown key: want one of min, max (soakline.yaml:1)"},
		{"log.level: info", "log.level: unknown key: want one of " + sections + " (soakline.yaml:1)"},
		{`"a\nb": 1`, `"a\nb": unknown key: want one of ` + sections + " (soakline.yaml:1)"},
		{"? [a]\n: 1", "a list: unknown key: want one of " + sections + " (soakline.yaml:1)"},
		{"<<: {duration: 0}", `"<<": unknown key: want one of ` + sections + " (soakline.yaml:1)"},
		{"duration: 0\nduration: 0", "duration: is given twice: want it once (soakline.yaml:2)"},
		{"log:\nlog: {level: info}", "log: is given twice: want it once (soakline.yaml:2)"},
		{"log: {level: info, level: info}", "log.level: is given twice: want it once (soakline.yaml:1)"},
		{"safety: [allow_shared]", "safety: a list is not a map: want a map of " + safety + " (soakline.yaml:1)"},
		{"safety: true", "safety: a single value is not a map: want a map of " + safety + " (soakline.yaml:1)"},
		// Whole numbers.
		{"batch: {max_commands: 0}", "batch.max_commands: 0 is too small: want a whole number from 1 to 1000000 (soakline.yaml:1)"},
		{"batch: {max_commands: 1000001}", "batch.max_commands: 1000001 is too large: want a whole number from 1 to 1000000 (soakline.yaml:1)"},
		{"batch: {max_commands: 7.9}", "batch.max_commands: 7.9 is not a whole number: want a whole number from 1 to 1000000 (soakline.yaml:1)"},
		{"batch: {max_commands: 010}", "batch.max_commands: 010 is not a whole number: want a whole number from 1 to 1000000 (soakline.yaml:1)"},
		{"batch: {max_commands: true}", "batch.max_commands: true is not a whole number: want a whole number from 1 to 1000000 (soakline.yaml:1)"},
		{`batch: {max_commands: "64"}`, `batch.max_commands: "64" is text: want a whole number from 1 to 1000000 (soakline.yaml:1)`},
		{"batch: {max_commands: {}}", "batch.max_commands: a map is not a whole number: want a whole number from 1 to 1000000 (soakline.yaml:1)"},
		{"batch: {max_commands: 9223372036854775808}", "batch.max_commands: 9223372036854775808 is too large: want a whole number from 1 to 1000000 (soakline.yaml:1)"},
		{"target: {database: -1}", "target.database: -1 is too small: want a whole number from 0 to 2147483647 (soakline.yaml:1)"},
		{"target: {protocol: 1}", "target.protocol: 1 is too small: want a whole number from 2 to 3 (soakline.yaml:1)"},
		{"target: {connections: 1025}", "target.connections: 1025 is too large: want a whole number from 1 to 1024 (soakline.yaml:1)"},
		{"arrival: {seed: 1.5}", "arrival.seed: 1.5 is not a whole number: want a whole number from 0 to 18446744073709551615 (soakline.yaml:1)"},
		{"workload: {keys: {count: 0}}", "workload.keys.count: 0 is too small: want a whole number from 1 to 1000000000 (soakline.yaml:1)"},
		// Numbers.
		{`arrival: {rate: "5000"}`, `arrival.rate: "5000" is text: want a number from 0 to 100000000 (soakline.yaml:1)`},
		{"arrival: {rate: -0.1}", "arrival.rate: -0.1 is too small: want a number from 0 to 100000000 (soakline.yaml:1)"},
		{"arrival: {rate: 1.1e8}", "arrival.rate: 1.1e8 is too large: want a number from 0 to 100000000 (soakline.yaml:1)"},
		{"arrival: {rate: .nan}", "arrival.rate: .nan is not a number: want a number from 0 to 100000000 (soakline.yaml:1)"},
		{"arrival: {rate: 0x10}", "arrival.rate: 0x10 is not a number: want a number from 0 to 100000000 (soakline.yaml:1)"},
		// Durations.
		{"batch: {max_delay: 5}", "batch.max_delay: 5 has no unit: want a duration from 0s to 1h " + units},
		{`batch: {max_delay: "5"}`, `batch.max_delay: "5" has no unit: want a duration from 0s to 1h ` + units},
		{"batch: {max_delay: 1d}", `batch.max_delay: "1d" has an unknown unit: want a duration from 0s to 1h ` + units},
		{"batch: {max_delay: soon}", `batch.max_delay: "soon" is not a duration: want a duration from 0s to 1h ` + units},
		{"batch: {max_delay: -1ms}", `batch.max_delay: "-1ms" is too small: want a duration from 0s to 1h ` + units},
		{"batch: {max_delay: false}", "batch.max_delay: false is not a duration: want a duration from 0s to 1h " + units},
		{"target: {read_timeout: 0}", "target.read_timeout: 0 is too small: want a duration from 1ms to 1h " + units},
		{"drain_timeout: 2h", `drain_timeout: "2h" is too large: want a duration from 1ms to 1h ` + units},
		{"workload: {keys: {ttl: 1500ms}}", `workload.keys.ttl: "1500ms" is not whole seconds: want 0 or whole seconds from 1s to 87600h (soakline.yaml:1)`},
		{"workload: {keys: {ttl: -1s}}", `workload.keys.ttl: "-1s" is too small: want 0 or whole seconds from 1s to 87600h (soakline.yaml:1)`},
		// Sizes.
		{"workload: {value: {size: 100}}", "workload.value.size: 100 has no unit: want a size from 1B to 512MiB " + sizes},
		{"workload: {value: {size: 1kb}}", `workload.value.size: "1kb" has an unknown unit: want a size from 1B to 512MiB ` + sizes},
		{"workload: {value: {size: 0B}}", `workload.value.size: "0B" is too small: want a size from 1B to 512MiB ` + sizes},
		{"workload: {value: {size: 1GiB}}", `workload.value.size: "1GiB" is too large: want a size from 1B to 512MiB ` + sizes},
		{"workload: {value: {size: 9000000000000GiB}}", `workload.value.size: "9000000000000GiB" is too large: want a size from 1B to 512MiB ` + sizes},
		{"workload: {value: {size: -1B}}", `workload.value.size: "-1B" is not a size: want a size from 1B to 512MiB ` + sizes},
		// Words, text, truth.
		{"batch: {mode: transaction}", `batch.mode: "transaction" is unknown: want one of pipeline, single (soakline.yaml:1)`},
		{"arrival: {process: gamma}", `arrival.process: "gamma" is unknown: want one of deterministic, poisson, closed (soakline.yaml:1)`},
		{"arrival: {pacing: Sleep}", `arrival.pacing: "Sleep" is unknown: want one of sleep, spin (soakline.yaml:1)`},
		{"workload: {keys: {distribution: zipf}}", `workload.keys.distribution: "zipf" is unknown: want one of uniform (soakline.yaml:1)`},
		{"log: {level: 1}", "log.level: 1 is not text: want one of debug, info, warn, error (soakline.yaml:1)"},
		{"log: {format: [json]}", "log.format: a list is not text: want one of console, json (soakline.yaml:1)"},
		{"safety: {allow_shared: 1}", "safety.allow_shared: 1 is not true or false: want true or false (soakline.yaml:1)"},
		{"safety: {allow_shared: yes}", `safety.allow_shared: "yes" is text: want true or false (soakline.yaml:1)`},
		{`web: {config_file: "a\u0007b"}`, `web.config_file: "a\ab" has characters that cannot be printed: want text that can be printed (soakline.yaml:1)`},
		{`workload: {keys: {prefix: ""}}`, `workload.keys.prefix: "" is empty: want text without spaces and without any of * ? [ ] \ (soakline.yaml:1)`},
		{"workload: {keys: {prefix: a b}}", `workload.keys.prefix: "a b" has a space: want text without spaces and without any of * ? [ ] \ (soakline.yaml:1)`},
		{"workload: {keys: {prefix: a*}}", `workload.keys.prefix: "a*" has a glob character: want text without spaces and without any of * ? [ ] \ (soakline.yaml:1)`},
		{"web: {listen_address: localhost}", `web.listen_address: "localhost" is not host:port: want host:port with a port from 0 to 65535, or "" (soakline.yaml:1)`},
		{"web: {listen_address: 'localhost:65536'}", `web.listen_address: "localhost:65536" has no such port: want host:port with a port from 0 to 65535, or "" (soakline.yaml:1)`},
		{"web: {telemetry_path: metrics}", `web.telemetry_path: "metrics" does not start with /: want a path like /metrics, and none of / /config /-/healthy /-/ready (soakline.yaml:1)`},
		{"web: {telemetry_path: /config}", `web.telemetry_path: "/config" is another page: want a path like /metrics, and none of / /config /-/healthy /-/ready (soakline.yaml:1)`},
		{`web: {telemetry_path: "/{a}"}`, `web.telemetry_path: "/{a}" is not a plain path: want a path like /metrics, and none of / /config /-/healthy /-/ready (soakline.yaml:1)`},
		{"web: {telemetry_path: /a/}", `web.telemetry_path: "/a/" is not a plain path: want a path like /metrics, and none of / /config /-/healthy /-/ready (soakline.yaml:1)`},
		// The mix.
		{"workload: {mix: []}", "workload.mix: is empty: want a list of {command: …, weight: …}, each command once (soakline.yaml:1)"},
		{"workload: {mix: {get: 1}}", "workload.mix: a map is not a list: want a list of {command: …, weight: …}, each command once (soakline.yaml:1)"},
		{"workload: {mix: [get]}", "workload.mix[0]: a single value is not a map: want a map of command, weight (soakline.yaml:1)"},
		{"workload: {mix: [{command: mget, weight: 1}]}", `workload.mix[0].command: "mget" is unknown: want one of get, set, incr (soakline.yaml:1)`},
		{"workload:\n  mix:\n  - {command: get, weight: 1}\n  - {command: set, weight: 0}", "workload.mix[1].weight: 0 is too small: want a number from 0.000001 to 1000000 (soakline.yaml:4)"},
		{"workload: {mix: [{command: get}]}", "workload.mix[0].weight: is missing: want a number from 0.000001 to 1000000 (soakline.yaml:1)"},
		{"workload: {mix: [{command: get, weight: 1, key: 2}]}", "workload.mix[0].key: unknown key: want one of command, weight (soakline.yaml:1)"},
		{"workload: {mix: [{command: get, weight: 1}, {command: get, weight: 2}]}", `workload.mix[1]: "get" is listed twice: want a list of {command: …, weight: …}, each command once (soakline.yaml:1)`},
		// The target.
		{"target: {url: localhost}", `target.url: "localhost" has no scheme: ` + urls},
		{"target: {url: 'localhost:6379'}", `target.url: "localhost:…" is not a url: ` + urls},
		{"target: {url: 'http://host'}", `target.url: "http://…" has an unknown scheme: ` + urls},
		{"target: {url: 'rediss:///1'}", `target.url: "rediss://…" has no host: ` + urls},
		{"target: {url: 'redis://'}", `target.url: "redis://…" has no host: ` + urls},
		{"target: {url: 'redis://host:0'}", `target.url: "redis://…" has no such port: ` + urls},
		{"target: {url: 'redis://::1/'}", `target.url: "redis://…" has an IPv6 address without brackets: ` + urls},
		{"target: {url: 'redis://host/x'}", `target.url: "redis://…" has a database that is not a whole number: ` + urls},
		{"target: {url: 'redis://host?db=1'}", `target.url: "redis://…" has more than a database after the host: ` + urls},
		{"target: {url: 'unix://tmp/s'}", `target.url: "unix://…" has something before the path: ` + urls},
		{"target: {url: 'unix://'}", `target.url: "unix://…" has no path: ` + urls},
		{"target: {url: 'unix:///s?db=1&db=2'}", `target.url: "unix://…" has more than a database after the path: ` + urls},
		{"target: {password: hunter2}", "target.password: a password has no place here: want target.password_file or the variable SOAKLINE_TARGET_PASSWORD (soakline.yaml:1)"},
		// TLS.
		{"target: {url: 'rediss://h', tls: {min_version: 1.1}}", "target.tls.min_version: 1.1 is unknown: want one of 1.2, 1.3 (soakline.yaml:1)"},
		{"target: {url: 'rediss://h', tls: {min_version: 1.30}}", "target.tls.min_version: 1.30 is unknown: want one of 1.2, 1.3 (soakline.yaml:1)"},
		{"target: {url: 'rediss://h', tls: {min_version: 1}}", "target.tls.min_version: 1 is not text: want one of 1.2, 1.3 (soakline.yaml:1)"},
		{"target: {url: 'rediss://h', tls: {min_version: TLS1.2}}", `target.tls.min_version: "TLS1.2" is unknown: want one of 1.2, 1.3 (soakline.yaml:1)`},
		{"target: {url: 'rediss://h', tls: {ca: f}}", "target.tls.ca: unknown key: want one of enabled, ca_file, cert_file, key_file, server_name, min_version, insecure_skip_verify (soakline.yaml:1)"},
		{"target: {url: 'rediss://h', tls: {enabled: 1, cert_file: c}}", "target.tls.enabled: 1 is not true or false: want true or false (soakline.yaml:1)\n" +
			`target.tls.cert_file: "c" has no target.tls.key_file beside it: want both or neither (soakline.yaml:1)`},
		{"target: {url: 'rediss://h', tls: {key_file: k}}", `target.tls.key_file: "k" has no target.tls.cert_file beside it: want both or neither (soakline.yaml:1)`},
		{"target: {url: 'rediss://h', tls: {cert_file: c, key_file: 1}}", `target.tls.key_file: 1 is not text: want text that can be printed (soakline.yaml:1)`},
		{"target: {tls: {enabled: true}}", "target.tls.enabled: true is of no use with target.url auto: want a rediss:// url (soakline.yaml:1)"},
		{"target:\n  url: unix:///s\n  tls:\n    enabled: true", "target.tls.enabled: true is of no use with a unix:// target.url: want a rediss:// url (soakline.yaml:4, soakline.yaml:2)"},
		{"target: {url: 'unix:///s', tls: {server_name: s}}", `target.tls.server_name: "s" is of no use with a unix:// target.url: want a rediss:// url (soakline.yaml:1)`},
		{
			"target: {url: 'redis://h', tls: {ca_file: f, cert_file: c, key_file: k, server_name: s, min_version: 1.3, insecure_skip_verify: true}}",
			`target.tls.ca_file: "f" is of no use without TLS: want a rediss:// url or target.tls.enabled (soakline.yaml:1)
target.tls.cert_file: "c" is of no use without TLS: want a rediss:// url or target.tls.enabled (soakline.yaml:1)
target.tls.key_file: "k" is of no use without TLS: want a rediss:// url or target.tls.enabled (soakline.yaml:1)
target.tls.server_name: "s" is of no use without TLS: want a rediss:// url or target.tls.enabled (soakline.yaml:1)
target.tls.min_version: "1.3" is of no use without TLS: want a rediss:// url or target.tls.enabled (soakline.yaml:1)
target.tls.insecure_skip_verify: true is of no use without TLS: want a rediss:// url or target.tls.enabled (soakline.yaml:1)`,
		},
		{"target: {url: 'redis://h', tls: {enabled: 1, ca_file: f}}", "target.tls.enabled: 1 is not true or false: want true or false (soakline.yaml:1)"}, // and nobody knows about ca_file
		// Sentinels.
		{"target: {topology: cluster}", `target.topology: "cluster" is unknown: want one of standalone, sentinel (soakline.yaml:1)`},
		{"target: {topology: sentinel}", "target.addresses: is empty: want at least one address with target.topology sentinel (soakline.yaml:1)\n" +
			"target.sentinel.master: is empty: want the name of a master with target.topology sentinel (soakline.yaml:1)"},
		{"target: {topology: sentinel, addresses: [a], sentinel: {master: 1}}", "target.sentinel.master: 1 is not text: want text that can be printed (soakline.yaml:1)"},
		{"target: {topology: Sentinel, addresses: [a], sentinel: {master: m}}", `target.topology: "Sentinel" is unknown: want one of standalone, sentinel (soakline.yaml:1)`},
		{
			"target: {topology: sentinel, addresses: ['a:0', ':1', 'a b:1', '::1', '[::1]x', '[a]:1', 'h:', 'a/b'], sentinel: {master: m}}",
			`target.addresses[0]: "a:0" has no such port: ` + hostPorts + `
target.addresses[1]: ":1" has no host: ` + hostPorts + `
target.addresses[2]: "a b:1" has no such host: ` + hostPorts + `
target.addresses[3]: "::1" has an IPv6 address without brackets: ` + hostPorts + `
target.addresses[4]: "[::1]x" is not host[:port]: ` + hostPorts + `
target.addresses[5]: "[a]:1" has no such host: ` + hostPorts + `
target.addresses[6]: "h:" has no such port: ` + hostPorts + `
target.addresses[7]: "a/b" has no such host: ` + hostPorts,
		},
		{
			"target: {topology: sentinel, addresses: ['redis://alice:hunter2@a:1', 'alice:hunter2@b'], sentinel: {master: m}}",
			`target.addresses[0]: "redis://…" has an IPv6 address without brackets: ` + hostPorts + `
target.addresses[1]: "alice:…" has no such port: ` + hostPorts,
		},
		{
			"target:\n  topology: sentinel\n  addresses:\n  - a\n  - ~\n  - {b: 1}\n  sentinel: {master: m}",
			`target.addresses[1]: ~ is not text: want host[:port], with an IPv6 address in brackets (soakline.yaml:5)
target.addresses[2]: a map is not text: want host[:port], with an IPv6 address in brackets (soakline.yaml:6)`,
		},
		{"target: {topology: sentinel, addresses: [a, 'A:26379', b, 'a:1'], sentinel: {master: m}}", `target.addresses[1]: "A:26379" is listed twice: want a list of host[:port], each once (soakline.yaml:1)`},
		{"target: {addresses: a}", "target.addresses: a single value is not a list: want a list of host[:port], each once (soakline.yaml:1)"},
		{
			"target:\n  topology: sentinel\n  url: rediss://:hunter2@h\n  addresses: [a]\n  sentinel: {master: m}",
			`target.url: "rediss://:<redacted>@h" is of no use with target.topology sentinel: want target.addresses (soakline.yaml:3, soakline.yaml:2)`,
		},
		{"target: {topology: sentinel, url: private, addresses: [a], sentinel: {master: m}, username: u}", `target.url: "private" is of no use with target.topology sentinel: want target.addresses (soakline.yaml:1)`},
		{
			"target: {topology: sentinel, addresses: [a], sentinel: {master: m, tls: {cert_file: c}}, tls: {server_name: s}}",
			`target.sentinel.tls.cert_file: "c" is of no use without TLS: want target.sentinel.tls.enabled (soakline.yaml:1)
target.sentinel.tls.cert_file: "c" has no target.sentinel.tls.key_file beside it: want both or neither (soakline.yaml:1)
target.tls.server_name: "s" is of no use without TLS: want target.tls.enabled (soakline.yaml:1)`,
		},
		{
			"target: {addresses: [a], sentinel: {master: m, username: u, password_file: f, tls: {enabled: true, min_version: 1.3}}}",
			`target.addresses: it is of no use with target.topology standalone: want target.topology sentinel (soakline.yaml:1)
target.sentinel.master: "m" is of no use with target.topology standalone: want target.topology sentinel (soakline.yaml:1)
target.sentinel.username: "u" is of no use with target.topology standalone: want target.topology sentinel (soakline.yaml:1)
target.sentinel.password_file: "f" is of no use with target.topology standalone: want target.topology sentinel (soakline.yaml:1)
target.sentinel.tls.enabled: true is of no use with target.topology standalone: want target.topology sentinel (soakline.yaml:1)
target.sentinel.tls.min_version: "1.3" is of no use with target.topology standalone: want target.topology sentinel (soakline.yaml:1)`,
		},
		{"target: {sentinel: {password: hunter2}}", "target.sentinel.password: a password has no place here: want target.sentinel.password_file or the variable SOAKLINE_SENTINEL_PASSWORD (soakline.yaml:1)"},
		// Safety.
		{"safety: {max_rate: -1}", "safety.max_rate: -1 is too small: want a number from 0 to 100000000 (soakline.yaml:1)"},
		{"safety: {max_memory_ratio: 1.1}", "safety.max_memory_ratio: 1.1 is too large: want a number from 0 to 1 (soakline.yaml:1)"},
		{"safety: {max_memory_ratio: 90%}", `safety.max_memory_ratio: "90%" is text: want a number from 0 to 1 (soakline.yaml:1)`},
		{"safety: {max_error_ratio: -0.1}", "safety.max_error_ratio: -0.1 is too small: want a number from 0 to 1 (soakline.yaml:1)"},
		{"safety: {stop_on_eviction: on}", `safety.stop_on_eviction: "on" is text: want true or false (soakline.yaml:1)`},
		{"safety: {resume: always}", `safety.resume: "always" is unknown: want one of never, auto (soakline.yaml:1)`},
		{
			`safety: {allowed_targets: ["", ":1", "h:0", "h:x", "::1", "[fe80::1%eth0]", "redis://h", "10.0.0.1/8", "10.0.0.0/8:1", "h[a", "/run/", '/a\', "a b", "alice:hunter2@h"]}`,
			`safety.allowed_targets[0]: "" has no host: ` + targets + `
safety.allowed_targets[1]: ":1" has no host: ` + targets + `
safety.allowed_targets[2]: "h:0" has no such port: ` + targets + `
safety.allowed_targets[3]: "h:x" has no such port: ` + targets + `
safety.allowed_targets[4]: "::1" has an IPv6 address without brackets: ` + targets + `
safety.allowed_targets[5]: "[fe80::1%eth0]" has a zone: ` + targets + `
safety.allowed_targets[6]: "redis://h" has a / and is no prefix: ` + targets + `
safety.allowed_targets[7]: "10.0.0.1/8" has bits beyond its prefix: ` + targets + `
safety.allowed_targets[8]: "10.0.0.0/8:1" has a / and is no prefix: ` + targets + `
safety.allowed_targets[9]: "h[a" has a [ or a \ without its end: ` + targets + `
safety.allowed_targets[10]: "/run/" is not a plain path: ` + targets + `
safety.allowed_targets[11]: "/a\\" has a [ or a \ without its end: ` + targets + `
safety.allowed_targets[12]: "a b" has no such host: ` + targets + `
safety.allowed_targets[13]: "alice:…" has no such port: ` + targets,
		},
		{"safety: {allowed_targets: [h, /a, /A, 'H:*']}", `safety.allowed_targets[3]: "H:*" is listed twice: want a list of patterns like ["*.staging:6379", "10.0.0.0/8"], each once (soakline.yaml:1)`},
		{"safety: {allowed_targets: h}", `safety.allowed_targets: a single value is not a list: want a list of patterns like ["*.staging:6379", "10.0.0.0/8"], each once (soakline.yaml:1)`},
		{"target: {url: 'rediss://:hunter2@H'}\nsafety: {allowed_targets: [g]}", `safety.allowed_targets: no pattern matches target.url, "H:6379": want one that does (soakline.yaml:2, soakline.yaml:1)`},
		{"target: {url: 'unix:///run/a'}\nsafety: {allowed_targets: [/run/b, '*']}", `safety.allowed_targets: no pattern matches target.url, "/run/a": want one that does (soakline.yaml:2, soakline.yaml:1)`},
		{"target: {url: 'redis://h'}\nsafety: {allowed_targets: [g, 'h:0']}", `safety.allowed_targets[1]: "h:0" has no such port: ` + strings.Replace(targets, ":1)", ":2)", 1)},
		{"arrival: {rate: 1e4}\nsafety: {max_rate: 9999.5}", "arrival.rate: 10000 is more than safety.max_rate, 9999.5: want at most as much (soakline.yaml:1, soakline.yaml:2)"},
		{"safety: {max_rate: 4999}", "arrival.rate: 5000 is more than safety.max_rate, 4999: want at most as much (soakline.yaml:1)"},
		{"arrival: {process: clsoed}\nsafety: {max_rate: 1}", `arrival.process: "clsoed" is unknown: want one of deterministic, poisson, closed (soakline.yaml:1)`},
		{"web: {admin_token: hunter2}", "web.admin_token: a token has no place here: want web.admin_token_file or the variable SOAKLINE_WEB_ADMIN_TOKEN (soakline.yaml:1)"},
		{"web: {admin_tokn_file: f}", "web.admin_tokn_file: unknown key: want one of listen_address, config_file, telemetry_path, admin_token_file (soakline.yaml:1)"},
		// Keys that contradict each other.
		{"target: {username: bob}", `target.username: "bob" is of no use with target.url auto: want a redis://, rediss:// or unix:// url (soakline.yaml:1)`},
		{"target:\n  url: private\n  password_file: f", `target.password_file: "f" is of no use with target.url private: want a redis://, rediss:// or unix:// url (soakline.yaml:3, soakline.yaml:2)`},
		{"target: {url: 'redis://alice@host', username: bob}", `target.username: "bob" is not the user in target.url: want only one of them (soakline.yaml:1)`},
		{"target: {url: 'redis://host/0', database: 1}", "target.database: 1 is not the database in target.url: want only one of them (soakline.yaml:1)"},
		{"target: {reconnect: {min: 6s}}", "target.reconnect.max: 5s is less than target.reconnect.min, 6s: want at least as much (soakline.yaml:1)"},
		{"queue: {max_bytes: 1KiB}", "queue.max_bytes: 1KiB is less than batch.max_request_bytes, 64KiB: want at least as much (soakline.yaml:1)"},
		{"workload: {keys: {ttl: 3s, count: 200000}}", "workload.keys.ttl: 3s is too short for workload.keys.count, 200000, whose TTL would have to be refreshed all the time: want at least 4s, or 0 (soakline.yaml:1)"},
		{"queue: {max_commands: 63}", "queue.max_commands: 63 is less than batch.max_commands, 64: want at least as many (soakline.yaml:1)"},
	} {
		c, err := load(tt.content)
		if err == nil || err.Error() != tt.want {
			t.Errorf("Load(%q) =\n%v, want\n%s", tt.content, err, tt.want)
		}
		if !reflect.DeepEqual(c, Config{}) {
			t.Errorf("Load(%q) returns a configuration beside its error", tt.content)
		}
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("Load(%q) fails with a %T, want an *Error", tt.content, err)
		}
	}
}

func TestFaultsOfAllSources(t *testing.T) {
	_, err := Load(Sources{
		File:    "soakline.yaml",
		Content: []byte("batch:\n  max_commands: 0\n  linger: 1ms\narrival:\n  rate: fast\n"),
		Environ: []string{
			"PATH=/bin", "SOAKLINE_REQUIRE_SERVER=1", "SOAKLINE_SERVICE_HOST=10.0.0.1", "SOAKLINE_PORT_9765_TCP_ADDR=10.0.0.1",
			"SOAKLINE_BATCH_MAX_CNT=1", "SOAKLINE_RATE=1", "SOAKLINE_TARGET_PASSWRD=hunter2",
			"SOAKLINE_TARGET_SENTINEL_PASSWORD=hunter2", "SOAKLINE_SENTINEL_PASSWORD=secret", "SOAKLINE_TARGET_ADDRESSES=a:1,b:2",
			"SOAKLINE_BATCH_MAX_DELAY=1", "SOAKLINE_WORKLOAD_MIX=[{command: get}]", "SOAKLINE_LOG_LEVEL=",
		},
		Set: []string{
			"hunter2", "batch.max_cnt=3", "rate=4", "target.password=hunter2", "target.sentinel.password=hunter2", "target.addresses=[redis://:hunter2@a", "a b\nc=5", "batch=1",
			"queue.max_bytes=1", "workload.mix=x: [", "target.username=bob", "batch.max_commands=-99999999999999999999", "safety.allow_shared=yes",
		},
		Flags: map[string]string{"arrival.rate": "NaN", "target.url": "redis://:hunter2", "web.config_file": "\x00", "speed": "1"},
	})
	const want = `batch.max_commands: 0 is too small: want a whole number from 1 to 1000000 (soakline.yaml:2)
batch.linger: unknown key: want one of mode, max_commands, max_request_bytes, max_reply_bytes, max_delay (soakline.yaml:3)
arrival.rate: "fast" is text: want a number from 0 to 100000000 (soakline.yaml:5)
SOAKLINE_BATCH_MAX_CNT: unknown variable: want a known one, such as SOAKLINE_BATCH_MAX_COMMANDS
batch.max_delay: "1" has no unit: want a duration from 0s to 1h in ns, us, ms, s, m or h (SOAKLINE_BATCH_MAX_DELAY)
log.level: "" is unknown: want one of debug, info, warn, error (SOAKLINE_LOG_LEVEL)
SOAKLINE_RATE: unknown variable: want a known one, such as SOAKLINE_ARRIVAL_RATE
target.addresses: a single value is not a list: want a list of host[:port], each once (SOAKLINE_TARGET_ADDRESSES)
SOAKLINE_TARGET_PASSWRD: unknown variable: want a known one, such as SOAKLINE_TARGET_PASSWORD
SOAKLINE_TARGET_SENTINEL_PASSWORD: unknown variable: want a known one, such as SOAKLINE_SENTINEL_PASSWORD
workload.mix[0].weight: is missing: want a number from 0.000001 to 1000000 (SOAKLINE_WORKLOAD_MIX)
--set: argument 1 has no =: want key=value
batch.max_cnt: unknown key: want a known one, such as batch.max_commands (--set)
rate: unknown key: want a known one, such as arrival.rate (--set)
target.password: a password has no place here: want target.password_file or the variable SOAKLINE_TARGET_PASSWORD (--set)
target.sentinel.password: a password has no place here: want target.sentinel.password_file or the variable SOAKLINE_SENTINEL_PASSWORD (--set)
target.addresses: "[redis://…" is not a list: want a list of host[:port], each once (--set)
"a b\nc": unknown key: want a known one, such as duration (--set)
batch: unknown key: want a known one, such as batch.mode (--set)
queue.max_bytes: "1" has no unit: want a size from 1B to 64GiB in B, kB, MB, GB, KiB, MiB or GiB (--set)
workload.mix: "x: [" is not a list: want a list of {command: …, weight: …}, each command once (--set)
batch.max_commands: "-99999999999999999999" is too small: want a whole number from 1 to 1000000 (--set)
safety.allow_shared: "yes" is not true or false: want true or false (--set)
arrival.rate: "NaN" is not a number: want a number from 0 to 100000000 (--rate)
speed: unknown key: want a known one, such as arrival.seed (--speed)
target.url: "redis://…" is not a url: want auto, private, embedded, redis[s]://[user[:password]@]host[:port][/database] or unix:///path[?db=database] (--target)
web.config_file: "\x00" has characters that cannot be printed: want text that can be printed (--web.config.file)`
	if err == nil || err.Error() != want {
		t.Errorf("Load fails with\n%v\nwant\n%s", err, want)
	}
	if e, ok := errors.AsType[*Error](err); ok && len(e.Faults) != strings.Count(want, "\n")+1 {
		t.Errorf("%d faults, want one for each line", len(e.Faults))
	}
}

func TestLoadReadsTheFile(t *testing.T) {
	_, err := Load(Sources{File: "testdata/absent.yaml"})
	const want = "open testdata/absent.yaml: no such file or directory: want a file that can be read"
	if err == nil || err.Error() != want {
		t.Errorf("Load = %v, want %s", err, want)
	}
}

// Flags win over --set, --set over the environment, that over the file.
func TestPrecedence(t *testing.T) {
	for _, tt := range []struct{ path, file, env, set, flag string }{
		{"batch.max_commands", "11", "12", "13", "14"},
		{"arrival.seed", "1", "2", "3", "4"},
		{"arrival.rate", "1.5", "2.5", "3.5", "4.5"},
		{"batch.max_delay", "1s", "2s", "3s", "4s"},
		{"queue.max_bytes", "1MiB", "2MiB", "3MiB", "4MiB"},
		{"log.level", "debug", "warn", "error", "info"},
		{"safety.allow_shared", "true", "false", "true", "false"},
		{"safety.allowed_targets", `["a"]`, `["b:1","/c"]`, "[]", `["10.0.0.0/8","[::1]:1"]`},
		{"web.config_file", "a", "b", "c", "d"},
		{"target.url", "private", "embedded", "redis://a", "redis://b"},
		{
			"workload.mix", `[{"command":"get","weight":1}]`, `[{"command":"set","weight":2}]`,
			`[{"command":"incr","weight":3},{"command":"get","weight":4}]`, `[{"command":"get","weight":5}]`,
		},
	} {
		var s Sources
		for _, source := range []struct {
			name, text string
			add        func(text string)
		}{
			{"the file", tt.file, func(text string) { s.File, s.Content = "f", []byte(nested(tt.path, text)) }},
			{"the environment", tt.env, func(text string) { s.Environ = []string{variable(tt.path) + "=" + text} }},
			{"--set", tt.set, func(text string) { s.Set = []string{tt.path + "=" + text} }},
			{"a flag", tt.flag, func(text string) { s.Flags = map[string]string{tt.path: text} }},
		} {
			source.add(source.text)
			c, err := Load(s)
			if got := textOf(c, tt.path); err != nil || got != source.text {
				t.Errorf("with %s, %s is %s (%v), want %s", source.name, tt.path, got, err, source.text)
			}
		}
	}

	c, err := Load(Sources{Set: []string{"log.level=warn", "log.level=error"}})
	if err != nil || c.Log.Level != "error" {
		t.Errorf("of two --set the level is %q (%v), want that of the last", c.Log.Level, err)
	}
}

// samples are accepted values that are not the defaults, as they print.
var samples = map[string]string{
	"target.url": "redis://host:6380/2", "target.username": "ali:ce@home", "target.password_file": "/run/secret",
	"target.database": "3", "target.protocol": "3", "target.connections": "8", "target.dial_timeout": "1s",
	"target.read_timeout": "1m30s", "target.write_timeout": "2s", "target.reconnect.min": "1s", "target.reconnect.max": "10s",
	"target.topology": "sentinel", "target.addresses": `["s1:26380","[::1]:26379","s3"]`, "target.sentinel.master": "mymaster",
	"target.sentinel.username": "watcher", "target.sentinel.password_file": "/run/sentinel", "target.sentinel.tls.enabled": "true",
	"target.sentinel.tls.ca_file": "/ca.pem", "target.sentinel.tls.cert_file": "cert.pem", "target.sentinel.tls.key_file": "key.pem",
	"target.sentinel.tls.server_name": "sentinel.example", "target.sentinel.tls.min_version": "1.3",
	"target.sentinel.tls.insecure_skip_verify": "true",
	"target.tls.enabled":                       "true", "target.tls.ca_file": "/ca.pem", "target.tls.cert_file": "cert.pem", "target.tls.key_file": "key.pem",
	"target.tls.server_name": "redis.example", "target.tls.min_version": "1.3", "target.tls.insecure_skip_verify": "true",
	"arrival.process": "deterministic", "arrival.rate": "0.25", "arrival.seed": "18446744073709551615",
	"arrival.max_catch_up": "100ms", "arrival.max_lag": "250µs", "arrival.pacing": "spin", "duration": "24h",
	"workload.mix": `[{"command":"set","weight":0.5}]`, "workload.keys.count": "1", "workload.keys.distribution": "uniform",
	"workload.keys.prefix": "{a}:", "workload.keys.ttl": "1m", "workload.value.size": "1500kB", "workload.preload": "false",
	"batch.mode": "single", "batch.max_commands": "1", "batch.max_request_bytes": "1MB", "batch.max_reply_bytes": "1GiB",
	"batch.max_delay": "0s", "queue.max_commands": "64", "queue.max_bytes": "1GiB", "safety.allow_shared": "true",
	"safety.allowed_targets": `["*.staging","host:*","10.0.0.0/8"]`, "safety.max_rate": "6000.5", "safety.max_memory_ratio": "0",
	"safety.max_error_ratio": "0.01", "safety.stop_on_eviction": "true", "safety.resume": "auto",
	"drain_timeout": "1ms", "web.listen_address": "[::]:80", "web.config_file": "web.yaml", "web.admin_token_file": "/run/token", "web.telemetry_path": "/a/b",
	"log.level": "warn", "log.format": "json",
}

func TestEveryKeyFromEverySource(t *testing.T) {
	for _, k := range Keys() {
		text, ok := samples[k.Path]
		if !ok {
			t.Errorf("%s has no sample", k.Path)
			continue
		}
		if k.Default == text && k.Path != "workload.keys.distribution" { // which has one word
			t.Errorf("the sample of %s is its default", k.Path)
		}
		base := beside(k.Path)
		for name, s := range map[string]Sources{
			"its variable": {Environ: []string{k.Env + "=" + text}, Set: base},
			"--set":        {Set: append(base, k.Path+"="+text)},
			"a flag":       {Flags: map[string]string{k.Path: text}, Set: base},
			"a file":       {File: "f", Content: []byte(nested(k.Path, quoted(k, text))), Set: base},
		} {
			c, err := Load(s)
			if got := textOf(c, k.Path); err != nil || got != text {
				t.Errorf("from %s, %s is %s (%v), want %s", name, k.Path, got, err, text)
			}
		}
	}
	if extra := len(samples) - len(Keys()); extra > 0 {
		t.Errorf("%d samples have no key: %v", extra, slices.Sorted(maps.Keys(samples)))
	}
}

// beside is what the sample of the key at path is of no use without.
func beside(path string) []string {
	var sets []string
	add := func(other, text string) {
		if other != path {
			sets = append(sets, other+"="+text)
		}
	}
	section, name := "", path
	if i := strings.LastIndex(path, "."); i >= 0 {
		section, name = path[:i], path[i+1:]
	}
	switch name {
	case "cert_file":
		add(section+".key_file", "k")
	case "key_file":
		add(section+".cert_file", "c")
	}
	if path == "target.topology" || path == "target.addresses" || strings.HasPrefix(path, "target.sentinel.") {
		add("target.topology", "sentinel")
		add("target.addresses", "[s]")
		add("target.sentinel.master", "m")
	} else {
		add("target.url", "rediss://host")
	}
	if section == "target.sentinel.tls" {
		add("target.sentinel.tls.enabled", "true")
	}
	return sets
}

// nested is a file that gives text for the key at path.
func nested(path, text string) string {
	return "{" + strings.ReplaceAll(path, ".", ": {") + ": " + text + strings.Repeat("}", strings.Count(path, ".")+1)
}

func quoted(k Key, text string) string {
	if k.Type == "text" {
		return "'" + text + "'"
	}
	return text
}

// textOf is the value of c's key at path, as --set takes it.
func textOf(c Config, path string) string {
	k, _ := keyAt(path)
	value, ok := values(c)[path]
	if !ok || value == nil {
		return ""
	}
	return oneLine(k.form.plain(value))
}
