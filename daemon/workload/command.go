// Package workload knows the commands: which are drawn, how their keys and
// values are laid out, how many bytes they take on the wire, and whether a
// reply is right. It is pure, and must never know go-redis or a clock.
package workload

import "time"

// Kind says which row of Commands a command is.
type Kind uint8

const (
	Get Kind = iota
	Set
	Incr
)

// Command is one drawn command: small and pointer-free, so that a window of
// them costs the garbage collector nothing.
type Command struct {
	Intended     time.Duration // when it is due, from the start of the run
	Key          uint64        // its key's number, below Layout.Keys
	Version      uint64        // of the value that it writes, from 1; 0: writes none
	RequestBytes int32         // encoded RESP bytes of the request
	ReplyBytes   int32         // encoded RESP bytes of the expected reply
	Kind         Kind
}

// Row is one line of the table of commands.
type Row struct {
	Name   string // as in workload.mix and in the label command
	Writes bool   // whether the target holds something afterwards

	// args appends the command's arguments, its name first. counters are
	// those of the connection that sends it.
	args func(l *Layout, a *Args, c Command, counters *Counters)
	// reply is the encoded size of the expected reply in bytes.
	reply func(l *Layout) int
	// check judges a reply that is neither an error nor missing.
	check func(l *Layout, c Command, r Reply, counters *Counters) Outcome
}

// Commands is the table of commands, indexed by Kind. To add one, write its
// functions, its row and its Kind.
var Commands = []Row{
	Get:  {Name: "get", args: getArgs, reply: getReply, check: checkGet},
	Set:  {Name: "set", Writes: true, args: setArgs, reply: setReply, check: checkSet},
	Incr: {Name: "incr", Writes: true, args: incrArgs, reply: incrReply, check: checkIncr},
}

// KindByName finds a row of Commands.
func KindByName(name string) (Kind, bool) {
	for i, row := range Commands {
		if row.Name == name {
			return Kind(i), true
		}
	}
	return 0, false
}

// CommandNames lists the names of the commands, indexed by Kind.
func CommandNames() []string {
	names := make([]string, len(Commands))
	for i, row := range Commands {
		names[i] = row.Name
	}
	return names
}

func (k Kind) String() string { return Commands[k].Name }

// Args is one command's arguments. Its memory is used again: Strings are valid
// until Layout.Args replaces them.
type Args struct {
	Strings []string
	buf     []byte
}
