package daemon

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"soakline/daemon/config"
	"soakline/daemon/target"
	"soakline/metrics"
)

// soak and rate are how long and how fast the tests of a steady load run; they
// have short and slow values for every day.
var (
	soak = flag.Duration("soak", 2*time.Second, "how long tests of a steady load run")
	rate = flag.Float64("rate", 20_000, "their offered load in commands per second")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// run is a daemon under test.
type run struct {
	*Daemon
	t       *testing.T
	logs    *observer.ObservedLogs
	url     string // of its HTTP server, once it is known
	stop    context.CancelFunc
	done    chan struct{}
	err     error
	summary *Summary
}

// begin runs a daemon with keys of the configuration set, until the test ends
// at the latest.
func begin(t *testing.T, set ...string) *run {
	t.Helper()
	return beginWith(t, func(*Options) {}, set...)
}

// beginWith is begin with other options.
func beginWith(t *testing.T, change func(*Options), set ...string) *run {
	t.Helper()
	c, err := config.Load(config.Sources{Set: append([]string{"web.listen_address=127.0.0.1:0"}, set...)})
	if err == nil {
		err = c.ReadSecrets()
	}
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.DebugLevel)
	r := &run{t: t, logs: logs, done: make(chan struct{})}
	options := Options{
		Config: c, Build: metrics.Build{Version: "test"}, Log: zap.New(core),
		Report: func(s *Summary) error { r.summary = s; return nil },
	}
	change(&options)
	r.Daemon = New(options)
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() {
		defer close(r.done)
		r.err = r.Run(ctx)
	}()
	t.Cleanup(func() {
		r.stop()
		<-r.done
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

// beginReal is begin on a private server, which the machine must have.
func beginReal(t *testing.T, set ...string) *run {
	t.Helper()
	requireServer(t)
	r := begin(t, append([]string{"target.url=private"}, set...)...)
	r.await("ready", func() bool { return r.unready() == "" })
	return r
}

// requireServer skips the test where no server is installed, unless the
// environment says that there must be one.
func requireServer(t *testing.T) {
	t.Helper()
	p, err := target.Start(t.Context())
	switch {
	case err == nil:
		_ = p.Stop()
	case errors.Is(err, target.ErrNoServer) && os.Getenv("SOAKLINE_REQUIRE_SERVER") == "":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// await waits until a state is reached, which the test's own deadline bounds.
func (r *run) await(what string, reached func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !reached(); time.Sleep(5 * time.Millisecond) {
		select {
		case <-r.done:
			r.t.Fatalf("the daemon ended before it was %s: %v", what, r.err)
		default:
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("not %s: %s", what, r.unready())
		}
	}
}

// end stops the daemon and returns its summary, whose ledger must balance.
func (r *run) end() *Summary {
	r.t.Helper()
	r.stop()
	<-r.done
	if r.err != nil {
		r.t.Fatal(r.err)
	}
	if err := r.summary.Balance(); err != nil {
		r.t.Error(err)
	}
	return r.summary
}

// fetch fetches a path of the daemon's HTTP server.
func (r *run) fetch(path string) (int, string) {
	r.t.Helper()
	return r.request(http.MethodGet, path, nil)
}

// request does more than fetch: it has a method, and a header.
func (r *run) request(method, path string, header http.Header) (int, string) {
	r.t.Helper()
	if r.url == "" {
		loading := r.logs.FilterMessage("loading").All()
		if len(loading) == 0 {
			r.t.Fatal("nothing says where the metrics are")
		}
		at, _ := loading[0].ContextMap()["metrics"].(string)
		r.url = strings.TrimSuffix(at, "/metrics")
	}
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// scraped is one scrape.
type scraped map[string]*dto.MetricFamily

func (r *run) scrape() scraped {
	r.t.Helper()
	_, text := r.fetch("/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		r.t.Fatal(err)
	}
	return families
}

// sum adds up the series of a counter or gauge that have a label's value;
// value "" for all.
func (s scraped) sum(name, value string) (total float64) {
	for _, m := range s[name].GetMetric() {
		matches := value == ""
		for _, l := range m.GetLabel() {
			matches = matches || l.GetValue() == value
		}
		if matches {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return total
}

// count is the number of a histogram's observations in all its series.
func (s scraped) count(name string) (n float64) {
	for _, m := range s[name].GetMetric() {
		n += float64(m.GetHistogram().GetSampleCount())
	}
	return n
}

// above is the number of observations that are not in a classic bucket of at
// most the bound, in seconds.
func (s scraped) above(name string, bound float64) (n float64) {
	for _, m := range s[name].GetMetric() {
		h := m.GetHistogram()
		below := uint64(0)
		for _, b := range h.GetBucket() {
			if b.GetUpperBound() <= bound {
				below = b.GetCumulativeCount()
			}
		}
		n += float64(h.GetSampleCount() - below)
	}
	return n
}
