package metrics

import (
	"bufio"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var someGauges = Gauges{
	Build:             Build{Version: "0.1.0", Revision: "abc123", GoVersion: "go1.26.0"},
	Target:            Target{Server: "redis", Version: "8.0.0", Mode: "private", Topology: "standalone", Persistence: "none"},
	OfferedRate:       5000,
	OpenLoop:          true,
	GeneratorValid:    true,
	BatchCommands:     64,
	BatchRequestBytes: 64 << 10,
	BatchReplyBytes:   256 << 10,
	BatchDelay:        time.Millisecond,
	QueueCommands:     100_000,
	QueueBytes:        64 << 20,

	UncertainExecuted:    31,
	UncertainNotExecuted: 32,
	TargetChanges:        []uint64{21, 22, 23},
	Brakes:               []bool{false, true, false},
}

// someLane is a lane on which every kind of thing has happened.
func someLane() Lane {
	lane := newLane(2)
	l := lane.Ledger
	l.Arrivals = []uint64{15, 7}
	l.Shed = []uint64{2, 1}
	l.Settled[set][abandoned] = 1
	l.QueuedCommands, l.QueuedBytes = 3, 120

	r := lane.Recorders[0]
	r.Opened()
	settle(r, 9)
	lose(r, 8)
	r.Settle()
	r.Sent(set, errorReply, Times{Response: 32 * time.Microsecond, Queueing: 12 * time.Microsecond, Lag: 12 * time.Microsecond})
	r.ErrorReply(codeErr)
	r.Sent(get, ok, Times{Response: 32*time.Microsecond + 1, Queueing: 12*time.Microsecond + 1, Lag: 12 * time.Microsecond, Formation: 1})
	r.Read(false)
	r.Exchange(Exchange{
		Service: 20 * time.Microsecond, Mode: single, Flush: full, Commands: 2, RequestBytes: 256, ReplyBytes: 1 << 31, RoundTrips: 1,
	})
	r.Done()
	r.Settle()
	r.Unsent(set, unsent)
	r.Done()
	r.Failed(dialFault)
	r.Opened()
	lane.Recorders[1].Begin(3)
	return lane
}

// pedantic returns a registry that refuses what Prometheus would not expect,
// and holds a collector of lanes and of gauges.
func pedantic(gauges Gauges, lanes ...Lane) *prometheus.Registry {
	totals := NewTotals(labels, lanes)
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(newCollector(labels, 5*time.Second, func(s *Snapshot) Gauges {
		totals.Collect(s)
		return gauges
	}))
	return r
}

func gather(t *testing.T, g prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, family := range families {
		byName[family.GetName()] = family
	}
	return byName
}

func tableNames() []string {
	var names []string
	for _, row := range Table {
		names = append(names, row.Name)
	}
	return names
}

func TestGoldenExposition(t *testing.T) {
	lane := someLane()
	s := NewSnapshot(labels)
	NewTotals(labels, []Lane{lane}).Collect(s)
	if err := s.Balance(); err != nil {
		t.Fatal(err)
	}
	handler := promhttp.HandlerFor(pedantic(someGauges, someLane()), promhttp.HandlerOpts{})
	got, err := io.ReadAll(scrapeFor(t, handler, nil).Body)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "exposition.txt")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Fatalf("line %d differs (-update accepts it):\ngot  %s\nwant %s", i+1, gotLines[i], wantLines[i])
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Errorf("%d lines, want %d (-update accepts it)", len(gotLines), len(wantLines))
	}
}

