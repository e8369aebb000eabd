package daemon

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// sentinelOracle is a sentinel of the test's own, which says what the test wants.
type sentinelOracle struct {
	address string
	master  atomic.Pointer[string]
}

func startSentinelOracle(t *testing.T, master string) *sentinelOracle {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &sentinelOracle{address: listener.Addr().String()}
	o.master.Store(&master)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				o.answer(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return o
}

// answer answers until the daemon closes, as it does after each question.
func (o *sentinelOracle) answer(conn net.Conn) {
	r := bufio.NewReader(conn)
	for {
		question, err := proxyReply(r) // requests look like replies
		if err != nil {
			return
		}
		answer := "*2\r\n$5\r\nproto\r\n:2\r\n"
		if bytes.Contains(question, []byte("get-master-addr-by-name")) {
			host, port, _ := net.SplitHostPort(*o.master.Load())
			answer = fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(host), host, len(port), port)
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// The old master is as it was, and nobody ends its connections: the daemon
// itself leaves it for the new one, and goes nowhere where it may not.
func TestSentinelLeavesLiveMaster(t *testing.T) {
	t.Parallel()
	var proxies []*proxy
	var clients []*redis.Client
	for range 3 {
		url, client := shared(t)
		p, _ := proxyTo(t, url)
		proxies, clients = append(proxies, p), append(clients, client)
	}
	o := startSentinelOracle(t, proxies[0].address)
	r := begin(t, networkGets, "target.topology=sentinel", "target.addresses=["+o.address+"]", "target.sentinel.master=m",
		"safety.allowed_targets=["+proxies[0].address+", "+proxies[1].address+"]",
		"target.reconnect.max=200ms", "arrival.rate=500", "workload.keys.count=100", "arrival.max_catch_up=1m")
	r.await("ready", func() bool { return r.unready() == "" })

	o.master.Store(&proxies[1].address)
	r.await("at the new master alone", func() bool { return proxies[0].connections() == 0 })
	r.carriesOn()
	if calls := serverCalls(t, clients[1], "get"); calls == 0 {
		t.Error("the new master has executed no GET")
	}
	o.master.Store(&proxies[2].address)
	r.await("down", func() bool { return r.unready() == "no connection to the target" })
	r.await("away from the old master", func() bool { return proxies[1].connections() == 0 })
	o.master.Store(&proxies[1].address)
	r.carriesOn()
	if n := proxies[2].dialled.Load(); n != 0 {
		t.Errorf("%d connections to where the load may not go", n)
	}
	r.endFailedOver()
}
