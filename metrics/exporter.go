package metrics

import (
	"log"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/promhttp/zstd" // offers zstd to scrapers
	dto "github.com/prometheus/client_model/go"
)

// Exporter serves the table of metrics, and those of the Go runtime and of the
// process.
type Exporter struct {
	registry *prometheus.Registry
}

// NewExporter returns an exporter that calls read once per scrape, and never
// twice at a time. read overwrites the snapshot. Classic time histograms reach
// up to readTimeout, and to a minute at least.
func NewExporter(l *Labels, readTimeout time.Duration, read func(*Snapshot) Gauges) *Exporter {
	e := &Exporter{registry: prometheus.NewRegistry()}
	e.registry.MustRegister(
		newCollector(l, readTimeout, read),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return e
}

// Handler serves scrapes, as text, OpenMetrics or protobuf; native histograms
// are in the last one only. Faults in serving go to errors, and are counted.
func (e *Exporter) Handler(errors *log.Logger) http.Handler {
	return promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{
		ErrorLog:          errors,
		Registry:          e.registry,
		EnableOpenMetrics: true,
	})
}

// collector makes Prometheus' metrics of a snapshot.
type collector struct {
	labels     *Labels
	read       func(*Snapshot) Gauges
	descs      []*prometheus.Desc // of the rows of Table
	inSeconds  *exposition
	inCommands *exposition
	inBytes    *exposition
	mu         sync.Mutex // guards snapshot
	snapshot   *Snapshot
}

func newCollector(l *Labels, readTimeout time.Duration, read func(*Snapshot) Gauges) *collector {
	c := &collector{
		labels:     l,
		read:       read,
		inSeconds:  newExposition(Durations, float64(time.Second), durationBounds(readTimeout)),
		inCommands: newExposition(Sizes, 1, commandsBounds),
		inBytes:    newExposition(Sizes, 1, bytesBounds),
		snapshot:   NewSnapshot(l),
	}
	for _, row := range Table {
		c.descs = append(c.descs, prometheus.NewDesc(row.Name, row.Help, row.Labels, nil))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &scrape{collector: c, gauges: c.read(c.snapshot), metrics: metrics}
	for i, row := range Table {
		s.desc = c.descs[i]
		s.kind = prometheus.GaugeValue
		if row.Type == "counter" {
			s.kind = prometheus.CounterValue
		}
		row.collect(s)
	}
}

// scrape is what a row of Table reads and puts series to.
type scrape struct {
	*collector
	gauges  Gauges
	metrics chan<- prometheus.Metric
	desc    *prometheus.Desc     // of the row
	kind    prometheus.ValueType // of the row, unless it is a histogram
}

func (s *scrape) value(v float64, labels ...string) {
	s.metrics <- prometheus.MustNewConstMetric(s.desc, s.kind, v, labels...)
}

// truth puts 1 for true, 0 for false.
func (s *scrape) truth(v bool, labels ...string) {
	if v {
		s.value(1, labels...)
	} else {
		s.value(0, labels...)
	}
}

// counts puts one series for each value of the only label; nil counts are
// zeros.
func (s *scrape) counts(counts []uint64, label []string) {
	for i, value := range label {
		s.value(float64(at(counts, i)), value)
	}
}

// truths puts one series for each value of the only label; nil is false for
// all.
func (s *scrape) truths(truths []bool, label []string) {
	for i, value := range label {
		s.truth(at(truths, i), value)
	}
}

// at is values[i], or the zero value where values is nil.
func at[T any](values []T, i int) T {
	if values == nil {
		var zero T
		return zero
	}
	return values[i]
}

func (s *scrape) durations(h *Histogram, labels ...string) { s.histogram(s.inSeconds, h, labels) }
func (s *scrape) numbers(h *Histogram, labels ...string)   { s.histogram(s.inCommands, h, labels) }
func (s *scrape) bytes(h *Histogram, labels ...string)     { s.histogram(s.inBytes, h, labels) }

func (s *scrape) histogram(e *exposition, h *Histogram, labels []string) {
	s.metrics <- &histogramMetric{
		desc:      s.desc,
		labels:    prometheus.MakeLabelPairs(s.desc, labels),
		histogram: e.expose(h),
	}
}

// histogramMetric is a histogram in both forms, which no const metric of
// client_golang is.
type histogramMetric struct {
	desc      *prometheus.Desc
	labels    []*dto.LabelPair
	histogram *dto.Histogram
}

// Desc implements prometheus.Metric.
func (m *histogramMetric) Desc() *prometheus.Desc { return m.desc }

// Write implements prometheus.Metric.
func (m *histogramMetric) Write(out *dto.Metric) error {
	out.Label, out.Histogram = m.labels, m.histogram
	return nil
}
