package metrics

import (
	"math"
	"math/bits"
)

// Scale says where a histogram's buckets lie. In units of its narrowest ones
// they are (u, u+1] up to 256, then 128 of equal width for each octave up to
// 2⁴⁰. They are closed above, as Prometheus' le is, so that a classic bucket
// that ends on this grid is exact.
type Scale struct {
	shift uint   // the unit is 2^shift
	floor uint64 // 256 units - 1: its bits make narrower octaves look like the linear range
	skip  uint   // the index that the first bucket would have without a linear range
}

var (
	// Sizes is the scale of plain numbers: exact up to 256, then within 0.4%
	// up to 2⁴⁰.
	Sizes = newScale(0)
	// Durations is the scale of nanoseconds: within 4 ns up to 2048 ns, then
	// within 0.4% up to 2⁴³ ns (2.4 h).
	Durations = newScale(3)
)

const (
	octaveBits = 7 // 128 buckets an octave: half a bucket is 2⁻⁸ = 0.4% of its lower bound
	topBits    = 40
	buckets    = (topBits - octaveBits + 1) << octaveBits
)

func newScale(shift uint) Scale {
	linear := shift + octaveBits + 1
	return Scale{shift: shift, floor: 1<<linear - 1, skip: linear << octaveBits}
}

// bucket is the index of the bucket that holds v > 0. It is not below buckets
// where v is above the top.
func (s *Scale) bucket(v int64) uint {
	below := uint64(v - 1)
	n := uint(bits.Len64(below | s.floor))
	return n<<octaveBits + uint(below>>((n-octaveBits-1)&63)) - s.skip
}

// bounds are those of bucket i: it holds the values v with lower < v ≤ upper.
func (s *Scale) bounds(i int) (lower, upper int64) {
	octave := uint(max(i>>octaveBits-1, 0))
	u := int64(i - int(octave)<<octaveBits)
	return u << octave << s.shift, (u + 1) << octave << s.shift
}

// middle is the value that stands for those of bucket i.
func (s *Scale) middle(i int) int64 {
	lower, upper := s.bounds(i)
	return lower + (upper-lower+1)/2
}

// Histogram counts integer values in log-linear buckets: nanoseconds, or plain
// numbers. Count, sum and maximum are exact. It is not safe for concurrent
// use, and 34 KiB large.
type Histogram struct {
	scale    Scale
	zeros    uint64
	overflow uint64 // values above the top
	sumLow   uint64
	sumHigh  uint64 // the sum has 128 bits: in an overload, 64 bits of nanoseconds last for days only
	max      int64
	counts   [buckets]uint64
}

// NewHistogram returns an empty histogram.
func NewHistogram(scale Scale) *Histogram { return &Histogram{scale: scale} }

// Record counts v. Less than 0 counts as 0.
func (h *Histogram) Record(v int64) {
	if v <= 0 {
		h.zeros++
		return
	}
	if i := h.scale.bucket(v); i < buckets {
		h.counts[i]++
	} else {
		h.overflow++
	}
	var carry uint64
	h.sumLow, carry = bits.Add64(h.sumLow, uint64(v), 0)
	h.sumHigh += carry
	h.max = max(h.max, v)
}

// used are the buckets up to that of the maximum: all others are empty.
func (h *Histogram) used() []uint64 {
	if h.max == 0 {
		return nil
	}
	return h.counts[:min(h.scale.bucket(h.max)+1, buckets)]
}

// Add counts what other, of the same scale, has counted.
func (h *Histogram) Add(other *Histogram) {
	for i, n := range other.used() {
		h.counts[i] += n
	}
	h.zeros += other.zeros
	h.overflow += other.overflow
	var carry uint64
	h.sumLow, carry = bits.Add64(h.sumLow, other.sumLow, 0)
	h.sumHigh += other.sumHigh + carry
	h.max = max(h.max, other.max)
}

// Sub takes away what an earlier state of h had counted, and leaves what has
// been counted since. Of the maximum since then only the bucket is known: it
// becomes that bucket's upper bound, or the exact overall maximum where that
// is lower.
func (h *Histogram) Sub(earlier *Histogram) {
	for i, n := range earlier.used() {
		h.counts[i] -= n
	}
	h.zeros -= earlier.zeros
	h.overflow -= earlier.overflow
	var borrow uint64
	h.sumLow, borrow = bits.Sub64(h.sumLow, earlier.sumLow, 0)
	h.sumHigh -= earlier.sumHigh + borrow

	if h.overflow > 0 {
		return
	}
	highest := len(h.used()) - 1
	for highest >= 0 && h.counts[highest] == 0 {
		highest--
	}
	if highest < 0 {
		h.max = 0
		return
	}
	_, upper := h.scale.bounds(highest)
	h.max = min(h.max, upper)
}

// Reset forgets everything.
func (h *Histogram) Reset() {
	clear(h.used())
	h.zeros, h.overflow, h.sumLow, h.sumHigh, h.max = 0, 0, 0, 0, 0
}

// Quantile is the value that the share q of all values, from 0 to 1, does not
// exceed: the middle of its bucket, but never above Max. It is Max where that
// value overflows, and 0 where nothing has been counted.
func (h *Histogram) Quantile(q float64) int64 {
	rank := max(uint64(math.Ceil(q*float64(h.Count()))), 1)
	seen := h.zeros
	if rank <= seen {
		return 0
	}
	for i, n := range h.used() {
		seen += n
		if rank <= seen {
			return min(h.scale.middle(i), h.max)
		}
	}
	return h.max
}

// Count is the number of values, those that overflow among them.
func (h *Histogram) Count() uint64 { return h.zeros + sum(h.used()) + h.overflow }

// Overflow is the number of values above the scale's top.
func (h *Histogram) Overflow() uint64 { return h.overflow }

// Max is the largest value, or 0.
func (h *Histogram) Max() int64 { return h.max }

// Sum is the sum of the values.
func (h *Histogram) Sum() float64 {
	return math.Ldexp(float64(h.sumHigh), 64) + float64(h.sumLow)
}

// Mean is Sum / Count, or 0 where nothing has been counted.
func (h *Histogram) Mean() float64 {
	n := h.Count()
	if n == 0 {
		return 0
	}
	return h.Sum() / float64(n)
}
