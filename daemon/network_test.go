package daemon

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

const (
	networkGets  = "workload.mix=[{command: get, weight: 1}]"
	networkIncrs = "workload.mix=[{command: incr, weight: 1}]"
	networkFound = "$100\r\n" // how the reply to a GET begins that finds a value of the usual size
)

// Replies that trickle are right all the same, and the service time says that
// the target, as the daemon sees it, is slow.
func TestNetworkDrips(t *testing.T) {
	t.Parallel()
	const pause, bound = 200 * time.Microsecond, 0.0058 // the classic bucket below the pauses of a reply, of 37 bytes
	// Small batches, in time whatever a pause comes to.
	n := beginNetworked(t, networkGets, "arrival.rate=50", "workload.value.size=30B", "batch.max_commands=4", "target.read_timeout=1m")
	n.proxy.through(proxyDrip(pause))
	before := n.scrape()
	const exchanges, slow = "soakline_batches_total", "soakline_service_time_seconds"
	n.await("loading", func() bool { return n.scrape().sum(exchanges, "") >= before.sum(exchanges, "")+15 })
	after := n.scrape()
	sent, felt := after.sum(exchanges, "")-before.sum(exchanges, ""), after.above(slow, bound)-before.above(slow, bound)
	if under := float64(n.config.Target.Connections); felt < sent-under { // at the switch
		t.Errorf("%v of %v exchanges took more than %v s, want all but those that were under way", felt, sent, bound)
	}
	if _, sum := n.endNetworked(); !sum.AllOK() {
		t.Errorf("%+v", sum.Ledger)
	}
}

// Each command gets the reply to the one before it: whatever value of another
// key comes is a mismatch, and nothing else is. Connections that bring such are
// left, for new ones on which not even a handshake comes right.
func TestNetworkSwapsReplies(t *testing.T) {
	t.Parallel()
	n := beginNetworked(t, networkGets)
	var swaps proxySwaps
	n.proxy.through(swaps.predecessors(networkFound))
	n.await("down", func() bool { return n.unready() == "no connection to the target" })
	n.proxy.through(nil)
	last, sum := n.endNetworked()
	if int64(sum.Ledger.Settled["mismatch"]) != swaps.Load() || swaps.Load() < 4 || sum.Ledger.Settled["error_reply"] != 0 {
		t.Errorf("%+v, want the %d mismatches that the network made", sum.Ledger.Settled, swaps.Load())
	}
	if left := last.failures("mismatch"); left != 4 {
		t.Errorf("%v connections were left for a mismatch, want all 4 once", left)
	}
}

// A counter is told what another has said before. That is a mismatch, and so may
// the next reply be, which is right again: the sequence goes on from what was
// told, unless the connection is left, which has counters of its own.
func TestNetworkSwapsCounters(t *testing.T) {
	t.Parallel()
	n := beginNetworked(t, networkIncrs, "target.connections=1")
	var swaps proxySwaps
	// After that many commands each of the 16 counters has been told the truth.
	n.proxy.through(swaps.nth(300, ":", func(c *proxied, _ []byte, _ int64) []byte { return c.last }))
	n.await("given 5 wrong replies", func() bool { return swaps.Load() >= 5 })
	n.proxy.through(nil)
	_, sum := n.endNetworked()
	if got := int64(sum.Ledger.Settled["mismatch"]); got < swaps.Load() || got > 2*swaps.Load() || sum.Ledger.Settled["error_reply"] != 0 {
		t.Errorf("%+v, want one or two mismatches for each of %d wrong replies", sum.Ledger.Settled, swaps.Load())
	}
}

