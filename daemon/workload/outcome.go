package workload

// Outcome is what became of one command. Every admitted command gets exactly
// one.
type Outcome uint8

const (
	OK         Outcome = iota // the expected reply
	ErrorReply                // the target refused the command
	Mismatch                  // a reply that is well formed and wrong
	Uncertain                 // written, or partly written, and no reply read: it may have executed
	Unsent                    // certainly not executed
	Abandoned                 // still queued when the drain deadline passed
)

// Outcomes lists the names of the outcomes, indexed by Outcome.
var Outcomes = []string{"ok", "error_reply", "mismatch", "uncertain", "unsent", "abandoned"}

func (o Outcome) String() string { return Outcomes[o] }

// Code is the RESP code of an error reply, an index into Codes.
type Code uint8

// Codes is the closed set of RESP error codes that are told apart; any other
// code is "other". The names are those that the server puts before the first
// space of an error reply.
var Codes = []string{
	"other", "ERR", "WRONGTYPE", "OOM", "READONLY", "LOADING", "BUSY", "NOAUTH", "NOPERM", "WRONGPASS",
	"MISCONF", "MASTERDOWN", "NOREPLICAS", "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "CROSSSLOT",
	"EXECABORT", "NOSCRIPT", "BUSYGROUP", "BUSYKEY", "NOPROTO", "UNKILLABLE", "NOTBUSY", "INVALIDOBJ",
}

// CodeOther is the code of an error reply whose code is not in Codes.
const CodeOther Code = 0

var codeByName = func() map[string]Code {
	m := make(map[string]Code, len(Codes))
	for i, name := range Codes {
		m[name] = Code(i)
	}
	return m
}()

// CodeOf is the code of an error reply's text, without its leading '-'.
func CodeOf(message string) Code {
	for i := range len(message) {
		if message[i] == ' ' {
			message = message[:i]
			break
		}
	}
	return codeByName[message] // CodeOther where it is unknown
}

func (c Code) String() string { return Codes[c] }
