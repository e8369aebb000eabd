package workload_test

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"soakline/daemon/workload"
)

// kinds are all kinds of commands.
var kinds = []workload.Kind{workload.Get, workload.Set, workload.Incr}

// encoded is the RESP encoding of a request.
func encoded(arguments []string) string {
	var s strings.Builder
	s.WriteString(fmt.Sprintf("*%d\r\n", len(arguments)))
	for _, a := range arguments {
		s.WriteString(bulk(a))
	}
	return s.String()
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// forEachLayout runs test under layouts of all sizes that are told apart.
func forEachLayout(t *testing.T, test func(t *testing.T, l *workload.Layout)) {
	for _, ttl := range []time.Duration{0, 9 * time.Second, time.Hour} {
		for _, size := range []int{1, 3, 19, 20, 27, 28, 100, 4096} {
			for _, keys := range []uint64{1, 10, 10_000, 1 << 40} {
				t.Run(fmt.Sprintf("ttl %v, %d B, %d keys", ttl, size, keys), func(t *testing.T) {
					test(t, workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: "r1", Keys: keys, ValueSize: size, TTL: ttl}))
				})
			}
		}
	}
}

func TestRequestBytesAreThoseOfTheEncodedRequest(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l *workload.Layout) {
		var a workload.Args
		counters := l.NewCounters(3, 1<<31)
		for _, kind := range kinds {
			for _, key := range []uint64{0, l.Keys / 2, l.Keys - 1} {
				c := workload.Command{Kind: kind, Key: key, Version: 1 << 50}
				l.Args(&a, c, counters)
				if got, want := l.RequestBytes(kind), len(encoded(a.Strings)); got != want {
					t.Errorf("RequestBytes(%v) = %d, but %q takes %d", kind, got, a.Strings, want)
				}
			}
		}
	})
}

func TestReplyBytesAreThoseOfTheExpectedReply(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l *workload.Layout) {
		for kind, reply := range map[workload.Kind]string{
			workload.Get:  bulk(string(l.AppendValue(nil, 0, 1))),
			workload.Set:  "+OK\r\n",
			workload.Incr: ":9223372036854775807\r\n",
		} {
			if got := l.ReplyBytes(kind); got != len(reply) {
				t.Errorf("ReplyBytes(%v) = %d, but %q takes %d", kind, got, reply, len(reply))
			}
		}
	})
}

func TestArgs(t *testing.T) {
	layout := workload.Layout{Prefix: "soakline:", Run: "r1", Keys: 4096, ValueSize: 40, TTL: time.Hour}
	l := workload.NewLayout(layout)
	layout.TTL = 0
	forEver := workload.NewLayout(layout)
	value := string(l.AppendValue(nil, 10, 7))
	for _, tt := range []struct {
		layout *workload.Layout
		c      workload.Command
		want   []string
	}{
		{l, workload.Command{Kind: workload.Get, Key: 10}, []string{"get", "soakline:r1:k00a"}},
		{l, workload.Command{Kind: workload.Set, Key: 10, Version: 7}, []string{"set", "soakline:r1:k00a", value, "ex", "3600"}},
		{forEver, workload.Command{Kind: workload.Set, Key: 10, Version: 7}, []string{"set", "soakline:r1:k00a", value}},
		{l, workload.Command{Kind: workload.Incr, Key: 10}, []string{"incr", "soakline:r1:c00020000000f0a"}},
		{l, workload.Command{Kind: workload.Incr, Key: 16 + 10}, []string{"incr", "soakline:r1:c00020000000f0a"}},
	} {
		var a workload.Args
		tt.layout.Args(&a, tt.c, l.NewCounters(2, 15))
		if got := fmt.Sprintf("%q", a.Strings); got != fmt.Sprintf("%q", tt.want) {
			t.Errorf("Args(%+v) = %s, want %q", tt.c, got, tt.want)
		}
	}
}

