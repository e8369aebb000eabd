package daemon

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"soakline/daemon/servertest"
)

// sentinelPeer is a server or a sentinel of the test's own, on a loopback port.
type sentinelPeer struct {
	*servertest.Server
	t      *testing.T
	client *redis.Client
}

// startSentinelPeer starts one and waits until it answers.
func startSentinelPeer(t *testing.T, config, password string, args ...string) *sentinelPeer {
	t.Helper()
	p := &sentinelPeer{Server: servertest.Start(t, servertest.Options{Config: config, Args: args}), t: t}
	p.client = redis.NewClient(&redis.Options{Addr: p.Address, Password: password, Protocol: 2})
	t.Cleanup(func() { _ = p.client.Close() })
	return p
}

// reaches waits until a state is reached, and tells whether it is: not if the
// process ends. It waits for up to a minute: sentinels that do not agree on a
// leader try again after six seconds and more.
func (p *sentinelPeer) reaches(state func() bool) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.Done():
			return false
		default:
		}
		if state() {
			return true
		}
	}
	return false
}

// info is what it says about itself; "" while it does not answer.
func (p *sentinelPeer) info() string { return p.client.Info(p.t.Context()).Val() }

// loaders counts the connections of daemons.
func (p *sentinelPeer) loaders() int {
	p.t.Helper()
	list, err := p.client.ClientList(p.t.Context()).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Count(list, " user=loader ")
}

// forget begins its statistics anew.
func (p *sentinelPeer) forget() {
	p.t.Helper()
	if err := p.client.ConfigResetStat(p.t.Context()).Err(); err != nil {
		p.t.Fatal(err)
	}
}

// sentinelSet is a master with a replica, watched by three sentinels that know
// it as m, and each other. Daemons come to it as the user loader.
type sentinelSet struct {
	t               *testing.T
	master, replica *sentinelPeer
	sentinels       []*sentinelPeer
	password        string // path of the loader's
}

const (
	sentinelServer = "repl-diskless-sync-delay 0\nuser loader on >word ~* &* +@all\n"
	sentinelTimes  = "sentinel down-after-milliseconds m 500\nsentinel failover-timeout m 3000\nsentinel parallel-syncs m 1\n"
)

func startSentinelSet(t *testing.T) *sentinelSet {
	t.Helper()
	s := &sentinelSet{t: t, master: startSentinelPeer(t, sentinelServer, ""), password: sentinelPassword(t, "word")}
	host, port, _ := net.SplitHostPort(s.master.Address)
	s.replica = startSentinelPeer(t, sentinelServer+fmt.Sprintf("replicaof %s %s\n", host, port), "")
	if !s.replica.reaches(func() bool { return strings.Contains(s.replica.info(), "master_link_status:up") }) {
		t.Fatal("the replica does not follow")
	}
	for range 3 {
		s.sentinels = append(s.sentinels, startSentinelPeer(t, fmt.Sprintf("sentinel monitor m %s %s 2\n", host, port)+sentinelTimes, "", "--sentinel"))
	}
	for _, p := range s.sentinels {
		known := "status=ok,address=" + s.master.Address + ",slaves=1,sentinels=3"
		if !p.reaches(func() bool { return strings.Contains(p.info(), known) }) {
			t.Fatal("the sentinels do not find each other")
		}
	}
	return s
}

func sentinelPassword(t *testing.T, password string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte(password), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// begin runs a daemon under a small load, which asks the sentinels.
func (s *sentinelSet) begin(set ...string) *run {
	s.t.Helper()
	var addresses []string
	for _, p := range s.sentinels {
		addresses = append(addresses, p.Address)
	}
	r := begin(s.t, append([]string{
		"target.topology=sentinel", "target.addresses=[" + strings.Join(addresses, ", ") + "]", "target.sentinel.master=m",
		"target.username=loader", "target.password_file=" + s.password, "target.reconnect.max=200ms",
		"target.dial_timeout=2s", "target.read_timeout=2s", "target.write_timeout=2s", "drain_timeout=1s",
		"arrival.rate=500", "arrival.max_catch_up=1m", "workload.keys.count=1000",
	}, set...)...)
	r.await("ready", func() bool { return r.unready() == "" })
	return r
}

// failOver makes the sentinels choose the other server, as planned, and waits
// until it is the master.
func (s *sentinelSet) failOver() {
	s.t.Helper()
	if err := s.sentinels[0].client.Do(s.t.Context(), "sentinel", "failover", "m").Err(); err != nil {
		s.t.Fatal(err)
	}
	s.promoted()
}

// promoted waits until the sentinels know the replica as the master.
func (s *sentinelSet) promoted() {
	s.t.Helper()
	for _, p := range s.sentinels {
		if !p.reaches(func() bool { return strings.Contains(p.info(), ",address="+s.replica.Address+",") }) {
			s.t.Fatal("no failover")
		}
	}
}
