package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"soakline/daemon/config"
	"soakline/daemon/target"
)

// Each brake trips above its limit and not at it, and says why.
func TestBrakes(t *testing.T) {
	limits := config.Safety{MaxMemoryRatio: 0.9, StopOnEviction: true, MaxErrorRatio: 0.1, MaxRate: 1000}
	for _, tt := range []struct {
		name string
		o    observation
		want string // the brake and its reason; "": none
	}{
		{"nothing known", observation{}, ""},
		{"memory at its limit", observation{full: 0.9}, ""},
		{"memory above it", observation{full: 0.912}, "memory: the target uses 91.2% of its maxmemory, more than safety.max_memory_ratio, 0.9"},
		{"an eviction", observation{evicted: 3}, "eviction: the target has evicted 3 keys, which safety.stop_on_eviction forbids"},
		{"errors at their limit", observation{settled: 100, failed: 10}, ""},
		{"errors above it", observation{settled: 100, failed: 11}, "error_ratio: 11 of the last 100 commands were not ok, more than safety.max_error_ratio, 0.1"},
		{"too few commands for a ratio", observation{settled: 19, failed: 19}, ""},
		{"the rate at its limit", observation{rate: 1000}, ""},
		{"the rate above it", observation{rate: 1200}, "rate: 1200 arrivals a second are more than safety.max_rate, 1000"},
	} {
		b := brakes{limits: limits}
		b.judge(tt.o)
		if got := b.reason(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		off := brakes{}
		if changed := off.judge(tt.o); changed != nil {
			t.Errorf("%s: without limits %v", tt.name, changed)
		}
	}
}

// A brake stays on until it is told otherwise, or, where it may try again, until
// its reason is gone and it has cooled down. A step is a second and how full
// the target is then; the brake is to be on or off after it.
func TestBrakesLetGo(t *testing.T) {
	for resume, want := range map[string]string{
		"never": "0:50 off, 1:95 on, 2:95 on, 30:50 on, 31:50 on, 1000:50 on",
		"auto":  "0:50 off, 1:95 on, 2:95 on, 30:50 on, 31:50 off, 32:95 on, 61:95 on, 62:95 on, 63:89 off",
	} {
		b := brakes{limits: config.Safety{MaxMemoryRatio: 0.9, Resume: resume}}
		var got []string
		for step := range strings.SplitSeq(want, ", ") {
			var at, full int
			if _, err := fmt.Sscanf(step, "%d:%d", &at, &full); err != nil {
				t.Fatal(err)
			}
			changed := b.judge(observation{at: time.Duration(at) * time.Second, full: float64(full) / 100})
			state := "off"
			if b.on()[brakeMemory] {
				state = "on"
			}
			if was := len(got) > 0 && strings.HasSuffix(got[len(got)-1], "on"); len(changed) > 0 != (was != (state == "on")) {
				t.Errorf("%s, at %d s: changed is %v", resume, at, changed)
			}
			got = append(got, fmt.Sprintf("%d:%d %s", at, full, state))
		}
		if got := strings.Join(got, ", "); got != want {
			t.Errorf("%s: %s, want %s", resume, got, want)
		}
	}
}

// A brake on evictions lets go when there are none any more, although there had
// been some. A step is a second and the target's count.
func TestEvictionBrakeLetsGo(t *testing.T) {
	s := safety{brakes: brakes{limits: config.Safety{StopOnEviction: true, Resume: "auto"}}}
	for _, step := range []struct {
		at, evicted int64
		on          bool
	}{{0, 0, false}, {5, 7, true}, {10, 7, true}, {35, 7, false}, {40, 7, false}, {45, 9, true}, {50, 12, true}, {75, 13, true}, {80, 13, false}} {
		s.used(target.Usage{RunID: "a", Evicted: step.evicted, Memory: 1})
		s.brakes.judge(s.observe(observation{at: time.Duration(step.at) * time.Second}))
		if on := s.brakes.on()[brakeEviction]; on != step.on {
			t.Errorf("at %d s, %d evicted: on is %t", step.at, step.evicted, on)
		}
	}
}

// Evictions count from where the load began or last went on, and from 0 in
// another process.
func TestEvictionsCount(t *testing.T) {
	var s safety
	for i, step := range []struct {
		usage target.Usage
		want  int64
	}{
		{target.Usage{RunID: "a", Evicted: 100, Memory: 1}, 0},
		{target.Usage{RunID: "a", Evicted: 105, Memory: 1}, 5},
		{target.Usage{RunID: "b", Evicted: 2, Memory: 1}, 2},
		{target.Usage{RunID: "b", Evicted: 3, Memory: 1}, 3},
		{target.Usage{}, 3}, // not told any more
		{target.Usage{RunID: "c", Evicted: 1000, Uptime: time.Hour, Memory: 1}, 0}, // a process with a past
		{target.Usage{RunID: "c", Evicted: 1001, Uptime: time.Hour, Memory: 1}, 1},
	} {
		s.used(step.usage)
		if got := s.observe(observation{}).evicted; got != step.want {
			t.Errorf("step %d: %d evictions, want %d", i, got, step.want)
		}
	}
}
