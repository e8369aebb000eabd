package daemon

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A real server under load: nothing is shed, everything is ok, and the
// histograms count what the ledger counts.
func TestSteadyLoad(t *testing.T) {
	r := beginReal(t, fmt.Sprintf("arrival.rate=%v", *rate))
	time.Sleep(*soak)
	s := r.scrape()
	r.same(s)
	sum := r.end()
	if !sum.AllOK() || sum.Ledger.Shed != 0 || sum.Ledger.Arrivals == 0 {
		t.Errorf("%+v", sum.Ledger)
	}
	for name, d := range map[string]Distribution{
		"response time": sum.Seconds.ResponseTime, "queueing delay": sum.Seconds.QueueingDelay, "schedule lag": sum.Seconds.ScheduleLag,
		"formation delay": sum.Seconds.FormationDelay, "dispatch wait": sum.Seconds.DispatchWait,
	} {
		if d.Count != sum.Ledger.Arrivals {
			t.Errorf("%s counts %d commands, the ledger %d", name, d.Count, sum.Ledger.Arrivals)
		}
	}
	if sum.Seconds.ServiceTime.Count != sum.Batches.Count {
		t.Errorf("%d service times of %d batches", sum.Seconds.ServiceTime.Count, sum.Batches.Count)
	}
	if n := r.logs.FilterMessage("no connection to the target is left; arrivals go on").Len(); n != 0 {
		t.Error("an ordinary stop is taken for an outage")
	}
	var text strings.Builder
	if err := sum.WriteText(&text); err != nil {
		t.Error(err)
	}
	t.Logf("generator valid: %t\n%s", sum.GeneratorValid, text.String())
}

// Memory and goroutines stay flat, whatever the length of the run: the state
// of a week is that of the first minutes. What a run of seconds can show is
// that the live heap does not grow.
func TestMemory(t *testing.T) {
	r := beginReal(t, fmt.Sprintf("arrival.rate=%v", *rate))
	time.Sleep(*soak / 10)
	early := measureMemory(t)
	time.Sleep(*soak - *soak/10)
	late := measureMemory(t)
	sum := r.end()
	if !sum.AllOK() {
		t.Errorf("%+v", sum.Ledger)
	}
	if late.goroutines > early.goroutines {
		t.Errorf("%d goroutines after a tenth of the run, %d at its end", early.goroutines, late.goroutines)
	}
	if late.heap > early.heap*11/10 {
		t.Errorf("a live heap of %d bytes after a tenth of the run, of %d at its end", early.heap, late.heap)
	}
	if *soak >= 5*time.Minute && late.resident > early.resident*11/10 {
		t.Errorf("%d bytes resident after a tenth of the run, %d at its end", early.resident, late.resident)
	}
	t.Logf("%d arrivals; early %+v, late %+v", sum.Ledger.Arrivals, early, late)
}

type memory struct {
	goroutines     int
	heap, resident int // bytes; resident is 0 where /proc does not tell
}

// measureMemory is what is in use, without the garbage of the moment, of which
// an outage leaves more.
func measureMemory(t *testing.T) memory {
	t.Helper()
	m := memory{goroutines: runtime.NumGoroutine()}
	debug.FreeOSMemory()
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size int
		if _, err := fmt.Sscan(string(text), &size, &m.resident); err != nil {
			t.Fatal(err)
		}
		m.resident *= os.Getpagesize()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.heap = int(stats.HeapAlloc)
	return m
}

// same checks that one scrape is one snapshot: the conservation law holds in
// it, and histograms count what the counters count.
func (r *run) same(s scraped) {
	r.t.Helper()
	arrivals := s.sum("soakline_arrivals_total", "")
	accounted := s.sum("soakline_shed_commands_total", "") + s.sum("soakline_commands_total", "") +
		s.sum("soakline_queued_commands", "") + s.sum("soakline_in_flight_commands", "")
	if arrivals != accounted || arrivals == 0 {
		r.t.Errorf("in one scrape %v arrivals, %v accounted for", arrivals, accounted)
	}
	sent := s.sum("soakline_commands_total", "") - s.sum("soakline_commands_total", "unsent") - s.sum("soakline_commands_total", "abandoned")
	for _, name := range []string{"response_time", "queueing_delay", "schedule_lag", "formation_delay", "dispatch_wait"} {
		if n := s.count("soakline_" + name + "_seconds"); n != sent {
			r.t.Errorf("in one scrape %s counts %v, the outcomes %v", name, n, sent)
		}
	}
	if n := s.count("soakline_service_time_seconds"); n != s.sum("soakline_batches_total", "") || n != s.sum("soakline_round_trips_total", "") {
		r.t.Errorf("in one scrape %v service times of %v batches", n, s.sum("soakline_batches_total", ""))
	}
}

