package workload_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"soakline/daemon/workload"
)

// describedSize is the size in bytes from which on a value says what it is:
// key, version and length, and a word of filler that vouches for them.
const describedSize = 20 + 8

// sized is a layout whose values have size bytes.
func sized(size int) *workload.Layout {
	return workload.NewLayout(workload.Layout{Prefix: "soakline:", Run: "r1", Keys: 10_000, ValueSize: size})
}

// got judges v as the reply to a GET of key.
func got(l *workload.Layout, key uint64, v []byte) workload.Outcome {
	return l.Check(workload.Command{Kind: workload.Get, Key: key}, workload.Reply{Kind: workload.Bytes, Bytes: v}, true, nil)
}

func TestValueDescribesItself(t *testing.T) {
	v := sized(64).AppendValue([]byte("before"), 0x1122, 0x3344)
	v, found := bytes.CutPrefix(v, []byte("before"))
	if !found || len(v) != 64 ||
		binary.BigEndian.Uint64(v) != 0x1122 || binary.BigEndian.Uint64(v[8:]) != 0x3344 || binary.BigEndian.Uint32(v[16:]) != 64 {
		t.Errorf("the value is %x", v)
	}
	w := sized(64).AppendValue(nil, 0x1122, 0x3345)
	if bytes.Equal(v[20:], w[20:]) {
		t.Error("two versions have the same filler")
	}
}

func TestValueIsRightForItsKeyOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := sized(rapid.IntRange(0, 200).Draw(t, "size"))
		key, version := rapid.Uint64().Draw(t, "key"), rapid.Uint64Min(1).Draw(t, "version")
		v := l.AppendValue(nil, key, version)
		if len(v) != l.ValueSize {
			t.Fatalf("a value of %d B has %d", l.ValueSize, len(v))
		}
		if o := got(l, key, v); o != workload.OK {
			t.Fatalf("the right value is %v", o)
		}

		wrong := map[string][]byte{
			"truncated": v[:rapid.IntRange(0, max(0, len(v)-1)).Draw(t, "cut")],
			"longer":    append(slices.Clone(v), 0),
			"doubled":   append(slices.Clone(v), v...),
			"empty":     {},
		}
		if len(v) > 0 {
			flipped := slices.Clone(v)
			flipped[rapid.IntRange(0, len(v)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
			wrong["flipped"] = flipped
		}
		if len(v) >= describedSize {
			wrong["of version 0"] = l.AppendValue(nil, key, 0)
			wrong["of another size's layout"] = sized(l.ValueSize+1).AppendValue(nil, key, version)[:len(v)]
		}
		if len(v) >= 8 { // shorter ones can coincide
			wrong["of another key"] = l.AppendValue(nil, key^rapid.Uint64Min(1).Draw(t, "other key"), version)
		}
		for what, w := range wrong {
			if bytes.Equal(w, v) {
				continue // nothing to cut, or to double
			}
			if o := got(l, key, w); o != workload.Mismatch {
				t.Fatalf("a value of %d B, %s, is %v", len(v), what, o)
			}
		}
	})
}

// A value too short to describe itself is told by its key all the same, and by
// no version.
func TestShortValueIsToldByItsKey(t *testing.T) {
	for size := 1; size < describedSize; size++ {
		l := sized(size)
		if !bytes.Equal(l.AppendValue(nil, 5, 1), l.AppendValue(nil, 5, 2)) {
			t.Errorf("%d B: two versions differ, and no reader can know which", size)
		}
		coincide := 0
		const others = 4096
		for key := range uint64(others) {
			v := l.AppendValue(nil, key+6, 1)
			if got(l, 5, v) == workload.OK {
				coincide++
			}
		}
		// Chance is one in 256 at 1 B, and 1/16 of that count at 2 B.
		if want := others >> (8 * size); coincide > 2*want+2 {
			t.Errorf("%d B: the values of %d of %d other keys pass for that of key 5", size, coincide, others)
		}
	}
}
