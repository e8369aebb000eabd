package daemon

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"soakline/daemon/config"
	"soakline/daemon/target"
)

// shared is a private server that stands for one which the daemon does not
// own.
func shared(t *testing.T) (url string, client *redis.Client) {
	t.Helper()
	requireServer(t)
	p, err := target.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client = redis.NewClient(&redis.Options{Network: "unix", Addr: p.Socket})
	t.Cleanup(func() {
		_ = client.Close()
		_ = p.Stop()
	})
	return "target.url=unix://" + p.Socket, client
}

// With no server installed the daemon works all the same, and says what that
// is worth.
func TestAutoWithoutServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := begin(t)
	r.await("ready", func() bool { return r.unready() == "" })
	time.Sleep(300 * time.Millisecond)
	s := r.scrape()
	if s.sum("soakline_target_info", "embedded") != 1 {
		t.Error("soakline_target_info does not say that the target is embedded")
	}
	sum := r.end()
	if !sum.AllOK() || sum.Ledger.Arrivals == 0 {
		t.Errorf("%+v", sum.Ledger)
	}
	if sum.Target.Real || !strings.Contains(sum.remarks(), "EMBEDDED") {
		t.Error("the summary does not say that the target is embedded")
	}
	if r.logs.FilterMessageSnippet("say nothing about Redis").Len() != 1 {
		t.Error("the log does not say that the target is embedded")
	}
}

func TestPrivateWithoutServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	r := begin(t, "target.url=private")
	<-r.done
	if !errors.Is(r.err, target.ErrNoServer) {
		t.Errorf("%v, want %v", r.err, target.ErrNoServer)
	}
}

func TestPages(t *testing.T) {
	r := beginReal(t, "target.connections=3")
	for path, want := range map[string]string{
		"/":          "Soakline",
		"/config":    "connections: 3",
		"/metrics":   `soakline_target_info{mode="standalone",persistence="none",server="redis"`,
		"/-/healthy": "healthy",
		"/-/ready":   "ready",
	} {
		code, body := r.fetch(path)
		if code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s answers %d %q, want %q in it", path, code, body, want)
		}
	}
	if code, _ := r.fetch("/nowhere"); code != http.StatusNotFound {
		t.Errorf("/nowhere answers %d", code)
	}
	r.end()
}

// The daemon writes under its own prefix and run, with a TTL, and takes its
// keys with it; those of others stay.
func TestOwnKeys(t *testing.T) {
	url, client := shared(t)
	ctx := t.Context()
	other := "soakline:0thers:k0001" // another run's
	client.Set(ctx, other, "x", 0)
	r := begin(t, url)
	r.await("ready", func() bool { return r.unready() == "" })
	time.Sleep(300 * time.Millisecond)
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil || len(keys) < 100 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	own := "soakline:" + r.layout.Run + ":"
	for _, key := range keys {
		if key == other {
			continue
		}
		if !strings.HasPrefix(key, own) {
			t.Errorf("%q is not under %q", key, own)
		}
		if ttl := client.TTL(ctx, key).Val(); ttl <= 0 || ttl > time.Hour {
			t.Errorf("%q has the TTL %v", key, ttl)
		}
	}
	if !r.end().AllOK() {
		t.Errorf("%+v", r.summary.Ledger)
	}
	if left := client.Keys(ctx, "*").Val(); len(left) != 1 || left[0] != other {
		t.Errorf("%d keys are left, such as %q, want only the other run's", len(left), left[:min(3, len(left))])
	}
}

// Counters are in use for ever: their TTL must not run out.
func TestCountersDoNotExpire(t *testing.T) {
	url, client := shared(t)
	r := begin(t, url, "workload.keys.ttl=2s", `workload.mix=[{command: incr, weight: 1}]`, "workload.keys.count=10", "arrival.rate=100")
	r.await("ready", func() bool { return r.unready() == "" })
	time.Sleep(3500 * time.Millisecond)
	if n := client.DBSize(t.Context()).Val(); n != 40 {
		t.Errorf("%d counters, want 10 for each of 4 connections", n)
	}
	if sum := r.end(); !sum.AllOK() {
		t.Errorf("%+v: a counter that expired starts again at 1", sum.Ledger)
	}
}

