package config

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Error is a configuration that cannot be used, with all its faults. Its text
// has one line for each.
type Error struct {
	Faults []error
}

func (e *Error) Error() string { return errors.Join(e.Faults...).Error() }

func (e *Error) Unwrap() []error { return e.Faults }

// fault is one thing that is wrong.
type fault struct {
	path   string // of the key or its element; "": the file's root
	what   string // is wrong, the value first
	want   string // what is accepted
	line   int    // in the file; 0: none
	source string // the file and line, the variable or the flag; "": none

	with []string // the keys that path contradicts
}

func (f fault) Error() string {
	text := f.what + ": want " + f.want
	if f.path != "" {
		text = f.path + ": " + text
	}
	if f.source != "" {
		text += " (" + f.source + ")"
	}
	return text
}

// asError is nil without faults, otherwise an *Error.
func asError(faults []fault) error {
	if len(faults) == 0 {
		return nil
	}
	e := &Error{}
	for _, f := range faults {
		e.Faults = append(e.Faults, f)
	}
	return e
}

// key is the path of the key that f is about: its own, or that of its list.
func (f fault) key() string {
	path, _, _ := strings.Cut(f.path, "[")
	return path
}

// meaningful tells whether neither f's key nor one that it contradicts has a
// fault of its own.
func (f fault) meaningful(faulty map[string]bool) bool {
	return !faulty[f.key()] && !slices.ContainsFunc(f.with, func(path string) bool { return faulty[path] })
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// segment is name as part of a path: on one line, whatever it holds.
func segment(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