// What is no reply, and what is none that the command can have, ends the
// connection, whose other commands are uncertain.
func TestNetworkGarbles(t *testing.T) {
	t.Parallel()
	n := beginNetworked(t, "arrival.rate=2000")
	var swaps proxySwaps
	// No more than one to an exchange.
	each := n.config.Batch.MaxCommands + 1
	n.proxy.through(swaps.nth(each, networkFound, func(_ *proxied, reply []byte, replaced int64) []byte {
		if replaced%2 == 0 {
			return []byte("*1\r\n" + string(reply)) // mismatch
		}
		junk := bytes.Clone(reply)
		for i := range len(junk) - len("\r\n") {
			junk[i] = byte(0x80 + rand.N(0x80)) // no type begins like that
		}
		return junk
	}))
	n.await("given 20 wrong replies", func() bool { return swaps.Load() >= 20 })
	n.proxy.through(nil)
	n.await("rid of those connections", func() bool { return n.scrape().failures("protocol") >= float64(swaps.Load()) })
	last, sum := n.endNetworked()
	if all := last.failures(""); last.failures("protocol") != float64(swaps.Load()) || all != float64(swaps.Load()) {
		t.Errorf("%v connections were lost for protocol, %v in all, want %d", last.failures("protocol"), all, swaps.Load())
	}
	if got, want := int64(sum.Ledger.Settled["mismatch"]), (swaps.Load()+1)/2; got != want {
		t.Errorf("%d mismatches, want %d", got, want)
	}
	if got, least := int64(sum.Ledger.Settled["uncertain"]), swaps.Load()/2; got < least {
		t.Errorf("%d commands uncertain, want at least %d", got, least)
	}
}

// The network takes everything and answers nothing: what was sent is uncertain
// after the read timeout, and so is the handshake of each new attempt.
func TestNetworkSilent(t *testing.T) {
	t.Parallel()
	n := beginNetworked(t, "target.read_timeout=300ms", "target.dial_timeout=300ms")
	n.proxy.mute(true)
	n.await("down", func() bool { return n.unready() == "no connection to the target" })
	down := n.scrape()
	n.await("trying again", func() bool { return n.scrape().failures("timeout") >= down.failures("timeout")+4 })
	if more := n.scrape().sum("soakline_arrivals_total", "") - down.sum("soakline_arrivals_total", ""); more == 0 {
		t.Error("arrivals have stopped")
	}
	if down.sum("soakline_commands_total", "uncertain") == 0 {
		t.Error("nothing is uncertain")
	}
	n.proxy.mute(false)
	last, sum := n.endNetworked()
	if last.failures("") != last.failures("timeout") {
		t.Errorf("%v connections were lost or not made, %v of them for a timeout", last.failures(""), last.failures("timeout"))
	}
	if bad := sum.Ledger.Settled["mismatch"] + sum.Ledger.Settled["error_reply"]; bad != 0 {
		t.Errorf("%+v", sum.Ledger.Settled)
	}
}

// A start does not wait for ever on a target that accepts and says nothing.
func TestNetworkSilentAtStart(t *testing.T) {
	t.Parallel()
	url, _ := shared(t)
	p, url := proxyTo(t, url)
	p.mute(true)
	r := begin(t, url, "target.read_timeout=300ms", "target.dial_timeout=300ms")
	<-r.done
	if r.err == nil || !strings.Contains(r.err.Error(), "reach the target at "+p.address) || !strings.Contains(r.err.Error(), "timeout") {
		t.Errorf("%v, want it to say that %s did not answer in time", r.err, p.address)
	}
}

// Nobody listens any more, and then somebody does again.
func TestNetworkRefuses(t *testing.T) {
	t.Parallel()
	n := beginNetworked(t)
	n.proxy.refuse()
	n.await("down", func() bool { return n.unready() == "no connection to the target" })
	down := n.scrape()
	if down.sum("soakline_target_up", "") != 0 {
		t.Error("soakline_target_up is 1 while nobody listens")
	}
	n.await("trying again", func() bool { return n.scrape().failures("refused") >= 4 })
	if more := n.scrape().sum("soakline_arrivals_total", "") - down.sum("soakline_arrivals_total", ""); more == 0 {
		t.Error("arrivals have stopped")
	}
	n.proxy.listen()
	_, sum := n.endNetworked()
	if bad := sum.Ledger.Settled["mismatch"] + sum.Ledger.Settled["error_reply"]; bad != 0 {
		t.Errorf("%+v", sum.Ledger.Settled)
	}
}

