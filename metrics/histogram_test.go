package metrics

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var scales = map[string]Scale{"sizes": Sizes, "durations": Durations}

// values draws values of every magnitude up to 2^most.
func values(most int) *rapid.Generator[[]int64] {
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) int64 {
		v := int64(1) << rapid.IntRange(0, most).Draw(t, "magnitude")
		return rapid.Int64Range(v-1, min(2*v, 1<<most)).Draw(t, "value")
	}))
}

func record(scale Scale, values []int64) *Histogram {
	h := NewHistogram(scale)
	for _, v := range values {
		h.Record(v)
	}
	return h
}

func TestBucketsCoverTheScale(t *testing.T) {
	for name, scale := range scales {
		var end int64
		for i := range buckets {
			lower, upper := scale.bounds(i)
			if lower != end {
				t.Fatalf("%s: bounds(%d) begin at %d, the bucket before ends at %d", name, i, lower, end)
			}
			if first, last := scale.bucket(lower+1), scale.bucket(upper); first != uint(i) || last != uint(i) {
				t.Fatalf("%s: bucket(%d), bucket(%d) = %d, %d, want %d", name, lower+1, upper, first, last, i)
			}
			middle := scale.middle(i)
			for _, v := range []int64{lower + 1, upper} {
				off := math.Abs(float64(middle - v))
				if off > float64(int64(1)<<scale.shift)/2 && off/float64(v) > 1./256 {
					t.Fatalf("%s: the middle %d of bucket %d is off by %v of %d", name, middle, i, off/float64(v), v)
				}
			}
			end = upper
		}
		if want := int64(1) << (topBits + scale.shift); end != want {
			t.Errorf("%s: ends at %d, want %d", name, end, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := scales[rapid.SampledFrom([]string{"sizes", "durations"}).Draw(t, "scale")]
		values := values(topBits).Draw(t, "values")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		h := record(scale, values)
		if len(values) == 0 {
			if got := h.Quantile(q); got != 0 {
				t.Fatalf("Quantile(%v) of nothing = %d", q, got)
			}
			return
		}
		slices.Sort(values)
		want := values[max(int(math.Ceil(q*float64(len(values)))), 1)-1]
		got := h.Quantile(q)
		if off := math.Abs(float64(got - want)); off > float64(int64(1)<<scale.shift)/2 && off > float64(want)/256 {
			t.Fatalf("Quantile(%v) = %d, want %d", q, got, want)
		}
		if got > h.Max() {
			t.Fatalf("Quantile(%v) = %d is above Max() = %d", q, got, h.Max())
		}
	})
}

func TestCountSumMaxAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := values(topBits).Draw(t, "values")
		h := record(Durations, values)
		var total, largest int64
		for _, v := range values {
			total += v
			largest = max(largest, v)
		}
		if h.Count() != uint64(len(values)) || h.Sum() != float64(total) || h.Max() != largest {
			t.Fatalf("Count, Sum, Max = %d, %v, %d, want %d, %d, %d",
				h.Count(), h.Sum(), h.Max(), len(values), total, largest)
		}
		if want := float64(total) / float64(max(len(values), 1)); h.Mean() != want {
			t.Fatalf("Mean() = %v, want %v", h.Mean(), want)
		}
	})
}

func TestAddIsRecordAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := values(topBits+2).Draw(t, "first"), values(topBits+2).Draw(t, "second")
		h := record(Sizes, first)
		h.Add(record(Sizes, second))
		if *h != *record(Sizes, slices.Concat(first, second)) {
			t.Fatal("adding two histograms differs from recording all values in one")
		}
		h.Reset()
		if *h != *NewHistogram(Sizes) {
			t.Fatal("something is left after Reset")
		}
	})
}

func TestSubIsTheInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := values(topBits+2).Draw(t, "first"), values(topBits+2).Draw(t, "second")
		got := record(Sizes, slices.Concat(first, second))
		overall := got.Max()
		got.Sub(record(Sizes, first))
		want := record(Sizes, second)
		if got.Max() < want.Max() || got.Max() > overall ||
			want.Overflow() == 0 && float64(got.Max()-want.Max()) > float64(want.Max())/128 {
			t.Fatalf("Max() of the interval = %d, exact %d, overall %d", got.Max(), want.Max(), overall)
		}
		got.max = want.max
		if *got != *want {
			t.Fatal("the difference of two histograms is not the interval")
		}
	})
}

func TestOverflowIsVisible(t *testing.T) {
	const top = 1 << (topBits + 3)
	h := record(Durations, []int64{5, top, top + 1, math.MaxInt64})
	if h.Count() != 4 || h.Overflow() != 2 || h.Max() != math.MaxInt64 {
		t.Errorf("Count, Overflow, Max = %d, %d, %d, want 4, 2, %d", h.Count(), h.Overflow(), h.Max(), math.MaxInt64)
	}
	if got := h.Quantile(0.75); got != math.MaxInt64 {
		t.Errorf("Quantile(0.75) = %d, want the maximum", got)
	}
	if got := h.Quantile(0.5); math.Abs(float64(got)/top-1) > 1./256 {
		t.Errorf("Quantile(0.5) = %d, want %d", got, top)
	}
}

func TestLessThanZeroCountsAsZero(t *testing.T) {
	h := record(Durations, []int64{math.MinInt64, -1, 0})
	if *h != *record(Durations, []int64{0, 0, 0}) {
		t.Error("negative values differ from zeros")
	}
	if h.Count() != 3 || h.Sum() != 0 || h.Quantile(1) != 0 {
		t.Errorf("Count, Sum, Quantile(1) = %d, %v, %d, want 3, 0, 0", h.Count(), h.Sum(), h.Quantile(1))
	}
}

func TestSumOutlivesSixtyFourBits(t *testing.T) {
	recorded, added := NewHistogram(Sizes), NewHistogram(Sizes)
	for range 5 {
		recorded.Record(math.MaxInt64)
		added.Add(record(Sizes, []int64{math.MaxInt64}))
	}
	if want := 5 * math.Ldexp(1, 63); recorded.Sum() != want || added.Sum() != want {
		t.Errorf("Sum() recorded, added = %v, %v, want %v", recorded.Sum(), added.Sum(), want)
	}
	added.Sub(record(Sizes, []int64{math.MaxInt64, math.MaxInt64, math.MaxInt64}))
	if want := 2 * math.Ldexp(1, 63); added.Sum() != want {
		t.Errorf("Sum() of the interval = %v, want %v", added.Sum(), want)
	}
}

func BenchmarkRecord(b *testing.B) {
	h := NewHistogram(Durations)
	var v int64
	for b.Loop() {
		v = (v + 7919) & 0xfffff
		h.Record(v)
	}
}
