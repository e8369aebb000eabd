package daemon

import (
	"strings"
	"testing"

	"soakline/daemon/config"
	"soakline/daemon/servertest"
)

// What the configuration says of TLS is what the target gets: a server that
// speaks nothing else, and wants a client certificate, is loaded with it and
// not without.
func TestTLSTarget(t *testing.T) {
	a := servertest.NewAuthority(t)
	f := servertest.NewFiles(t)
	ca := f.Write("ca", a.PEM)
	serverCert, serverKey := f.Pair("server", a.Issue(t, servertest.Subject{Names: []string{"redis.test"}}))
	cert, key := f.Pair("client", a.Issue(t, servertest.Subject{}))
	server := servertest.Start(t, servertest.Options{TLS: true, Args: []string{
		"--tls-cert-file", serverCert, "--tls-key-file", serverKey, "--tls-ca-cert-file", ca, "--tls-auth-clients", "yes",
	}})
	const insecure = "insecure_skip_verify is set: whoever answers is taken for the target, and given its password"
	all := []string{"ca_file=" + ca, "cert_file=" + cert, "key_file=" + key, "server_name=redis.test", "min_version=1.3"}
	without := func(name string) []string {
		var rest []string
		for _, set := range all {
			if !strings.HasPrefix(set, name) {
				rest = append(rest, set)
			}
		}
		return rest
	}
	for _, tt := range []struct {
		name   string
		scheme string
		tls    []string
		fails  string // how it does; "": not
	}{
		{"a rediss url", "rediss", all, ""},
		{"enabled", "redis", append([]string{"enabled=true"}, all...), ""},
		{"without min_version", "rediss", without("min_version"), ""},
		{"without a CA", "rediss", without("ca_file"), "unknown authority"},
		{"without a client certificate", "rediss", []string{"ca_file=" + ca, "server_name=redis.test"}, "certificate required"},
		{"without a server name", "rediss", without("server_name"), "server_name has to be in its certificate"},
		{"insecure", "rediss", []string{"cert_file=" + cert, "key_file=" + key, "insecure_skip_verify=true"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := []string{"target.url=" + tt.scheme + "://" + server.Address, "arrival.rate=1000", "workload.keys.count=100"}
			for _, s := range tt.tls {
				set = append(set, "target.tls."+s)
			}
			r := begin(t, set...)
			if tt.fails != "" {
				<-r.done
				if r.err == nil || !strings.Contains(r.err.Error(), tt.fails) {
					t.Errorf("%v, want %q", r.err, tt.fails)
				}
				return
			}
			r.await("ready", func() bool { return r.unready() == "" })
			if sum := r.end(); !sum.AllOK() {
				t.Errorf("%+v", sum.Ledger)
			}
			if warned := r.logs.FilterMessage(insecure).Len() == 1; warned != (tt.name == "insecure") {
				t.Errorf("warned of any certificate: %t", warned)
			}
			loading := r.logs.FilterMessage("loading").All()[0].ContextMap()
			for key, want := range map[string]string{"role": "master", "persistence": "none", "maxmemory": "0", "maxmemory_policy": "noeviction"} {
				if loading[key] != want {
					t.Errorf("the log says that %s is %v, want %s", key, loading[key], want)
				}
			}
		})
	}
}

// Files that cannot be used are told by their keys, of both sections, at once,
// and only where TLS is used.
func TestCheckFiles(t *testing.T) {
	sentinels := []string{
		"target.topology=sentinel", "target.addresses=[a, b]", "target.sentinel.master=m",
		"target.sentinel.tls.enabled=true", "target.sentinel.tls.ca_file=/none/c", "target.tls.enabled=true", "target.tls.ca_file=/none/d",
	}
	for _, tt := range []struct {
		set  []string
		want []string // beginnings of lines
	}{
		{[]string{"target.url=redis://h"}, nil},
		{[]string{"target.url=rediss://h"}, nil},
		{[]string{"target.url=rediss://h", "target.tls.ca_file=/none/a"}, []string{"target.tls.ca_file: "}},
		{[]string{"target.url=rediss://h", "target.tls.cert_file=/none/a", "target.tls.key_file=/none/b"}, []string{"target.tls.cert_file, key_file: "}},
		{sentinels, []string{"target.tls.ca_file: ", "target.sentinel.tls.ca_file: "}},
	} {
		c, err := config.Load(config.Sources{Set: tt.set})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		if err := CheckFiles(&c); err != nil {
			lines = strings.Split(err.Error(), "\n")
		}
		if len(lines) != len(tt.want) {
			t.Errorf("%q: %q, want %q", tt.set, lines, tt.want)
			continue
		}
		for i, want := range tt.want {
			if !strings.HasPrefix(lines[i], want) || !strings.Contains(lines[i], "/none/") {
				t.Errorf("%q: %q, want %q and the file", tt.set, lines[i], want)
			}
		}
	}
}
