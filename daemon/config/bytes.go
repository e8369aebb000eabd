package config

import (
	"math"
	"strconv"
	"strings"
)

// Bytes is a size in bytes.
type Bytes int64

const (
	kib Bytes = 1 << 10
	mib Bytes = 1 << 20
	gib Bytes = 1 << 30
)

// sizeUnits are the units of a size, in the order in which a size is written.
var sizeUnits = []struct {
	name string
	size Bytes
}{
	{"GiB", gib}, {"MiB", mib}, {"KiB", kib}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// String is b in the first unit that leaves a whole number.
func (b Bytes) String() string {
	for _, unit := range sizeUnits {
		if b != 0 && b%unit.size == 0 {
			return strconv.FormatInt(int64(b/unit.size), 10) + unit.name
		}
	}
	return "0B"
}

// parseBytes reads a whole number with a unit; otherwise problem says what is
// wrong.
func parseBytes(text string) (b Bytes, problem string) {
	name := strings.TrimLeft(text, "0123456789")
	digits := text[:len(text)-len(name)]
	if digits == "" {
		return 0, "is not a size"
	}
	if name == "" {
		return 0, "has no unit"
	}
	for _, unit := range sizeUnits {
		if unit.name != name {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > math.MaxInt64/int64(unit.size) {
			return 0, "is too large"
		}
		return Bytes(n) * unit.size, ""
	}
	return 0, "has an unknown unit"
}
