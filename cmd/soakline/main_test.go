package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// asCommand makes the test binary be soakline.
const asCommand = "TEST_AS_SOAKLINE"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		_ = os.Unsetenv(asCommand)
		main()
	}
	os.Exit(m.Run())
}

// process is a running soakline.
type process struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr output
}

// output collects what a process writes while others read it.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// soaklineWith prepares soakline with args, on a free port and without a server in
// its PATH: its target is embedded.
func soaklineWith(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0], args...), t: t}
	p.Env = []string{asCommand + "=1", "PATH=", "SOAKLINE_WEB_LISTEN_ADDRESS=127.0.0.1:0", "TMPDIR=" + t.TempDir()}
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	return p
}

func (p *process) start() {
	p.t.Helper()
	if err := p.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = p.Process.Kill() })
}

// says waits until the process has logged text.
func (p *process) says(text string) {
	p.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(p.stderr.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("%q is not logged: %s", text, p.stderr.String())
		}
	}
}

// code waits for the end of the process.
func (p *process) code() int {
	p.t.Helper()
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.ProcessState.ExitCode()
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// What is not a run ends at once, with its exit code and its words.
func TestCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(file, []byte("batch: {max_cmds: 5}\nqueue: {max_commands: 0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		args           []string
		code           int
		stdout, stderr string // parts
	}{
		{[]string{"version"}, 0, "soakline devel (revision ", ""},
		{[]string{"version", "x"}, 2, "", `soakline version: "x": want no arguments`},
		{[]string{"help"}, 0, "--web.listen-address", ""},
		{[]string{"--help"}, 0, "batch.max_delay", ""},
		{[]string{"run", "--help"}, 0, "--fail-on-error", ""},
		{[]string{"sweeep"}, 2, "", `soakline: "sweeep" is not a command: want run or version or help (see soakline --help)`},
		{[]string{"run", "now"}, 2, "", `soakline: "now": want flags only (see soakline --help)`},
		{[]string{"--no-such-flag"}, 2, "", "soakline: unknown flag: --no-such-flag"},
		{[]string{"--summary", "xml"}, 2, "", `soakline: --summary: "xml": want text, json, none`},
		{[]string{"--config.check"}, 0, "the configuration is valid", ""},
		{[]string{"--config.check", "--config.file", "../../deploy/soakline.yaml"}, 0, "the configuration is valid", ""},
		{[]string{"--config.check", "--config.file", file}, 2, "", "soakline: batch.max_cmds: unknown key: want one of mode, max_commands,"},
		{[]string{"--config.check", "--config.file", file}, 2, "", "soakline: queue.max_commands: 0 is too small"},
		{[]string{"--config.check", "--web.config.file", "/nowhere"}, 2, "", "soakline: web.config_file: open /nowhere: no such file or directory"},
		{[]string{"--config.check", "--set", "target.password_file=/nowhere", "--target", "redis://h"}, 2, "", "soakline: target.password_file: open /nowhere"},
		{[]string{"--config.check", "--target", "rediss://h", "--set", "target.tls.ca_file=/nowhere"}, 2, "", "soakline: target.tls.ca_file: unable to read CA cert: unable to read file /nowhere"},
		{[]string{"--wait-for-target", "-1s"}, 2, "", "soakline: --wait-for-target: -1s: want a duration of at least 0"},
		{[]string{"--wait-for-target", "soon"}, 2, "", "soakline: invalid argument \"soon\" for \"--wait-for-target\" flag"},
		{[]string{"--rate", "fast"}, 2, "", `soakline: arrival.rate: "fast" is not a number`},
		{[]string{"--target", "unix:///nowhere/s"}, 1, "", "reach the target at /nowhere/s"},
		{[]string{"--target", "private"}, 1, "", "no redis-server or valkey-server in PATH"},
		{[]string{"--web.listen-address", taken.Addr().String()}, 1, "", "web.listen_address: listen tcp " + taken.Addr().String()},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			p := soaklineWith(t, tt.args...)
			p.start()
			if code := p.code(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if out := p.stdout.String(); !strings.Contains(out, tt.stdout) || tt.stdout == "" && out != "" {
				t.Errorf("stdout %q, want %q", out, tt.stdout)
			}
			if out := p.stderr.String(); !strings.Contains(out, tt.stderr) || tt.stderr == "" && out != "" {
				t.Errorf("stderr %q, want %q", out, tt.stderr)
			}
		})
	}
}

