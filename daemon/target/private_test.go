package target

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"soakline/daemon/workload"
)

// usual are options as a daemon has them.
var usual = Options{
	Protocol: 2, DialTimeout: time.Second, ReadTimeout: 5 * time.Second, WriteTimeout: time.Second,
	Username: "nobody", Password: "wrong", Database: 7, // for another target: a server of one's own has none
}

// control speaks to a target until the test ends.
func control(t testing.TB, o Options) *Control {
	t.Helper()
	c := NewControl(&o, layout)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// alive tells whether there still is a process pid.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func missing(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", path, err)
	}
}

func TestPrivate(t *testing.T) {
	p := private(t)
	dir := filepath.Dir(p.Socket)
	info, err := os.Stat(dir)
	if err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("the directory is %v, %v", info, err)
	}
	c := control(t, p.Options(usual))
	for name, want := range map[string]string{
		"port": "0", "tls-port": "0", "save": "", "appendonly": "no", "maxmemory-policy": "noeviction", "dir": dir,
	} {
		if got, err := c.client.ConfigGet(t.Context(), name).Result(); err != nil || got[name] != want {
			t.Errorf("%s is %q, want %q: %v", name, got[name], want, err)
		}
	}
	pid := p.PID()
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if alive(pid) {
		t.Errorf("process %d lives", pid)
	}
	missing(t, dir)
	if !strings.Contains(p.Log(), "bye bye") {
		t.Errorf("it did not end by itself: %s", p.Log())
	}
	if err := p.Stop(); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

// TestPrivateRestart: the same socket, an empty server, whether the old one was
// killed or stopped itself.
func TestPrivateRestart(t *testing.T) {
	p := private(t)
	o := p.Options(usual)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		conn := open(t, &o)
		if got, err := exchange(t.Context(), conn, set(1, 1)); got[0] != workload.OK || err != nil {
			t.Fatalf("%s, %v", got[0], err)
		}
		old := p.PID()
		if err := syscall.Kill(old, signal); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if got, err := exchange(t.Context(), conn, get(1)); got[0] != workload.Unsent || err == nil {
			t.Errorf("after %v: %s, %v", signal, got[0], err)
		}
		if err := p.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := control(t, o).client.DBSize(t.Context()).Result(); n != 0 || err != nil || p.PID() == old {
			t.Errorf("after %v: %d keys, pid %d, then %d: %v", signal, n, old, p.PID(), err)
		}
	}
}

// TestPrivateStopped: a server that was stopped by SIGSTOP still ends by itself.
func TestPrivateStopped(t *testing.T) {
	p := private(t)
	if err := syscall.Kill(p.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took >= stopDeadline {
		t.Errorf("it had to be killed, after %v", took)
	}
	missing(t, filepath.Dir(p.Socket))
}

func TestPrivateKill(t *testing.T) {
	p := private(t)
	p.Kill()
	<-p.Done()
	missing(t, filepath.Dir(p.Socket))
}

// TestStartFails: the error says why, and nothing is left.
func TestStartFails(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if _, err := Start(t.Context()); !errors.Is(err, ErrNoServer) {
		t.Errorf("without a binary: %v", err)
	}
	script := func(text string) {
		if err := os.WriteFile(filepath.Join(bin, "valkey-server"), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	script("#!/bin/sh\necho out of luck\nexit 1\n")
	if _, err := Start(t.Context()); err == nil || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("a binary that ends at once: %v", err)
	}
	script("not a program")
	if _, err := Start(t.Context()); err == nil || !strings.Contains(err.Error(), "valkey-server") {
		t.Errorf("a binary that cannot run: %v", err)
	}
	script("#!/bin/sh\nexec /bin/sleep 60\n")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("a binary that does not serve: %v", err)
	}
	if left, err := os.ReadDir(temp); len(left) != 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestTail(t *testing.T) {
	var log tail
	for range 3 * tailSize / 10 {
		_, _ = log.Write([]byte("123456789\n"))
	}
	_, _ = log.Write([]byte("the end"))
	if s := log.String(); len(s) != tailSize || !strings.HasSuffix(s, "9\nthe end") {
		t.Errorf("%d bytes, …%q", len(s), s[len(s)-20:])
	}
}
