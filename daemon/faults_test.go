package daemon

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"soakline/daemon/workload"
	"soakline/metrics"
)

// fault is a way in which a real server misbehaves under load, and what the
// daemon makes of it.
type fault struct {
	name   string
	keys   []string // of the daemon's configuration, over those of every fault
	server []string // arguments
	url    func(*realServer) string
	strike func(*ordeal) // injects it, waits until it is felt, and undoes it
	must   string        // outcomes that must occur, with ok
	may    string        // outcomes that may occur, too
	codes  string        // of error replies: those that must occur, and no others
	check  func(*ordeal, *Summary)
	misses bool // keys go: reads miss them, as they must not otherwise, and counters
	loses  bool // values go back to older ones, as they must not otherwise
	undone bool // it leaves a server as it was, but for its data: it can strike again
}

// ordeal is a fault that strikes a daemon.
type ordeal struct {
	*run
	real *realServer
	last scraped // after the fault
}

// faultKeys are those of every fault: batches of some size, since one that is
// lost must hold some increments, and enough patience with a slow machine that
// nothing but the fault is felt.
var faultKeys = []string{
	"arrival.rate=4000", "arrival.max_catch_up=30s", "batch.max_delay=5ms",
	"workload.keys.count=1000", "workload.mix=[{command: get, weight: 2}, {command: set, weight: 1}, {command: incr, weight: 1}]",
	"target.read_timeout=20s", "target.reconnect.max=200ms",
}

// TestFaults lets each fault strike a daemon and a server of its own.
func TestFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			f.test(t)
		})
	}
}

func (f *fault) test(t *testing.T) {
	if f.url == nil {
		f.url = (*realServer).url
	}
	server := startServer(t, f.server...)
	x := &ordeal{run: begin(t, slices.Concat(faultKeys, []string{f.url(server)}, f.keys)...), real: server}
	x.await("under load", func() bool { return x.unready() == "" && x.settled(workload.OK) >= 400 })
	f.strike(x)
	x.recover()
	x.same(x.last)
	sum := x.end()
	x.judge(sum, f.must, f.may)
	codes := strings.Fields(f.codes)
	for code, n := range sum.Errors {
		if !slices.Contains(codes, code) {
			t.Errorf("%d error replies are %s, want only %q", n, code, f.codes)
		}
	}
	for _, code := range codes {
		if sum.Errors[code] == 0 {
			t.Errorf("no error reply is %s, in %v", code, sum.Errors)
		}
	}
	if (sum.Reads["miss"] > 0) != f.misses {
		t.Errorf("reads %v", sum.Reads)
	}
	if (sum.LostWrites > 0) != f.loses {
		t.Errorf("%d lost writes", sum.LostWrites)
	}
	if sum.Increments.Unknown > 0 && !f.misses {
		t.Errorf("%+v, though no counter is lost", sum.Increments)
	}
	if f.check != nil {
		f.check(x, sum)
	}
	t.Logf("%+v, errors %v, reads %v, lost writes %d, increments %+v", sum.Ledger.Settled, sum.Errors, sum.Reads, sum.LostWrites, sum.Increments)
}

// recover waits until the load flows again by itself, as before: on every
// connection, with an empty queue.
func (x *ordeal) recover() {
	x.t.Helper()
	x.await("ready again", func() bool { return x.unready() == "" })
	before := x.settled(workload.OK)
	x.await("as it was", func() bool {
		s := x.snapshot()
		return s.SettledAs(int(workload.OK)) >= before+400 && s.QueuedCommands < 200 && s.ConnectionsUp == x.config.Target.Connections
	})
	x.await("ready", func() bool { code, _ := x.fetch("/-/ready"); return code == http.StatusOK })
	x.last = x.scrape()
}

// judge checks what holds after every fault.
func (x *ordeal) judge(sum *Summary, must, may string) {
	x.t.Helper()
	expected, allowed := strings.Fields("ok "+must), strings.Fields("ok "+must+" "+may)
	for outcome, n := range sum.Ledger.Settled {
		switch {
		case n > 0 && !slices.Contains(allowed, outcome):
			x.t.Errorf("%d commands are %s, want only %q", n, outcome, allowed)
		case n == 0 && slices.Contains(expected, outcome):
			x.t.Errorf("no command is %s", outcome)
		}
	}
	if sum.Ledger.Shed != 0 {
		x.t.Errorf("%v commands were shed", sum.Ledger.ShedReason)
	}
	errors := uint64(0)
	for _, n := range sum.Errors {
		errors += n
	}
	if errors != sum.Ledger.Settled["error_reply"] {
		x.t.Errorf("%d error replies have a code, of %d", errors, sum.Ledger.Settled["error_reply"])
	}
	// A connection that breaks leaves the one batch without replies that it had
	// under way, and nothing is sent twice.
	broken := x.last.at("soakline_connections_opened_total") - float64(x.config.Target.Connections)
	if lost := sum.Ledger.Settled["uncertain"] + sum.Ledger.Settled["unsent"]; float64(lost) > broken*float64(x.config.Batch.MaxCommands) {
		x.t.Errorf("%d commands without a reply on %v broken connections, want at most a batch for each", lost, broken)
	}
	// No increment in doubt is forgotten, or counted twice.
	if n := x.last.at("soakline_commands_total", "uncertain"); n != float64(sum.Ledger.Settled["uncertain"]) {
		x.t.Errorf("%v commands were uncertain after the fault, %d at the end", n, sum.Ledger.Settled["uncertain"])
	}
	in := sum.Increments
	if n := x.last.at("soakline_commands_total", "incr", "uncertain"); float64(in.Executed+in.NotExecuted+in.Unknown) != n {
		x.t.Errorf("%+v of %v uncertain increments", in, n)
	}
}

// snapshot is the engine's state now.
func (r *run) snapshot() *metrics.Snapshot {
	s := metrics.NewSnapshot(labels())
	r.engine.Load().Collect(s)
	return s
}

// settled is how many commands have had an outcome so far.
func (r *run) settled(outcome workload.Outcome) uint64 {
	return r.snapshot().SettledAs(int(outcome))
}

// at adds up the series of a counter or gauge that have all of these label
// values.
func (s scraped) at(name string, values ...string) (total float64) {
	for _, m := range s[name].GetMetric() {
		missing := len(values)
		for _, l := range m.GetLabel() {
			if slices.Contains(values, l.GetValue()) {
				missing--
			}
		}
		if missing == 0 {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return total
}

// more waits until a counter has grown by n from where it is in before.
func (x *ordeal) more(before scraped, n float64, name string, values ...string) {
	x.t.Helper()
	x.await(strings.Join(append(values, name), " "), func() bool {
		time.Sleep(20 * time.Millisecond) // a scrape costs the load its processor
		return x.scrape().at(name, values...) >= before.at(name, values...)+n
	})
}

// refused waits until n commands have been refused with a code.
func (x *ordeal) refused(n uint64, name string) {
	x.t.Helper()
	code := int(workload.CodeOf(name))
	before := x.snapshot().ErrorRepliesFor(code)
	x.await("refused with "+name, func() bool { return x.snapshot().ErrorRepliesFor(code) >= before+n })
}

// down waits until no connection is left.
func (x *ordeal) down() {
	x.t.Helper()
	x.await("without a connection", func() bool { return x.snapshot().ConnectionsUp == 0 })
}

// know makes the daemon learn now what the target is.
func (x *ordeal) know() {
	x.t.Helper()
	x.await("told what the target is", func() bool { return x.learn(x.t.Context()) == nil })
}
