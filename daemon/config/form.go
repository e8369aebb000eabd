package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// form is how the value of a key is written, and which values are accepted.
type form interface {
	// kind is the form's name, and want all that it accepts.
	kind() string
	want() string
	// fromNode and fromText read the value of the key at path from a YAML file
	// and from plain text. A value with faults is none.
	fromNode(path string, n *yaml.Node) (any, []fault)
	fromText(path, text string) (any, []fault)
	// check finds what is wrong with a value of the form's type.
	check(path string, value any) []fault
	// plain is value as JSON and YAML know it.
	plain(value any) any
}

// scalar is the form of a single value. Its functions know one type, and a
// problem is a phrase that follows the value, "" for none.
type scalar struct {
	name    string
	accepts string
	tags    []string // of YAML scalars that may hold such a value
	parse   func(text string) (value any, problem string)
	limit   func(value any) (problem string)
	print   func(value any) any      // nil: the value itself
	show    func(text string) string // what a fault may show of text; nil: all
}

const (
	yamlText  = "!!str"
	yamlInt   = "!!int"
	yamlFloat = "!!float"
	yamlBool  = "!!bool"
)

func (s scalar) kind() string { return s.name }
func (s scalar) want() string { return s.accepts }

func (s scalar) fromNode(path string, n *yaml.Node) (any, []fault) {
	tag := n.ShortTag()
	shown := shape(n)
	if n.Kind == yaml.ScalarNode {
		shown = n.Value
		if tag == yamlText {
			shown = s.quote(n.Value)
		}
	}
	problem := ""
	var value any
	switch {
	case n.Kind == yaml.ScalarNode && slices.Contains(s.tags, tag):
		value, problem = s.read(n.Value)
	case tag == yamlText:
		problem = "is text"
	default:
		problem = "is not " + s.name
	}
	return value, s.faults(path, shown, problem, n.Line)
}

func (s scalar) fromText(path, text string) (any, []fault) {
	value, problem := s.read(text)
	return value, s.faults(path, s.quote(text), problem, 0)
}

func (s scalar) read(text string) (any, string) {
	value, problem := s.parse(text)
	if problem == "" {
		problem = s.limit(value)
	}
	return value, problem
}

func (s scalar) check(path string, value any) []fault {
	shown := fmt.Sprint(s.plain(value))
	if slices.Contains(s.tags, yamlText) {
		shown = s.quote(shown)
	}
	return s.faults(path, shown, s.limit(value), 0)
}

func (s scalar) faults(path, shown, problem string, line int) []fault {
	if problem == "" {
		return nil
	}
	return []fault{{path: path, what: shown + " " + problem, want: s.accepts, line: line}}
}

func (s scalar) plain(value any) any {
	if s.print == nil {
		return value
	}
	return s.print(value)
}

func (s scalar) quote(text string) string {
	if s.show != nil {
		text = s.show(text)
	}
	return strconv.Quote(text)
}

// between completes s with the limits low and high, both accepted.
func between[T cmp.Ordered](s scalar, low, high T, print func(T) string) scalar {
	s.accepts = fmt.Sprintf("%s from %s to %s%s", s.name, print(low), print(high), s.accepts)
	s.limit = func(value any) string {
		switch v := value.(T); {
		case v > high:
			return "is too large"
		case v >= low:
			return ""
		}
		return "is too small" // or not a number at all
	}
	return s
}

func whole(low, high int) form {
	return between(scalar{
		name: "a whole number",
		tags: []string{yamlInt},
		parse: func(text string) (any, string) {
			n, err := strconv.Atoi(text)
			return n, wholeProblem(text, strconv.Itoa(n), err)
		},
	}, low, high, strconv.Itoa)
}

func seed() form {
	print := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return between(scalar{
		name: "a whole number",
		tags: []string{yamlInt},
		parse: func(text string) (any, string) {
			n, err := strconv.ParseUint(text, 10, 64)
			return n, wholeProblem(text, print(n), err)
		},
	}, 0, uint64(math.MaxUint64), print)
}

