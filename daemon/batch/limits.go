package batch

import "time"

// Limits are the caps of a batch. All are hard: they are checked before a
// command is added.
type Limits struct {
	Commands     int           // at most so many commands, at least 1
	RequestBytes int           // at most so many encoded RESP bytes of requests, at least 1
	ReplyBytes   int           // at most so many encoded RESP bytes of expected replies, at least 1
	Delay        time.Duration // at most so long from the first command's arrival; 0: send when a connection is free
}

// Reason is why a batch was closed: what to change to get larger batches.
type Reason uint8

const (
	Commands     Reason = iota // the batch holds Limits.Commands commands
	RequestBytes               // the next command would exceed Limits.RequestBytes, or nothing more fits
	ReplyBytes                 // the same of Limits.ReplyBytes
	Delay                      // Limits.Delay ran out
	Idle                       // Limits.Delay is 0, and a connection was free
	Oversize                   // one command that exceeds a byte cap by itself
	Drain                      // the daemon is stopping
)

// Reasons lists the names of the reasons, indexed by Reason.
var Reasons = []string{"commands", "request_bytes", "reply_bytes", "delay", "idle", "oversize", "drain"}

func (r Reason) String() string { return Reasons[r] }

// Mode is how a batch becomes an exchange, an index into Modes.
type Mode uint8

const (
	Pipeline Mode = iota // all commands written at once, then all replies read
	Single               // a plain request and its reply, one command a batch
)

// Modes lists the names of the modes, indexed by Mode, as in batch.mode.
var Modes = []string{"pipeline", "single"}

func (m Mode) String() string { return Modes[m] }

// ModeByName finds a mode.
func ModeByName(name string) (Mode, bool) {
	for i, n := range Modes {
		if n == name {
			return Mode(i), true
		}
	}
	return 0, false
}

// In returns the limits in force under mode: single sends each command as it
// comes, whatever the caps of larger batches.
func (l Limits) In(mode Mode) Limits {
	if mode == Single {
		l.Commands = 1
	}
	return l
}