// The server is stopped for two seconds: arrivals go on, each feels what it
// waited, and the service time shows one slow exchange a connection.
func TestServerStops(t *testing.T) {
	const rate, stall = 10_000, 2 * time.Second
	r := beginReal(t, "arrival.rate=10000", "arrival.process=deterministic")
	time.Sleep(time.Second)
	pid := r.server.Load().private.PID()
	before := r.scrape()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	time.Sleep(stall)
	r.await("silent", r.silent.Load)
	during := r.scrape()
	unready := r.unready()
	lasted := time.Since(stopped)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if unready != "the target does not answer" || during.sum("soakline_target_up", "") != 0 {
		t.Errorf("a target that does not answer is %q", unready)
	}
	r.await("empty", func() bool { return r.scrape().sum("soakline_queued_commands", "") < 100 })
	after := r.scrape()
	sum := r.end()
	if !sum.AllOK() {
		t.Errorf("%+v", sum.Ledger)
	}

	// The scrapes are not at the very instants of the signals: what is between
	// them bounds the counts from below and from above.
	arrived := during.sum("soakline_arrivals_total", "") - before.sum("soakline_arrivals_total", "")
	if least := rate * stall.Seconds(); arrived < least {
		t.Errorf("%v arrivals while the server was stopped for %v, want at least %v: they must not slow", arrived, lasted, least)
	}
	const bound = 0.0116 // the classic bucket next above 10 ms
	felt := after.above("soakline_response_time_seconds", bound) - before.above("soakline_response_time_seconds", bound)
	most := after.sum("soakline_arrivals_total", "") - before.sum("soakline_arrivals_total", "")
	if least := rate * (stall.Seconds() - 0.02); felt < least || felt > most {
		t.Errorf("%v commands felt more than %v s, want at least %v and at most the %v that arrived until the queue was empty", felt, bound, least, most)
	}
	if sum.Seconds.ResponseTime.Max < stall.Seconds()*0.99 {
		t.Errorf("the largest response time is %v s, want the stall", sum.Seconds.ResponseTime.Max)
	}
	slow := after.above("soakline_service_time_seconds", 1.5)
	if connections := float64(r.config.Target.Connections); slow < 1 || slow > connections {
		t.Errorf("%v exchanges took more than 1.5 s, want at most one for each of %v connections", slow, connections)
	}
	if in := during.sum("soakline_queued_commands", ""); in < rate {
		t.Errorf("the queue held %v commands in the stall, want what had arrived", in)
	}
	r.same(during)
	t.Logf("%v arrived in the stall, %v felt it, %v slow exchanges", arrived, felt, slow)
}

// A target that hangs holds up nothing but its own exchanges: neither the
// watch over the generator nor a stop waits for the upkeep of keys.
func TestUpkeepOfHungTarget(t *testing.T) {
	r := beginReal(t, "arrival.rate=1000", "workload.keys.ttl=4s", "target.read_timeout=20s", "drain_timeout=100ms")
	if err := syscall.Kill(r.server.Load().private.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2500 * time.Millisecond) // keys are refreshed every second
	if sum := r.end(); sum.LoadSeconds > 10 {
		t.Errorf("arrivals went on for %v s after the start, want them to end with the stop", sum.LoadSeconds)
	}
}

// The private server is killed in the middle of the load and comes back on the
// same socket: the daemon survives, tells what may have executed from what has
// not, and goes on by itself.
func TestServerDies(t *testing.T) {
	r := beginReal(t, "arrival.rate=10000", "target.reconnect.max=200ms")
	time.Sleep(500 * time.Millisecond)
	private := r.server.Load().private
	if err := syscall.Kill(private.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-private.Done()
	r.await("down", func() bool { return r.unready() == "no connection to the target" })
	if code, _ := r.fetch("/-/ready"); code != 503 {
		t.Errorf("/-/ready answers %d while the target is down", code)
	}
	down := r.scrape()
	if down.sum("soakline_target_up", "") != 0 {
		t.Error("soakline_target_up is 1 while it is down")
	}
	time.Sleep(300 * time.Millisecond)
	if more := r.scrape().sum("soakline_arrivals_total", "") - down.sum("soakline_arrivals_total", ""); more < 1000 {
		t.Errorf("%v arrivals in 300 ms of the outage, want about 3000", more)
	}
	if err := private.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.await("ready", func() bool { return r.unready() == "" })
	if code, _ := r.fetch("/-/ready"); code != 200 {
		t.Errorf("/-/ready answers %d when the target is back", code)
	}
	back := r.scrape()
	time.Sleep(500 * time.Millisecond)
	if more := r.scrape().sum("soakline_commands_total", "ok") - back.sum("soakline_commands_total", "ok"); more < 1000 {
		t.Errorf("%v commands ok in 500 ms after the outage, want the load to go on", more)
	}
	r.same(back)
	sum := r.end()
	settled := sum.Ledger.Settled
	// At most one batch a connection was under way.
	if lost := settled["uncertain"] + settled["unsent"]; lost > uint64(r.config.Target.Connections*r.config.Batch.MaxCommands) {
		t.Errorf("%d commands without a reply, want at most a batch for each connection", lost)
	}
	if bad := settled["mismatch"] + settled["error_reply"] + settled["abandoned"] + sum.Ledger.Shed; bad != 0 {
		t.Errorf("%+v: want ok, uncertain and unsent only", sum.Ledger)
	}
	for _, message := range []string{"lost a connection to the target", "no connection to the target is left; arrivals go on", "the target answers again"} {
		if r.logs.FilterMessage(message).Len() == 0 {
			t.Errorf("the log does not say %q", message)
		}
	}
	t.Logf("%+v", settled)
}
