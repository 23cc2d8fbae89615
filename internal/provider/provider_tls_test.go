package provider_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// authority signs certificates for tests.
type authority struct {
	t           *testing.T
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test Authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a := authority{t: t, key: newKey(t), certificate: template}
	signed := a.sign(template, a.key)
	var err error
	if a.certificate, err = x509.ParseCertificate(signed.Certificate[0]); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) tls.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// issue makes a certificate for a server on 127.0.0.1, modified by change.
func (a authority) issue(change func(*x509.Certificate)) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "Test Platform"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(template)
	return a.sign(template, newKey(a.t))
}

func (a authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// file writes a file and returns its path.
func file(t *testing.T, text []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A server that is not trusted gets no request. The error says why, and what to do.
func TestProvider_trustsServersByTheirCertificate(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	known := map[string]any{"ca_cert_file": file(t, authority.pem())}
	tests := map[string]struct {
		settings map[string]any
		change   func(*x509.Certificate)
		version  uint16 // the latest that the server speaks
		plain    bool
		want     []string // parts of the error; none if there must be no error
	}{
		"known":       {settings: known},
		"unknown":     {want: []string{"certificate signed by unknown authority", "set ca_cert_file to that authority's certificate"}},
		"not-checked": {settings: map[string]any{"insecure_skip_verify": true}},
		"expired": {
			settings: known, change: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) },
			want: []string{"certificate has expired or is not yet valid", "Check this machine's clock, or have the certificate renewed"},
		},
		"early": {
			settings: known, change: func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) },
			want: []string{"certificate has expired or is not yet valid", "Check this machine's clock"},
		},
		"other-host": {
			settings: known, change: func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 9)} },
			want: []string{"certificate is valid for 127.0.0.9, not 127.0.0.1", "Use a name in the provider's endpoint that the certificate is valid for"},
		},
		"client-certificate": {
			settings: known, change: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} },
			want: []string{"incompatible key usage", "Ask its administrators for another one"},
		},
		"tls-1.2": {settings: known, version: tls.VersionTLS12},
		"tls-1.1": {settings: known, version: tls.VersionTLS11, want: []string{"protocol version", "requires TLS 1.2 or later"}},
		"tls-1.1-not-checked": {
			settings: map[string]any{"insecure_skip_verify": true}, version: tls.VersionTLS11,
			want: []string{"protocol version", "requires TLS 1.2 or later"},
		},
		"no-tls": {settings: known, plain: true, want: []string{"does not look like a TLS handshake", "does not speak TLS"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
			server := httptest.NewUnstartedServer(sim)
			t.Cleanup(server.Close)
			server.Config.ErrorLog = log.New(io.Discard, "", 0) // it reports the client's errors
			if test.change == nil {
				test.change = func(*x509.Certificate) {}
			}
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: test.version, Certificates: []tls.Certificate{authority.issue(test.change)}} //nolint:gosec // a server that is too old
			if test.plain {
				server.Start()
			} else {
				server.StartTLS()
			}
			settings := map[string]any{
				"endpoint": "https://" + server.Listener.Addr().String(), "app_code": simulator.DefaultAppCode,
				"app_secret": simulator.DefaultAppSecret, "username": "admin", "retry_wait_min": "1h", "retry_wait_max": "1h",
			}
			for name, value := range test.settings {
				settings[name] = value
			}
			p := providertest.NewProtocol(t)
			warned := p.Configure(settings)
			if _, insecure := test.settings["insecure_skip_verify"]; insecure != strings.Contains(warned, "WARNING: Certificate Not Verified") {
				t.Errorf("said at configuration: %q", warned)
			}
			said := p.CachedStatus(t.Context())
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("said %q, want %q", said, want)
				}
			}
			if good := strings.Contains(said, "unregistered_count:1"); good != (len(test.want) == 0) {
				t.Errorf("said %q", said)
			}
			if calls := len(sim.Calls()); (calls == 0) != (len(test.want) > 0) {
				t.Errorf("the server got %d requests", calls)
			}
		})
	}
}

func TestProvider_wantsCertificatesInTheFile(t *testing.T) {
	t.Parallel()
	authority := newAuthority(t)
	key, err := x509.MarshalECPrivateKey(authority.key)
	if err != nil {
		t.Fatal(err)
	}
	const noCertificate = "contains no readable certificate; certificates must be in PEM format"
	for name, test := range map[string]struct{ file, want string }{
		"good":      {file(t, authority.pem()), ""},
		"beside":    {file(t, append([]byte("# the authority of the test\n"), authority.pem()...)), ""},
		"missing":   {filepath.Join(t.TempDir(), "none.pem"), "no such file"},
		"directory": {t.TempDir(), "is a directory"},
		"empty":     {file(t, nil), noCertificate},
		"der":       {file(t, authority.certificate.Raw), noCertificate},
		"key":       {file(t, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key})), noCertificate},
		"cut-short": {file(t, authority.pem()[:200]), noCertificate},
		"broken":    {file(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})), noCertificate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := providertest.NewProtocol(t).Configure(map[string]any{
				"endpoint": "https://127.0.0.1:1", "app_code": "a", "app_secret": "b", "username": "c", "ca_cert_file": test.file,
			})
			if test.want == "" && said != "" {
				t.Errorf("said %q", said)
			}
			if test.want != "" && (!strings.Contains(said, test.want) || !strings.Contains(said, test.file)) {
				t.Errorf("said %q, want %q and the file's name", said, test.want)
			}
		})
	}
}
