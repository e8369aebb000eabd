package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"soakline/daemon/arrival"
	"soakline/daemon/batch"
)

// key is one line of the table of keys.
type key struct {
	path string
	flag string // of its own, without the dashes; "": only --set
	form form
	help string // one line: what it is, its unit, what 0 or "" means
}

// year bounds what is only a matter of patience.
const year = 365 * 24 * time.Hour

// keys is the table of keys, in the order of the file. To add one, write its
// field in Config, its default and its row.
var keys = []key{
	{"target.url", "target", address(), "what the load is for; auto is private where a server binary is found, else embedded"},
	{"target.topology", "", word(Topologies), "how the servers are found: at target.url, or by asking sentinels"},
	{"target.addresses", "", addresses(), "host[:port] of each sentinel; the port is 26379 where it is left out"},
	{"target.sentinel.master", "", anyText, "name under which the sentinels know the master"},
	{"target.sentinel.username", "", anyText, `ACL user of the sentinels; "" is their default user`},
	{"target.sentinel.password_file", "", anyText, `file that holds the password of the sentinels; "" is none`},
	{"target.sentinel.tls.enabled", "", truth(), "connect to the sentinels with TLS"},
	{"target.sentinel.tls.ca_file", "", anyText, `PEM file of the authorities to trust; "" is those of the system`},
	{"target.sentinel.tls.cert_file", "", anyText, `PEM file of the client's certificate, beside its key; "" is none`},
	{"target.sentinel.tls.key_file", "", anyText, `PEM file of the client's key, beside its certificate; "" is none`},
	{"target.sentinel.tls.server_name", "", anyText, `what the certificates of the sentinels must be for; "" is their host`},
	{"target.sentinel.tls.min_version", "", version(TLSVersions), "least version of TLS"},
	{"target.sentinel.tls.insecure_skip_verify", "", truth(), "accept any certificate of the sentinels"},
	{"target.username", "", anyText, `ACL user; "" is that of the url, or else the server's default user`},
	{"target.password_file", "", anyText, `file that holds the password; "" is none`},
	{"target.database", "", whole(0, 1<<31-1), "logical database; 0 is that of the url, or else 0"},
	{"target.protocol", "", whole(2, 3), "version of RESP; 3 costs a peek per reply"},
	{"target.tls.enabled", "", truth(), "connect with TLS, as a rediss:// url does"},
	{"target.tls.ca_file", "", anyText, `PEM file of the authorities to trust; "" is those of the system`},
	{"target.tls.cert_file", "", anyText, `PEM file of the client's certificate, beside its key; "" is none`},
	{"target.tls.key_file", "", anyText, `PEM file of the client's key, beside its certificate; "" is none`},
	{"target.tls.server_name", "", anyText, `what the server's certificate must be for; "" is the host`},
	{"target.tls.min_version", "", version(TLSVersions), "least version of TLS"},
	{"target.tls.insecure_skip_verify", "", truth(), "accept any certificate of the server"},
	{"target.connections", "", whole(1, 1024), "connections, each carrying one exchange at a time"},
	{"target.dial_timeout", "", duration(time.Millisecond, time.Hour), "bound on making a connection"},
	{"target.read_timeout", "", duration(time.Millisecond, time.Hour), "bound on the wait for the replies of an exchange"},
	{"target.write_timeout", "", duration(time.Millisecond, time.Hour), "bound on writing an exchange"},
	{"target.reconnect.min", "", duration(time.Millisecond, time.Hour), "first pause between two attempts to connect"},
	{"target.reconnect.max", "", duration(time.Millisecond, time.Hour), "longest pause between two attempts to connect"},
	{"arrival.process", "", word(processes()), "distribution of the gaps between arrivals"},
	{"arrival.rate", "rate", number(0, 1e8), "offered load in commands per second, fractions included; 0 is none"},
	{"arrival.seed", "seed", seed(), "seed of the schedule and its commands; 0 is from entropy"},
	{"arrival.max_catch_up", "", duration(time.Millisecond, time.Hour), "how late an arrival is admitted after the daemon was suspended"},
	{"arrival.max_lag", "", duration(time.Microsecond, time.Hour), "p99 schedule lag over 10 s above which the generator is not valid"},
	{"arrival.pacing", "", word(Pacings), "how an instant is awaited; spin takes a core"},
	{"duration", "duration", duration(0, 10*year), "how long arrivals go on; 0 is until a signal"},
	{"workload.mix", "", mix{}, "commands and their weights relative to each other"},
	{"workload.keys.count", "", whole(1, 1e9), "size of the key space"},
	{"workload.keys.distribution", "", word(Distributions), "how keys are drawn"},
	{"workload.keys.prefix", "", prefix(), "beginning of every key that the daemon writes"},
	{"workload.keys.ttl", "", seconds(10 * year), "life of every key in whole seconds; 0 is for ever"},
	{"workload.value.size", "", size(1, 512*mib), "length of each value"},
	{"workload.preload", "", truth(), "write every key once before the load begins, so that reads find values"},
	{"batch.mode", "", word(batch.Modes), "how a batch becomes an exchange"},
	{"batch.max_commands", "", whole(1, 1e6), "cap on the commands of a batch"},
	{"batch.max_request_bytes", "", size(1, gib), "cap on the encoded requests of a batch"},
	{"batch.max_reply_bytes", "", size(1, gib), "cap on the encoded replies that a batch should get"},
	{"batch.max_delay", "", duration(0, time.Hour), "how long the first command of a batch waits for others; 0 sends when a connection is free"},
	{"queue.max_commands", "", whole(1, 1e8), "cap on the queued commands; arrivals beyond it are shed"},
	{"queue.max_bytes", "", size(1, 64*gib), "cap on the encoded requests of the queued commands"},
	{"safety.allow_shared", "", truth(), "write to a database that holds keys of others"},
	{"safety.allowed_targets", "", patterns(), "patterns of the addresses that may be loaded; none allow all"},
	{"safety.max_rate", "", number(0, 1e8), "most commands per second that may be offered, or written by a preload; 0 is no bound"},
	{"safety.max_memory_ratio", "", number(0, 1), "part of the target's memory limit beyond which a brake stops the load; 0 is no such brake"},
	{"safety.max_error_ratio", "", number(0, 1), "part of the settled commands that may be anything but ok before a brake stops the load; 0 is no such brake"},
	{"safety.stop_on_eviction", "", truth(), "stop the load when the target evicts keys"},
	{"safety.resume", "", word(Resumes), "whether load that a brake has stopped goes on when the cause is gone"},
	{"drain_timeout", "", duration(time.Millisecond, time.Hour), "how long a stop waits for what is queued and in flight"},
	{"web.listen_address", "web.listen-address", listenAddress(), `host:port of the HTTP server; "" is no server`},
	{"web.config_file", "web.config.file", anyText, `Prometheus web configuration with TLS and users; "" is neither`},
	{"web.telemetry_path", "web.telemetry-path", telemetryPath(), "where the metrics are"},
	{"web.admin_token_file", "", anyText, `file that holds the token of requests that change something; "" is none of them`},
	{"log.level", "log.level", word(LogLevels), "least level that is written"},
	{"log.format", "log.format", word(LogFormats), "console for people, json for machines"},
}

