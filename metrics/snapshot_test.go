package metrics

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func newLane(recorders int) Lane {
	lane := Lane{Lock: new(sync.Mutex), Ledger: NewLedger(labels)}
	for range recorders {
		lane.Recorders = append(lane.Recorders, NewRecorder(labels))
	}
	return lane
}

// offer makes a batch arrive at lane, and puts some of it in flight on r. It
// returns how much.
func offer(lane Lane, r *Recorder, rnd *rand.Rand) int {
	lane.Lock.Lock()
	defer lane.Lock.Unlock()
	l := lane.Ledger
	for range rnd.IntN(20) {
		l.Arrivals[rnd.IntN(2)]++
		if rnd.IntN(10) == 0 {
			l.Shed[rnd.IntN(2)]++
			continue
		}
		l.QueuedCommands++
		l.QueuedBytes += 40
	}
	if l.QueuedCommands > 0 && rnd.IntN(10) == 0 {
		l.QueuedCommands--
		l.QueuedBytes -= 40
		l.Settled[rnd.IntN(2)][abandoned]++
	}
	n := min(l.QueuedCommands, 1+rnd.IntN(30))
	l.QueuedCommands -= n
	l.QueuedBytes -= 40 * n
	r.Begin(n)
	return n
}

// finish settles a batch of n, with any outcome, on a target that loses every
// write.
func finish(r *Recorder, n int, rnd *rand.Rand) {
	r.Settle()
	defer r.Done()
	written := rnd.IntN(10) > 0
	for range n {
		if !written {
			r.Unsent(rnd.IntN(2), unsent)
			continue
		}
		command, outcome := rnd.IntN(2), rnd.IntN(unsent)
		r.Sent(command, outcome, someTimes)
		if outcome == errorReply {
			r.ErrorReply(codeErr)
		}
		if command == get && outcome == ok {
			r.Read(true)
			r.LostWrite()
		}
	}
	if written {
		r.Exchange(Exchange{
			Service: time.Millisecond, Mode: rnd.IntN(2), Flush: rnd.IntN(2),
			Commands: n, RequestBytes: 40 * n, ReplyBytes: 107 * n, RoundTrips: 1,
		})
	}
}

// checkConsistent checks what must hold within every snapshot.
func checkConsistent(t *testing.T, s *Snapshot) {
	t.Helper()
	if err := s.Balance(); err != nil {
		t.Error(err)
	}
	if s.QueuedBytes != 40*s.QueuedCommands {
		t.Errorf("%d bytes queued for %d commands", s.QueuedBytes, s.QueuedCommands)
	}
	sent := s.SettledAs(ok) + s.SettledAs(errorReply) + s.SettledAs(uncertain)
	for name, h := range map[string]*Histogram{
		"response time": s.ResponseTime(), "queueing delay": s.QueueingDelay(), "schedule lag": s.ScheduleLag(),
		"formation delay": s.FormationDelay(), "dispatch wait": s.DispatchWait(),
	} {
		if h.Count() != sent {
			t.Errorf("%s of %d commands, %d were sent", name, h.Count(), sent)
		}
	}
	for i, command := range labels.Commands {
		n := len(labels.Outcomes)
		if got, want := s.responseTime[i].Count(), sum(s.commands[i*n:i*n+unsent]); got != want {
			t.Errorf("response time of %d commands %s, %d were sent", got, command, want)
		}
	}
	exchanges := s.ServiceTime().Count()
	for name, n := range map[string]uint64{
		"batches": sum(s.batches), "batch sizes": s.batchCommands.Count(), "round trips": s.roundTrips[0],
		"request sizes": s.batchRequestBytes.Count(), "reply sizes": s.batchReplyBytes.Count(),
	} {
		if n != exchanges {
			t.Errorf("%s of %d exchanges, service time of %d", name, n, exchanges)
		}
	}
	if got := s.batchCommands.Sum(); got != float64(sent) {
		t.Errorf("%v commands in exchanges, %d were sent", got, sent)
	}
	if got, want := s.errorReplies[codeErr], s.SettledAs(errorReply); got != want {
		t.Errorf("%d error codes of %d error replies", got, want)
	}
	if got, want := s.LostWrites(), s.commands[get*len(labels.Outcomes)+ok]; got != want || s.Reads(true) != want {
		t.Errorf("%d lost writes, %d hits of %d reads", got, s.Reads(true), want)
	}
}