// wholeProblem is what is wrong with text, which was read as a number that is
// printed as back. They differ for what YAML and people read in two ways: 010.
func wholeProblem(text, back string, err error) string {
	switch {
	case errors.Is(err, strconv.ErrRange) && strings.HasPrefix(text, "-"):
		return "is too small"
	case errors.Is(err, strconv.ErrRange):
		return "is too large"
	case err != nil || text != back:
		return "is not a whole number"
	}
	return ""
}

func number(low, high float64) form {
	return between(scalar{
		name: "a number",
		tags: []string{yamlInt, yamlFloat},
		parse: func(text string) (any, string) {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || strings.ContainsAny(text, "xX") {
				return n, "is not a number"
			}
			return n, ""
		},
	}, low, high, numberText)
}

func numberText(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func duration(low, high time.Duration) scalar {
	return between(scalar{
		name:    "a duration",
		accepts: " in ns, us, ms, s, m or h",
		tags:    []string{yamlText, yamlInt, yamlFloat},
		parse: func(text string) (any, string) {
			d, err := time.ParseDuration(text)
			if err == nil {
				return d, ""
			}
			if _, err := strconv.ParseFloat(text, 64); err == nil {
				return d, "has no unit"
			}
			if strings.Contains(err.Error(), "unknown unit") {
				return d, "has an unknown unit"
			}
			return d, "is not a duration"
		},
		print: func(value any) any { return durationText(value.(time.Duration)) },
	}, low, high, durationText)
}

// seconds is the form of a duration of whole seconds up to high, or 0.
func seconds(high time.Duration) form {
	s := duration(0, high)
	s.accepts = fmt.Sprintf("0 or whole seconds from 1s to %s", durationText(high))
	limit := s.limit
	s.limit = func(value any) string {
		if problem := limit(value); problem != "" {
			return problem
		}
		if value.(time.Duration)%time.Second != 0 {
			return "is not whole seconds"
		}
		return ""
	}
	return s
}

// durationText is d without the zeros that it may end in: 1h, not 1h0m0s.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = text[:len(text)-len("0s")]
	}
	if strings.HasSuffix(text, "h0m") {
		text = text[:len(text)-len("0m")]
	}
	return text
}

func size(low, high Bytes) form {
	return between(scalar{
		name:    "a size",
		accepts: " in B, kB, MB, GB, KiB, MiB or GiB",
		tags:    []string{yamlText, yamlInt, yamlFloat},
		parse: func(text string) (any, string) {
			b, problem := parseBytes(text)
			return b, problem
		},
		print: func(value any) any { return value.(Bytes).String() },
	}, low, high, Bytes.String)
}

func truth() form {
	return scalar{
		name:    "true or false",
		accepts: "true or false",
		tags:    []string{yamlBool},
		parse: func(text string) (any, string) {
			if text != "true" && text != "false" {
				return false, "is not true or false"
			}
			return text == "true", ""
		},
		limit: func(any) string { return "" },
	}
}

// text is the form of text for which problem finds none. Text that does not
// survive a page or a terminal is never accepted.
func text(accepts string, problem func(string) string) scalar {
	return scalar{
		name:    "text",
		accepts: accepts,
		tags:    []string{yamlText},
		parse:   func(text string) (any, string) { return text, "" },
		limit: func(value any) string {
			if !printable(value.(string)) {
				return "has characters that cannot be printed"
			}
			return problem(value.(string))
		},
	}
}

func word(words []string) scalar {
	return text("one of "+strings.Join(words, ", "), func(text string) string {
		if !slices.Contains(words, text) {
			return "is unknown"
		}
		return ""
	})
}

// version is the form of a word that YAML may take for a number: 1.2.
func version(words []string) form {
	s := word(words)
	s.tags = append(s.tags, yamlFloat)
	return s
}
