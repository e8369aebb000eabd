package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"

	"soakline/daemon/arrival"
)

// Validate finds what is wrong with c and changes nothing. Its error is an
// *Error. What Load returns is valid.
func (c Config) Validate() error {
	var faults []fault
	faulty := map[string]bool{}
	all := values(c)
	for _, k := range keys {
		wrong := k.form.check(k.path, all[k.path])
		faulty[k.path] = len(wrong) > 0
		faults = append(faults, wrong...)
	}
	for _, f := range c.contradictions() {
		if f.meaningful(faulty) {
			faults = append(faults, f)
		}
	}
	return asError(faults)
}

// contradictions are the faults that no key has by itself. Each names the keys
// that it is about, and means something only if none has a fault of its own.
func (c Config) contradictions() []fault {
	faults := c.Target.contradictions()
	if r := c.Target.Reconnect; r.Max < r.Min {
		faults = append(faults, fault{
			path: "target.reconnect.max", with: []string{"target.reconnect.min"},
			what: fmt.Sprintf("%s is less than target.reconnect.min, %s", durationText(r.Max), durationText(r.Min)),
			want: "at least as much",
		})
	}
	if c.Queue.MaxCommands < c.Batch.MaxCommands {
		faults = append(faults, fault{
			path: "queue.max_commands", with: []string{"batch.max_commands"},
			what: fmt.Sprintf("%d is less than batch.max_commands, %d", c.Queue.MaxCommands, c.Batch.MaxCommands),
			want: "at least as many",
		})
	}
	if c.Queue.MaxBytes < c.Batch.MaxRequestBytes {
		faults = append(faults, fault{
			path: "queue.max_bytes", with: []string{"batch.max_request_bytes"},
			what: fmt.Sprintf("%s is less than batch.max_request_bytes, %s", c.Queue.MaxBytes, c.Batch.MaxRequestBytes),
			want: "at least as much",
		})
	}
	return slices.Concat(faults, c.upkeepContradictions(), c.safetyContradictions(), c.secretContradictions())
}

// mostRefreshes is how many keys a second may need their TTL refreshed: as many
// as an ordinary server takes without feeling much.
const mostRefreshes = 100_000

// upkeepContradictions are what the life of keys says against their number:
// each that is read needs its TTL refreshed twice in its life.
func (c Config) upkeepContradictions() []fault {
	k := c.Workload.Keys
	least := time.Duration(2*k.Count/mostRefreshes) * time.Second
	reads := slices.ContainsFunc(c.Workload.Mix, func(s Share) bool { return s.Command == "get" })
	if k.TTL == 0 || k.TTL >= least || !reads {
		return nil
	}
	return []fault{{
		path: "workload.keys.ttl", with: []string{"workload.keys.count", "workload.mix"},
		what: fmt.Sprintf("%s is too short for workload.keys.count, %d, whose TTL would have to be refreshed all the time", durationText(k.TTL), k.Count),
		want: fmt.Sprintf("at least %s, or 0", durationText(least)),
	}}
}

// safetyContradictions are what the limits say against the load and its target.
func (c Config) safetyContradictions() []fault {
	var faults []fault
	if a, problem := c.Target.parse(); problem == "" && a.Address.Address != "" && !c.Safety.Allows(a.Address.Address) {
		faults = append(faults, fault{
			path: "safety.allowed_targets", with: []string{"target.url", "target.topology"},
			what: fmt.Sprintf("no pattern matches target.url, %q", a.Address.Address),
			want: "one that does",
		})
	}
	process, known := arrival.ProcessByName(c.Arrival.Process)
	if limit := c.Safety.MaxRate; limit > 0 && c.Arrival.Rate > limit && known && process.OpenLoop() {
		faults = append(faults, fault{
			path: "arrival.rate", with: []string{"safety.max_rate", "arrival.process"},
			what: fmt.Sprintf("%s is more than safety.max_rate, %s", numberText(c.Arrival.Rate), numberText(limit)),
			want: "at most as much",
		})
	}
	return faults
}

// contradictions are what t's fields say against each other.
func (t Target) contradictions() []fault {
	faults := slices.Concat(
		t.topologyContradictions(),
		t.TLS.contradictions("target.tls"),
		t.Sentinel.TLS.contradictions("target.sentinel.tls"),
	)
	if url, problem := t.parse(); problem == "" {
		faults = slices.Concat(faults, t.loginContradictions(url), t.tlsContradictions(url))
	}
	return faults
}