// Two daemons at one target do not disturb each other's checks.
func TestTwoDaemons(t *testing.T) {
	url, client := shared(t)
	a, b := begin(t, url), begin(t, url)
	for _, r := range []*run{a, b} {
		r.await("ready", func() bool { return r.unready() == "" })
	}
	time.Sleep(500 * time.Millisecond)
	if sum := a.end(); !sum.AllOK() {
		t.Errorf("%+v", sum.Ledger)
	}
	time.Sleep(200 * time.Millisecond)
	if sum := b.end(); !sum.AllOK() {
		t.Errorf("%+v: one that goes on must not feel the other's clean-up", sum.Ledger)
	}
	if n := client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// A database with the keys of others is not written to, unless it may be.
func TestForeignKeys(t *testing.T) {
	url, client := shared(t)
	client.Set(t.Context(), "orders:1", "x", 0)
	r := begin(t, url)
	<-r.done
	if !errors.Is(r.err, ErrUnsafe) || !strings.Contains(r.err.Error(), `"orders:1"`) || !strings.Contains(r.err.Error(), "safety.allow_shared") {
		t.Errorf("%v, want a refusal that names the key and the way out", r.err)
	}
	if keys := client.Keys(t.Context(), "*").Val(); len(keys) != 1 {
		t.Errorf("%d keys after a refusal", len(keys))
	}
	for name, set := range map[string][]string{
		"allowed":          {"safety.allow_shared=true"},
		"read only":        {"workload.mix=[{command: get, weight: 1}]", "workload.preload=false"},
		"another database": {"target.database=1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := begin(t, append(set, url)...)
			r.await("ready", func() bool { return r.unready() == "" })
			if !r.end().AllOK() {
				t.Errorf("%+v", r.summary.Ledger)
			}
		})
	}
	if keys := client.Keys(t.Context(), "*").Val(); len(keys) != 1 {
		t.Errorf("%d keys at the end, want the foreign one", len(keys))
	}
}

func TestUnreachableTarget(t *testing.T) {
	r := begin(t, "target.url=unix://"+filepath.Join(t.TempDir(), "nobody"))
	<-r.done
	if r.err == nil || !strings.Contains(r.err.Error(), "reach the target at /") {
		t.Errorf("%v, want it to say what was not reached", r.err)
	}
}

func TestWrongPassword(t *testing.T) {
	url, client := shared(t)
	client.ConfigSet(t.Context(), "requirepass", "right:p@ss")
	file := filepath.Join(t.TempDir(), "password")
	for password, ok := range map[string]bool{"right:p@ss\n": true, "wrong": false} {
		if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
			t.Fatal(err)
		}
		r := begin(t, url, "target.password_file="+file)
		if !ok {
			<-r.done
			if r.err == nil || !strings.Contains(r.err.Error(), "WRONGPASS") || strings.Contains(r.err.Error(), "wrong\"") {
				t.Errorf("%v, want WRONGPASS", r.err)
			}
			continue
		}
		r.await("ready", func() bool { return r.unready() == "" })
		if _, page := r.fetch("/config"); strings.Contains(page, "p@ss") {
			t.Error("/config shows the password")
		}
		text, err := json.Marshal(r.end())
		if err != nil || strings.Contains(string(text), "p@ss") {
			t.Errorf("the summary shows the password, or %v", err)
		}
		for _, entry := range r.logs.All() {
			if line, _ := json.Marshal(entry.ContextMap()); strings.Contains(string(line), "p@ss") {
				t.Errorf("the log shows the password: %s", line)
			}
		}
	}
}

// The run ends by itself after its duration, and its log line says what the
// last seconds were like.
func TestDuration(t *testing.T) {
	r := begin(t, "target.url=embedded", "duration=1s", "arrival.rate=1000", "arrival.process=deterministic")
	<-r.done
	if r.err != nil {
		t.Fatal(r.err)
	}
	if s := r.summary; s.Ledger.Arrivals < 999 || s.LoadSeconds < 1 || !s.OpenLoop {
		t.Errorf("%+v", s)
	}
}

// The closed process is marked wherever its numbers are.
func TestClosedIsMarked(t *testing.T) {
	r := begin(t, "target.url=embedded", "arrival.process=closed")
	r.await("ready", func() bool { return r.unready() == "" })
	s := r.scrape()
	if s.sum("soakline_open_loop", "") != 0 || s.sum("soakline_offered_rate", "") != 0 {
		t.Error("the metrics do not say that the closed process is not open loop")
	}
	sum := r.end()
	if sum.OpenLoop || !strings.Contains(sum.remarks(), "NOT OPEN LOOP") {
		t.Error("the summary does not say it either")
	}
}

// single sends plain requests, one command each.
func TestSingle(t *testing.T) {
	r := beginReal(t, "batch.mode=single", "arrival.rate=1000")
	time.Sleep(300 * time.Millisecond)
	if limit := r.scrape().sum("soakline_batch_limit_commands", ""); limit != 1 {
		t.Errorf("the limit in force is %v commands", limit)
	}
	sum := r.end()
	if !sum.AllOK() || sum.Batches.Count != sum.Ledger.Arrivals {
		t.Errorf("%+v, %+v", sum.Ledger, sum.Batches)
	}
}

