package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// servers are the binaries that Start looks for, in this order.
var servers = []string{"redis-server", "valkey-server"}

// ErrNoServer is the error of Start where no server is installed.
var ErrNoServer = errors.New("no redis-server or valkey-server in PATH")

const (
	startDeadline = 10 * time.Second
	stopDeadline  = 3 * time.Second
)

// Private is a server of the daemon's own: a child process on a unix socket in
// a directory that only this user can enter, without TCP and persistence. It
// does not outlive the daemon.
type Private struct {
	Binary string // its path
	Socket string // the unix socket's path

	dir  string
	cmd  *exec.Cmd
	log  tail
	done chan struct{} // closed when the process has ended
}

// Start starts a server found in PATH and waits until it answers.
func Start(ctx context.Context) (*Private, error) {
	var binary string
	for _, name := range servers {
		if path, err := exec.LookPath(name); err == nil {
			binary = path
			break
		}
	}
	if binary == "" {
		return nil, ErrNoServer
	}
	dir, err := os.MkdirTemp("", "soakline-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the private server: %w", err)
	}
	p := &Private{Binary: binary, Socket: filepath.Join(dir, "s"), dir: dir}
	if err := p.Restart(ctx); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Restart starts the server anew, empty, on the same socket. It must not be
// running.
func (p *Private) Restart(ctx context.Context) error {
	p.cmd = exec.Command(p.Binary,
		"--port", "0", "--unixsocket", p.Socket, "--unixsocketperm", "700", "--dir", p.dir,
		"--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction", "--daemonize", "no")
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.cmd.SysProcAttr = childAttributes()
	p.cmd.WaitDelay = stopDeadline // for whoever else holds its output
	p.done = make(chan struct{})
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		close(p.done)
		return fmt.Errorf("start %s: %w", p.Binary, err)
	}
	return p.await(ctx)
}

// run owns the thread that starts the child, since a child that is to die with
// its parent (Linux) dies with the thread that started it.
func (p *Private) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err == nil {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.done)
	}
}

// await waits until the server answers.
func (p *Private) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	o := p.Options(Options{Protocol: 2, DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second})
	for {
		client := o.client(o.dialer()) // a new one: after two failures go-redis waits for a second before it dials again
		err := client.Ping(ctx).Err()
		_ = client.Close()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended at once: %s", p.Binary, p.log.String())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", p.Binary, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Options leads o to the server.
func (p *Private) Options(o Options) Options {
	o.Network, o.Address = "unix", p.Socket
	o.Username, o.Password, o.Database, o.TLS = "", "", 0, nil
	return o
}

// PID is the server's process id.
func (p *Private) PID() int { return p.cmd.Process.Pid }

// Done is closed when the server has ended, by Stop or by itself.
func (p *Private) Done() <-chan struct{} { return p.done }

// Log is the end of what the server has printed.
func (p *Private) Log() string { return p.log.String() }

// Stop ends the server and removes its directory.
func (p *Private) Stop() error {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may be stopped
		select {
		case <-p.done:
		case <-time.After(stopDeadline):
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	}
	if err := os.RemoveAll(p.dir); err != nil {
		return fmt.Errorf("remove the private server's directory: %w", err)
	}
	return nil
}

// Kill ends the server at once and removes its directory as far as it can,
// for an exit that cannot wait.
func (p *Private) Kill() {
	_ = p.cmd.Process.Kill()
	_ = os.RemoveAll(p.dir)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 2 << 10 // bytes

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if n := len(t.buf) - tailSize; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
