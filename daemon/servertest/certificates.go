package servertest

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

// Authority signs certificates for tests.
type Authority struct {
	PEM []byte // its certificate

	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate and its key, as PEM.
type Pair struct{ cert, key []byte }

// Subject is what a certificate says.
type Subject struct {
	Names   []string
	IPs     []net.IP
	Expired bool
}

// Loopback is the subject of a server on loopback.
var Loopback = Subject{IPs: []net.IP{net.IPv4(127, 0, 0, 1)}}

// NewAuthority makes one that nobody trusts yet.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{}
	a.cert, a.key, a.PEM = sign(t, &x509.Certificate{
		Subject: pkix.Name{CommonName: "an authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	return a
}

// Issue signs a certificate for servers and clients.
func (a *Authority) Issue(t testing.TB, s Subject) Pair {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "someone"}, DNSNames: s.Names, IPAddresses: s.IPs,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if s.Expired {
		template.NotAfter = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	_, key, cert := sign(t, template, a)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return Pair{cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}
}

// sign makes a certificate that is valid in a synctest bubble too, whose clock
// begins in 2000; by is nil for one that signs itself.
func sign(t testing.TB, template *x509.Certificate, by *Authority) (*x509.Certificate, *ecdsa.PrivateKey, []byte) {
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

func (a *Authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Server is the configuration of a server with p. It sends no tickets: on a
// net.Pipe they would wait for a reader while the client writes.
func (p Pair) Server(t testing.TB) *tls.Config {
	t.Helper()
	cert, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, SessionTicketsDisabled: true}
}

// Demand makes a server ask for a client certificate of a.
func Demand(c *tls.Config, a *Authority) *tls.Config {
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, a.pool()
	return c
}

// Files is a directory of PEM files.
type Files struct {
	Dir string

	t testing.TB
}

// NewFiles makes a directory that ends with the test.
func NewFiles(t testing.TB) Files {
	t.Helper()
	return Files{t.TempDir(), t}
}

// Write returns the file's path.
func (f Files) Write(name string, text []byte) string {
	f.t.Helper()
	path := filepath.Join(f.Dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// Pair returns the paths of p's two files.
func (f Files) Pair(name string, p Pair) (cert, key string) {
	f.t.Helper()
	return f.Write(name+".crt", p.cert), f.Write(name+".key", p.key)
}
