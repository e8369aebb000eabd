package daemon

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"soakline/daemon/workload"
)

// faultsFor and faultSeed say how long faults strike, and which.
var (
	faultsFor = flag.Duration("faults", 0, "how long faults strike one server, one every 20 s; 0: three of them, at once")
	faultSeed = flag.Uint64("faultseed", 0, "seed of which faults those are; 0: from the time")
)

const (
	faultEvery = 20 * time.Second
	faultsLong = 5 * time.Minute // from here on memory is judged as that of a soak
)

// TestFaultSoak lets faults strike one server at random, one after the other,
// under one daemon. Afterwards every arrival is accounted for, and neither
// memory nor goroutines have grown.
func TestFaultSoak(t *testing.T) {
	seed := *faultSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-faultseed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var undone []fault
	for _, f := range faults {
		if f.undone {
			undone = append(undone, f)
		}
	}
	server := startServer(t)
	x := &ordeal{run: begin(t, slices.Concat(faultKeys, []string{server.url(), withoutLimit, "target.read_timeout=1s"})...), real: server}
	x.await("under load", func() bool { return x.unready() == "" && x.settled(workload.OK) >= 400 })

	began := time.Now()
	var early memory
	struck := 0
	for more := true; more; struck++ {
		f := undone[random.IntN(len(undone))]
		at := time.Since(began)
		f.strike(x)
		x.recover()
		x.same(x.last)
		t.Logf("at %v: %s, for %v", at.Round(time.Second), f.name, (time.Since(began) - at).Round(time.Millisecond))
		if early == (memory{}) && time.Since(began) >= *faultsFor/3 {
			early = measureMemory(t)
		}
		more = struck < 2
		if *faultsFor > 0 {
			more = time.Since(began) < *faultsFor
			time.Sleep(time.Until(began.Add(time.Duration(struck+1) * faultEvery)))
		}
	}
	x.recover()
	x.await("down to its goroutines", func() bool { return runtime.NumGoroutine() <= early.goroutines })
	late := measureMemory(t)
	sum := x.end()
	x.judge(sum, "", "uncertain unsent error_reply")
	if sum.LostWrites != 0 {
		t.Errorf("%d lost writes", sum.LostWrites)
	}
	if long := *faultsFor >= faultsLong; late.heap > early.heap*3/2 || long && (late.heap > early.heap*11/10 || late.resident > early.resident*11/10) {
		t.Errorf("memory grew from %+v to %+v", early, late)
	}
	t.Logf("%d faults; %+v, shed %d; early %+v, late %+v", struck, sum.Ledger.Settled, sum.Ledger.Shed, early, late)
}
