package daemon

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"soakline/daemon/servertest"
)

// slowly makes a server load its data at half a millisecond a key, with an ear
// for clients every few keys.
var slowly = []string{"--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024"}

// loading restarts a server that is busy with its data for a second or more.
func (s *realServer) loading() {
	s.t.Helper()
	s.do("debug", "populate", 2000, "soakline:ballast", 100)
	s.shutdown()
	s.Restart(slowly...)
	s.AwaitListening()
}

// A start that fails says what is in the way, and leaves nothing behind.
func TestStartFailures(t *testing.T) {
	for _, f := range []struct {
		name   string
		server func(t *testing.T) *realServer
		keys   []string
		want   []string // in the error
	}{
		{
			name:   "nobody listens",
			server: func(t *testing.T) *realServer { return newServer(t) },
			want:   []string{"reach the target at 127.0.0.1:", "connection refused"},
		},
		{
			name:   "a wrong password",
			server: prepared("acl", "setuser", loadUser, "resetpass", ">another"),
			want:   []string{"reach the target", "WRONGPASS"},
		},
		{
			name:   "a user that is no more",
			server: prepared("acl", "deluser", loadUser),
			want:   []string{"reach the target", "WRONGPASS"},
		},
		{
			name:   "a command that is forbidden",
			server: prepared("acl", "setuser", loadUser, "-incr"),
			want:   []string{"the target refuses incr: NOPERM"},
		},
		{
			name:   "keys that are forbidden",
			server: prepared("acl", "setuser", loadUser, "resetkeys", "~others:*"),
			want:   []string{"the target refuses get: NOPERM", "the target refuses set: NOPERM", "the target refuses incr: NOPERM"},
		},
		{
			name:   "a replica",
			server: prepared("replicaof", "127.0.0.1", 1),
			want:   []string{"the target refuses set: READONLY", "the target refuses incr: READONLY"},
		},
		{
			name:   "no memory left",
			server: prepared("config", "set", "maxmemory", 1),
			want:   []string{"the target refuses set: OOM"},
		},
		{
			name:   "too few clients",
			server: prepared("config", "set", "maxclients", 3), // the test, the daemon's own, and one more
			want:   []string{"connection 2 of 4: open 127.0.0.1:", "max number of clients reached", "raise its maxclients"},
		},
		{
			name: "its data is being loaded",
			server: func(t *testing.T) *realServer {
				s := startServer(t)
				s.loading()
				return s
			},
			want: []string{"reach the target", "LOADING"},
		},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			server := f.server(t)
			r := begin(t, slices.Concat(faultKeys, []string{server.url()}, f.keys)...)
			<-r.done
			if r.err == nil || r.summary != nil {
				t.Fatalf("%v, %+v: want an error, and no summary", r.err, r.summary)
			}
			for _, want := range f.want {
				if !strings.Contains(r.err.Error(), want) {
					t.Errorf("the error is %q, want %q in it", r.err, want)
				}
			}
			if strings.Contains(r.err.Error(), loadPassword) {
				t.Errorf("the error %q tells the password", r.err)
			}
			if server.admin != nil {
				if n, err := server.admin.DBSize(t.Context()).Result(); n != 0 || err != nil {
					t.Errorf("%d keys are left, %v", n, err)
				}
			}
		})
	}
}

// prepared starts a server and sends it a command.
func prepared(args ...any) func(*testing.T) *realServer {
	return func(t *testing.T) *realServer {
		s := startServer(t)
		s.do(args...)
		return s
	}
}

