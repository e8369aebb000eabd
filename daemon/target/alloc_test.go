package target

import (
	"context"
	"testing"

	"soakline/daemon/workload"
)

// steady is a pipeline of n commands of all kinds against a private server,
// warm, as one function.
func steady(tb testing.TB, n int) func() {
	tb.Helper()
	o := private(tb).Options(usual)
	conn := open(tb, &o)
	commands := make([]workload.Command, n)
	key := uint64(0)
	once := func() {
		for i := range commands {
			// another kind for the same slot each time, as in a mix
			key++
			commands[i] = workload.Command{Kind: workload.Kind(key % 3), Key: key % layout.Keys, Version: key}
		}
		conn.Prepare(commands)
		if err := conn.Exchange(context.Background(), nil); err != nil {
			tb.Fatal(err)
		}
		for i, c := range commands {
			if outcome := conn.Check(i, c); outcome != workload.OK {
				tb.Fatalf("%+v: %s", c, outcome)
			}
		}
	}
	for range 3 { // every slot has had every kind
		once()
	}
	return once
}

// TestAllocations: an exchange may cost a few, a command none.
func TestAllocations(t *testing.T) {
	const commands, most = 64, 0.2
	once := steady(t, commands)
	if got := testing.AllocsPerRun(200, once) / commands; got > most {
		t.Errorf("%.2f allocations a command, at most %.1f are allowed", got, most)
	}
}

func BenchmarkExchange(b *testing.B) {
	once := steady(b, 64)
	b.ReportAllocs()
	for b.Loop() {
		once()
	}
}
