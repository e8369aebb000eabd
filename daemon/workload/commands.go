package workload

// maxInteger is the encoded size of the longest integer reply, :n\r\n with the
// 19 digits of a counter's largest value.
const maxInteger = 1 + 19 + 2

func getArgs(l *Layout, a *Args, c Command, _ *Counters) {
	a.text("get")
	a.key(l, c.Key)
}

func getReply(l *Layout) int { return bulkSize(l.ValueSize) }

func checkGet(l *Layout, c Command, r Reply, _ *Counters) Outcome {
	if r.Kind == Nil || r.Kind == Bytes && l.rightValue(r.Bytes, c.Key) {
		return OK
	}
	return Mismatch
}

func setArgs(l *Layout, a *Args, c Command, _ *Counters) {
	a.text("set")
	a.key(l, c.Key)
	from := len(a.buf)
	a.buf = l.AppendValue(a.buf, c.Key, c.Version)
	a.built(from)
	if l.ttl != "" {
		a.text("ex")
		a.text(l.ttl)
	}
}

func setReply(*Layout) int { return len("+OK\r\n") }

func checkSet(_ *Layout, _ Command, r Reply, _ *Counters) Outcome {
	if r.Kind == Bytes && string(r.Bytes) == "OK" {
		return OK
	}
	return Mismatch
}

func incrArgs(l *Layout, a *Args, c Command, counters *Counters) {
	a.text("incr")
	from := len(a.buf)
	a.buf = l.appendCounter(a.buf, counters, l.slot(c.Key))
	a.built(from)
}

func incrReply(*Layout) int { return maxInteger }

func checkIncr(l *Layout, c Command, r Reply, counters *Counters) Outcome {
	n, ok := integer(r)
	if !ok {
		return counters.unread(l.slot(c.Key))
	}
	return counters.observe(l.slot(c.Key), n)
}