// With patience the daemon waits for a target that cannot be used yet, says so,
// and begins when it can.
func TestWait(t *testing.T) {
	for _, w := range []struct {
		name   string
		before func(*realServer) // the daemon begins
		after  func(*realServer) // makes the target usable
		why    string
	}{
		{
			name: "nobody listens", why: "connection refused",
			before: func(*realServer) {},
			after:  func(s *realServer) { s.Restart(); s.await() },
		},
		{
			name: "its data is being loaded", why: "LOADING",
			before: func(s *realServer) { s.Restart(); s.await(); s.loading() },
			after:  func(s *realServer) { s.await() },
		},
		{
			name: "the user does not exist yet", why: "WRONGPASS",
			before: func(s *realServer) { s.Restart(); s.await(); s.do("acl", "setuser", loadUser, "off") },
			after:  func(s *realServer) { s.do("acl", "setuser", loadUser, "on") },
		},
	} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			w.before(server)
			web := servertest.FreeAddress(t)
			r := beginWith(t, func(o *Options) { o.Wait = time.Minute }, slices.Concat(faultKeys, []string{server.url(), "web.listen_address=" + web})...)
			r.url = "http://" + web
			r.await("waiting", func() bool { return strings.HasPrefix(r.unready(), "waiting for the target: ") })
			if code, body := r.fetch("/-/ready"); code != http.StatusServiceUnavailable || !strings.Contains(body, "waiting for the target: ") || !strings.Contains(body, w.why) {
				t.Errorf("/-/ready answers %d %q, want 503 with %q", code, body, w.why)
			}
			if code, _ := r.fetch("/-/healthy"); code != http.StatusOK {
				t.Errorf("/-/healthy answers %d", code)
			}
			if n := r.scrape().at("soakline_arrivals_total"); n != 0 {
				t.Errorf("%v commands have arrived before the load began", n)
			}
			w.after(server)
			r.await("ready", func() bool { return r.unready() == "" })
			if code, _ := r.fetch("/-/ready"); code != http.StatusOK {
				t.Errorf("/-/ready answers %d", code)
			}
			if sum := r.end(); !sum.AllOK() || sum.Ledger.Arrivals == 0 {
				t.Errorf("%+v", sum.Ledger)
			}
		})
	}
}

// Patience ends: with its time, with a stop, and where it would not help.
func TestWaitEnds(t *testing.T) {
	wait := func(d time.Duration) func(*Options) { return func(o *Options) { o.Wait = d } }
	server := newServer(t)
	r := beginWith(t, wait(200*time.Millisecond), server.url())
	<-r.done
	if r.err == nil || !strings.Contains(r.err.Error(), "connection refused") {
		t.Errorf("%v, want to know what was in the way", r.err)
	}

	r = beginWith(t, wait(time.Hour), server.url())
	r.await("waiting", func() bool { return strings.HasPrefix(r.unready(), "waiting for the target: ") })
	r.stop()
	<-r.done
	if r.err != nil || r.summary != nil {
		t.Errorf("%v, %+v, though it was only stopped", r.err, r.summary)
	}

	server.Restart()
	server.await()
	server.do("set", "orders:1", "x")
	r = beginWith(t, wait(time.Hour), server.url())
	<-r.done
	if !errors.Is(r.err, ErrUnsafe) {
		t.Errorf("%v, want a refusal at once", r.err)
	}
}

// A stop is a stop, also while a target that hangs holds up the start.
func TestStopOfHungStart(t *testing.T) {
	for _, name := range []string{"at once", "while it preloads"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			keys := []string{server.url(), "target.read_timeout=1h", "workload.keys.count=1000000", "safety.max_rate=100000"}
			if name == "at once" {
				server.Signal(syscall.SIGSTOP)
			}
			r := beginWith(t, func(*Options) {}, keys...)
			if name != "at once" {
				r.await("preloading", func() bool { return r.preloaded.Load() > 0 })
				server.Signal(syscall.SIGSTOP)
			}
			time.Sleep(200 * time.Millisecond)
			r.stop()
			if name != "at once" { // there is something to remove
				time.Sleep(200 * time.Millisecond)
				server.Signal(syscall.SIGCONT)
			}
			<-r.done
			server.Signal(syscall.SIGCONT)
			if r.err != nil || r.summary != nil {
				t.Errorf("%v, %+v, though it was only stopped", r.err, r.summary)
			}
			if n, err := server.client().DBSize(t.Context()).Result(); n != 0 || err != nil {
				t.Errorf("%d keys are left, %v", n, err)
			}
		})
	}
}

