package target

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates for tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// pair is a certificate and its key, as PEM.
type pair struct{ cert, key []byte }

// subject is what a certificate says.
type subject struct {
	names   []string
	ips     []net.IP
	expired bool
}

var loopback = subject{ips: []net.IP{net.IPv4(127, 0, 0, 1)}}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key, a.pem = sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "an authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	return a
}

func (a *authority) issue(t *testing.T, s subject) pair {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "someone"}, DNSNames: s.names, IPAddresses: s.ips,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if s.expired {
		template.NotAfter = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	_, key, cert := sign(t, template, a)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pair{cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
}

// sign makes a certificate that is valid in a synctest bubble too, whose clock
// begins in 2000; by is nil for one that signs itself.
func sign(t *testing.T, template *x509.Certificate, by *authority) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(1)
	template.NotBefore = time.Date(1998, 1, 1, 0, 0, 0, 0, time.UTC)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// server is the configuration of a server with p. It sends no tickets: on a
// net.Pipe they would wait for a reader while the client writes.
func (p pair) server(t *testing.T) *tls.Config {
	t.Helper()
	cert, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, SessionTicketsDisabled: true}
}

// demand makes a server ask for a client certificate of a.
func demand(c *tls.Config, a *authority) *tls.Config {
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, a.pool()
	return c
}

// files is a directory of PEM files.
type files struct {
	t   *testing.T
	dir string
}

func newFiles(t *testing.T) files {
	t.Helper()
	return files{t, t.TempDir()}
}

// write returns the file's path.
func (f files) write(name string, text []byte) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// pair returns the paths of p's two files.
func (f files) pair(name string, p pair) (cert, key string) {
	f.t.Helper()
	return f.write(name+".crt", p.cert), f.write(name+".key", p.key)
}