// The first signal drains and prints the summary.
func TestSignalDrains(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p := soaklineWith(t, "--log.format", "json")
		p.start()
		p.says(`"msg":"loading"`)
		time.Sleep(300 * time.Millisecond)
		p.signal(s)
		p.says("stopping")
		_ = p.Process.Signal(s) // as a wrapper does that signals the group too
		if code := p.code(); code != exitOK {
			t.Errorf("exit code %d after %v: %s", code, s, p.stderr.String())
		}
		for _, part := range []string{"queueing delay", "response time", "balanced", "EMBEDDED TARGET"} {
			if !strings.Contains(p.stdout.String(), part) {
				t.Errorf("the summary lacks %q: %s", part, p.stdout.String())
			}
		}
		for line := range strings.Lines(p.stderr.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("the log line %q is not JSON", line)
			}
		}
	}
}

// The second signal does not wait for the drain.
func TestSecondSignalExits(t *testing.T) {
	silent := t.TempDir() + "/silent"
	serve(t, silent)
	p := soaklineWith(t, "--target", "unix://"+silent, "--set", "drain_timeout=1h", "--set", "target.read_timeout=1h", "--set", "workload.mix=[{command: get, weight: 1}]", "--set", "workload.preload=false")
	p.start()
	p.says("loading")
	time.Sleep(100 * time.Millisecond)
	p.signal(os.Interrupt)
	p.says("draining")
	time.Sleep(2 * oneStop)
	p.signal(os.Interrupt)
	if code := p.code(); code != exitKilled {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

// The JSON summary is one object on standard output with the names that other
// programs read.
func TestJSONSummary(t *testing.T) {
	p := soaklineWith(t, "--summary", "json", "--duration", "500ms", "--rate", "1000", "--fail-on-error")
	p.start()
	if code := p.code(); code != exitOK {
		t.Fatalf("exit code %d: %s", code, p.stderr.String())
	}
	var s struct {
		Elapsed    float64 `json:"elapsed_seconds"`
		Offered    float64
		Throughput float64
		Goodput    float64
		Ledger     struct {
			Arrivals, Shed uint64
			Settled        map[string]uint64
			Queued         *uint64
			InFlight       *uint64 `json:"in_flight"`
		}
		Seconds map[string]map[string]float64
		Batches struct {
			Count    float64
			Mean     float64            `json:"mean_commands"`
			ByReason map[string]float64 `json:"by_reason"`
		}
		Errors map[string]float64
		Config map[string]any
		Target map[string]any
	}
	if err := json.Unmarshal([]byte(p.stdout.String()), &s); err != nil {
		t.Fatal(err)
	}
	if s.Elapsed < 0.5 || s.Offered < 500 || s.Throughput < 500 || s.Goodput < 500 {
		t.Errorf("%+v", s)
	}
	if l := s.Ledger; l.Arrivals == 0 || l.Arrivals != l.Settled["ok"] || len(l.Settled) != 6 || l.Queued == nil || l.InFlight == nil {
		t.Errorf("ledger %+v", l)
	}
	for _, name := range []string{"queueing_delay", "schedule_lag", "formation_delay", "dispatch_wait", "service_time", "response_time"} {
		d := s.Seconds[name]
		for _, field := range []string{"count", "mean", "p50", "p95", "p99", "p999", "max"} {
			if _, ok := d[field]; !ok {
				t.Errorf("%s lacks %s", name, field)
			}
		}
		if name != "service_time" && d["count"] != float64(s.Ledger.Arrivals) {
			t.Errorf("%s counts %v of %d commands", name, d["count"], s.Ledger.Arrivals)
		}
	}
	if s.Batches.Count == 0 || s.Batches.Mean < 1 || s.Batches.ByReason["delay"] == 0 || s.Errors == nil {
		t.Errorf("batches %+v, errors %v", s.Batches, s.Errors)
	}
	if s.Config["duration"] != "500ms" || s.Target["server"] != "embedded" {
		t.Errorf("config %v, target %v", s.Config, s.Target)
	}
}

// --fail-on-error turns any other outcome than ok into exit code 1.
func TestFailOnError(t *testing.T) {
	silent := t.TempDir() + "/silent"
	serve(t, silent)
	args := []string{"--target", "unix://" + silent, "--duration", "300ms", "--set", "target.read_timeout=100ms", "--set", "workload.mix=[{command: get, weight: 1}]", "--set", "workload.preload=false"}
	for _, tt := range []struct {
		more []string
		code int
	}{{nil, exitOK}, {[]string{"--fail-on-error"}, exitFailed}} {
		p := soaklineWith(t, append(args, tt.more...)...)
		p.start()
		if code := p.code(); code != tt.code {
			t.Errorf("exit code %d with %q, want %d: %s", code, tt.more, tt.code, p.stderr.String())
		}
		if !strings.Contains(p.stdout.String(), "uncertain") {
			t.Errorf("the summary does not say what happened: %s", p.stdout.String())
		}
	}
}

// --wait-for-target begins the load when the target is there.
func TestWaitForTarget(t *testing.T) {
	socket := t.TempDir() + "/late"
	p := soaklineWith(t, "--wait-for-target", "1m", "--target", "unix://"+socket, "--duration", "100ms",
		"--set", "target.read_timeout=100ms", "--set", "workload.mix=[{command: get, weight: 1}]", "--set", "workload.preload=false")
	p.start()
	p.says("waiting for the target")
	serve(t, socket)
	if code := p.code(); code != exitOK {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}

// A target that holds foreign keys is refused as bad input is.
func TestRefusal(t *testing.T) {
	socket := t.TempDir() + "/foreign"
	serve(t, socket)
	p := soaklineWith(t, "--target", "unix://"+socket)
	p.start()
	if code := p.code(); code != exitUsage {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
	if !strings.Contains(p.stderr.String(), "safety.allow_shared") {
		t.Errorf("%s", p.stderr.String())
	}
}

// A daemon that was suspended itself catches up with the last second and sheds
// what is older: it says so, and that its numbers are not the target's.
func TestSuspended(t *testing.T) {
	p := soaklineWith(t, "--rate", "1000", "--summary", "json")
	p.start()
	p.says("loading")
	time.Sleep(200 * time.Millisecond)
	p.signal(syscall.SIGSTOP)
	time.Sleep(3 * time.Second)
	p.signal(syscall.SIGCONT)
	p.says("the generator is not valid")
	p.signal(os.Interrupt)
	if code := p.code(); code != exitOK {
		t.Fatalf("exit code %d: %s", code, p.stderr.String())
	}
	var s struct {
		Valid  *bool `json:"generator_valid"`
		Ledger struct {
			Arrivals uint64
			Shed     map[string]uint64 `json:"shed_by_reason"`
		}
	}
	if err := json.Unmarshal([]byte(p.stdout.String()), &s); err != nil {
		t.Fatal(err)
	}
	if late := s.Ledger.Shed["too_late"]; late < 1500 || late > 2500 || s.Ledger.Arrivals < 3000 || s.Valid == nil || *s.Valid {
		t.Errorf("after 3 s of suspension at 1000/s: %+v, valid %v, want about 2000 shed too_late", s.Ledger, s.Valid)
	}
}

// A reader that has gone is an error, and no reason to skip the end.
func TestBrokenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := soaklineWith(t, "--duration", "300ms")
	p.Stdout = w
	p.start()
	_, _ = r.Close(), w.Close()
	if code := p.code(); code != exitFailed || !strings.Contains(p.stderr.String(), "broken pipe") {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
}
