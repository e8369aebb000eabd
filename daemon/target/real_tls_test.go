package target

import (
	"net"
	"strings"
	"testing"
	"time"

	"soakline/daemon/servertest"
)

// secured starts a real server that speaks TLS and demands certificates of a,
// and returns its address.
func secured(t *testing.T, a *servertest.Authority) string {
	t.Helper()
	f := servertest.NewFiles(t)
	cert, key := f.Pair("server", a.Issue(t, servertest.Loopback))
	return servertest.Start(t, servertest.Options{TLS: true, Args: []string{
		"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", f.Write("ca", a.PEM), "--tls-auth-clients", "yes",
	}}).Address
}

// TestRealTLS loads a real server over TLS in every way, and meets its
// refusals: OpenSSL's words are not crypto/tls's.
func TestRealTLS(t *testing.T) {
	a, stranger := servertest.NewAuthority(t), servertest.NewAuthority(t)
	o := usual
	o.Network, o.Address = "tcp", secured(t, a)
	o.Username, o.Password, o.Database = "", "", 0
	f := servertest.NewFiles(t)
	ours := TLS{CAFile: f.Write("ca", a.PEM), MinVersion: "1.3"}
	ours.CertFile, ours.KeyFile = f.Pair("client", a.Issue(t, servertest.Subject{}))
	o.TLS = &ours
	for protocol := 2; protocol <= 3; protocol++ {
		for _, size := range []int{1, 10} {
			o.Protocol = protocol
			load(t, o, size)
			if n, err := control(t, o).Remove(t.Context()); n == 0 || err != nil {
				t.Errorf("removed %d keys: %v", n, err)
			}
		}
	}

	without, strange, distrusts := ours, ours, ours
	without.CertFile, without.KeyFile = "", ""
	strange.CertFile, strange.KeyFile = f.Pair("stranger", stranger.Issue(t, servertest.Subject{}))
	distrusts.CAFile = f.Write("strange-ca", stranger.PEM)
	for _, c := range []struct {
		name string
		tls  *TLS
		hint string
	}{
		{"no certificate", &without, "it wants a client certificate: cert_file and key_file"},
		{"another's certificate", &strange, "it does not accept the client certificate"},
		{"another's CA", &distrusts, "ca_file has to hold who signed its certificate"},
	} {
		o.TLS = c.tls
		for range 5 { // whoever is first
			_, err := Open(t.Context(), &o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
			for _, err := range []error{err, control(t, o).Ping(t.Context())} {
				if err == nil || FailureOf(err) != Handshake || o.Hint(err) != c.hint {
					t.Errorf("%s: %v", c.name, err)
				}
			}
		}
	}

	o.TLS = nil
	_, err := Open(t.Context(), &o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
	if f := FailureOf(err); f != Closed && f != Reset || !strings.Contains(o.Hint(err), "expects TLS") {
		t.Errorf("without TLS: %v", err)
	}
}

// TestRealMaxClients: what a real server says to one client too many.
func TestRealMaxClients(t *testing.T) {
	o := private(t).Options(usual)
	admin := control(t, o)
	address := servertest.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	for _, setting := range [][2]string{{"port", port}, {"maxclients", "1"}} {
		if err := admin.client.ConfigSet(t.Context(), setting[0], setting[1]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	tcp := o
	tcp.Network, tcp.Address = "tcp", address
	for _, o := range []Options{o, tcp} {
		for range 10 { // whoever is first
			_, err := Open(t.Context(), &o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
			for _, err := range []error{err, control(t, o).Ping(t.Context())} {
				if err == nil || FailureOf(err) != MaxClients {
					t.Errorf("%s: %v", o.Network, err)
				}
			}
		}
	}
}

// TestRealWithoutTLS: a real server without TLS is met with TLS, which it takes
// for commands.
func TestRealWithoutTLS(t *testing.T) {
	o := private(t).Options(usual)
	o.TLS = &TLS{InsecureSkipVerify: true}
	o.DialTimeout = 100 * time.Millisecond // it may wait for an end of line
	_, err := Open(t.Context(), &o, Seat{Layout: layout, Counters: layout.NewCounters(0, 0), Writes: layout.NewWrites(1, true)})
	if err == nil || FailureOf(err) == Other || !strings.Contains(o.Hint(err), "does not speak TLS") {
		t.Errorf("%v", err)
	}
}
