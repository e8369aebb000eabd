// Package config knows the configuration: its keys, their defaults, limits and
// sources. It must never know the engine, go-redis or Prometheus, and starts,
// logs and times nothing.
package config

import "time"

// Config is the whole configuration. The zero value is none: begin with
// Default or Load. The limits of each field are in the table of keys.
type Config struct {
	Target   Target   `koanf:"target"`
	Arrival  Arrival  `koanf:"arrival"`
	Workload Workload `koanf:"workload"`
	Batch    Batch    `koanf:"batch"`
	Queue    Queue    `koanf:"queue"`
	Safety   Safety   `koanf:"safety"`
	Web      Web      `koanf:"web"`
	Log      Log      `koanf:"log"`

	// Duration is how long arrivals go on; 0, the default of a soak: until a
	// signal.
	Duration time.Duration `koanf:"duration"`
	// DrainTimeout is how long a stop waits for what is queued and in flight
	// before it is abandoned. The default is that of an exchange: ReadTimeout.
	DrainTimeout time.Duration `koanf:"drain_timeout"`
}

// Arrival says when commands are due.
type Arrival struct {
	// Process is the name of a row of arrival.Processes. The default is
	// poisson: clients that know nothing of each other.
	Process string `koanf:"process"`
	// Rate is the offered load in commands per second, fractions included; 0:
	// no arrivals. The default is one that any target carries.
	Rate float64 `koanf:"rate"`
	// Seed makes a schedule and its commands repeatable; 0, the default: from
	// entropy.
	Seed uint64 `koanf:"seed"`
	// MaxCatchUp is how late an arrival may be admitted after the daemon
	// itself was suspended; later ones are shed. The default tells a suspended
	// machine from a busy one.
	MaxCatchUp time.Duration `koanf:"max_catch_up"`
	// MaxLag is the p99 schedule lag over ten seconds above which the
	// generator is not valid. The default is several times the p99
	// lateness of a precise sleep.
	MaxLag time.Duration `koanf:"max_lag"`
	// Pacing is how an instant is awaited, a word of Pacings. The default is
	// sleep: spin takes a core.
	Pacing string `koanf:"pacing"`
}

// Pacings lists the words of arrival.pacing.
var Pacings = []string{"sleep", "spin"}

// Workload says which commands are drawn, and what they read and write.
type Workload struct {
	// Mix is what the commands are drawn from, not empty. The default reads
	// as a cache does: seven of ten.
	Mix []Share `koanf:"mix,omitnested"`
	// Keys is the key space.
	Keys KeySpace `koanf:"keys"`
	// Value is what SET writes.
	Value Value `koanf:"value"`
	// Preload writes every key once before the load begins. The default is
	// true: without it the first reads find nothing.
	Preload bool `koanf:"preload"`
}

// Share is one line of the mix.
type Share struct {
	// Command is the name of a row of workload.Commands.
	Command string `koanf:"command"`
	// Weight is relative to the other shares; 0 is none: leave the line out.
	Weight float64 `koanf:"weight"`
}

// KeySpace says which keys the daemon touches.
type KeySpace struct {
	// Count is the number of keys. The default is a
	// megabyte of values.
	Count int `koanf:"count"`
	// Distribution is how keys are drawn, a word of Distributions.
	Distribution string `koanf:"distribution"`
	// Prefix begins every key that the daemon writes. The default is its own
	// name.
	Prefix string `koanf:"prefix"`
	// TTL is the life of every key, whole seconds; 0: for ever. The default
	// outlives a pause of the daemon, and not a day.
	TTL time.Duration `koanf:"ttl"`
}

// Distributions lists the words of workload.keys.distribution.
var Distributions = []string{"uniform"}

// Value says how values look.
type Value struct {
	// Size is the length of each value in bytes. The default is that of a
	// small cache entry.
	Size Bytes `koanf:"size"`
}

// Batch bounds the batches; see batch.Limits.
type Batch struct {
	// Mode is how a batch becomes an exchange, a word of batch.Modes. The
	// default is pipeline.
	Mode string `koanf:"mode"`
	// MaxCommands caps the commands of a batch. With the default, 64, the
	// server and no longer the client is the bottleneck.
	MaxCommands int `koanf:"max_commands"`
	// MaxRequestBytes caps the encoded requests of a batch. The default is
	// half of the connection's buffer.
	MaxRequestBytes Bytes `koanf:"max_request_bytes"`
	// MaxReplyBytes caps the encoded replies that a batch should get. The
	// default is four times MaxRequestBytes: reads return more than they send.
	MaxReplyBytes Bytes `koanf:"max_reply_bytes"`
	// MaxDelay is how long the first command of a batch waits for others; 0:
	// a batch is sent as soon as a connection is free. The default is of the
	// order of a round trip between hosts.
	MaxDelay time.Duration `koanf:"max_delay"`
}

