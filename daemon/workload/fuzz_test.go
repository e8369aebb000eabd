package workload_test

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"testing"

	"soakline/daemon/workload"
)

// FuzzCheck gives any reply to any command: only the right one is ok, and
// nothing panics.
func FuzzCheck(f *testing.F) {
	for _, size := range []uint16{0, 1, 27, 28, 100} {
		value := sized(int(size)).AppendValue(nil, 5, 9)
		f.Add(byte(workload.Get), uint64(5), size, uint8(0), byte(workload.Bytes), value, true)
		f.Add(byte(workload.Get), uint64(6), size, uint8(0), byte(workload.Bytes), value, true)
	}
	f.Add(byte(workload.Get), uint64(5), uint16(100), uint8(0), byte(workload.Nil), []byte(nil), true)
	f.Add(byte(workload.Set), uint64(5), uint16(100), uint8(0), byte(workload.Bytes), []byte("OK"), true)
	f.Add(byte(workload.Incr), uint64(5), uint16(100), uint8(41), byte(workload.Bytes), []byte("42"), true)
	f.Add(byte(workload.Incr), uint64(5), uint16(100), uint8(0), byte(workload.Missing), []byte(nil), false)
	f.Add(byte(workload.Incr), uint64(5), uint16(100), uint8(0), byte(workload.Failure), []byte(nil), true)
	f.Add(byte(workload.Set), uint64(5), uint16(100), uint8(0), byte(workload.Foreign), []byte("OK"), true)

	f.Fuzz(func(t *testing.T, kind byte, key uint64, size uint16, before uint8, reply byte, b []byte, sent bool) {
		l := sized(int(size % 5000))
		c := workload.Command{Kind: kinds[int(kind)%len(kinds)], Key: key % l.Keys, Version: 1}
		r := workload.Reply{Kind: workload.ReplyKind(reply % 5), Bytes: b}
		counters := l.NewCounters(0, 0)
		incr := workload.Command{Kind: workload.Incr, Key: c.Key}
		for n := range int(before) {
			l.Check(incr, text(strconv.Itoa(n+1)), true, counters)
		}

		want := workload.Mismatch
		switch r.Kind {
		case workload.Missing:
			want = workload.Unsent
			if sent {
				want = workload.Uncertain
			}
		case workload.Failure:
			want = workload.ErrorReply
		case workload.Nil:
			if c.Kind == workload.Get {
				want = workload.OK
			}
		case workload.Bytes:
			if right(l, c, b, int64(before)+1) {
				want = workload.OK
			}
		}
		if got := l.Check(c, r, sent, counters); got != want {
			t.Errorf("%+v, values of %d B, after %d INCRs: reply %+v is %v, want %v", c, l.ValueSize, before, r, got, want)
		}
	})
}

// right tells whether b is what a target replies to c: it makes the reply and
// compares.
func right(l *workload.Layout, c workload.Command, b []byte, count int64) bool {
	switch c.Kind {
	case workload.Set:
		return string(b) == "OK"
	case workload.Incr:
		return string(b) == strconv.FormatInt(count, 10)
	}
	version := uint64(1)
	if l.ValueSize >= describedSize && len(b) >= 16 {
		version = binary.BigEndian.Uint64(b[8:])
	}
	return version > 0 && bytes.Equal(b, l.AppendValue(nil, c.Key, version))
}
