package config

import (
	"fmt"
	"strconv"

	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"
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
	return faults
}

// contradictions are what the fields beside the url say against it.
func (t Target) contradictions() []fault {
	url, problem := parseURL(string(t.URL))
	if problem != "" {
		return nil
	}
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
		f := fault{path: field.path, with: []string{"target.url"}}
		switch {
		case !field.set:
			continue
		case !field.useful:
			f.what = fmt.Sprintf("%s is of no use with target.url %s", field.value, url.Kind)
			f.want = "a redis:// or unix:// url"
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

// values are c's, by the paths of their keys.
func values(c Config) map[string]any {
	k := koanf.New(".")
	if err := k.Load(structs.Provider(c, "koanf"), nil); err != nil {
		panic(err) // a struct can be read
	}
	return k.All()
}
