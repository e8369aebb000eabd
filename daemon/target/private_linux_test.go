package target

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestPrivateOutlivesNobody kills a parent that cannot clean up: its server is
// gone at once.
func TestPrivateOutlivesNobody(t *testing.T) {
	_ = private(t).Stop() // there is a server to start
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentMode+"=1", "TMPDIR="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = parent.Wait() }()
	defer func() { _ = parent.Process.Kill() }()
	socket, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", strings.TrimSpace(socket))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server did not end: %d bytes, %v", n, err)
	}
}

// TestPrivateHasNoPort looks for a listening socket among those of the process.
func TestPrivateHasNoPort(t *testing.T) {
	p := private(t)
	proc := fmt.Sprintf("/proc/%d/", p.PID())
	open := map[string]bool{} // what its descriptors lead to
	descriptors, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range descriptors {
		link, _ := os.Readlink(proc + "fd/" + d.Name())
		open[link] = true
	}
	sockets := func(table string, state, inode int, listening string) (n int) {
		text, err := os.ReadFile(proc + "net/" + table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); f[state] == listening && open["socket:["+f[inode]+"]"] {
				n++
			}
		}
		return n
	}
	if n := sockets("tcp", 3, 9, "0A") + sockets("tcp6", 3, 9, "0A"); n != 0 {
		t.Errorf("it listens on %d ports", n)
	}
	if n := sockets("unix", 5, 6, "01"); n != 1 {
		t.Errorf("it listens on %d unix sockets", n)
	}
}
