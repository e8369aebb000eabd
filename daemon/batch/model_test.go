package batch_test

import (
	"time"

	"soakline/daemon/batch"
	"soakline/daemon/workload"
)

// model says what a batch taken at a known instant has to be, from hindsight:
// it never looks ahead, and adds everything up anew.
type model struct {
	limits   batch.Limits
	bounds   batch.Queue
	stop     time.Duration      // when arrivals end
	arrivals []workload.Command // still to come
	waiting  []workload.Command
	shed     []workload.Command
}

// arrive lets everything arrive that is due by now.
func (m *model) arrive(now time.Duration) {
	for len(m.arrivals) > 0 && m.arrivals[0].Intended <= now {
		c := m.arrivals[0]
		m.arrivals = m.arrivals[1:]
		switch request, _ := sizes(append(m.waiting[:len(m.waiting):len(m.waiting)], c)); {
		case len(m.waiting) == m.bounds.Commands, len(m.waiting) > 0 && int64(request) > m.bounds.Bytes:
			m.shed = append(m.shed, c)
		default:
			m.waiting = append(m.waiting, c)
		}
	}
}

// take is the batch that is sent at now.
func (m *model) take(now time.Duration, draining bool) (batch.Batch, []workload.Command) {
	m.arrive(now)
	held := 0
	for held < min(len(m.waiting), m.limits.Commands) && m.fits(m.waiting[:held+1]) {
		held++
	}
	oversize := held == 0
	if oversize {
		held = 1
	}
	taken, left := m.waiting[:held], m.waiting[held:]
	m.waiting = left

	var b batch.Batch
	b.Commands = held
	b.RequestBytes, b.ReplyBytes = sizes(taken)
	b.Closed = true
	first, last := taken[0].Intended, taken[held-1].Intended
	switch {
	case oversize:
		b.Reason, b.Ready = batch.Oversize, last
	case held == m.limits.Commands:
		b.Reason, b.Ready = batch.Commands, last
	case b.RequestBytes == m.limits.RequestBytes:
		b.Reason, b.Ready = batch.RequestBytes, last
	case b.ReplyBytes == m.limits.ReplyBytes:
		b.Reason, b.Ready = batch.ReplyBytes, last
	case len(left) > 0 && b.RequestBytes+int(left[0].RequestBytes) > m.limits.RequestBytes:
		b.Reason, b.Ready = batch.RequestBytes, left[0].Intended
	case len(left) > 0:
		b.Reason, b.Ready = batch.ReplyBytes, left[0].Intended
	case draining && m.stop < first+m.limits.Delay:
		b.Closed, b.Reason, b.Ready = false, batch.Drain, m.stop
	case m.limits.Delay == 0:
		b.Closed, b.Reason, b.Ready = false, batch.Idle, first
	default:
		b.Closed, b.Reason, b.Ready = false, batch.Delay, first+m.limits.Delay
	}
	b.Ready = min(b.Ready, first+m.limits.Delay)
	return b, taken
}

func (m *model) fits(commands []workload.Command) bool {
	request, reply := sizes(commands)
	return request <= m.limits.RequestBytes && reply <= m.limits.ReplyBytes
}

// sizes are the encoded bytes of commands and of their replies.
func sizes(commands []workload.Command) (request, reply int) {
	for _, c := range commands {
		request += int(c.RequestBytes)
		reply += int(c.ReplyBytes)
	}
	return request, reply
}
