package metrics

import (
	"math"
	"sort"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"
)

var expositions = map[string]*exposition{
	"seconds":  newExposition(Durations, 1e9, durationBounds(5*time.Second)),
	"commands": newExposition(Sizes, 1, commandsBounds),
	"bytes":    newExposition(Sizes, 1, bytesBounds),
}

// nativeBuckets decodes spans and deltas.
func nativeBuckets(h *dto.Histogram) map[int]int64 {
	buckets := map[int]int64{}
	index, i, count := 0, 0, int64(0)
	for _, span := range h.PositiveSpan {
		index += int(span.GetOffset())
		for range span.GetLength() {
			count += h.PositiveDelta[i]
			buckets[index] = count
			index++
			i++
		}
	}
	return buckets
}

func TestClassicBoundsLieOnTheGrid(t *testing.T) {
	for name, e := range expositions {
		for _, bound := range e.bounds {
			if _, upper := e.scale.bounds(int(e.scale.bucket(bound))); upper != bound {
				t.Errorf("%s: bound %d is within a bucket that ends at %d", name, bound, upper)
			}
		}
	}
}

func TestDurationBounds(t *testing.T) {
	tests := []struct {
		readTimeout time.Duration
		last        float64 // seconds
	}{
		{0, 67.108864},
		{67108864 * time.Microsecond, 67.108864},
		{67108864*time.Microsecond + 1, 95.026151424},
		{5 * time.Minute, 380.104605696},
		{math.MaxInt64, 6081.673691136},
	}
	for _, test := range tests {
		bounds := durationBounds(test.readTimeout)
		if got := float64(bounds[len(bounds)-1]) / 1e9; got != test.last {
			t.Errorf("durationBounds(%v) end at %v s, want %v s", test.readTimeout, got, test.last)
		}
		for i := range bounds[1:] {
			if growth := float64(bounds[i+1]) / float64(bounds[i]); math.Abs(growth/math.Sqrt2-1) > 0.002 {
				t.Errorf("durationBounds(%v) grow by %v after %d ns", test.readTimeout, growth, bounds[i])
			}
		}
	}
}

func TestBoundsPrintCleanly(t *testing.T) {
	h := expositions["seconds"].expose(NewHistogram(Durations))
	for i, want := range []string{"3.2e-05", "4.5312e-05", "6.4e-05", "9.0624e-05", "0.000128"} {
		if got := strconv.FormatFloat(h.Bucket[i].GetUpperBound(), 'g', -1, 64); got != want {
			t.Errorf("le %d = %s, want %s", i, got, want)
		}
	}
}

// Both forms are compared with client_golang's own histogram of the same
// values: the classic one is equal; the native one may differ by values that
// are as near to a bucket's border as the exposition says.
func TestBothFormsAgreeWithExactValues(t *testing.T) {
	for name, e := range expositions {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			values := values(topBits+int(e.scale.shift)).Draw(t, "values")
			for _, bound := range rapid.SliceOf(rapid.SampledFrom(e.bounds)).Draw(t, "bounds") {
				values = append(values, bound+rapid.Int64Range(-1, 1).Draw(t, "beside"))
			}
			got := e.expose(record(e.scale, values))
			want := reference(e, values)

			if got.GetSampleCount() != want.GetSampleCount() {
				t.Fatalf("count %d, want %d", got.GetSampleCount(), want.GetSampleCount())
			}
			if off := math.Abs(got.GetSampleSum() - want.GetSampleSum()); off > 1e-12*want.GetSampleSum() {
				t.Fatalf("sum %v, want %v", got.GetSampleSum(), want.GetSampleSum())
			}
			for i, b := range want.Bucket {
				if g := got.Bucket[i]; g.GetUpperBound() != b.GetUpperBound() || g.GetCumulativeCount() != b.GetCumulativeCount() {
					t.Fatalf("classic bucket %v, want %v", g, b)
				}
			}

			if got.GetSchema() != want.GetSchema() || got.GetZeroThreshold() != want.GetZeroThreshold() || got.GetZeroCount() != want.GetZeroCount() {
				t.Fatalf("native schema, zero threshold, zero count = %d, %v, %d, want %d, %v, %d",
					got.GetSchema(), got.GetZeroThreshold(), got.GetZeroCount(),
					want.GetSchema(), want.GetZeroThreshold(), want.GetZeroCount())
			}
			total := int64(got.GetZeroCount())
			for index, n := range nativeBuckets(got) {
				if n <= 0 {
					t.Fatalf("native bucket %d holds %d", index, n)
				}
				total += n
			}
			if total != int64(len(values)) {
				t.Fatalf("native buckets hold %d of %d values", total, len(values))
			}
			checkNative(t, e, nativeBuckets(got), values)
		}))
	}
}

// reference is client_golang's histogram of values.
func reference(e *exposition, values []int64) *dto.Histogram {
	var bounds []float64
	for _, bound := range e.bounds {
		bounds = append(bounds, float64(bound)/e.per)
	}
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "reference", Buckets: bounds, NativeHistogramBucketFactor: 1.1})
	for _, v := range values {
		h.Observe(float64(v) / e.per)
	}
	var m dto.Metric
	if err := h.Write(&m); err != nil {
		panic(err)
	}
	return m.Histogram
}

// checkNative checks for each border 2^(k/8) that as many values are counted
// below it as there are, up to those that lie next to it.
func checkNative(t *rapid.T, e *exposition, native map[int]int64, values []int64) {
	var indices []int
	for index := range native {
		indices = append(indices, index, index-1)
	}
	sort.Ints(indices)
	for _, border := range indices {
		var got, least, most int64
		for index, n := range native {
			if index <= border {
				got += n
			}
		}
		at := math.Exp2(float64(border)/8) * e.per
		straddle := max(at/256, float64(int64(1)<<e.scale.shift)/2)
		for _, v := range values {
			if v == 0 {
				continue
			}
			if float64(v) <= at-straddle {
				least++
			}
			if float64(v) < at+straddle {
				most++
			}
		}
		if got < least || got > most {
			t.Fatalf("%d values up to 2^(%d/8), want %d to %d", got, border, least, most)
		}
	}
}

func TestPowersOfTwoAreTheirOwnNativeBuckets(t *testing.T) {
	e := expositions["commands"]
	for k := range 8 { // below 256, where buckets are exact
		native := nativeBuckets(e.expose(record(Sizes, []int64{1 << k})))
		if native[8*k] != 1 {
			t.Errorf("%d is in the native buckets %v, want %d", 1<<k, native, 8*k)
		}
	}
}

func TestOverflowIsExposed(t *testing.T) {
	const top = 1 << (topBits + 3)
	e := expositions["seconds"]
	h := e.expose(record(Durations, []int64{1000, top + 1, 4 * top}))
	last := h.Bucket[len(h.Bucket)-1]
	if h.GetSampleCount() != 3 || last.GetCumulativeCount() != 1 {
		t.Errorf("count, last bucket = %d, %d, want 3, 1", h.GetSampleCount(), last.GetCumulativeCount())
	}
	native := nativeBuckets(h)
	if highest := e.nativeIndex(4 * top); native[highest] != 2 || len(native) != 2 {
		t.Errorf("native buckets %v, want 2 in %d", native, highest)
	}
}