func TestEverySeriesIsThereAtZeroFromTheFirstScrape(t *testing.T) {
	sizes := map[string]int{
		"soakline_response_time_seconds":     len(labels.Commands),
		"soakline_service_time_seconds":      len(labels.Modes),
		"soakline_arrivals_total":            len(labels.Commands),
		"soakline_commands_total":            len(labels.Commands) * len(labels.Outcomes),
		"soakline_shed_commands_total":       len(labels.Shed),
		"soakline_error_replies_total":       len(labels.Codes),
		"soakline_batches_total":             len(labels.Flushes),
		"soakline_reads_total":               2,
		"soakline_uncertain_resolved_total":  2,
		"soakline_connection_failures_total": len(labels.Failures),
		"soakline_target_changes_total":      len(labels.Facts),
		"soakline_brake":                     len(labels.Brakes),
	}
	families := gather(t, pedantic(Gauges{}, newLane(1)))
	if len(families) != len(Table) {
		t.Errorf("%d metrics, the table has %d", len(families), len(Table))
	}
	for _, row := range Table {
		family := families[row.Name]
		if family == nil {
			t.Errorf("%s is missing", row.Name)
			continue
		}
		if got := strings.ToLower(family.GetType().String()); got != row.Type {
			t.Errorf("%s is a %s, the table says %s", row.Name, got, row.Type)
		}
		if want := max(sizes[row.Name], 1); len(family.Metric) != want {
			t.Errorf("%s has %d series, want %d", row.Name, len(family.Metric), want)
		}
		for _, m := range family.Metric {
			if len(m.Label) != len(row.Labels) {
				t.Errorf("%s has labels %v, the table says %v", row.Name, m.Label, row.Labels)
			}
			if row.Type == "counter" && m.Counter.GetValue() != 0 {
				t.Errorf("%s%v = %v", row.Name, m.Label, m.Counter.GetValue())
			}
			if row.Type == "gauge" && !strings.HasSuffix(row.Name, "_info") && m.Gauge.GetValue() != 0 {
				t.Errorf("%s%v = %v", row.Name, m.Label, m.Gauge.GetValue())
			}
			if h := m.Histogram; h != nil && (h.GetSampleCount() != 0 || h.GetSampleSum() != 0) {
				t.Errorf("%s%v has %d observations", row.Name, m.Label, h.GetSampleCount())
			}
		}
	}
}

func TestLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(pedantic(someGauges, someLane()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// scrapeFor asks a handler for metrics as Prometheus does.
func scrapeFor(t *testing.T, h http.Handler, header http.Header) *http.Response {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header = header
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	response := recorder.Result()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s", response.Status)
	}
	return response
}

func newHandler(t testing.TB, lane Lane) http.Handler {
	totals := NewTotals(labels, []Lane{lane})
	e := NewExporter(labels, 5*time.Second, func(s *Snapshot) Gauges {
		totals.Collect(s)
		return someGauges
	})
	return e.Handler(log.New(t.Output(), "", 0))
}

func TestHandlerServesText(t *testing.T) {
	body, err := io.ReadAll(scrapeFor(t, newHandler(t, someLane()), nil).Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(tableNames(), "go_goroutines", "process_start_time_seconds", "promhttp_metric_handler_errors_total") {
		if !strings.Contains(string(body), "\n# TYPE "+name+" ") {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestHandlerServesOpenMetrics(t *testing.T) {
	response := scrapeFor(t, newHandler(t, someLane()), http.Header{"Accept": {"application/openmetrics-text; version=1.0.0"}})
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(body), "# EOF\n") {
		t.Error("the exposition does not end as OpenMetrics does")
	}
}

func TestHandlerOffersZstd(t *testing.T) {
	response := scrapeFor(t, newHandler(t, someLane()), http.Header{"Accept-Encoding": {"zstd"}})
	if got := response.Header.Get("Content-Encoding"); got != "zstd" {
		t.Errorf("Content-Encoding = %q", got)
	}
}

func TestHandlerServesNativeHistograms(t *testing.T) {
	response := scrapeFor(t, newHandler(t, someLane()), http.Header{
		"Accept": {"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"},
	})
	body := bufio.NewReader(response.Body)
	var histograms int
	for {
		var family dto.MetricFamily
		err := protodelim.UnmarshalFrom(body, &family)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(family.GetName(), "soakline_") || family.GetType() != dto.MetricType_HISTOGRAM {
			continue
		}
		histograms++
		for _, m := range family.Metric {
			native := int64(m.Histogram.GetZeroCount())
			for _, n := range nativeBuckets(m.Histogram) {
				native += n
			}
			if n := m.Histogram.GetSampleCount(); native != int64(n) || len(m.Histogram.Bucket) == 0 {
				t.Errorf("%s%v: %d in native buckets, %d classic buckets, count %d",
					family.GetName(), m.Label, native, len(m.Histogram.Bucket), n)
			}
		}
	}
	if histograms != 9 {
		t.Errorf("%d histograms, want 9", histograms)
	}
}

func BenchmarkScrape(b *testing.B) {
	lane := someLane()
	h := newHandler(b, lane)
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	for b.Loop() {
		settle(lane.Recorders[0], 64)
		h.ServeHTTP(httptest.NewRecorder(), request)
	}
}