// An INCR goes to a counter that Names lists, Key and Counter say what Args
// sends, and a key's name says its number.
func TestNamesAreThoseOfArgs(t *testing.T) {
	forEachLayout(t, func(t *testing.T, l *workload.Layout) {
		counters := l.NewCounters(1, 2)
		names := l.Names(counters)
		var a workload.Args
		for _, key := range []uint64{0, l.Keys / 2, l.Keys - 1} {
			l.Args(&a, workload.Command{Kind: workload.Incr, Key: key}, counters)
			slot := int(key % 16)
			if slot >= len(names) || a.Strings[1] != names[slot] || a.Strings[1] != l.Counter(counters, slot) {
				t.Errorf("an INCR of key %d goes to %s, not among %q", key, a.Strings[1], names)
			}
			l.Args(&a, workload.Command{Kind: workload.Get, Key: key}, counters)
			if a.Strings[1] != l.Key(key) {
				t.Errorf("a GET of key %d goes to %s, want %s", key, a.Strings[1], l.Key(key))
			}
			number, err := strconv.ParseUint(strings.TrimPrefix(l.Key(key), "soakline:r1:k"), 16, 64)
			if number != key || err != nil {
				t.Errorf("key %d is named %s", key, l.Key(key))
			}
		}
	})
}

// Two runs, two connections of a run, and two generations of a connection
// never share a counter, and two runs never share a key; no counter is a key.
func TestNamesAreNeverShared(t *testing.T) {
	type owner struct {
		run        string
		connection int
		generation uint32
	}
	owners := rapid.Custom(func(t *rapid.T) owner {
		return owner{
			run:        rapid.StringMatching(`[a-f0-9ck]{1,6}`).Draw(t, "run"),
			connection: rapid.IntRange(0, 1<<16-1).Draw(t, "connection"),
			generation: rapid.Uint32().Draw(t, "generation"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := owners.Draw(t, "a"), owners.Draw(t, "b")
		// Mostly they differ in one thing.
		if rapid.Bool().Draw(t, "same run") {
			b.run = a.run
		}
		if rapid.Bool().Draw(t, "same connection") {
			b.connection = a.connection
		}
		if rapid.Bool().Draw(t, "same generation") {
			b.generation = a.generation
		}
		names := func(o owner) (counters, keys []string) {
			l := workload.NewLayout(workload.Layout{
				Prefix: "p:", Run: o.run, ValueSize: 20,
				Keys: rapid.SampledFrom([]uint64{3, 300, 1 << 40}).Draw(t, "keys"),
			})
			for range 20 {
				keys = append(keys, l.Key(rapid.Uint64Range(0, l.Keys-1).Draw(t, "key")))
			}
			return l.Names(l.NewCounters(o.connection, o.generation)), keys
		}
		ofA, keysOfA := names(a)
		ofB, keysOfB := names(b)
		seen := map[string]string{}
		claim := func(who string, names []string) {
			for _, name := range names {
				if other, taken := seen[name]; taken && other != who {
					t.Fatalf("%s belongs to %s and to %s", name, other, who)
				}
				if !strings.HasPrefix(name, "p:") {
					t.Fatalf("%s is not under the prefix", name)
				}
				seen[name] = who
			}
		}
		claim(fmt.Sprintf("counters of %+v", a), ofA)
		claim(fmt.Sprintf("counters of %+v", b), ofB)
		claim("keys of run "+a.run, keysOfA)
		claim("keys of run "+b.run, keysOfB)
		distinct := map[string]bool{}
		for _, name := range ofA {
			distinct[name] = true
		}
		if len(distinct) != len(ofA) {
			t.Fatalf("%d counters have %d names", len(ofA), len(distinct))
		}
	})
}

// What a run removes is all that it wrote, and nothing of another run.
func TestPatternMatchesTheRunsOwnKeys(t *testing.T) {
	layout := func(run string) *workload.Layout {
		return workload.NewLayout(workload.Layout{Prefix: "p:", Run: run, Keys: 10, ValueSize: 20})
	}
	pattern := layout("r1").Pattern()
	for _, run := range []string{"r1", "r", "r11", "r2", "1", "k"} {
		l := layout(run)
		for _, name := range append(l.Names(l.NewCounters(1, 2)), l.Key(0), l.Key(9)) {
			matches, err := path.Match(pattern, name)
			if err != nil || matches != (run == "r1") {
				t.Errorf("%s matches %s of run %s: %t, %v", pattern, name, run, matches, err)
			}
		}
	}
}
