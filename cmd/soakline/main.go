// Command soakline is a continuous load daemon for Redis and Valkey.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"soakline/metrics"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the run failed, or --fail-on-error saw something else than ok
	exitUsage  = 2 // the command line, the configuration or the target is not acceptable
	exitKilled = 130
)

// command is one subcommand.
type command struct {
	name string
	help string
	run  func(args []string, stdout, stderr io.Writer) int
}

// commands is the table of subcommands; the first is the default.
var commands = []command{
	{"run", "offer load until a signal (the default)", run},
	{"version", "print the version", version},
	{"help", "print the flags and the keys", help},
}

func main() { os.Exit(dispatch(os.Args[1:], os.Stdout, os.Stderr)) }

// dispatch runs the subcommand that args name.
func dispatch(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || len(args[0]) > 0 && args[0][0] == '-' {
		return commands[0].run(args, stdout, stderr)
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(args[1:], stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "soakline: %q is not a command: want", args[0])
	for i, c := range commands {
		if i > 0 {
			fmt.Fprint(stderr, " or")
		}
		fmt.Fprintf(stderr, " %s", c.name)
	}
	fmt.Fprintln(stderr, " (see soakline --help)")
	return exitUsage
}

// release is the version, which a release build sets with -ldflags -X.
var release = "devel"

func build() metrics.Build {
	b := metrics.Build{Version: release, Revision: "unknown", GoVersion: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Revision = s.Value
			}
		}
	}
	return b
}

func version(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		fmt.Fprintf(stderr, "soakline version: %q: want no arguments\n", args[0])
		return exitUsage
	}
	b := build()
	fmt.Fprintf(stdout, "soakline %s (revision %s, %s, %s/%s)\n", b.Version, b.Revision, b.GoVersion, runtime.GOOS, runtime.GOARCH)
	return exitOK
}
