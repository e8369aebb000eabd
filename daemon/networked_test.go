package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/redis/go-redis/v9"

	"soakline/daemon/workload"
)

// networked is a daemon whose network can be broken.
type networked struct {
	*run
	proxy  *proxy
	client *redis.Client // leads past the network
}

// beginNetworked is a daemon under a small load, which reaches a server of the
// test's through a proxy.
func beginNetworked(t *testing.T, set ...string) *networked {
	t.Helper()
	url, client := shared(t)
	n := &networked{client: client}
	n.proxy, url = proxyTo(t, url)
	n.run = begin(t, append([]string{
		url, "arrival.rate=1000", "arrival.max_catch_up=1m", "workload.keys.count=1000", "target.reconnect.max=200ms",
	}, set...)...)
	n.await("ready", func() bool { return n.unready() == "" })
	return n
}

// carriesOn waits until the load goes on by itself.
func (r *run) carriesOn() {
	r.t.Helper()
	r.await("ready", func() bool { code, _ := r.fetch("/-/ready"); return code == 200 })
	before := r.scrape().sum("soakline_commands_total", "ok")
	r.await("loading again", func() bool { return r.scrape().sum("soakline_commands_total", "ok") > before+50 })
}

// settled is how often a command had an outcome.
func (s scraped) settled(command, outcome string) (n float64) {
	for _, m := range s["soakline_commands_total"].GetMetric() {
		has := map[string]bool{}
		for _, l := range m.GetLabel() {
			has[l.GetValue()] = true
		}
		if has[command] && has[outcome] {
			n += m.GetCounter().GetValue()
		}
	}
	return n
}

func (s scraped) failures(reason string) float64 {
	return s.sum("soakline_connection_failures_total", reason)
}

// final is a scrape of a daemon that has ended, as if its HTTP server had not.
func (r *run) final() scraped {
	r.t.Helper()
	mux, err := r.routes()
	if err != nil {
		r.t.Fatal(err)
	}
	page := httptest.NewRecorder()
	mux.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(page.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return families
}

// endNetworked ends the daemon, once it has read back what was in doubt, and
// returns its last scrape and its summary: nothing was shed, no write was lost,
// each lost connection took no more than its batch, and what the daemon knows
// of its increments is what the server has executed.
func (n *networked) endNetworked() (scraped, *Summary) {
	n.t.Helper()
	n.proxy.through(nil)
	n.carriesOn()
	n.await("sure of its increments", func() bool { _, _, _, open := n.doubts.count(); return open == 0 })
	sum := n.end()
	last := n.final()
	n.same(last)
	if sum.Ledger.Shed != 0 || sum.Ledger.Settled["abandoned"] != 0 || sum.LostWrites != 0 {
		n.t.Errorf("%+v, %d lost writes: the network is no reason", sum.Ledger, sum.LostWrites)
	}
	if lost, most := sum.Ledger.Settled["uncertain"]+sum.Ledger.Settled["unsent"], last.failures("")*float64(n.config.Batch.MaxCommands); float64(lost) > most {
		n.t.Errorf("%d commands without a reply, want at most %v: a batch for each lost connection", lost, most)
	}
	i := sum.Increments
	if uncertain := last.settled("incr", "uncertain"); float64(i.Executed+i.NotExecuted) != uncertain || i.Unknown != 0 {
		n.t.Errorf("%+v of %v uncertain increments", i, uncertain)
	}
	const rehearsed = 1
	known := last.settled("incr", "ok") + last.settled("incr", "mismatch") + float64(i.Executed)
	if calls := serverCalls(n.t, n.client, "incr"); n.draws(workload.Incr) && float64(calls) != known+rehearsed {
		n.t.Errorf("the server has executed %d increments, want the %v that the daemon knows of and that of its start", calls, known)
	}
	n.t.Logf("%+v, %+v", sum.Ledger.Settled, i)
	return last, sum
}

// serverCalls is how often a server has executed a command since its start, or
// since its statistics were reset.
func serverCalls(t *testing.T, client *redis.Client, command string) (calls int) {
	t.Helper()
	text, err := client.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if stats, found := strings.CutPrefix(line, "cmdstat_"+command+":"); found {
			if _, err := fmt.Sscanf(stats, "calls=%d,", &calls); err != nil {
				t.Fatal(err)
			}
		}
	}
	return calls
}
