package config

import "time"

// Target says what the load is for, and how it is reached.
type Target struct {
	// URL names the target; Address is its parsed form. The default, auto,
	// needs no server.
	URL URL `koanf:"url"`
	// Topology is how the servers are found, a word of Topologies. The default
	// is standalone: at URL.
	Topology string `koanf:"topology"`
	// Addresses are host[:port] of those to ask where the master is; empty,
	// the default: none. Seeds completes them.
	Addresses []string `koanf:"addresses"`
	// Sentinel is how they are asked, with the topology sentinel.
	Sentinel Sentinel `koanf:"sentinel"`
	// Username is the ACL user; "", the default: that of URL, or else the
	// server's default user.
	Username string `koanf:"username"`
	// PasswordFile is the file that ReadSecrets reads; "", the default: none.
	PasswordFile string `koanf:"password_file"`
	// Password is not a key: it comes from PasswordVariable, or from
	// PasswordFile after ReadSecrets. "": that of URL, or else none.
	Password Password `koanf:"-"`
	// Database is the number of the logical database; 0, the default: that of
	// URL, or else 0.
	Database int `koanf:"database"`
	// Protocol is the version of RESP. The default is 2: 3 costs a peek per
	// reply.
	Protocol int `koanf:"protocol"`
	// TLS is that of the connections: with a rediss:// url, or where it is
	// enabled.
	TLS TLS `koanf:"tls"`
	// Connections counts the connections, each with one exchange at a time.
	// The default is 4: fewer leave a server idle at 64 commands a batch.
	Connections int `koanf:"connections"`
	// DialTimeout bounds the making of a connection. The default is that
	// of the usual clients.
	DialTimeout time.Duration `koanf:"dial_timeout"`
	// ReadTimeout bounds the wait for the replies of an exchange. The default
	// is longer than a stall that a soak test should survive.
	ReadTimeout time.Duration `koanf:"read_timeout"`
	// WriteTimeout bounds the writing of an exchange. The default is that of
	// ReadTimeout.
	WriteTimeout time.Duration `koanf:"write_timeout"`
	// Reconnect paces the attempts while the target is down.
	Reconnect Reconnect `koanf:"reconnect"`
}

// Reconnect is the back-off between two attempts to connect.
type Reconnect struct {
	// Min is the first pause. The default does not storm a target that starts.
	Min time.Duration `koanf:"min"`
	// Max is the longest pause, at least Min. The default finds a target that
	// has come back within seconds.
	Max time.Duration `koanf:"max"`
}

// Topologies lists the words of target.topology.
var Topologies = []string{"standalone", sentinel}

const sentinel = "sentinel"

// Sentinel is what the sentinels at Addresses know, and what they want to know.
// None of it is the target's own.
type Sentinel struct {
	// Master is the name under which the sentinels know the master; "", the
	// default: none, which only the topology standalone takes.
	Master string `koanf:"master"`
	// Username is the sentinels' ACL user; "", the default: their default user.
	Username string `koanf:"username"`
	// PasswordFile is the file that ReadSecrets reads; "", the default: none.
	PasswordFile string `koanf:"password_file"`
	// Password is not a key: it comes from SentinelPasswordVariable, or from
	// PasswordFile after ReadSecrets. "": none.
	Password Password `koanf:"-"`
	// TLS is that of the connections to the sentinels, where it is enabled.
	TLS TLS `koanf:"tls"`
}

// TLS says how a connection is secured. Its files are PEM, and are not read
// here.
type TLS struct {
	// Enabled asks for TLS. The default is false: a rediss:// url asks for it
	// by itself.
	Enabled bool `koanf:"enabled"`
	// CAFile holds the certificates of the authorities to trust; "", the
	// default: those of the system.
	CAFile string `koanf:"ca_file"`
	// CertFile and KeyFile hold the client's certificate and its key, both or
	// neither; "", the default: none.
	CertFile string `koanf:"cert_file"`
	KeyFile  string `koanf:"key_file"`
	// ServerName is what the server's certificate must be for; "", the
	// default: the host that is dialled.
	ServerName string `koanf:"server_name"`
	// MinVersion is the least version of TLS, a word of TLSVersions. The
	// default, 1.2, is the least that is not deprecated (RFC 8996).
	MinVersion string `koanf:"min_version"`
	// InsecureSkipVerify accepts any certificate. The default is false.
	InsecureSkipVerify bool `koanf:"insecure_skip_verify"`
}

// TLSVersions lists the words of min_version.
var TLSVersions = []string{"1.2", "1.3"}