// A stop in the middle of a preload leaves nothing behind, wherever it comes.
func TestStopOfPreload(t *testing.T) {
	server := startServer(t)
	for i := range 12 {
		r := begin(t, server.url(), "workload.keys.count=1000000", "workload.keys.ttl=0s", "arrival.rate=100")
		r.await("preloading", func() bool { return r.preloaded.Load() > 0 })
		time.Sleep(time.Duration(i) * 5 * time.Millisecond)
		r.stop()
		<-r.done
		if n, err := server.client().DBSize(t.Context()).Result(); n != 0 || r.err != nil || err != nil {
			t.Fatalf("%d keys are left, %v, %v", n, r.err, err)
		}
	}
}

// A preload that a brake has cut short keeps no key from being kept alive
// later.
func TestPreloadCutShort(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	server.do("config", "set", "maxmemory", 100<<20)
	r := begin(t, server.url(), "workload.keys.count=100", "workload.keys.ttl=2s", "safety.max_memory_ratio=0.001",
		"workload.mix=[{command: get, weight: 1}]", "arrival.rate=1000")
	r.await("braked", func() bool { return strings.HasPrefix(r.unready(), "braked: memory: ") })
	server.do("config", "set", "maxmemory", 0)
	if err := r.learn(t.Context()); err != nil || !r.resume() {
		t.Fatalf("not let go: %v", err)
	}
	r.await("ready", func() bool { return r.unready() == "" })
	if _, err := r.control().Preload(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // for reads that are under way
	before := r.scrape().sum("soakline_reads_total", "miss")
	time.Sleep(3 * time.Second)
	if more := r.scrape().sum("soakline_reads_total", "miss") - before; more != 0 {
		t.Errorf("%v reads missed keys that were there", more)
	}
	if sum := r.end(); !sum.PreloadCut || sum.Preloaded != 0 || sum.BrakeTrips != 1 || sum.BrakedSeconds <= 0 {
		t.Errorf("cut %t at %d, %d trips, braked for %v s", sum.PreloadCut, sum.Preloaded, sum.BrakeTrips, sum.BrakedSeconds)
	}
}

// Brakes that see nothing say so.
func TestBlindBrakes(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	server.do("acl", "setuser", loadUser, "-info")
	r := begin(t, server.url(), "arrival.rate=1000")
	r.await("ready", func() bool { return r.unready() == "" })
	r.end()
	if n := r.logs.FilterMessage("the target does not tell how full it is: brakes on memory and evictions see nothing").Len(); n != 1 {
		t.Errorf("said %d times", n)
	}
}

// What is read is there: from the first read, and for as long as the load lasts
// although no key lives so long by itself.
func TestPreloaded(t *testing.T) {
	const reads = `workload.mix=[{command: get, weight: 1}]`
	for _, p := range []struct {
		name   string
		keys   []string
		lasts  time.Duration
		misses bool
	}{
		{"preloaded", nil, 300 * time.Millisecond, false},
		{"not preloaded", []string{"workload.preload=false"}, 300 * time.Millisecond, true},
		{"preloaded, read only", []string{reads}, 300 * time.Millisecond, false},
		{"longer than a key lives", []string{reads, "workload.keys.ttl=3s"}, 5 * time.Second, false},
		{"slowly", []string{reads, "workload.keys.ttl=1s", "workload.keys.count=2500", "safety.max_rate=1250", "arrival.rate=1000"}, 300 * time.Millisecond, false},
	} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t)
			r := begin(t, slices.Concat(faultKeys, []string{server.url()}, p.keys)...)
			r.await("ready", func() bool { return r.unready() == "" })
			time.Sleep(p.lasts)
			sum := r.end()
			if !sum.AllOK() || sum.Reads["hit"]+sum.Reads["miss"] == 0 || (sum.Reads["miss"] > 0) != p.misses {
				t.Errorf("%+v, reads %v", sum.Ledger, sum.Reads)
			}
		})
	}
}