// Key describes one key, for --help and the documentation.
type Key struct {
	Path    string // in the file and for --set
	Env     string // the environment variable
	Flag    string // the flag of its own without its dashes; "": none
	Type    string // of its value, as a noun
	Accepts string // all that its value may be
	Default string
	Help    string // one line, with the unit and what 0 or "" means
}

// Keys lists every key, in the order of the file.
func Keys() []Key {
	defaults := values(Default())
	list := make([]Key, len(keys))
	for i, k := range keys {
		list[i] = Key{k.path, variable(k.path), k.flag, strings.TrimPrefix(k.form.kind(), "a "), k.form.want(), oneLine(k.form.plain(defaults[k.path])), k.help}
	}
	return list
}

// oneLine is a plain value as flow YAML that --set takes.
func oneLine(plain any) string {
	if _, list := plain.([]any); !list {
		return fmt.Sprint(plain)
	}
	text, err := json.Marshal(plain) // JSON is flow YAML
	if err != nil {
		panic(err) // plain values are JSON
	}
	return string(text)
}

// variable is the name of the environment variable for the key at path.
func variable(path string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// keyAt finds the row of path.
func keyAt(path string) (key, bool) {
	i := slices.IndexFunc(keys, func(k key) bool { return k.path == path })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// children lists the names right below the section at path, "" for the root.
func children(path string) []string {
	var names []string
	for _, k := range keys {
		rest := k.path
		if path != "" {
			var below bool
			if rest, below = strings.CutPrefix(k.path, path+"."); !below {
				continue
			}
		}
		name, _, _ := strings.Cut(rest, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func processes() []string {
	names := make([]string, len(arrival.Processes))
	for i, row := range arrival.Processes {
		names[i] = row.Name
	}
	return names
}
