package daemon

import (
	"context"
	"syscall"
	"time"

	"soakline/daemon/workload"
)

// stallFor is how long a server is away for less than a read timeout.
const stallFor = 250 * time.Millisecond

func stall(x *ordeal) {
	x.real.Signal(syscall.SIGSTOP)
	time.Sleep(stallFor)
	x.real.Signal(syscall.SIGCONT)
}

// felt checks that a stall is in the response times: less what may pass until
// the first command arrives in it.
func felt(x *ordeal, sum *Summary) {
	if least := stallFor.Seconds() * 0.8; sum.Seconds.ResponseTime.Max < least {
		x.t.Errorf("the largest response time is %v s, want at least %v", sum.Seconds.ResponseTime.Max, least)
	}
}

func hang(x *ordeal) {
	before := x.scrape()
	x.real.Signal(syscall.SIGSTOP)
	x.down()
	x.more(before, 6, "soakline_connection_failures_total", "timeout") // of 4 exchanges, then of attempts to connect
	x.await("silent", x.silent.Load)
	x.real.Signal(syscall.SIGCONT)
}

func pause(x *ordeal) {
	x.real.do("client", "pause", 3*x.config.Target.ReadTimeout.Milliseconds(), "all")
	x.down()
}

func crash(x *ordeal) {
	x.real.kill()
	x.down()
	if code, _ := x.fetch("/-/ready"); code != 503 {
		x.t.Errorf("/-/ready answers %d while the target is down", code)
	}
	before := x.snapshot().Arrivals()
	x.await("offered more while the target is down", func() bool { return x.snapshot().Arrivals() >= before+100 })
	x.real.Restart()
	x.real.await()
	x.know()
}

func crashAfterSave(x *ordeal) {
	x.real.do("save")
	before := x.scrape()
	x.more(before, 500, "soakline_commands_total", "set", "ok")
	crash(x)
}

func slowStart(x *ordeal) {
	x.real.shutdown()
	x.down()
	before := x.scrape()
	x.real.Restart(slowly...)
	x.more(before, 3, "soakline_connection_failures_total", "rejected")
	x.real.await()
}

func kicks(x *ordeal) {
	for range 4 {
		before := x.scrape()
		x.real.kickAll()
		x.more(before, 4, "soakline_connections_opened_total")
	}
}

func busyScript(x *ordeal) {
	ctx, cancel := context.WithCancel(x.t.Context())
	defer cancel()
	ended := x.real.script(ctx, "while true do end")
	x.refused(100, "BUSY")
	x.real.do("script", "kill")
	if err := <-ended; err == nil {
		x.t.Error("the script ended by itself")
	}
}

func fill(x *ordeal) {
	before := x.scrape()
	x.real.set("maxmemory", 1)
	x.refused(200, "OOM")
	x.more(before, 100, "soakline_commands_total", "get", "ok")
	x.real.set("maxmemory", 0)
}

func evict(x *ordeal) {
	before := x.scrape()
	x.real.set("maxmemory", x.real.info("used_memory")-1<<20, "maxmemory-policy", "allkeys-lru")
	x.more(before, 100, "soakline_reads_total", "miss")
	if x.real.info("evicted_keys") == 0 {
		x.t.Error("nothing was evicted")
	}
	x.real.set("maxmemory", 0, "maxmemory-policy", "noeviction")
}

func demote(x *ordeal) {
	began, before := time.Now(), x.scrape()
	x.real.do("replicaof", "127.0.0.1", 1) // where nobody is
	x.know()
	x.more(before, 2000, "soakline_error_replies_total", "READONLY")
	after := x.scrape()
	// Each connection is replaced at once, and again after reconnect.max.
	opened := after.at("soakline_connections_opened_total") - before.at("soakline_connections_opened_total")
	most := float64(x.config.Target.Connections) * (1 + time.Since(began).Seconds()/x.config.Target.Reconnect.Max.Seconds())
	if opened < 1 || opened > most {
		x.t.Errorf("%v connections were opened in %v of a replica, want 1 to %v", opened, time.Since(began), most)
	}
	x.real.do("replicaof", "no", "one")
	x.know()
}

func refuse(x *ordeal) {
	before := x.scrape()
	x.real.set("maxclients", 1) // the test itself
	x.real.kickAll()
	x.down()
	x.more(before, 8, "soakline_connection_failures_total") // of 4 connections, then of attempts
	x.real.set("maxclients", 100)
}

func forbid(x *ordeal) {
	x.real.do("acl", "setuser", loadUser, "-set")
	x.refused(100, "NOPERM")
	x.real.do("acl", "setuser", loadUser, "+set")
}

// lockedOut waits until attempts to connect fail because of who the daemon is.
func (x *ordeal) lockedOut() {
	x.t.Helper()
	before := x.scrape()
	x.down()
	x.more(before, 2, "soakline_connection_failures_total", "auth")
	if up := x.scrape().at("soakline_target_up"); up != 0 {
		x.t.Errorf("soakline_target_up is %v", up)
	}
}

// failed checks that connections have failed for a reason.
func (x *ordeal) failed(reason string) {
	x.t.Helper()
	if x.last.at("soakline_connection_failures_total", reason) == 0 {
		x.t.Errorf("no connection failed for the reason %s", reason)
	}
}

// served checks that no command of these kinds was refused.
func (x *ordeal) served(kinds ...string) {
	x.t.Helper()
	for _, kind := range kinds {
		if n := x.last.at("soakline_commands_total", kind, workload.ErrorReply.String()); n != 0 {
			x.t.Errorf("%v times %s was refused", n, kind)
		}
	}
}

// changed checks that the daemon has noticed a change of the target, so often
// at least.
func (x *ordeal) changed(sum *Summary, fact string, least uint64) {
	x.t.Helper()
	if n := sum.TargetChanges[fact]; n < least || x.last.at("soakline_target_changes_total", fact) != float64(n) {
		x.t.Errorf("%d changes of %s, want %d", n, fact, least)
	}
}
