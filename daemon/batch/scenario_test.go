package batch_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"soakline/daemon/batch"
	"soakline/daemon/workload"
)

// plenty is a cap that no scenario reaches.
const plenty = 1000

// scenarios run a lane. Instants and the delay are in nanoseconds, so that they
// read as plain numbers. An arrival is instant:request/reply, sizes in bytes,
// 10/10 where they are left out; the n-th batch finds a connection from the
// n-th instant of free on, at once after the last. A cap that is left out is
// plenty.
var scenarios = []struct {
	name     string
	limits   batch.Limits
	bounds   batch.Queue
	arrivals string
	free     string
	stop     time.Duration // 0: never
	want     string
}{
	{
		name:     "the count cap fills before the delay runs out",
		limits:   batch.Limits{Commands: 3, Delay: 10},
		arrivals: "0 2 4 5",
		want: `commands ready 4 sent 4: 0 2 4
			delay ready 15 sent 15: 5`,
	},
	{
		name:     "the delay counts from the first arrival of the batch",
		limits:   batch.Limits{Delay: 10},
		arrivals: "0 3 50",
		want: `delay ready 10 sent 10: 0 3
			delay ready 60 sent 60: 50`,
	},
	{
		name:     "an arrival at the instant of the deadline travels along",
		limits:   batch.Limits{Delay: 10},
		arrivals: "0 10 11",
		want: `delay ready 10 sent 10: 0 10
			delay ready 21 sent 21: 11`,
	},
	{
		name:     "a cap that fills at the instant of the deadline is the reason",
		limits:   batch.Limits{Commands: 2, Delay: 10},
		arrivals: "0 10",
		want:     `commands ready 10 sent 10: 0 10`,
	},
	{
		name:     "more at one instant than a batch holds",
		limits:   batch.Limits{Commands: 2, Delay: 10},
		arrivals: "7 7 7 7 7",
		want: `commands ready 7 sent 7: 7 7
			commands ready 7 sent 7: 7 7
			delay ready 17 sent 17: 7`,
	},
	{
		name:     "request bytes are met exactly: ready at once",
		limits:   batch.Limits{RequestBytes: 20, Delay: 10},
		arrivals: "0 1 5",
		want: `request_bytes ready 1 sent 1: 0 1
			delay ready 15 sent 15: 5`,
	},
	{
		name:     "the next request would exceed: ready when it arrives",
		limits:   batch.Limits{RequestBytes: 25, Delay: 10},
		arrivals: "0 1 5",
		want: `request_bytes ready 5 sent 5: 0 1
			delay ready 15 sent 15: 5`,
	},
	{
		name:     "reply bytes are met exactly: ready at once",
		limits:   batch.Limits{ReplyBytes: 30, Delay: 10},
		arrivals: "0:10/5 1:10/25 5",
		want: `reply_bytes ready 1 sent 1: 0 1
			delay ready 15 sent 15: 5`,
	},
	{
		name:     "the next reply would exceed: ready when it arrives",
		limits:   batch.Limits{ReplyBytes: 30, Delay: 10},
		arrivals: "0:10/5 1:10/26 5:10/4 6:10/1",
		want: `reply_bytes ready 1 sent 1: 0
			reply_bytes ready 5 sent 5: 1 5
			delay ready 16 sent 16: 6`,
	},
	{
		name:     "a small command does not overtake one that does not fit",
		limits:   batch.Limits{RequestBytes: 25, Delay: 10},
		arrivals: "0:20 1:10 2:5",
		want: `request_bytes ready 1 sent 1: 0
			delay ready 11 sent 11: 1 2`,
	},
	{
		name:     "without a delay each arrival goes as it comes",
		arrivals: "0 0 1",
		want: `idle ready 0 sent 0: 0 0
			idle ready 1 sent 1: 1`,
	},
	{
		name:     "without a delay a connection takes what has arrived",
		arrivals: "0 2 4 7 9",
		free:     "7",
		want: `idle ready 0 sent 7: 0 2 4 7
			idle ready 9 sent 9: 9`,
	},
	{
		name:     "without a delay the caps still apply",
		limits:   batch.Limits{Commands: 3},
		arrivals: "0 2 4 5",
		free:     "7 8",
		want: `commands ready 0 sent 7: 0 2 4
			idle ready 5 sent 8: 5`,
	},
	{
		name:     "a batch that waits for a connection goes on filling",
		limits:   batch.Limits{Delay: 5},
		arrivals: "0 3 8 20 30",
		free:     "20",
		want: `delay ready 5 sent 20: 0 3 8 20
			delay ready 35 sent 35: 30`,
	},
	{
		name:     "it fills up to its caps",
		limits:   batch.Limits{Commands: 3, Delay: 5},
		arrivals: "0 3 8 12 14",
		free:     "20 21",
		want: `commands ready 5 sent 20: 0 3 8
			delay ready 17 sent 21: 12 14`,
	},
	{
		name:     "an oversize command travels alone, at once",
		limits:   batch.Limits{RequestBytes: 50, Delay: 10},
		arrivals: "0 1:51 2:50 3:1/2000",
		want: `request_bytes ready 1 sent 1: 0
			oversize ready 1 sent 1: 1
			request_bytes ready 2 sent 2: 2
			oversize ready 3 sent 3: 3`,
	},
	{
		name:     "a full queue sheds what arrives, in order",
		limits:   batch.Limits{Commands: 3, Delay: 10},
		bounds:   batch.Queue{Commands: 3},
		arrivals: "0 1 2 3 4 50 51",
		free:     "50",
		want: `commands ready 2 sent 50: 0 1 2
			delay ready 61 sent 61: 51
			shed: 3 4 50`,
	},
	{
		name:     "a byte bound that sheds the arrival which was to fill the batch",
		limits:   batch.Limits{Commands: 3, Delay: 10},
		bounds:   batch.Queue{Bytes: 20},
		arrivals: "0 1 2 3",
		want: `delay ready 10 sent 10: 0 1
			shed: 2 3`,
	},
	{
		name:     "a command over the queue's byte bound finds room in an empty queue",
		limits:   batch.Limits{Delay: 10},
		bounds:   batch.Queue{Bytes: 20},
		arrivals: "0:30 1:1 30:1",
		want: `delay ready 10 sent 10: 0
			delay ready 40 sent 40: 30
			shed: 1`,
	},
	{
		name:     "a drain flushes what has arrived and forgets what was planned",
		limits:   batch.Limits{Commands: 3, Delay: 10},
		arrivals: "0 1 2 5 9",
		stop:     6,
		want: `commands ready 2 sent 2: 0 1 2
			drain ready 6 sent 6: 5`,
	},
	{
		name:     "a drain keeps the reasons that are true without it, and its instant",
		limits:   batch.Limits{Commands: 2, Delay: 10},
		arrivals: "0 1 2 3 4 30",
		free:     "14 14 14",
		stop:     8,
		want: `commands ready 1 sent 14: 0 1
			commands ready 3 sent 14: 2 3
			drain ready 8 sent 14: 4`,
	},
}

