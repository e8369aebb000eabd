package daemon

const (
	uncertain = "uncertain"
	unsent    = "unsent"
	refusal   = "error_reply"

	// impatient gives up an exchange before a hang of the server ends.
	impatient = "target.read_timeout=300ms"
	// withoutLimit takes a target however full it is.
	withoutLimit = "safety.max_memory_ratio=0"
)

// faults is the table of what a real server does to the load.
var faults = []fault{
	{
		name: "stops for less than the read timeout", strike: stall, undone: true,
		check: felt,
	},
	{
		name: "stops for more than the read timeout", strike: hang, undone: true,
		keys: []string{impatient},
		must: uncertain,
		check: func(x *ordeal, sum *Summary) {
			// the requests waited in its sockets, and it did read them
			if in := sum.Increments; in.Executed <= in.NotExecuted+in.Unknown {
				x.t.Errorf("%+v, want most of them executed", in)
			}
			x.failed("timeout")
		},
	},
	{
		name: "pauses its clients for less than the read timeout", undone: true,
		strike: func(x *ordeal) { x.real.do("client", "pause", stallFor.Milliseconds(), "all") },
		check:  felt,
	},
	{
		name: "pauses its clients for more than the read timeout", undone: true,
		keys:   []string{impatient},
		strike: pause,
		must:   uncertain,
		check:  func(x *ordeal, _ *Summary) { x.failed("timeout") },
	},
	{
		name: "is killed, without persistence", strike: crash, misses: true, undone: true,
		must: uncertain, may: unsent,
		check: func(x *ordeal, sum *Summary) {
			if in := sum.Increments; in.Executed+in.NotExecuted > 0 {
				x.t.Errorf("%+v, though the counters are gone", in)
			}
			x.changed(sum, "run_id", 1)
		},
	},
	{
		name: "is killed, and had synced every write", strike: crash,
		server: []string{"--appendonly", "yes", "--appendfsync", "always"},
		keys:   []string{"arrival.rate=1000", "batch.max_delay=20ms"},
		must:   uncertain, may: unsent,
		check: func(x *ordeal, sum *Summary) { x.changed(sum, "run_id", 1) },
	},
	{
		name: "is killed, and comes back with old data", strike: crashAfterSave, loses: true,
		keys: []string{"workload.keys.count=32", "workload.mix=[{command: get, weight: 3}, {command: set, weight: 1}]"},
		must: uncertain, may: unsent,
		check: func(x *ordeal, sum *Summary) {
			if n := sum.LostWrites; n > 32 {
				x.t.Errorf("%d lost writes of 32 keys, each of which goes back once", n)
			}
		},
	},
	{
		name: "restarts, and loads its data for a while", strike: slowStart,
		must: uncertain, may: unsent,
		check: func(x *ordeal, _ *Summary) { x.failed("rejected") },
	},
	{
		name: "closes connections", strike: kicks, undone: true,
		must: uncertain, may: unsent,
	},
	{
		name: "closes connections of a unix socket", strike: kicks,
		url: (*realServer).socketURL,
		may: uncertain + " " + unsent,
	},
	{
		name: "runs a script that does not end", strike: busyScript, undone: true,
		must: refusal, codes: "BUSY",
	},
	{
		name: "is full, and evicts nothing", strike: fill, undone: true,
		keys: []string{withoutLimit},
		must: refusal, codes: "OOM",
		check: func(x *ordeal, _ *Summary) { x.served("get") },
	},
	{
		name: "is full, and evicts", strike: evict, misses: true,
		keys: []string{withoutLimit, "workload.keys.count=20000", "workload.mix=[{command: get, weight: 1}, {command: set, weight: 1}]"},
	},
	{
		name: "becomes a replica", strike: demote, undone: true,
		keys: []string{"target.reconnect.max=500ms"},
		must: refusal, codes: "READONLY",
		check: func(x *ordeal, sum *Summary) {
			x.served("get")
			x.failed("role")
			x.changed(sum, "role", 2)
		},
	},
	{
		name: "takes no more clients", strike: refuse, undone: true,
		must: uncertain, may: unsent,
	},
	{
		name: "forbids a command", strike: forbid, undone: true,
		must: refusal, codes: "NOPERM",
		check: func(x *ordeal, _ *Summary) { x.served("get", "incr") },
	},
	{
		name: "disables the user", undone: true,
		strike: func(x *ordeal) {
			x.real.do("acl", "setuser", loadUser, "off")
			x.real.do("client", "kill", "user", loadUser)
			x.lockedOut()
			x.real.do("acl", "setuser", loadUser, "on")
		},
		must: uncertain, may: unsent,
	},
	{
		name: "deletes the user", undone: true,
		strike: func(x *ordeal) {
			x.real.do("acl", "deluser", loadUser)
			x.lockedOut()
			x.await("locked out of its counters", func() bool { return x.logs.FilterMessage("cannot look after the run's keys").Len() > 0 })
			x.real.do("acl", "setuser", loadUser, "on", ">"+loadPassword, "~*", "&*", "+@all")
		},
		must: uncertain, may: unsent,
	},
	{
		name: "wants a password", url: (*realServer).plainURL,
		strike: func(x *ordeal) {
			x.real.set("requirepass", "new")
			x.real.kickAll()
			x.lockedOut()
			x.real.set("requirepass", "")
		},
		must: uncertain, may: unsent,
	},
}
