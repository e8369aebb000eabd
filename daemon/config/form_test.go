package config

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBytes(t *testing.T) {
	for _, tt := range []struct {
		b    Bytes
		text string
	}{
		{0, "0B"},
		{1, "1B"},
		{100, "100B"},
		{1000, "1kB"},
		{1024, "1KiB"},
		{1025, "1025B"},
		{1536, "1536B"},
		{64 * kib, "64KiB"},
		{1e6, "1MB"},
		{512 * mib, "512MiB"},
		{1e9, "1GB"},
		{gib, "1GiB"},
	} {
		if got := tt.b.String(); got != tt.text {
			t.Errorf("Bytes(%d) prints as %s, want %s", int64(tt.b), got, tt.text)
		}
		if got, problem := parseBytes(tt.text); got != tt.b || problem != "" {
			t.Errorf("parseBytes(%q) = %d, %q, want %d", tt.text, int64(got), problem, int64(tt.b))
		}
	}
	for text, want := range map[string]string{
		"": "is not a size", "B": "is not a size", "-1B": "is not a size", " 1B": "is not a size", "0x1B": "has an unknown unit",
		"1": "has no unit", "1 B": "has an unknown unit", "1.5KiB": "has an unknown unit", "1K": "has an unknown unit",
		"1KB": "has an unknown unit", "8589934592GiB": "is too large", "9223372036854775808B": "is too large",
	} {
		if got, problem := parseBytes(text); problem != want {
			t.Errorf("parseBytes(%q) = %d, %q, want %q", text, int64(got), problem, want)
		}
	}
}

func TestBytesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom(sizeUnits).Draw(t, "unit").size
		b := unit * Bytes(rapid.Int64Range(0, math.MaxInt64/int64(unit)).Draw(t, "number"))
		if got, problem := parseBytes(b.String()); got != b || problem != "" {
			t.Fatalf("%d prints as %s, which reads as %d, %q", int64(b), b, int64(got), problem)
		}
	})
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Millisecond: "1ms", 10 * time.Second: "10s", 20 * time.Minute: "20m", 10 * time.Hour: "10h",
		time.Hour + time.Second: "1h0m1s", 90 * time.Second: "1m30s", 90 * time.Minute: "1h30m", -time.Minute: "-1m",
	} {
		if got := durationText(d); got != want {
			t.Errorf("%d prints as %s, want %s", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64().Draw(t, "d"))
		if got, err := time.ParseDuration(durationText(d)); got != d || err != nil {
			t.Fatalf("%d prints as %s, which reads as %d, %v", d, durationText(d), got, err)
		}
	})
}

// A configuration that was not loaded is judged by the same table.
func TestValidate(t *testing.T) {
	c := Default()
	c.Target.URL = "redis://:hunter2"
	c.Target.Username = "bob"                                            // means nothing beside a url with a fault
	c.Target.Reconnect = Reconnect{Min: 2 * time.Hour, Max: time.Second} // nor does a maximum below a fault
	c.Arrival.Rate = math.NaN()
	c.Workload.Mix = []Share{{"get", 1}, {"mget", -1}, {"get", 1}}
	c.Workload.Value.Size = 0
	c.Batch.MaxDelay = -time.Second
	c.Queue.MaxCommands = 63
	c.Web.TelemetryPath = ""
	before := c
	before.Workload.Mix = append([]Share(nil), c.Workload.Mix...)
	const want = `target.url: "redis://…" is not a url: want auto, private, embedded, redis[s]://[user[:password]@]host[:port][/database] or unix:///path[?db=database]
target.reconnect.min: "2h" is too large: want a duration from 1ms to 1h in ns, us, ms, s, m or h
arrival.rate: NaN is too small: want a number from 0 to 100000000
workload.mix[1].command: "mget" is unknown: want one of get, set, incr
workload.mix[1].weight: -1 is too small: want a number from 0.000001 to 1000000
workload.mix[2]: "get" is listed twice: want a list of {command: …, weight: …}, each command once
workload.value.size: "0B" is too small: want a size from 1B to 512MiB in B, kB, MB, GB, KiB, MiB or GiB
batch.max_delay: "-1s" is too small: want a duration from 0s to 1h in ns, us, ms, s, m or h
web.telemetry_path: "" does not start with /: want a path like /metrics, and none of / /config /-/healthy /-/ready
queue.max_commands: 63 is less than batch.max_commands, 64: want at least as many`
	if err := c.Validate(); err == nil || err.Error() != want {
		t.Errorf("Validate() =\n%v\nwant\n%s", err, want)
	}
	c.Arrival.Rate, before.Arrival.Rate = 0, 0 // NaN equals nothing
	if !reflect.DeepEqual(c, before) {
		t.Error("Validate changes the configuration")
	}

	c = Default()
	c.Workload.Mix = nil
	if err := c.Validate(); err == nil || err.Error() != "workload.mix: is empty: want a list of {command: …, weight: …}, each command once" {
		t.Errorf("Validate() of an empty mix = %v", err)
	}
}

func TestRedacted(t *testing.T) {
	c := Default()
	c.Target.URL = "redis://alice:hunter2@host"
	text, err := json.Marshal(c.Redacted())
	const want = `{"arrival":{"max_catch_up":"1s","max_lag":"1ms","pacing":"sleep","process":"poisson","rate":5000,"seed":0},` +
		`"batch":{"max_commands":64,"max_delay":"1ms","max_reply_bytes":"256KiB","max_request_bytes":"64KiB","mode":"pipeline"},` +
		`"drain_timeout":"5s","duration":"0s","log":{"format":"console","level":"info"},` +
		`"queue":{"max_bytes":"64MiB","max_commands":100000},"safety":{"allow_shared":false,"allowed_targets":[],"max_error_ratio":0,"max_memory_ratio":0.9,"max_rate":0,"resume":"never","stop_on_eviction":false},` +
		`"target":{"addresses":[],"connections":4,"database":0,"dial_timeout":"5s","password_file":"","protocol":2,"read_timeout":"5s",` +
		`"reconnect":{"max":"5s","min":"50ms"},` +
		`"sentinel":{"master":"","password_file":"",` +
		`"tls":{"ca_file":"","cert_file":"","enabled":false,"insecure_skip_verify":false,"key_file":"","min_version":"1.2","server_name":""},"username":""},` +
		`"tls":{"ca_file":"","cert_file":"","enabled":false,"insecure_skip_verify":false,"key_file":"","min_version":"1.2","server_name":""},` +
		`"topology":"standalone","url":"redis://alice:\u003credacted\u003e@host","username":"","write_timeout":"5s"},` +
		`"web":{"admin_token_file":"","config_file":"","listen_address":"127.0.0.1:9765","telemetry_path":"/metrics"},` +
		`"workload":{"keys":{"count":10000,"distribution":"uniform","prefix":"soakline:","ttl":"1h"},` +
		`"mix":[{"command":"get","weight":70},{"command":"set","weight":20},{"command":"incr","weight":10}],"preload":true,"value":{"size":"100B"}}}`
	if err != nil || string(text) != want {
		t.Errorf("Redacted() as JSON is\n%s (%v), want\n%s", text, err, want)
	}
}
