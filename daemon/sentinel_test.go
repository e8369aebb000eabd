package daemon

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// endFailedOver ends a daemon that was there when the master changed. Its
// ledger balances; what was refused was refused because of that.
func (r *run) endFailedOver() {
	r.t.Helper()
	sum := r.end()
	last := r.final()
	if sum.Ledger.Shed+sum.Ledger.Settled["mismatch"] != 0 {
		r.t.Errorf("%+v: a failover is no reason", sum.Ledger)
	}
	codes := maps.Clone(sum.Errors)
	for _, code := range []string{"READONLY", "LOADING", "MASTERDOWN"} {
		delete(codes, code)
	}
	if len(codes) != 0 {
		r.t.Errorf("error replies: %v", sum.Errors)
	}
	i := sum.Increments
	if uncertain := last.settled("incr", "uncertain"); float64(i.Executed+i.NotExecuted+i.Unknown) != uncertain {
		r.t.Errorf("%+v of %v uncertain increments", i, uncertain)
	}
	if last.failures("") == 0 {
		r.t.Error("no lost connection was counted")
	}
	// Each may meet the old master, an answer of the sentinels from before, and
	// once more the old one while it is a master still to some of them.
	if n, most := last.failures("role"), float64(4*r.config.Target.Connections); n > most {
		r.t.Errorf("%v connections were left for the role, want no more than %v", n, most)
	}
	r.t.Logf("%+v, errors %v, increments %+v, lost writes %d, changes %v", sum.Ledger.Settled, sum.Errors, i, sum.LostWrites, sum.TargetChanges)
}

// The master is killed: the load waits for another and goes on there by itself.
func TestSentinelMasterDies(t *testing.T) {
	t.Parallel()
	s := startSentinelSet(t)
	r := s.begin()
	old := r.facts.Load().RunID
	s.master.Kill()
	r.await("down", func() bool {
		return r.unready() == "no connection to the target" && r.scrape().sum("soakline_target_up", "") == 0
	})
	s.promoted()
	r.carriesOn()
	if serverCalls(t, s.replica.client, "get") == 0 { // these are not replicated
		t.Error("the new master has not executed a GET")
	}
	r.await("told of the new master", func() bool { return r.scrape().sum("soakline_target_changes_total", "run_id") > 0 })
	if now := r.facts.Load().RunID; now == old || !strings.Contains(s.replica.info(), "run_id:"+now) {
		t.Errorf("the target is known as the process %s, which was %s", now, old)
	}
	r.endFailedOver()
}

// A planned failover leaves the old master alive, as a replica that would go on
// answering reads: the load leaves it all the same, whether or not it writes.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	s := startSentinelSet(t)
	daemons := []*run{s.begin(), s.begin(networkGets)}
	links := 0
	for _, r := range daemons {
		links += r.config.Target.Connections
	}
	if at := s.master.loaders(); at < links {
		t.Errorf("%d connections are at the master, want at least %d", at, links)
	}
	s.failOver()
	if !s.replica.reaches(func() bool { return s.replica.loaders() >= links && s.master.loaders() == 0 }) {
		t.Errorf("%d connections are at the new master and %d at the old one, want all of %d", s.replica.loaders(), s.master.loaders(), links)
	}
	s.master.forget()
	s.replica.forget()
	for _, r := range daemons {
		r.carriesOn()
	}
	if before, now := serverCalls(t, s.master.client, "get"), serverCalls(t, s.replica.client, "get"); before != 0 || now == 0 {
		t.Errorf("the new master has executed %d GETs, and the old one %d", now, before)
	}
	for _, r := range daemons {
		r.endFailedOver()
	}
}

// A failover to where the load may not go is not followed. The daemon waits,
// and goes on when the master is back where it may.
func TestSentinelFailoverNotAllowed(t *testing.T) {
	t.Parallel()
	t.Cleanup(awaitSentinelPools)
	s := startSentinelSet(t)
	r := s.begin("safety.allowed_targets=[" + s.master.Address + "]")
	s.failOver()
	r.await("down", func() bool { return r.unready() == "no connection to the target" })
	s.replica.forget()
	before := r.scrape()
	r.await("trying again", func() bool { return r.scrape().failures("") >= before.failures("")+8 })
	for _, path := range []string{"/-/healthy", "/-/ready"} {
		if code, _ := r.fetch(path); (code == 200) != (path == "/-/healthy") {
			t.Errorf("%s answers %d while the master is where the load may not go", path, code)
		}
	}
	if n := s.replica.loaders(); n != 0 {
		t.Errorf("%d connections to where the load may not go", n)
	}
	for _, command := range []string{"get", "set", "incr"} {
		if calls := serverCalls(t, s.replica.client, command); calls != 0 {
			t.Errorf("%d of %s where the load may not go", calls, command)
		}
	}
	told := r.logs.FilterMessage("cannot connect to the target").All()
	if len(told) == 0 || !strings.Contains(fmt.Sprint(told[len(told)-1].ContextMap()["error"]), s.replica.Address+": the address is not allowed") {
		t.Errorf("the log does not say why: %v", told)
	}
	sum := r.end()
	t.Logf("%+v", sum.Ledger)
}

// awaitSentinelPools waits for what go-redis leaves behind of a client that was closed
// while its target was down: it looks every second whether it was.
func awaitSentinelPools() {
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*ConnPool).tryDial")) {
			return
		}
	}
}

// What is wrong with the sentinels, or with where they lead, is said at once,
// and the master is left alone.
func TestSentinelAtStart(t *testing.T) {
	t.Parallel()
	const right, wrong = "right:p@ss", "wr0ng"
	master := startSentinelPeer(t, sentinelServer, "")
	host, port, _ := net.SplitHostPort(master.Address)
	sentinel := startSentinelPeer(t, fmt.Sprintf("requirepass %s\nsentinel monitor m %s %s 1\n", right, host, port), right, "--sentinel")
	master.forget()
	for _, tt := range []struct {
		name, password string
		set            []string
		want           []string
	}{
		{"a wrong password", wrong, nil, []string{"ask sentinel " + sentinel.Address, "WRONGPASS"}},
		{"an unknown master", right, []string{"target.sentinel.master=x"}, []string{"sentinel " + sentinel.Address + ` knows no master "x"`}},
		{"not allowed", right, []string{"safety.allowed_targets=[127.0.0.1:1]"}, []string{master.Address + ": the address is not allowed"}},
	} {
		r := begin(t, append([]string{
			"target.topology=sentinel", "target.addresses=[" + sentinel.Address + "]", "target.sentinel.master=m",
			"target.sentinel.password_file=" + sentinelPassword(t, tt.password),
		}, tt.set...)...)
		<-r.done
		text := fmt.Sprint(r.err)
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %v, want %q in it", tt.name, r.err, want)
			}
		}
		if strings.Contains(text, right) || strings.Contains(text, wrong) {
			t.Errorf("%s: the error tells the password: %v", tt.name, r.err)
		}
		t.Log(r.err)
	}
	for _, command := range []string{"get", "set", "incr"} {
		if calls := serverCalls(t, master.client, command); calls != 0 {
			t.Errorf("%d of %s at the master", calls, command)
		}
	}
}
