package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"soakline/daemon/workload"
)

const adminToken = "an administrator's token"

// tokenFile is the key of a file that holds the token.
func tokenFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(adminToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "web.admin_token_file=" + file
}

// A real target trips a brake: the load stops, the daemon says why wherever one
// looks, and it goes on for who may tell it to, once the cause is gone.
func TestBrakesOnRealServer(t *testing.T) {
	for _, b := range []struct {
		brake   string
		keys    []string
		trip    func(*ordeal)
		release func(*ordeal)
		must    string // outcomes, with ok
		holds   bool   // its cause holds until the release
	}{
		{
			brake: "memory", // by default
			trip: func(x *ordeal) {
				// room for what comes and goes with connections
				x.real.do("debug", "populate", 30_000, "soakline:ballast", 500)
				x.real.set("maxmemory", x.real.info("used_memory")*107/100)
				x.know()
			},
			release: func(x *ordeal) { x.real.set("maxmemory", 0); x.know() },
			holds:   true,
		},
		{
			brake: "eviction",
			keys: []string{
				withoutLimit, "safety.stop_on_eviction=true",
				"workload.keys.count=20000", "workload.mix=[{command: get, weight: 1}, {command: set, weight: 1}]",
			},
			trip: func(x *ordeal) {
				x.real.set("maxmemory", x.real.info("used_memory")-1<<20, "maxmemory-policy", "allkeys-lru")
				x.await("evicting", func() bool { return x.real.info("evicted_keys") > 0 })
				x.know()
			},
			release: func(x *ordeal) { x.real.set("maxmemory", 0); x.know() },
		},
		{
			brake:   "error_ratio",
			keys:    []string{withoutLimit, "safety.max_error_ratio=0.1"},
			trip:    func(x *ordeal) { x.real.set("maxmemory", 1) },
			release: func(x *ordeal) { x.real.set("maxmemory", 0) },
			must:    refusal,
		},
	} {
		t.Run(b.brake, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			x := &ordeal{run: begin(t, slices.Concat(faultKeys, []string{server.url(), tokenFile(t)}, b.keys)...), real: server}
			x.await("under load", func() bool { return x.unready() == "" && x.settled(workload.OK) >= 400 })

			b.trip(x)
			x.braked(b.brake)
			if x.resumes("", 401); x.safety.reason() == "" {
				t.Error("the load goes on for anybody")
			}
			x.resumes("another token", 401)
			if b.holds {
				x.resumes(adminToken, 200)
				x.braked(b.brake) // again
			}
			b.release(x)
			if x.safety.reason() == "" {
				t.Error("the brake let go by itself, with safety.resume: never")
			}
			x.resumes(adminToken, 200)
			x.recover()
			if on := x.last.at("soakline_brake"); on != 0 {
				t.Errorf("%v brakes are on after all", on)
			}
			x.same(x.last)
			sum := x.end()
			x.judge(sum, b.must, "")
			trips := 1
			if b.holds {
				trips = 2
			}
			if len(sum.Brakes) != trips || sum.Brakes[0].Brake != b.brake || sum.LostWrites != 0 {
				t.Errorf("brakes %+v, %d lost writes", sum.Brakes, sum.LostWrites)
			}
			if n := x.logs.FilterMessage("a brake stops the load").Len(); n != trips {
				t.Errorf("the log says %d times that a brake stops the load, want %d", n, trips)
			}
		})
	}
}

// braked waits until a brake has stopped the load, and checks what shows it.
func (x *ordeal) braked(brake string) {
	x.t.Helper()
	x.await("braked by "+brake, func() bool { return strings.HasPrefix(x.safety.reason(), brake+": ") })
	if code, body := x.fetch("/-/ready"); code != http.StatusServiceUnavailable || !strings.Contains(body, "braked: "+brake) {
		x.t.Errorf("/-/ready answers %d %q", code, body)
	}
	x.await("at rest", func() bool { s := x.snapshot(); return s.QueuedCommands == 0 && s.InFlightCommands == 0 })
	before := x.scrape()
	time.Sleep(100 * time.Millisecond)
	after := x.scrape()
	if was, is := before.at("soakline_arrivals_total"), after.at("soakline_arrivals_total"); was != is {
		x.t.Errorf("%v more commands arrived while the load was stopped", is-was)
	}
	if rate := after.at("soakline_offered_rate"); rate != 0 {
		x.t.Errorf("soakline_offered_rate is %v while the load is stopped", rate)
	}
	if on := after.at("soakline_brake", brake); on != 1 || after.at("soakline_brake") != 1 {
		x.t.Errorf("soakline_brake is %v, of %v that are on", on, after.at("soakline_brake"))
	}
}

// resumes asks for the load to go on; token "" presents none.
func (r *run) resumes(token string, want int) {
	r.t.Helper()
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	if code, body := r.request(http.MethodPost, "/-/resume", header); code != want {
		r.t.Errorf("POST /-/resume with the token %q answers %d %q, want %d", token, code, body, want)
	}
}

// Where there is no token nobody may change anything, and where there is one it
// does no harm without a brake.
func TestResume(t *testing.T) {
	r := begin(t, "target.url=embedded")
	r.await("ready", func() bool { return r.unready() == "" })
	r.resumes("", 403)
	r.resumes(adminToken, 403)
	if code, _ := r.fetch("/-/resume"); code == 200 {
		t.Error("GET resumes")
	}
	r.end()

	r = begin(t, "target.url=embedded", tokenFile(t))
	r.await("ready", func() bool { return r.unready() == "" })
	r.resumes(adminToken, 200)
	if !r.end().AllOK() {
		t.Errorf("%+v", r.summary.Ledger)
	}
}

// A process without a schedule offers what the target takes: that it is more
// than it may be shows once it is under way.
func TestRateBrakeOfClosed(t *testing.T) {
	r := begin(t, "target.url=embedded", "arrival.process=closed", "safety.max_rate=500", "workload.keys.count=10")
	r.await("braked", func() bool { return strings.HasPrefix(r.unready(), "braked: rate: ") })
	if sum := r.end(); !sum.AllOK() || sum.BrakeTrips != 1 || sum.Brakes[0].Brake != "rate" {
		t.Errorf("%+v, brakes %+v", sum.Ledger, sum.Brakes)
	}
}
