package daemon

import (
	"context"
	"encoding/csv"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"soakline/daemon/arrival"
	"soakline/daemon/batch"
	"soakline/daemon/target"
	"soakline/daemon/workload"
	"soakline/metrics"
)

const (
	speedPairs = 5
	speedFor   = 2 * time.Second
	speedKeys  = 100_000
)

// BenchmarkAgainstRedisBenchmark runs soakline, in closed mode with every reply
// checked and every command recorded, and redis-benchmark in turn on one
// private server, and reports the median ratio of their commands per second.
//
//	go test ./daemon -run '^$' -bench AgainstRedisBenchmark -benchtime 1x
func BenchmarkAgainstRedisBenchmark(b *testing.B) {
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		b.Skip(err)
	}
	server := benchmarkServer(b)
	for _, c := range []struct{ pipeline, connections int }{{1, 8}, {16, 4}, {64, 4}, {256, 4}} {
		b.Run(fmt.Sprintf("pipeline=%d", c.pipeline), func(b *testing.B) {
			for b.Loop() {
				var ratios []float64
				for range speedPairs {
					ours := soaklineSpeed(b, server, c.pipeline, c.connections)
					theirs := redisBenchmarkSpeed(b, server, c.pipeline, c.connections, int(ours*speedFor.Seconds()))
					b.Logf("pipeline %d: soakline %.0f/s, redis-benchmark %.0f/s, ratio %.2f", c.pipeline, ours, theirs, ours/theirs)
					ratios = append(ratios, ours/theirs)
				}
				slices.Sort(ratios)
				b.ReportMetric(ratios[len(ratios)/2], "ratio")
				b.ReportMetric(ratios[0], "ratio-min")
				b.ReportMetric(ratios[len(ratios)-1], "ratio-max")
			}
		})
	}
}

// speedOptions are those of an engine that sends SETs of 3 bytes, as
// redis-benchmark does.
func speedOptions(server *target.Private, process string, commands int) EngineOptions {
	layout := workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: "speed", Keys: speedKeys, ValueSize: 3})
	options := server.Options(target.Options{
		Protocol: 2, DialTimeout: time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second,
	})
	row, _ := arrival.ProcessByName(process)
	writes := layout.NewWrites(8, false)
	return EngineOptions{
		Process: row, Seed: 1, MaxCatchUp: time.Second, Layout: layout, Writes: writes, Mix: []workload.Share{{Kind: workload.Set, Weight: 1}},
		Mode: batch.Pipeline, Limits: batch.Limits{Commands: commands, RequestBytes: 1 << 20, ReplyBytes: 1 << 20, Delay: time.Millisecond},
		Queue:       batch.Queue{Commands: 100_000, Bytes: 64 << 20},
		Connections: 4, ReconnectMin: time.Second, ReconnectMax: time.Second, Log: zap.NewNop(),
		Open: func(ctx context.Context, owner int, generation uint32) (link, error) {
			return target.Open(ctx, &options, target.Seat{Layout: layout, Counters: layout.NewCounters(owner, generation), Writes: writes})
		},
	}
}

// offer runs an engine for d; everything must be ok.
func offer(tb testing.TB, o EngineOptions, d time.Duration) (*metrics.Snapshot, time.Duration) {
	tb.Helper()
	e := NewEngine(o)
	if err := e.Connect(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	e.Start()
	time.Sleep(d)
	e.Drain(time.Second)
	elapsed := e.now()
	s := metrics.NewSnapshot(labels())
	e.Collect(s)
	if err := s.Balance(); err != nil {
		tb.Fatal(err)
	}
	if ok := s.SettledAs(int(workload.OK)); ok != s.Arrivals() {
		tb.Fatalf("%d of %d commands were ok", ok, s.Arrivals())
	}
	return s, elapsed
}

func soaklineSpeed(tb testing.TB, server *target.Private, pipeline, connections int) float64 {
	o := speedOptions(server, "closed", pipeline)
	o.Connections = connections
	s, elapsed := offer(tb, o, speedFor)
	return float64(s.Settled()) / elapsed.Seconds()
}

// BenchmarkScheduleLag reports the generator's own lateness and what it costs:
// p50 and p99 schedule lag in microseconds, and cores used by the generator.
//
//	go test ./daemon -run '^$' -bench ScheduleLag -benchtime 1x
func BenchmarkScheduleLag(b *testing.B) {
	server := benchmarkServer(b)
	for _, spin := range []bool{false, true} {
		for _, rate := range []float64{1_000, 10_000, 100_000, 500_000} {
			b.Run(fmt.Sprintf("spin=%t/rate=%.0f", spin, rate), func(b *testing.B) {
				for b.Loop() {
					o := speedOptions(server, "poisson", 64)
					o.Profile = arrival.Constant(rate)
					o.Spin = spin
					before := cpuTime(b)
					s, elapsed := offer(b, o, 2*speedFor)
					cores := (cpuTime(b) - before).Seconds() / elapsed.Seconds()
					b.ReportMetric(float64(s.ScheduleLag().Quantile(0.5))/1e3, "lag-p50-µs")
					b.ReportMetric(float64(s.ScheduleLag().Quantile(0.99))/1e3, "lag-p99-µs")
					b.ReportMetric(float64(s.QueueingDelay().Quantile(0.99))/1e3, "queueing-p99-µs")
					b.ReportMetric(cores, "cores")
				}
			})
		}
	}
}

// cpuTime is what this process has used so far.
func cpuTime(tb testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func benchmarkServer(b *testing.B) *target.Private {
	b.Helper()
	server, err := target.Start(b.Context())
	if err != nil {
		b.Skip(err)
	}
	b.Cleanup(func() { _ = server.Stop() })
	return server
}

func redisBenchmarkSpeed(tb testing.TB, server *target.Private, pipeline, connections, requests int) float64 {
	out, err := exec.Command("redis-benchmark", "-s", server.Socket, "-t", "set", "-d", "3", "-r", strconv.Itoa(speedKeys),
		"-P", strconv.Itoa(pipeline), "-c", strconv.Itoa(connections), "-n", strconv.Itoa(requests), "--csv").Output()
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	speed, err := strconv.ParseFloat(rows[len(rows)-1][1], 64)
	if err != nil {
		tb.Fatal(err)
	}
	return speed
}
