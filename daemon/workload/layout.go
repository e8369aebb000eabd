package workload

import (
	"encoding/binary"
	"strconv"
	"time"
	"unsafe"
)

// counterSlots bounds the counters that one connection owns: INCRs of more
// keys than that share them, so that the state stays small and constant, and
// so does what a new connection has to make.
const counterSlots = 16

// headerSize is the size in bytes of what a value says about itself: key,
// version and length.
const headerSize = 8 + 8 + 4

// describedSize is the size in bytes from which on a value has a header: with
// less than a word of filler behind it, nothing would vouch for the version.
const describedSize = headerSize + 8

// Preloaded is the version of the values that are written before a run; the
// run's own are newer.
const Preloaded = 1

// Layout says how keys and values of one run look. Its fields do not change
// once a command has been drawn.
type Layout struct {
	Prefix    string        // of every key that soakline ever writes
	Run       string        // tells this daemon's keys from another's; no ':'
	Keys      uint64        // size of the key space, at least 1
	ValueSize int           // bytes of a value
	TTL       time.Duration // of every key, whole seconds; 0: none

	width int    // hex digits of a key's number
	ttl   string // TTL in seconds, as an argument
}

// NewLayout completes l.
func NewLayout(l Layout) *Layout {
	l.width = hexDigits(l.Keys - 1)
	if l.TTL > 0 {
		l.ttl = strconv.FormatInt(int64(l.TTL/time.Second), 10)
	}
	return &l
}

// RequestBytes is the encoded size in bytes of a command of kind k. It is the
// same for each key, since numbers in keys have a fixed width.
func (l *Layout) RequestBytes(k Kind) int {
	var a Args
	l.Args(&a, Command{Kind: k}, &Counters{})
	n := arrayHeader(len(a.Strings))
	for _, s := range a.Strings {
		n += bulkSize(len(s))
	}
	return n
}

// ReplyBytes is the encoded size in bytes of the expected reply of kind k.
func (l *Layout) ReplyBytes(k Kind) int { return Commands[k].reply(l) }

// Args replaces a by c's arguments, for the connection that owns counters.
func (l *Layout) Args(a *Args, c Command, counters *Counters) {
	a.Strings = a.Strings[:0]
	a.buf = a.buf[:0]
	Commands[c.Kind].args(l, a, c, counters)
}

// Key is the name of the key number key in the space of GET and SET.
func (l *Layout) Key(key uint64) string { return string(l.appendKey(nil, key)) }

// Counter is the name of the counter number slot among counters.
func (l *Layout) Counter(counters *Counters, slot int) string {
	return string(l.appendCounter(nil, counters, slot))
}

// slots is the number of counters that each connection owns.
func (l *Layout) slots() int { return int(min(l.Keys, counterSlots)) }

// slot is the counter that an INCR of key goes to.
func (l *Layout) slot(key uint64) int { return int(key % counterSlots) }

func (l *Layout) appendKey(b []byte, key uint64) []byte {
	b = append(b, l.Prefix...)
	b = append(b, l.Run...)
	b = append(b, ":k"...)
	return appendHex(b, key, l.width)
}

func (l *Layout) appendCounter(b []byte, counters *Counters, slot int) []byte {
	b = append(b, l.Prefix...)
	b = append(b, l.Run...)
	b = append(b, ":c"...)
	b = appendHex(b, uint64(counters.owner), 4)
	b = appendHex(b, uint64(counters.generation), 8)
	return appendHex(b, uint64(slot), 2)
}

// AppendValue appends the value of key at version: what it says about itself,
// then filler that follows from both. A value too short for that is filler of
// its key alone.
func (l *Layout) AppendValue(b []byte, key, version uint64) []byte {
	size := l.ValueSize
	if size < describedSize {
		return appendFiller(b, seed(key, 0), size)
	}
	b = binary.BigEndian.AppendUint64(b, key)
	b = binary.BigEndian.AppendUint64(b, version)
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	return appendFiller(b, seed(key, version), size-headerSize)
}

// rightValue tells whether v is the value of key at some version.
func (l *Layout) rightValue(v []byte, key uint64) bool {
	if len(v) != l.ValueSize {
		return false
	}
	if len(v) < describedSize {
		return isFiller(v, seed(key, 0))
	}
	version := binary.BigEndian.Uint64(v[8:])
	return binary.BigEndian.Uint64(v) == key &&
		version >= 1 &&
		binary.BigEndian.Uint32(v[16:]) == uint32(len(v)) &&
		isFiller(v[headerSize:], seed(key, version))
}

// version is what a right value says of itself; 0 where it is too short to.
func (l *Layout) version(v []byte) uint64 {
	if len(v) < describedSize {
		return 0
	}
	return binary.BigEndian.Uint64(v[8:])
}

func seed(key, version uint64) uint64 { return key*0x9e3779b97f4a7c15 ^ version*0xd6e8feb86659fd93 }

// next is SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): state and output.
func next(x uint64) (state, out uint64) {
	x += 0x9e3779b97f4a7c15
	z := x
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return x, z ^ z>>31
}

func appendFiller(b []byte, x uint64, n int) []byte {
	var w uint64
	for ; n >= 8; n -= 8 {
		x, w = next(x)
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	_, w = next(x)
	for ; n > 0; n-- {
		b = append(b, byte(w))
		w >>= 8
	}
	return b
}

func isFiller(v []byte, x uint64) bool {
	var w uint64
	for ; len(v) >= 8; v = v[8:] {
		x, w = next(x)
		if binary.LittleEndian.Uint64(v) != w {
			return false
		}
	}
	_, w = next(x)
	for _, c := range v {
		if c != byte(w) {
			return false
		}
		w >>= 8
	}
	return true
}

const hexDigit = "0123456789abcdef"

// appendHex appends n in width hex digits.
func appendHex(b []byte, n uint64, width int) []byte {
	for shift := 4 * (width - 1); shift >= 0; shift -= 4 {
		b = append(b, hexDigit[n>>shift&15])
	}
	return b
}

func hexDigits(n uint64) int {
	width := 1
	for n >>= 4; n > 0; n >>= 4 {
		width++
	}
	return width
}

// text appends an argument that does not change.
func (a *Args) text(s string) { a.Strings = append(a.Strings, s) }

// built appends what has been written to a.buf from offset from. The string
// shares that memory: it is valid until the next use of a.
func (a *Args) built(from int) {
	b := a.buf[from:]
	a.Strings = append(a.Strings, unsafe.String(unsafe.SliceData(b), len(b)))
}

func (a *Args) key(l *Layout, key uint64) {
	from := len(a.buf)
	a.buf = l.appendKey(a.buf, key)
	a.built(from)
}

func digits(n int) int { return len(strconv.Itoa(n)) }

// bulkSize is the encoded size of a bulk string of n bytes: $n\r\n…\r\n.
func bulkSize(n int) int { return 1 + digits(n) + 2 + n + 2 }

// arrayHeader is the encoded size of *n\r\n.
func arrayHeader(n int) int { return 1 + digits(n) + 2 }

// Pattern matches, as SCAN's MATCH does, the keys of this run and no others.
func (l *Layout) Pattern() string { return l.Prefix + l.Run + ":*" }
