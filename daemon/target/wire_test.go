package target

import (
	"testing"
	"time"

	"soakline/daemon/workload"
)

// TestRequestBytes: what a command is planned to weigh is what it weighs on the
// wire.
func TestRequestBytes(t *testing.T) {
	for _, l := range []workload.Layout{
		{Prefix: "soakline:", Run: "r", Keys: 1, ValueSize: 3},
		{Prefix: "soakline:", Run: "r", Keys: 17, ValueSize: 9, TTL: time.Second},
		{Prefix: "p:", Run: "longer", Keys: 1 << 20, ValueSize: 10, TTL: time.Hour},
		{Prefix: "", Run: "r", Keys: 1 << 40, ValueSize: 2000, TTL: 1000 * time.Hour},
	} {
		layout := workload.NewLayout(l)
		var rows []answered
		for kind := range workload.Commands {
			for _, key := range []uint64{0, l.Keys / 2, l.Keys - 1} {
				command := workload.Command{Kind: workload.Kind(kind), Key: key, Version: key + 1}
				rows = append(rows, answered{command: command, reply: "+OK\r\n"})
			}
		}
		f := answering(rows)
		conn, err := Open(t.Context(), f.options(), Seat{Layout: layout, Counters: layout.NewCounters(9, 1<<20), Writes: layout.NewWrites(1, true)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := exchange(t.Context(), conn, commandsOf(rows)...); err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		sent := f.taken(t)
		for i, row := range rows {
			if want := layout.RequestBytes(row.command.Kind); sent[i].bytes != want {
				t.Errorf("%q takes %d bytes, planned were %d (%+v)", sent[i].args, sent[i].bytes, want, l)
			}
		}
	}
}
