package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"soakline/daemon"
	"soakline/daemon/config"
)

// summaries lists the words of --summary.
var summaries = []string{"text", "json", "none"}

// runFlags are the flags of run that are no keys.
type runFlags struct {
	file        string
	check       bool
	set         []string
	wait        time.Duration
	summary     string
	failOnError bool
	keys        map[string]string // by path: flags that are keys, where given
}

// run loads the configuration and runs the daemon.
func run(args []string, stdout, stderr io.Writer) int {
	f, err := parseRun(args, stdout)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return exitOK
	case err != nil:
		return fail(stderr, exitUsage, err)
	}
	c, err := load(f)
	if err != nil {
		return fail(stderr, exitUsage, err)
	}
	if f.check {
		fmt.Fprintln(stdout, "the configuration is valid")
		return exitOK
	}
	log := newLog(c.Log, stderr)
	var summary *daemon.Summary
	d := daemon.New(daemon.Options{
		Config: c,
		Build:  build(),
		Log:    log,
		Wait:   f.wait,
		Report: func(s *daemon.Summary) error {
			summary = s
			return write(stdout, f.summary, s)
		},
	})
	if err := d.Run(signals(log, d)); err != nil {
		log.Error("failed", zap.Error(err))
		if errors.Is(err, daemon.ErrUnsafe) {
			return exitUsage
		}
		return exitFailed
	}
	if summary == nil {
		return exitOK // stopped before the load began
	}
	return judge(log, f, summary)
}

// load reads the configuration and all that it names.
func load(f *runFlags) (config.Config, error) {
	c, err := config.Load(config.Sources{File: f.file, Environ: os.Environ(), Set: f.set, Flags: f.keys})
	if err != nil {
		return c, err
	}
	var faults []error
	faults = append(faults, c.ReadSecrets(), daemon.CheckFiles(&c))
	if err := web.Validate(c.Web.ConfigFile); err != nil {
		faults = append(faults, fmt.Errorf("web.config_file: %w", err))
	}
	return c, errors.Join(faults...)
}

func parseRun(args []string, stdout io.Writer) (*runFlags, error) {
	f := &runFlags{keys: map[string]string{}}
	set := pflag.NewFlagSet("soakline", pflag.ContinueOnError)
	set.SortFlags = false
	set.StringVar(&f.file, "config.file", "", "read the configuration from this YAML `file`")
	set.BoolVar(&f.check, "config.check", false, "check the configuration and exit: 0 if it is valid, else 2")
	for _, k := range config.Keys() {
		if k.Flag != "" {
			set.Var(keyFlag{k, f.keys}, k.Flag, k.Help)
		}
	}
	set.StringArrayVar(&f.set, "set", nil, "set any key of the configuration; may be repeated: `key=value`")
	set.DurationVar(&f.wait, "wait-for-target", 0, "try for so `long` to begin while the target cannot be used yet; 0 is once")
	set.StringVar(&f.summary, "summary", "text", "print the summary as `text`, json or none")
	set.BoolVar(&f.failOnError, "fail-on-error", false, "exit 1 if anything but ok happened to an arrival")
	set.Usage = func() { usage(stdout, set) }
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("%q: want flags only (see soakline --help)", set.Arg(0))
	}
	if f.wait < 0 {
		return nil, fmt.Errorf("--wait-for-target: %v: want a duration of at least 0", f.wait)
	}
	if !slices.Contains(summaries, f.summary) {
		return nil, fmt.Errorf("--summary: %q: want %s", f.summary, strings.Join(summaries, ", "))
	}
	return f, nil
}

// keyFlag is a flag that sets a key. Its text is read with the rest of the
// configuration, so that all faults are reported together.
type keyFlag struct {
	key    config.Key
	values map[string]string
}

func (k keyFlag) Set(text string) error { k.values[k.key.Path] = text; return nil }
func (k keyFlag) Type() string          { return k.key.Type }
func (k keyFlag) String() string        { return k.key.Default }

// oneStop is how long after a signal another one is taken for the same stop:
// wrappers such as timeout(1) signal both the process and its group.
const oneStop = 250 * time.Millisecond

// signals returns a context that the first signal ends; the second one ends
// the process. They stay caught to the very end: a stop that is delivered
// twice must not kill a process that is about to exit.
func signals(log *zap.Logger, d *daemon.Daemon) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone is an error of the write, and no reason to leave a server behind
	go func() {
		log.Info("stopping; once more to exit at once", zap.Stringer("signal", <-received))
		cancel()
		time.Sleep(oneStop)
		select {
		case <-received:
		default:
		}
		log.Warn("exiting at once", zap.Stringer("signal", <-received))
		d.Kill()
		os.Exit(exitKilled)
	}()
	return ctx
}

// write writes the summary in the form that --summary names.
func write(stdout io.Writer, form string, s *daemon.Summary) error {
	switch form {
	case "text":
		return s.WriteText(stdout)
	case "json":
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(s)
	}
	return nil
}

// judge is the exit code of a run that came to its end.
func judge(log *zap.Logger, f *runFlags, s *daemon.Summary) int {
	if err := s.Balance(); err != nil {
		log.Error("the ledger does not balance", zap.Error(err))
		return exitFailed
	}
	if f.failOnError && !s.AllOK() {
		log.Error("something else than ok happened", zap.Any("ledger", s.Ledger))
		return exitFailed
	}
	return exitOK
}

func fail(stderr io.Writer, code int, err error) int {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "soakline: %s\n", strings.TrimSuffix(line, "\n"))
	}
	return code
}
