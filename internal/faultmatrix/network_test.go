package faultmatrix

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func (r *faultRun) listen() net.Listener {
	r.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(r.t.Context(), "tcp", "127.0.0.1:0")
	r.must(err)
	r.t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func (r *faultRun) refusesConnections() {
	r.t.Helper()
	listener := r.listen()
	_ = listener.Close()
	r.settings["endpoint"] = "http://" + listener.Addr().String()
}

// hangsUp leads the run to a server that closes every connection at once.
func (r *faultRun) hangsUp() {
	r.t.Helper()
	listener := r.listen()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	r.settings["endpoint"] = "https://" + listener.Addr().String()
}

type certificate struct {
	expired bool
	ip      string // 127.0.0.1, if ""
}

// serveTLS leads the run to the simulator behind a certificate, which it trusts or not.
func (r *faultRun) serveTLS(c certificate, trusted bool) {
	r.t.Helper()
	shown, text := c.make(r)
	server := httptest.NewUnstartedServer(r.sim)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = providertest.Quiet
	server.StartTLS()
	r.t.Cleanup(server.Close)
	r.settings["endpoint"] = server.URL
	if trusted {
		file := filepath.Join(r.t.TempDir(), "ca.pem")
		r.must(os.WriteFile(file, text, 0o600))
		r.settings["ca_cert_file"] = file
	}
}

// make signs a certificate by itself.
func (c certificate) make(r *faultRun) (tls.Certificate, []byte) {
	r.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	r.must(err)
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.ParseIP(cmp.Or(c.ip, "127.0.0.1"))}, NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if c.expired {
		template.NotAfter = now.Add(-time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	r.must(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
