package config

import (
	"errors"
	"regexp"
	"strconv"
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
	with   string // the key that path contradicts; "": none
	source string // the file and line, the variable or the flag; "": none
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

// misplacedPassword is the fault of a password where others can read it.
var misplacedPassword = fault{
	path: passwordPath,
	what: "a password has no place here",
	want: "target.password_file or the variable " + PasswordVariable,
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// segment is name as part of a path: on one line, whatever it holds.
func segment(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.Quote(name)
}
