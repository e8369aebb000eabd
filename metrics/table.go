package metrics

// Row is one line of the table of metrics.
type Row struct {
	Name   string
	Type   string   // counter, gauge or histogram
	Labels []string // names of labels; nil: one series
	Help   string   // what is counted, and when not to believe it

	collect func(*scrape) // puts every series
}

// sent says which commands have times.
const sent = " Of sent commands: outcomes ok, error_reply, mismatch and uncertain (until the exchange was given up)."

// Table lists every metric of the daemon; those of its Go runtime, its process
// and its HTTP handler come on top. To add one, write its row.
var Table = []Row{
	{
		Name:   "soakline_response_time_seconds",
		Type:   "histogram",
		Labels: []string{"command"},
		Help: "Time from a command's intended arrival to its batch's last reply, in seconds." + sent +
			" Do not believe it while soakline_generator_valid is 0, nor as open loop while soakline_open_loop is 0.",
		collect: func(s *scrape) {
			for i, command := range s.labels.Commands {
				s.durations(&s.snapshot.responseTime[i], command)
			}
		},
	},
	{
		Name: "soakline_queueing_delay_seconds",
		Type: "histogram",
		Help: "Time from a command's intended arrival to the sending of its batch, in seconds: formation delay + dispatch wait + schedule lag." + sent +
			" Do not believe it while soakline_generator_valid is 0.",
		collect: func(s *scrape) { s.durations(s.snapshot.queueingDelay) },
	},
	{
		Name: "soakline_schedule_lag_seconds",
		Type: "histogram",
		Help: "Part of the queueing delay that is the generator's own lateness, in seconds: from when the batch was ready and its connection free, to its sending." + sent +
			" Large values say that this machine, not the target, is slow.",
		collect: func(s *scrape) { s.durations(s.snapshot.scheduleLag) },
	},
	{
		Name:    "soakline_formation_delay_seconds",
		Type:    "histogram",
		Help:    "Part of the queueing delay that is waiting for the batch to fill, in seconds." + sent,
		collect: func(s *scrape) { s.durations(s.snapshot.formationDelay) },
	},
	{
		Name:    "soakline_dispatch_wait_seconds",
		Type:    "histogram",
		Help:    "Part of the queueing delay that is waiting for a connection to become free, in seconds." + sent,
		collect: func(s *scrape) { s.durations(s.snapshot.dispatchWait) },
	},
	{
		Name:   "soakline_service_time_seconds",
		Type:   "histogram",
		Labels: []string{"mode"},
		Help:   "Time from the sending of a batch to its last reply, in seconds. One per exchange, not per command: it leaves out all queueing, and is no response time.",
		collect: func(s *scrape) {
			for i, mode := range s.labels.Modes {
				s.durations(&s.snapshot.serviceTime[i], mode)
			}
		},
	},
	{
		Name:    "soakline_batch_commands",
		Type:    "histogram",
		Help:    "Number of commands in a batch. One per exchange.",
		collect: func(s *scrape) { s.numbers(s.snapshot.batchCommands) },
	},
	{
		Name:    "soakline_batch_request_bytes",
		Type:    "histogram",
		Help:    "Encoded size of the requests of a batch, in bytes. One per exchange, whether or not all of it was written.",
		collect: func(s *scrape) { s.bytes(s.snapshot.batchRequestBytes) },
	},
	{
		Name:    "soakline_batch_reply_bytes",
		Type:    "histogram",
		Help:    "Encoded size of the replies that a batch expects, in bytes. One per exchange. Errors, misses and lost replies have other sizes.",
		collect: func(s *scrape) { s.bytes(s.snapshot.batchReplyBytes) },
	},
	{
		Name:    "soakline_arrivals_total",
		Type:    "counter",
		Labels:  []string{"command"},
		Help:    "Commands that were due: the offered load. Each is shed, settled, queued or in flight.",
		collect: func(s *scrape) { s.counts(s.snapshot.arrivals, s.labels.Commands) },
	},
	{
		Name:   "soakline_commands_total",
		Type:   "counter",
		Labels: []string{"command", "outcome"},
		Help:   "Commands that were settled, by outcome: ok is goodput, all together are throughput, unsent and abandoned were never executed.",
		collect: func(s *scrape) {
			n := len(s.labels.Outcomes)
			for i, command := range s.labels.Commands {
				for j, outcome := range s.labels.Outcomes {
					s.value(float64(s.snapshot.commands[i*n+j]), command, outcome)
				}
			}
		},
	},
	{
		Name:    "soakline_shed_commands_total",
		Type:    "counter",
		Labels:  []string{"reason"},
		Help:    "Commands that were due and were refused, by reason: queue_full says that the target is slower than the offered load, or the queue too small for its bursts; too_late that the daemon was suspended. They have no times: while this grows, the time histograms look better than a client would feel.",
		collect: func(s *scrape) { s.counts(s.snapshot.shed, s.labels.Shed) },
	},
	{
		Name:    "soakline_error_replies_total",
		Type:    "counter",
		Labels:  []string{"code"},
		Help:    "Error replies by their code; a code that is not listed is other.",
		collect: func(s *scrape) { s.counts(s.snapshot.errorReplies, s.labels.Codes) },
	},
	{
		Name:    "soakline_batches_total",
		Type:    "counter",
		Labels:  []string{"reason"},
		Help:    "Batches that were written, or partly written, by why they were closed.",
		collect: func(s *scrape) { s.counts(s.snapshot.batches, s.labels.Flushes) },
	},
	{
		Name:    "soakline_round_trips_total",
		Type:    "counter",
		Help:    "Round trips to the target that exchanges took.",
		collect: func(s *scrape) { s.value(float64(s.snapshot.roundTrips[0])) },
	},
	{
		Name:    "soakline_request_bytes_total",
		Type:    "counter",
		Help:    "Encoded bytes of the requests of all exchanges, whether or not all of them were written.",
		collect: func(s *scrape) { s.value(s.snapshot.batchRequestBytes.Sum()) },
	},
	{
		Name:    "soakline_reply_bytes_total",
		Type:    "counter",
		Help:    "Encoded bytes of the replies that all exchanges expected. Errors, misses and lost replies have other sizes.",
		collect: func(s *scrape) { s.value(s.snapshot.batchReplyBytes.Sum()) },
	},
	{
		Name:    "soakline_reads_total",
		Type:    "counter",
		Labels:  []string{"result"},
		Help:    "Reads that were answered, by whether the key existed.",
		collect: func(s *scrape) { s.counts(s.snapshot.reads, readResults) },
	},
	{
		Name:    "soakline_lost_writes_total",
		Type:    "counter",
		Help:    "Acknowledged writes that are gone: a read returned an older version than one acknowledged before it was sent. Once for a key until it is written anew; of values large enough to carry a version (28 B), in the first 1,048,576 keys. A missing key is a miss, not a lost write.",
		collect: func(s *scrape) { s.value(float64(s.snapshot.LostWrites())) },
	},
	{
		Name:   "soakline_uncertain_resolved_total",
		Type:   "counter",
		Labels: []string{"executed"},
		Help:   "Uncertain increments whose counter was read back on a new connection, by whether they had executed. What neither yes nor no counts could not be told: the counter was lost, or the target has not answered since.",
		collect: func(s *scrape) {
			s.value(float64(s.gauges.UncertainExecuted), "yes")
			s.value(float64(s.gauges.UncertainNotExecuted), "no")
		},
	},
	{
		Name:    "soakline_connections_opened_total",
		Type:    "counter",
		Help:    "Connections that were opened, the first of each included.",
		collect: func(s *scrape) { s.value(float64(s.snapshot.connectionsOpened[0])) },
	},
	{
		Name:    "soakline_connection_failures_total",
		Type:    "counter",
		Labels:  []string{"reason"},
		Help:    "Connections that could not be made, or broke, by reason.",
		collect: func(s *scrape) { s.counts(s.snapshot.failures, s.labels.Failures) },
	},
	{
		Name:    "soakline_target_changes_total",
		Type:    "counter",
		Labels:  []string{"fact"},
		Help:    "Changes of the target that the daemon noticed, by the fact that changed: numbers before and after a change are not of the same experiment.",
		collect: func(s *scrape) { s.counts(s.gauges.TargetChanges, s.labels.Facts) },
	},
	{
		Name:   "soakline_build_info",
		Type:   "gauge",
		Labels: []string{"version", "revision", "goversion"},
		Help:   "Always 1: which build of the daemon runs.",
		collect: func(s *scrape) {
			b := s.gauges.Build
			s.value(1, b.Version, b.Revision, b.GoVersion)
		},
	},
	{
		Name:   "soakline_target_info",
		Type:   "gauge",
		Labels: []string{"server", "version", "mode", "topology", "persistence"},
		Help:   "Always 1: what is loaded. Labels are empty until the target has been reached. Numbers taken on an embedded server say nothing about a real one.",
		collect: func(s *scrape) {
			t := s.gauges.Target
			s.value(1, t.Server, t.Version, t.Mode, t.Topology, t.Persistence)
		},
	},
	{
		Name:    "soakline_target_up",
		Type:    "gauge",
		Help:    "1 while at least one connection to the target is up and it answered the last ping, one a second, else 0.",
		collect: func(s *scrape) { s.truth(s.snapshot.ConnectionsUp > 0 && s.gauges.TargetAnswers) },
	},
	{
		Name:    "soakline_offered_rate",
		Type:    "gauge",
		Help:    "Rate that the profile offers now, in commands per second; 0 while a brake has stopped the load. Compare the rate of soakline_arrivals_total. Means nothing while soakline_open_loop is 0.",
		collect: func(s *scrape) { s.value(s.gauges.OfferedRate) },
	},
	{
		Name:    "soakline_open_loop",
		Type:    "gauge",
		Help:    "1 while arrivals follow a schedule and never wait for completions; 0 under the closed arrival process, whose queueing delays and response times leave out what a slow target would have made other clients wait.",
		collect: func(s *scrape) { s.truth(s.gauges.OpenLoop) },
	},
	{
		Name:    "soakline_generator_valid",
		Type:    "gauge",
		Help:    "0 while the generator, not the target, sets the numbers: over the last 10 s, p99 schedule lag was above its bound, or arrivals were shed too_late. Else 1.",
		collect: func(s *scrape) { s.truth(s.gauges.GeneratorValid) },
	},
	{
		Name:    "soakline_brake",
		Type:    "gauge",
		Labels:  []string{"brake"},
		Help:    "1 while this brake has stopped the load, else 0.",
		collect: func(s *scrape) { s.truths(s.gauges.Brakes, s.labels.Brakes) },
	},
	{
		Name:    "soakline_batch_limit_commands",
		Type:    "gauge",
		Help:    "Limit in force: number of commands in a batch.",
		collect: func(s *scrape) { s.value(float64(s.gauges.BatchCommands)) },
	},
	{
		Name:    "soakline_batch_limit_request_bytes",
		Type:    "gauge",
		Help:    "Limit in force: encoded size of the requests of a batch, in bytes. A command that exceeds it by itself travels alone.",
		collect: func(s *scrape) { s.value(float64(s.gauges.BatchRequestBytes)) },
	},
	{
		Name:    "soakline_batch_limit_reply_bytes",
		Type:    "gauge",
		Help:    "Limit in force: encoded size of the replies that a batch expects, in bytes. A command that exceeds it by itself travels alone.",
		collect: func(s *scrape) { s.value(float64(s.gauges.BatchReplyBytes)) },
	},
	{
		Name:    "soakline_batch_limit_delay_seconds",
		Type:    "gauge",
		Help:    "Limit in force: time from the first command's arrival until a batch is sent even if not full, in seconds. 0: when a connection is free.",
		collect: func(s *scrape) { s.value(s.gauges.BatchDelay.Seconds()) },
	},
	{
		Name:    "soakline_queued_commands",
		Type:    "gauge",
		Help:    "Commands that were admitted and not yet taken by a connection.",
		collect: func(s *scrape) { s.value(float64(s.snapshot.QueuedCommands)) },
	},
	{
		Name:    "soakline_queued_bytes",
		Type:    "gauge",
		Help:    "Encoded size of the requests of queued commands, in bytes.",
		collect: func(s *scrape) { s.value(float64(s.snapshot.QueuedBytes)) },
	},
	{
		Name:    "soakline_queued_commands_limit",
		Type:    "gauge",
		Help:    "Queued commands above which arrivals are shed.",
		collect: func(s *scrape) { s.value(float64(s.gauges.QueueCommands)) },
	},
	{
		Name:    "soakline_queued_bytes_limit",
		Type:    "gauge",
		Help:    "Queued bytes above which arrivals are shed.",
		collect: func(s *scrape) { s.value(float64(s.gauges.QueueBytes)) },
	},
	{
		Name:    "soakline_in_flight_commands",
		Type:    "gauge",
		Help:    "Commands that a connection has taken and that have no outcome yet.",
		collect: func(s *scrape) { s.value(float64(s.snapshot.InFlightCommands)) },
	},
	{
		Name:    "soakline_in_flight_batches",
		Type:    "gauge",
		Help:    "Batches that a connection has taken and that are not settled: never more than there are connections.",
		collect: func(s *scrape) { s.value(float64(s.snapshot.InFlightBatches)) },
	},
}
