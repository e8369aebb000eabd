package servertest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// says is what a server answers to an inline command at its port.
func says(t *testing.T, s *Server, command string) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 1<<10)
	n, err := conn.Read(reply)
	if err != nil {
		t.Fatal(err)
	}
	return string(reply[:n])
}

func ended(s *Server) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

// TestServer: a server has what it was started with, comes back where it was,
// and leaves nothing behind.
func TestServer(t *testing.T) {
	var s *Server
	t.Run("lives", func(t *testing.T) {
		s = New(t, Options{Config: "maxclients 100\nmaxmemory 1mb\n", Args: []string{"--maxmemory", "2mb"}})
		if !ended(s) {
			t.Error("it runs before it is started")
		}
		s.Restart()
		s.AwaitReady()
		if ended(s) {
			t.Error("it has ended")
		}
		for parameter, want := range map[string]string{"maxclients": "100", "maxmemory": "2097152"} {
			if got := says(t, s, "config get "+parameter); !strings.HasSuffix(got, "\r\n"+want+"\r\n") {
				t.Errorf("started with %s %s it says %q", parameter, want, got)
			}
		}
		s.Kill()
		if !ended(s) {
			t.Error("it is killed and runs")
		}
		s.Restart("--requirepass", "secret")
		s.AwaitReady() // a refusal is an answer
		if got := says(t, s, "get x"); !strings.HasPrefix(got, "-NOAUTH") {
			t.Errorf("started with a password it says %q", got)
		}
		s.Restart()
		s.AwaitListening()
		if got := says(t, s, "get x"); got != "$-1\r\n" {
			t.Errorf("started without a password it says %q", got)
		}
		s.Signal(syscall.SIGTERM)
		<-s.Done()
		if !strings.Contains(s.Log(), "SIGTERM") {
			t.Errorf("its log is %q", s.Log())
		}
		s.Restart()
		s.AwaitReady()
	})
	if s == nil {
		t.SkipNow()
	}
	if _, err := os.Stat(filepath.Dir(s.Socket)); !ended(s) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it has outlived its test: %v", err)
	}
}

// TestTaken: who else is at the port is not taken for the server.
func TestTaken(t *testing.T) {
	other := Start(t, Options{})
	s := New(t, Options{Args: []string{"--port", other.Address[strings.LastIndex(other.Address, ":")+1:]}})
	s.Restart()
	if err := s.await(false); !errors.Is(err, errTaken) {
		t.Errorf("%v, want to know that the port is taken", err)
	}
}