// topologyContradictions are what the fields for the sentinels and the topology
// say against each other, and against the url.
func (t Target) topologyContradictions() []fault {
	const topology = "target.topology"
	if t.Topology != sentinel {
		var settings []setting
		if len(t.Addresses) > 0 {
			settings = append(settings, setting{"target.addresses", "it"})
		}
		settings = append(settings, t.settings("target.sentinel")...)
		if t.Sentinel.Password != "" {
			settings = append(settings, setting{sentinelPassword, "it"})
		}
		return useless(settings, "with target.topology standalone", "target.topology sentinel", topology)
	}
	var faults []fault
	if t.URL != Default().Target.URL {
		url := setting{"target.url", strconv.Quote(t.URL.String())}
		faults = useless([]setting{url}, "with target.topology sentinel", "target.addresses", topology)
	}
	if len(t.Addresses) == 0 {
		faults = append(faults, fault{
			path: "target.addresses", with: []string{topology},
			what: "is empty", want: "at least one address with target.topology sentinel",
		})
	}
	if t.Sentinel.Master == "" {
		faults = append(faults, fault{
			path: "target.sentinel.master", with: []string{topology},
			what: "is empty", want: "the name of a master with target.topology sentinel",
		})
	}
	if !t.Sentinel.TLS.Enabled {
		const enabled = "target.sentinel.tls.enabled"
		faults = append(faults, useless(t.settings("target.sentinel.tls"), "without TLS", enabled, enabled, topology)...)
	}
	return faults
}

// tlsContradictions are what url says against TLS.
func (t Target) tlsContradictions(url parsedURL) []fault {
	reason, want := "", "a rediss:// url"
	switch {
	case url.Kind != Given:
		reason = "with target.url " + url.Kind.String()
	case url.Network == "unix":
		reason = "with a unix:// target.url"
	case url.TLS || t.TLS.Enabled:
		return nil
	case t.Topology == sentinel:
		reason, want = "without TLS", "target.tls.enabled"
	default:
		reason, want = "without TLS", want+" or target.tls.enabled"
	}
	return useless(t.settings("target.tls"), reason, want, "target.url", "target.tls.enabled", "target.topology")
}

// loginContradictions are what the fields beside the url say against it.
func (t Target) loginContradictions(url parsedURL) []fault {
	login := url.Kind == Given
	var faults []fault
	for _, field := range []struct {
		path, value, noun string
		set, useful, same bool
	}{
		{
			"target.username", strconv.Quote(t.Username), "user", t.Username != "", login,
			url.Username == "" || url.Username == t.Username,
		},
		{"target.password_file", strconv.Quote(t.PasswordFile), "", t.PasswordFile != "", login, true},
		{
			targetPassword, "it", "password", t.Password != "", login,
			url.Password == "" || url.Password == t.Password,
		},
		{
			"target.database", strconv.Itoa(t.Database), "database", t.Database != 0, true,
			!url.hasDatabase || url.Database == t.Database,
		},
	} {
		f := fault{path: field.path, with: []string{"target.url", "target.topology"}}
		switch {
		case !field.set:
			continue
		case !field.useful:
			f.what = fmt.Sprintf("%s is of no use with target.url %s", field.value, url.Kind)
			f.want = "a redis://, rediss:// or unix:// url"
		case !field.same:
			f.what = fmt.Sprintf("%s is not the %s in target.url", field.value, field.noun)
			f.want = "only one of them"
		default:
			continue
		}
		faults = append(faults, f)
	}
	return faults
}

// contradictions are those within the section at path.
func (t TLS) contradictions(path string) []fault {
	cert, key := join(path, "cert_file"), join(path, "key_file")
	if t.CertFile == "" && t.KeyFile != "" {
		return []fault{{path: key, with: []string{cert}, what: strconv.Quote(t.KeyFile) + " has no " + cert + " beside it", want: "both or neither"}}
	}
	if t.CertFile != "" && t.KeyFile == "" {
		return []fault{{path: cert, with: []string{key}, what: strconv.Quote(t.CertFile) + " has no " + key + " beside it", want: "both or neither"}}
	}
	return nil
}

// setting is a key that is neither zero nor its default.
type setting struct{ path, shown string }

// settings are t's below the section at path.
func (t Target) settings(section string) []setting {
	all, defaults := values(Config{Target: t}), values(Default())
	var settings []setting
	for _, k := range keys {
		value := all[k.path]
		if !strings.HasPrefix(k.path, section+".") || value == defaults[k.path] || reflect.ValueOf(value).IsZero() {
			continue
		}
		shown := k.form.plain(value)
		if text, is := shown.(string); is {
			shown = strconv.Quote(text)
		}
		settings = append(settings, setting{k.path, fmt.Sprint(shown)})
	}
	return settings
}

// useless are the faults of settings that mean nothing for a reason which the
// keys of with give.
func useless(settings []setting, reason, want string, with ...string) []fault {
	var faults []fault
	for _, s := range settings {
		faults = append(faults, fault{path: s.path, what: s.shown + " is of no use " + reason, want: want, with: with})
	}
	return faults
}

// values are c's, by the paths of their keys.
func values(c Config) map[string]any {
	k := koanf.New(".")
	if err := k.Load(structs.Provider(c, "koanf"), nil); err != nil {
		panic(err) // a struct can be read
	}
	return k.All()
}