// A Prometheus web configuration protects every page.
func TestWebConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	hash := "$2y$04$g3yM1mq4tOpwUKPKEBLFwuSzLJmSkBOIGyJu2.4Zp7LL7J2rTHXrW" // of no password that is tried here
	if err := os.WriteFile(file, []byte("basic_auth_users: {prometheus: "+hash+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := begin(t, "target.url=embedded", "web.config_file="+file)
	r.await("ready", func() bool { return r.unready() == "" })
	loading := r.logs.FilterMessage("loading").All()[0].ContextMap()
	at, _ := loading["metrics"].(string)
	response, err := http.Get("http://" + at)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s answers %d without a password", at, response.StatusCode)
	}
}

// What a broken connection leaves at the target is bounded: its counters soon
// expire.
func TestReconnectLeavesLittle(t *testing.T) {
	url, client := shared(t)
	ctx := t.Context()
	r := begin(t, url, "workload.keys.count=10", "arrival.rate=2000")
	r.await("ready", func() bool { return r.unready() == "" })
	for range 5 {
		client.Do(ctx, "client", "kill", "type", "normal", "skipme", "yes")
		time.Sleep(200 * time.Millisecond)
	}
	// Each connection comes back in its own time.
	r.await("down to the 10 counters of each of 4 connections, while those before them expire within a minute", func() bool {
		kept, old := 0, 0
		for _, key := range client.Keys(ctx, "*:c*").Val() {
			switch ttl := client.TTL(ctx, key).Val(); {
			case ttl > time.Hour, ttl <= 0:
				t.Fatalf("%s has the TTL %v", key, ttl)
			case ttl > time.Minute:
				kept++
			default:
				old++
			}
		}
		return kept == 4*10 && old >= 4*10
	})
	r.stop()
	<-r.done
	if n := client.DBSize(ctx).Val(); n != 0 || r.err != nil {
		t.Errorf("%d keys are left, %v", n, r.err)
	}
}

// A counter that somebody else deleted is a mismatch, once, and gets its TTL
// back soon.
func TestDeletedCounters(t *testing.T) {
	url, client := shared(t)
	ctx := t.Context()
	r := begin(t, url, "workload.keys.count=1", "workload.keys.ttl=4s", "target.connections=1", `workload.mix=[{command: incr, weight: 1}]`, "arrival.rate=100")
	r.await("ready", func() bool { return r.unready() == "" })
	time.Sleep(200 * time.Millisecond)
	client.FlushDB(ctx)
	time.Sleep(1500 * time.Millisecond)
	for _, key := range client.Keys(ctx, "*").Val() {
		if ttl := client.TTL(ctx, key).Val(); ttl <= 0 {
			t.Errorf("%s has no TTL", key)
		}
	}
	if sum := r.end(); sum.Ledger.Settled["mismatch"] != 1 {
		t.Errorf("%+v, want one mismatch", sum.Ledger)
	}
}

// A start that fails, or is stopped, leaves nothing behind.
func TestFailedStartLeavesNothing(t *testing.T) {
	url, client := shared(t)
	ctx := t.Context()
	client.ConfigSet(ctx, "maxclients", "4")
	r := begin(t, url)
	<-r.done
	if r.err == nil || !strings.Contains(r.err.Error(), "connection ") {
		t.Errorf("%v, want to know which connection could not be made", r.err)
	}
	if n := client.DBSize(ctx).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	client.ConfigSet(ctx, "maxclients", "100")
	r = begin(t, url)
	r.stop()
	<-r.done
	if r.err != nil {
		t.Errorf("%v, though it was only stopped", r.err)
	}
	if n := client.DBSize(ctx).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

// The summary judges the generator by the whole run, however short.
func TestShortRunIsJudged(t *testing.T) {
	r := begin(t, "target.url=embedded", "duration=300ms", "arrival.max_lag=1us")
	<-r.done
	if r.summary == nil || r.summary.GeneratorValid {
		t.Errorf("%+v, %v: valid with a bound that no sleep keeps", r.summary, r.err)
	}
}

// A seed from entropy can be given back as it was read from the JSON summary,
// also by readers whose numbers are floating point.
func TestSeedFromEntropy(t *testing.T) {
	for range 1000 {
		if seed := New(Options{Config: config.Default()}).seed; seed == 0 || uint64(float64(seed)) != seed {
			t.Fatalf("seed %d", seed)
		}
	}
}