func TestScenarios(t *testing.T) {
	for _, tt := range scenarios {
		t.Run(tt.name, func(t *testing.T) {
			limits, bounds, stop := tt.limits, tt.bounds, tt.stop
			for _, limit := range []*int{&limits.Commands, &limits.RequestBytes, &limits.ReplyBytes, &bounds.Commands} {
				if *limit == 0 {
					*limit = plenty
				}
			}
			if bounds.Bytes == 0 {
				bounds.Bytes = 100 * plenty
			}
			if stop == 0 {
				stop = never
			}
			l := &lane{
				former:   batch.NewFormer(limits, bounds),
				arrivals: arrivals(t, tt.arrivals),
				stop:     stop,
				late:     func() time.Duration { return 0 },
				pause:    func(_, to time.Duration) time.Duration { return to },
			}
			var got []string
			free := strings.Fields(tt.free)
			for {
				var from time.Duration
				if len(free) > 0 {
					from, free = time.Duration(number(t, free[0])), free[1:]
				}
				x, ok := l.exchange(from)
				if !ok {
					break
				}
				got = append(got, fmt.Sprintf("%v ready %d sent %d:%s", x.Reason, x.Ready, x.sent, instants(x.commands)))
			}
			if len(l.shed) > 0 {
				got = append(got, "shed:"+instants(l.shed))
			}
			want := strings.ReplaceAll(tt.want, "\t", "")
			if strings.Join(got, "\n") != want {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), want)
			}
		})
	}
}

func arrivals(t *testing.T, text string) []workload.Command {
	var all []workload.Command
	for field := range strings.FieldsSeq(text) {
		at, sizes, _ := strings.Cut(field, ":")
		request, reply, _ := strings.Cut(sizes, "/")
		c := workload.Command{Intended: time.Duration(number(t, at)), RequestBytes: 10, ReplyBytes: 10}
		if request != "" {
			c.RequestBytes = int32(number(t, request))
		}
		if reply != "" {
			c.ReplyBytes = int32(number(t, reply))
		}
		all = append(all, c)
	}
	return all
}

func number(t *testing.T, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func instants(commands []workload.Command) string {
	var s strings.Builder
	for _, c := range commands {
		s.WriteString(fmt.Sprintf(" %d", c.Intended))
	}
	return s.String()
}
