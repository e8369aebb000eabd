package workload_test

import (
	"math/rand/v2"
	"testing"

	"soakline/daemon/workload"
)

func seeded(seed uint64) rand.Source { return rand.NewPCG(seed, 11) }

var mix = []workload.Share{
	{Kind: workload.Get, Weight: 70},
	{Kind: workload.Set, Weight: 20},
	{Kind: workload.Incr, Weight: 10},
}

// chiSquared is Pearson's statistic of counts against shares of their sum.
func chiSquared(counts, shares []float64) float64 {
	var n, x float64
	for _, c := range counts {
		n += c
	}
	for i, c := range counts {
		d := c - n*shares[i]
		x += d * d / (n * shares[i])
	}
	return x
}

func TestSharesFollowWeights(t *testing.T) {
	s := sized(100).NewSource(mix, seeded(1))
	counts := make([]float64, len(mix))
	for range 100_000 {
		counts[s.Next().Kind]++
	}
	// The critical value at the 0.1% level, 2 degrees of freedom.
	if x := chiSquared(counts, []float64{0.7, 0.2, 0.1}); x > 13.8 {
		t.Errorf("χ² of %v against 70:20:10 is %.1f, want at most 13.8", counts, x)
	}
}

func TestKeysAreUniform(t *testing.T) {
	const keys = 100
	l := workload.NewLayout(workload.Layout{Run: "r1", Keys: keys, ValueSize: 20})
	s := l.NewSource(mix, seeded(1))
	counts := make([]float64, keys)
	shares := make([]float64, keys)
	for i := range shares {
		shares[i] = 1.0 / keys
	}
	for range 100_000 {
		counts[s.Next().Key]++ // panics on a key outside the space
	}
	// The critical value at the 0.1% level, 99 degrees of freedom.
	if x := chiSquared(counts, shares); x > 149 {
		t.Errorf("χ² of the keys is %.1f, want at most 149", x)
	}
}

func TestCommandsAreComplete(t *testing.T) {
	l := sized(100)
	s := l.NewSource(mix, seeded(1))
	version := uint64(workload.Preloaded)
	for range 1000 {
		c := s.Next()
		if c.Intended != 0 || int(c.RequestBytes) != l.RequestBytes(c.Kind) || int(c.ReplyBytes) != l.ReplyBytes(c.Kind) {
			t.Fatalf("drew %+v", c)
		}
		var want uint64
		if c.Kind == workload.Set {
			version++
			want = version
		}
		if c.Version != want {
			t.Fatalf("drew %+v, want version %d", c, want)
		}
	}
}

func TestMixOfOne(t *testing.T) {
	for _, kind := range kinds {
		s := sized(100).NewSource([]workload.Share{{Kind: kind, Weight: 0.1}}, seeded(1))
		for range 100 {
			if c := s.Next(); c.Kind != kind {
				t.Fatalf("a mix of %v alone drew %v", kind, c.Kind)
			}
		}
	}
}

func TestSameSeedSameCommands(t *testing.T) {
	draw := func(seed uint64) (drawn [1000]workload.Command) {
		s := sized(100).NewSource(mix, seeded(seed))
		for i := range drawn {
			drawn[i] = s.Next()
		}
		return drawn
	}
	if first := draw(1); first != draw(1) {
		t.Error("two sources of seed 1 differ")
	}
	if draw(1) == draw(2) {
		t.Error("the sources of seeds 1 and 2 are the same")
	}
}

func TestKindByName(t *testing.T) {
	names := workload.CommandNames()
	if len(names) != len(kinds) {
		t.Fatalf("CommandNames() = %q", names)
	}
	for i, want := range []string{"get", "set", "incr"} {
		kind, found := workload.KindByName(want)
		if kind != kinds[i] || !found || kind.String() != want || names[kind] != want {
			t.Errorf("KindByName(%q) = %v, %t", want, kind, found)
		}
		if writes := workload.Commands[kind].Writes; writes != (kind != workload.Get) {
			t.Errorf("%v writes: %t", kind, writes)
		}
	}
	for _, name := range []string{"", "GET", "mget"} {
		if kind, found := workload.KindByName(name); found {
			t.Errorf("KindByName(%q) = %v", name, kind)
		}
	}
}