// Connections break again and again, wherever in a reply: the daemon finds out
// about every increment.
func TestNetworkCuts(t *testing.T) {
	t.Parallel()
	n := beginNetworked(t, "workload.mix=[{command: get, weight: 2}, {command: incr, weight: 2}, {command: set, weight: 1}]")
	n.proxy.through(proxyCut(2999))
	n.await("cut often", func() bool { return n.scrape().failures("") >= 30 })
	last, sum := n.endNetworked()
	if bad := sum.Ledger.Settled["mismatch"] + sum.Ledger.Settled["error_reply"]; bad != 0 {
		t.Errorf("%+v", sum.Ledger.Settled)
	}
	if last.settled("incr", "uncertain") == 0 {
		t.Error("no increment is uncertain")
	}
	if cut := last.failures("closed") + last.failures("reset"); cut != last.failures("") {
		t.Errorf("%v connections were lost or not made, %v of them cut", last.failures(""), cut)
	}
}

// The parts of a response time say which part it was. A way of 20 ms is in the
// service time where there are connections enough, and where there are not it
// is what commands wait for.
func TestNetworkDelays(t *testing.T) {
	t.Parallel()
	const way, maxDelay = 20 * time.Millisecond, 20 * time.Millisecond
	begin := func(t *testing.T, set ...string) *networked {
		t.Helper()
		n := beginNetworked(t, append(set, "arrival.rate=200", "arrival.process=deterministic", fmt.Sprintf("batch.max_delay=%v", maxDelay))...)
		n.proxy.slow(way)
		return n
	}
	t.Run("connections enough", func(t *testing.T) {
		t.Parallel()
		n := begin(t)
		before := n.scrape()
		const exchanges = "soakline_service_time_seconds"
		n.await("loading", func() bool { return n.scrape().count(exchanges) >= before.count(exchanges)+50 })
		after := n.scrape()
		_, sum := n.endNetworked()
		s := sum.Seconds
		sent, felt := after.count(exchanges)-before.count(exchanges), after.above(exchanges, 0.033)-before.above(exchanges, 0.033)
		if under := float64(n.config.Target.Connections); felt < sent-under { // at the switch
			t.Errorf("%v of %v exchanges took more than 33 ms, want all but those that were under way", felt, sent)
		}
		if least := 2 * way.Seconds() * 0.99; s.ServiceTime.P50 < least {
			t.Errorf("half of the exchanges took less than %v s, want %v for both ways", s.ServiceTime.P50, 2*way)
		}
		if s.FormationDelay.Max > maxDelay.Seconds() {
			t.Errorf("a formation delay of %v s, above the limit of %v", s.FormationDelay.Max, maxDelay)
		}
		if s.DispatchWait.P50 > 0.001 {
			t.Errorf("half of the commands waited %v s for a connection, want some to be free", s.DispatchWait.P50)
		}
		if !sum.AllOK() {
			t.Errorf("%+v", sum.Ledger)
		}
		t.Logf("%+v", s)
	})
	t.Run("one connection", func(t *testing.T) {
		t.Parallel()
		// 4 commands in 40 ms are 100 a second: each second leaves as many behind.
		n := begin(t, "target.connections=1", "batch.max_commands=4")
		n.await("behind", func() bool { return n.scrape().sum("soakline_queued_commands", "") >= 100 })
		sum := n.end()
		s := sum.Seconds
		if rest := s.FormationDelay.Mean + s.ScheduleLag.Mean + s.ServiceTime.Mean; s.DispatchWait.Mean < rest {
			t.Errorf("commands waited %v s for a connection, want more than all else, %v s", s.DispatchWait.Mean, rest)
		}
		if !sum.AllOK() {
			t.Errorf("%+v", sum.Ledger)
		}
		t.Logf("%+v", s)
	})
}
