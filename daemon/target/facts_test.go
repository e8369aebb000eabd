package target

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFacts(t *testing.T) {
	p := private(t)
	c := control(t, p.Options(usual))
	server, _, _ := strings.Cut(filepath.Base(p.Binary), "-")
	want := Facts{
		Server: server, Mode: "standalone", Role: "master", MaxMemory: "0", MaxMemoryPolicy: "noeviction", Real: true,
	}
	for _, step := range []struct{ name, value, persistence string }{
		{"save", "", "none"}, {"appendonly", "yes", "aof"}, {"save", "3600 1", "rdb+aof"}, {"appendonly", "no", "rdb"},
	} {
		if err := c.client.ConfigSet(t.Context(), step.name, step.value).Err(); err != nil {
			t.Fatal(err)
		}
		got, _, err := c.Facts(t.Context())
		if err != nil || !strings.Contains(got.Version, ".") {
			t.Errorf("version %q, %v", got.Version, err)
		}
		want.Version, want.RunID, want.Persistence = got.Version, got.RunID, step.persistence
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestFactsUntold: what an ACL hides is unknown, and no reason to give up.
func TestFactsUntold(t *testing.T) {
	p := private(t)
	o := p.Options(usual)
	admin := control(t, o)
	for user, rule := range map[string]string{"a": "-info", "b": "-config"} {
		if err := admin.client.Do(t.Context(), "acl", "setuser", user, "on", ">p", "~*", "+@all", rule).Err(); err != nil {
			t.Fatal(err)
		}
		o.Username, o.Password = user, "p"
		got, _, err := control(t, o).Facts(t.Context())
		if err != nil || got.Persistence != "unknown" || (got.Version == "unknown") != (user == "a") {
			t.Errorf("%s: %+v, %v", rule, got, err)
		}
	}
}

func TestFactsOfEmbedded(t *testing.T) {
	e := embedded(t)
	if f := e.Facts(); f.Server != "embedded" || f.Real {
		t.Errorf("%+v", f)
	}
	if _, _, err := control(t, e.Options(usual)).Facts(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFactsUnreachable is the one way to fail.
func TestFactsUnreachable(t *testing.T) {
	o := usual
	o.Network, o.Address = "unix", filepath.Join(t.TempDir(), "none")
	if _, _, err := control(t, o).Facts(t.Context()); FailureOf(err) != Refused {
		t.Errorf("%v", err)
	}
}

// TestUsage: how full a server is, and what it had to evict.
func TestUsage(t *testing.T) {
	c := control(t, private(t).Options(usual))
	_, before, err := c.Facts(t.Context())
	if err != nil || before.MaxMemory != 0 || before.Memory == 0 || before.Evicted != 0 || before.RunID == "" {
		t.Errorf("%+v, %v", before, err)
	}
	for name, value := range map[string]string{"maxmemory": "3mb", "maxmemory-policy": "allkeys-lru"} {
		if err := c.client.ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 40 {
		if err := c.client.Set(t.Context(), layout.Key(uint64(i)), strings.Repeat("x", 100_000), 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	facts, after, err := c.Facts(t.Context())
	if err != nil || after.MaxMemory != 3<<20 || after.Memory > 4<<20 || after.Evicted == 0 || after.RunID != before.RunID {
		t.Errorf("%+v, %v", after, err)
	}
	if facts.MaxMemory != "3145728" || facts.MaxMemoryPolicy != "allkeys-lru" {
		t.Errorf("%+v", facts)
	}
}

// TestLearn: a change is from one thing that was told to another.
func TestLearn(t *testing.T) {
	known := Facts{Server: "redis", Version: "7.0.15", Mode: "standalone", Role: "master", Persistence: "rdb", MaxMemory: "0", MaxMemoryPolicy: "noeviction", RunID: "a"}
	for _, tt := range []struct {
		name   string
		change func(*Facts)
		want   []string
	}{
		{"nothing", func(*Facts) {}, nil},
		{"not told any more", func(f *Facts) { f.Persistence, f.RunID = unknown, unknown }, nil},
		{"told again, the same", func(f *Facts) { f.Persistence, f.RunID = "rdb", "a" }, nil},
		{"a failover", func(f *Facts) { f.Role, f.RunID = "slave", "b" }, []string{"role: master to slave", "run_id: a to b"}},
		{"back, with bounds", func(f *Facts) { f.Role, f.MaxMemory, f.MaxMemoryPolicy = "master", "1000", "allkeys-lru" }, []string{"role: slave to master", "maxmemory: 0 to 1000", "maxmemory_policy: noeviction to allkeys-lru"}},
		{"another server", func(f *Facts) { f.Server, f.Version, f.Mode = "valkey", "8.0.1", "cluster" }, []string{"server: redis to valkey", "version: 7.0.15 to 8.0.1", "mode: standalone to cluster"}},
	} {
		now := known
		tt.change(&now)
		var got []string
		for _, c := range known.Learn(now) {
			got = append(got, FactNames()[c.Fact]+": "+c.From+" to "+c.To)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	quiet := known
	quiet.Version = unknown
	if changes := quiet.Learn(known); changes != nil || quiet.Version != known.Version {
		t.Errorf("told for the first time: %v, %+v", changes, quiet)
	}
}
