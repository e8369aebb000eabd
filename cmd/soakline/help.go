package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"soakline/daemon/config"
)

const intro = `Soakline offers continuous open-loop load to Redis or Valkey, forms it into
batches, checks every reply, and shows what a request waits: queueing delay
apart from service time, with p95 and p99, in a log line every 10 s, a summary
at the end, and histograms for Prometheus.

Usage:
  soakline [run] [flags]   offer load until a signal (the default)
  soakline version         print the version

Try:
  soakline
      5,000/s for a private server, or an embedded one where none is installed
  soakline --target redis://staging:6379/3 --rate 20000 --duration 10m
      a real target; it must be empty, or safety.allow_shared must be set
  soakline --set batch.max_commands=16 --set batch.max_delay=200us --summary json
      other batch limits; one JSON object on standard output

The first signal (Ctrl-C, SIGTERM) drains and prints the summary, the second
exits at once. Exit codes: 0 ok; 1 the run failed, the ledger did not balance,
or --fail-on-error saw something else than ok; 2 bad flags or configuration, or
a target that must not be written to.

Flags:
`

const keysIntro = `
Keys of the configuration, each a line of the YAML file, an environment variable
and a --set; flags come before the environment, the environment before the file.
In brackets is the default:

`

func help(_ []string, stdout, stderr io.Writer) int { return run([]string{"--help"}, stdout, stderr) }

// usage writes the help text.
func usage(out io.Writer, set *pflag.FlagSet) {
	fmt.Fprint(out, intro, set.FlagUsages(), keysIntro)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, k := range config.Keys() {
		fmt.Fprintf(t, "  %s\t%s (%s)\n", k.Path, k.Help, k.Default)
	}
	fmt.Fprintf(t, "\nThe environment variable of a.b_c is SOAKLINE_A_B_C. Secrets come from\nthe files that keys name, or from %s, %s\nand %s.\n",
		config.PasswordVariable, config.SentinelPasswordVariable, config.AdminTokenVariable)
	_ = t.Flush() // there is nobody to tell
}
