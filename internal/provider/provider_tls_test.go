package provider_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"maps"
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

// newCertificate makes a certificate for a server on 127.0.0.1 that vouches for itself, modified by change. It
// returns its PEM as well.
func newCertificate(t *testing.T, change func(*x509.Certificate)) (served tls.Certificate, text []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	providertest.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	providertest.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// file writes a file and returns its path.
func file(t *testing.T, text []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ca.pem")
	providertest.NoError(t, os.WriteFile(name, text, 0o600))
	return name
}

// A server that is not trusted gets no request. The error says why, and what to do.
func TestProvider_trustsServersByTheirCertificate(t *testing.T) {
	t.Parallel()
	const tooOld = "requires TLS 1.2 or later"
	for name, test := range map[string]struct {
		trust   string // known, checked or not-checked
		change  func(*x509.Certificate)
		version uint16   // the latest that the server speaks
		want    []string // parts of the error; none if there must be no error
	}{
		"known":       {trust: "known"},
		"unknown":     {trust: "checked", want: []string{"certificate signed by unknown authority", "set ca_cert_file to that authority's certificate"}},
		"not-checked": {trust: "not-checked"},
		"expired": {
			trust: "known", change: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) },
			want: []string{"certificate has expired or is not yet valid", "Check this machine's clock, or have the certificate renewed"},
		},
		"early": {
			trust: "known", change: func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) },
			want: []string{"certificate has expired or is not yet valid", "Check this machine's clock"},
		},
		"other-host": {
			trust: "known", change: func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 9)} },
			want: []string{"certificate is valid for 127.0.0.9, not 127.0.0.1", "Use a name in the provider's endpoint that the certificate is valid for"},
		},
		"client-certificate": {
			trust: "known", change: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} },
			want: []string{"incompatible key usage", "Ask its administrators for another one"},
		},
		"tls-1.2":             {trust: "known", version: tls.VersionTLS12},
		"tls-1.1":             {trust: "known", version: tls.VersionTLS11, want: []string{"protocol version", tooOld}},
		"tls-1.1-not-checked": {trust: "not-checked", version: tls.VersionTLS11, want: []string{"protocol version", tooOld}},
		"no-tls":              {trust: "known", want: []string{"does not look like a TLS handshake", "does not speak TLS"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
			server := httptest.NewUnstartedServer(sim)
			t.Cleanup(server.Close)
			server.Config.ErrorLog = providertest.Quiet // it reports the client's errors
			certificate, known := newCertificate(t, test.change)
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: test.version, Certificates: []tls.Certificate{certificate}} //nolint:gosec // a server that is too old
			if name == "no-tls" {
				server.Start()
			} else {
				server.StartTLS()
			}
			settings := map[string]any{"endpoint": "https://" + server.Listener.Addr().String(), "retry_wait_min": "1h", "retry_wait_max": "1h"}
			maps.Copy(settings, map[string]map[string]any{
				"known": {"ca_cert_file": file(t, known)}, "not-checked": {"insecure_skip_verify": true},
			}[test.trust])
			p := providertest.NewProtocol(t)
			warned := p.Configure(credentials(settings))
			if strings.Contains(warned, "WARNING: Certificate Not Verified") != (test.trust == "not-checked") {
				t.Errorf("said at configuration: %q", warned)
			}
			said := p.CachedStatus(t.Context())
			providertest.Says(t, said, test.want...)
			if good := strings.Contains(said, "unregistered_count:1"); good != (len(test.want) == 0) {
				t.Errorf("said %q", said)
			}
			if calls := len(sim.Calls()); (calls == 0) != (len(test.want) > 0) {
				t.Errorf("the server got %d requests", calls)
			}
		})
	}
}

// credentials are settings with the simulator's credentials.
func credentials(settings map[string]any) map[string]any {
	maps.Copy(settings, map[string]any{"app_code": simulator.DefaultAppCode, "app_secret": simulator.DefaultAppSecret, "username": "admin"})
	return settings
}

func TestProvider_wantsCertificatesInTheFile(t *testing.T) {
	t.Parallel()
	served, good := newCertificate(t, nil)
	const noCertificate = "contains no readable certificate; certificates must be in PEM format"
	for name, test := range map[string]struct{ file, want string }{
		"good":      {file(t, good), ""},
		"beside":    {file(t, append([]byte("# the authority of the test\n"), good...)), ""},
		"missing":   {filepath.Join(t.TempDir(), "none.pem"), "no such file"},
		"directory": {t.TempDir(), "is a directory"},
		"empty":     {file(t, nil), noCertificate},
		"der":       {file(t, served.Certificate[0]), noCertificate},
		"key":       {file(t, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: served.Certificate[0]})), noCertificate},
		"cut-short": {file(t, good[:200]), noCertificate},
		"broken":    {file(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("no certificate")})), noCertificate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := providertest.NewProtocol(t).Configure(credentials(map[string]any{"endpoint": "https://127.0.0.1:1", "ca_cert_file": test.file}))
			if test.want == "" {
				providertest.Same(t, "said", "", said)
				return
			}
			providertest.Says(t, said, test.want, test.file)
		})
	}
}