// Queue bounds what waits for a connection; arrivals beyond it are shed.
type Queue struct {
	// MaxCommands caps the queued commands, at least Batch.MaxCommands. The
	// default is a stall of 20 seconds at the default rate.
	MaxCommands int `koanf:"max_commands"`
	// MaxBytes caps the encoded requests of the queued commands. The default
	// is more than MaxCommands of the default mix take.
	MaxBytes Bytes `koanf:"max_bytes"`
}

// Safety says what the daemon must not do to a target.
type Safety struct {
	// AllowShared lets the daemon write to a database that holds keys of
	// others. The default is false.
	AllowShared bool `koanf:"allow_shared"`
	// AllowedTargets are patterns of the addresses that the daemon may load,
	// one of its own servers aside; empty, the default: all. See Allows.
	AllowedTargets []string `koanf:"allowed_targets"`
	// MaxRate is how many commands per second may be offered, or written by a
	// preload: Arrival.Rate must not exceed it, and a process that has no rate
	// is stopped above it; 0, the default: no bound.
	MaxRate float64 `koanf:"max_rate"`
	// MaxMemoryRatio is the part of its memory limit, from 0 to 1, beyond which
	// the target gets no more load; 0: no such brake. The default leaves a
	// tenth to those whom the target serves.
	MaxMemoryRatio float64 `koanf:"max_memory_ratio"`
	// MaxErrorRatio is the part of the settled commands, from 0 to 1, that may
	// be anything but ok before the target gets no more load; 0, the default:
	// no such brake.
	MaxErrorRatio float64 `koanf:"max_error_ratio"`
	// StopOnEviction stops the load when the target evicts keys. The default is
	// false: a cache evicts.
	StopOnEviction bool `koanf:"stop_on_eviction"`
	// Resume says whether load that a brake has stopped goes on when the cause is
	// gone, a word of Resumes. The default is never: somebody should look.
	Resume string `koanf:"resume"`
}

// Resumes lists the words of safety.resume.
var Resumes = []string{"never", "auto"}

// Web is the HTTP server.
type Web struct {
	// ListenAddress is host:port; "": no HTTP server. The default is loopback
	// only.
	ListenAddress string `koanf:"listen_address"`
	// ConfigFile is a Prometheus web configuration with TLS and users; "", the
	// default: neither.
	ConfigFile string `koanf:"config_file"`
	// TelemetryPath is where the metrics are. The default is Prometheus' own.
	TelemetryPath string `koanf:"telemetry_path"`
	// AdminTokenFile is the file that ReadSecrets reads; "", the default: none.
	AdminTokenFile string `koanf:"admin_token_file"`
	// AdminToken is what a request that changes something must present. It is
	// not a key: it comes from AdminTokenVariable, or from AdminTokenFile after
	// ReadSecrets. "": nothing can be changed.
	AdminToken Password `koanf:"-"`
}

// Log is what the daemon writes to standard error.
type Log struct {
	// Level is the least level that is written, a word of LogLevels. The
	// default is info.
	Level string `koanf:"level"`
	// Format is a word of LogFormats. The default is console, for people.
	Format string `koanf:"format"`
}

// LogLevels lists the words of log.level, LogFormats those of log.format.
var (
	LogLevels  = []string{"debug", "info", "warn", "error"}
	LogFormats = []string{"console", "json"}
)

// Default is the configuration of a daemon that is told nothing.
func Default() Config {
	return Config{
		Target: Target{
			URL:          "auto",
			Topology:     "standalone",
			Sentinel:     Sentinel{TLS: TLS{MinVersion: "1.2"}},
			Protocol:     2,
			TLS:          TLS{MinVersion: "1.2"},
			Connections:  4,
			DialTimeout:  5 * time.Second,
			ReadTimeout:  5 * time.Second,
			WriteTimeout: 5 * time.Second,
			Reconnect:    Reconnect{Min: 50 * time.Millisecond, Max: 5 * time.Second},
		},
		Arrival: Arrival{
			Process:    "poisson",
			Rate:       5000,
			MaxCatchUp: time.Second,
			MaxLag:     time.Millisecond,
			Pacing:     "sleep",
		},
		Workload: Workload{
			Mix:   []Share{{"get", 70}, {"set", 20}, {"incr", 10}},
			Keys:  KeySpace{Count: 10_000, Distribution: "uniform", Prefix: "soakline:", TTL: time.Hour},
			Value: Value{Size: 100},

			Preload: true,
		},
		Batch: Batch{
			Mode:            "pipeline",
			MaxCommands:     64,
			MaxRequestBytes: 64 * kib,
			MaxReplyBytes:   256 * kib,
			MaxDelay:        time.Millisecond,
		},
		Queue:        Queue{MaxCommands: 100_000, MaxBytes: 64 * mib},
		Safety:       Safety{MaxMemoryRatio: 0.9, Resume: "never"},
		Web:          Web{ListenAddress: "127.0.0.1:9765", TelemetryPath: "/metrics"},
		Log:          Log{Level: "info", Format: "console"},
		DrainTimeout: 5 * time.Second,
	}
}
