package metrics

import (
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// exposition says how histograms of one unit are exposed: from the same
// buckets, as a classic and as a native histogram.
//
// Classic buckets end on the grid of the scale, and are exact. A bucket that
// straddles the border of two native ones goes where its middle lies, so that
// values within 0.4% of a border (or 4 ns) may be counted on its other side.
// Values above the scale's top are in the classic +Inf bucket only, and in the
// native bucket of the maximum.
type exposition struct {
	scale  Scale
	per    float64 // so many of the histogram's units are one of the exposed unit
	bounds []int64 // upper bounds of the classic buckets, on the scale's grid
	native []int   // by bucket: the index of its native bucket
}

const (
	schema        = 3        // of native histograms: growth by 2^(1/8) = 1.09
	zeroThreshold = 0x1p-128 // client_golang's: only 0 itself is below
)

func newExposition(scale Scale, per float64, bounds []int64) *exposition {
	e := &exposition{scale: scale, per: per, bounds: bounds, native: make([]int, buckets)}
	for i := range e.native {
		e.native[i] = e.nativeIndex(scale.middle(i))
	}
	return e
}

// durationBounds are 32 µs·2^k and 45.312 µs·2^k, in nanoseconds: growth by √2,
// rounded to the grid. The last is the first that is not below the read timeout
// and a minute (nor, to stay below the scale's top, 73 minutes).
func durationBounds(readTimeout time.Duration) []int64 {
	last := int64(min(max(readTimeout, time.Minute), 1<<42))
	var bounds []int64
	for k := 0; ; k++ {
		for _, v := range []int64{32_000 << k, 45_312 << k} {
			bounds = append(bounds, v)
			if v >= last {
				return bounds
			}
		}
	}
}

// Bounds of the classic buckets of sizes.
var (
	commandsBounds = powers(1, 65_536, 2)
	bytesBounds    = powers(64, 1<<30, 4)
)

// powers are the numbers from first to last, each factor times the one before.
func powers(first, last, factor int64) []int64 {
	var bounds []int64
	for v := first; v <= last; v *= factor {
		bounds = append(bounds, v)
	}
	return bounds
}

// nativeIndex is the k of the native bucket (2^((k-1)/8), 2^(k/8)] that holds
// v > 0.
func (e *exposition) nativeIndex(v int64) int {
	return int(math.Ceil((1 << schema) * math.Log2(float64(v)/e.per)))
}

// expose returns h in both forms.
func (e *exposition) expose(h *Histogram) *dto.Histogram {
	out := &dto.Histogram{
		SampleCount:   new(h.Count()),
		SampleSum:     new(h.Sum() / e.per),
		Schema:        proto.Int32(schema),
		ZeroThreshold: new(zeroThreshold),
		ZeroCount:     new(h.zeros),
	}
	used := h.used()
	seen, from := h.zeros, 0
	for _, bound := range e.bounds {
		to := min(int(e.scale.bucket(bound))+1, len(used))
		seen += sum(used[from:to])
		from = to
		out.Bucket = append(out.Bucket, &dto.Bucket{
			UpperBound:      new(float64(bound) / e.per),
			CumulativeCount: new(seen),
		})
	}

	var native spans
	for i, n := range used {
		if n > 0 {
			native.add(e.native[i], n)
		}
	}
	if h.overflow > 0 {
		native.add(e.nativeIndex(h.max), h.overflow)
	}
	out.PositiveSpan, out.PositiveDelta = native.spans, native.deltas
	return out
}

// spans are native buckets as they are encoded: runs of buckets, each count as
// the difference from the one before.
type spans struct {
	spans  []*dto.BucketSpan
	deltas []int64
	index  int   // of the last bucket
	count  int64 // of the last bucket
}

// add counts n in the bucket index, which is not below the last one.
func (s *spans) add(index int, n uint64) {
	switch gap := index - s.index - 1; {
	case s.spans == nil:
		s.spans = append(s.spans, &dto.BucketSpan{Offset: new(int32(index)), Length: proto.Uint32(0)})
	case gap < 0:
		s.deltas[len(s.deltas)-1] += int64(n)
		s.count += int64(n)
		return
	case gap > 0:
		s.spans = append(s.spans, &dto.BucketSpan{Offset: new(int32(gap)), Length: proto.Uint32(0)})
	}
	*s.spans[len(s.spans)-1].Length++
	s.deltas = append(s.deltas, int64(n)-s.count)
	s.index, s.count = index, int64(n)
}