func TestEverySnapshotIsConsistent(t *testing.T) {
	lanes := []Lane{newLane(3), newLane(2)}
	totals := NewTotals(labels, lanes)
	var connections sync.WaitGroup
	var stopped atomic.Bool
	for i, lane := range lanes {
		for j, r := range lane.Recorders {
			connections.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), uint64(j)))
				for !stopped.Load() {
					n := offer(lane, r, rnd)
					runtime.Gosched()
					finish(r, n, rnd)
				}
			})
		}
	}

	s := NewSnapshot(labels)
	var busy int
	for range 300 {
		totals.Collect(s)
		checkConsistent(t, s)
		if s.InFlightCommands > 0 {
			busy++
		}
		runtime.Gosched()
	}
	if busy == 0 {
		t.Error("no snapshot was taken while a batch was in flight")
	}

	stopped.Store(true)
	connections.Wait()
	totals.Collect(s)
	checkConsistent(t, s)
	if s.InFlightCommands != 0 || s.InFlightBatches != 0 {
		t.Errorf("%d commands, %d batches in flight at the end", s.InFlightCommands, s.InFlightBatches)
	}
}

func TestBalanceSaysByHowMuchItIsOff(t *testing.T) {
	lane := newLane(1)
	lane.Ledger.Arrivals[get] = 10
	lane.Ledger.Shed[tooLate] = 1
	lane.Ledger.Settled[set][abandoned] = 2
	lane.Ledger.QueuedCommands = 3
	lane.Recorders[0].Begin(5)
	s := NewSnapshot(labels)
	NewTotals(labels, []Lane{lane}).Collect(s)
	err := s.Balance()
	const want = "balance the ledger: arrivals 10, but shed 1 + settled 2 + queued 3 + in flight 5: off by -1"
	if err == nil || err.Error() != want {
		t.Errorf("Balance() = %v, want %s", err, want)
	}
}

func TestConnectionsUp(t *testing.T) {
	lane := newLane(2)
	totals, s := NewTotals(labels, []Lane{lane}), NewSnapshot(labels)
	steps := []struct {
		do   func()
		want int
	}{
		{func() {}, 0},
		{lane.Recorders[0].Opened, 1},
		{lane.Recorders[1].Opened, 2},
		{func() { lane.Recorders[0].Failed(dialFault) }, 1},
		{func() {}, 1},
	}
	for i, step := range steps {
		step.do()
		totals.Collect(s)
		if s.ConnectionsUp != step.want {
			t.Errorf("step %d: %d connections up, want %d", i, s.ConnectionsUp, step.want)
		}
	}
	if s.connectionsOpened[0] != 2 || s.failures[dialFault] != 1 {
		t.Errorf("opened %d, failed %d, want 2, 1", s.connectionsOpened[0], s.failures[dialFault])
	}
}

func TestLostWritesAreAddedUp(t *testing.T) {
	lanes := []Lane{newLane(2), newLane(1)}
	totals, s := NewTotals(labels, lanes), NewSnapshot(labels)
	steps := []struct {
		recorder *Recorder
		writes   int
		want     uint64
	}{
		{lanes[0].Recorders[0], 0, 0},
		{lanes[0].Recorders[0], 3, 3},
		{lanes[0].Recorders[1], 5, 8},
		{lanes[1].Recorders[0], 7, 15},
		{lanes[0].Recorders[0], 0, 15},
	}
	for i, step := range steps {
		lose(step.recorder, step.writes)
		totals.Collect(s)
		if s.LostWrites() != step.want {
			t.Errorf("step %d: %d lost writes, want %d", i, s.LostWrites(), step.want)
		}
	}
	if n := sum(s.counters); n != 15 {
		t.Errorf("%d counted, of which 15 are lost writes", n)
	}
}

// BenchmarkCollect collects from 8 recorders what they counted in a batch.
func BenchmarkCollect(b *testing.B) {
	lane := newLane(8)
	totals, s := NewTotals(labels, []Lane{lane}), NewSnapshot(labels)
	for b.Loop() {
		for _, r := range lane.Recorders {
			settle(r, 8)
		}
		totals.Collect(s)
	}
}

// BenchmarkCollectLocked is the part of it that stops the connections.
func BenchmarkCollectLocked(b *testing.B) {
	totals, s := NewTotals(labels, []Lane{newLane(8)}), NewSnapshot(labels)
	for b.Loop() {
		totals.take(s)
	}
}
