package target

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/common/config"
)

// TLS says how to speak TLS to a target. The files are PEM and are read anew
// for each connection, so that a rotated certificate counts from the next
// reconnect on.
type TLS struct {
	CAFile             string // of the authorities that are trusted; empty: the system's
	CertFile, KeyFile  string // of the client's certificate; empty: none
	ServerName         string // that the target's certificate must have; empty: the host that is dialled
	MinVersion         string // 1.2 or 1.3; empty: 1.2
	InsecureSkipVerify bool   // take any certificate
}

// versions are the values of MinVersion.
var versions = map[string]config.TLSVersion{
	"":    tls.VersionTLS12,
	"1.2": tls.VersionTLS12,
	"1.3": tls.VersionTLS13,
}

// Check tells all that is wrong with t and its files now.
func (t *TLS) Check() error {
	var faults []error
	if _, known := versions[t.MinVersion]; !known {
		faults = append(faults, fmt.Errorf("min_version is %q, not 1.2 or 1.3", t.MinVersion))
	}
	if _, err := (&TLS{CAFile: t.CAFile}).config(); err != nil {
		faults = append(faults, fmt.Errorf("ca_file: %w", err))
	}
	switch _, err := (&TLS{CertFile: t.CertFile, KeyFile: t.KeyFile}).config(); {
	case (t.CertFile == "") != (t.KeyFile == ""):
		faults = append(faults, errors.New("cert_file and key_file need each other"))
	case err != nil:
		faults = append(faults, fmt.Errorf("cert_file, key_file: %w", err))
	}
	return errors.Join(faults...)
}

// config reads the files.
func (t *TLS) config() (*tls.Config, error) {
	return config.NewTLSConfig(&config.TLSConfig{
		CAFile:             t.CAFile,
		CertFile:           t.CertFile,
		KeyFile:            t.KeyFile,
		ServerName:         t.ServerName,
		MinVersion:         versions[t.MinVersion],
		InsecureSkipVerify: t.InsecureSkipVerify,
	})
}

// over is dial with TLS over what it reaches. Both together take timeout at
// most.
func (t *TLS) over(dial dialer, timeout time.Duration) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		c, err := t.config()
		if err != nil {
			return nil, &tlsError{fmt.Errorf("prepare TLS: %w", err)}
		}
		if host, _, err := net.SplitHostPort(address); err == nil && c.ServerName == "" {
			c.ServerName = host
		}
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		conn := tls.Client(raw, c)
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = raw.Close() // rather than conn: there is nobody to say good-bye to
			return nil, &tlsError{fmt.Errorf("shake hands over TLS: %w", err)}
		}
		return conn, nil
	}
}

// tlsError is an error of TLS, or of a connection before TLS was agreed on.
type tlsError struct{ err error }

func (e *tlsError) Error() string { return e.err.Error() }

// Unwrap has a list as that of dismissal.
func (e *tlsError) Unwrap() []error { return []error{e.err} }

// tlsAlert is the first byte of a TLS record with which a server answers what
// is not TLS.
const tlsAlert = 21

// alerted tells whether err is one of TLS, met after the handshake: with TLS
// 1.3 a server that wants another certificate says so only then. crypto/tls
// does not export the type of alerts.
func alerted(err error) bool {
	var network *net.OpError
	var record tls.RecordHeaderError
	return errors.As(err, &network) && (network.Op == "remote error" || network.Op == "local error") ||
		errors.As(err, &record)
}
