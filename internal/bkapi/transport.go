package bkapi

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"
)

// Bounds of a connection that are not configurable. RequestTimeout applies in addition.
const (
	dialTimeout      = 15 * time.Second
	handshakeTimeout = 15 * time.Second

	// idleTimeout is well below the 60 s after which load balancers commonly close a connection. A client that
	// closes it first never loses a request to a closed connection.
	idleTimeout = 30 * time.Second

	maxIdleConnections = 64
	maxHeaderBytes     = 1 << 20
)

// newTransport returns a transport that verifies the server, uses the proxy of the environment and speaks only
// HTTP/1.1.
func newTransport(cfg Config) (*http.Transport, error) {
	roots, err := rootCertificates(cfg.CACert)
	if err != nil {
		return nil, err
	}

	// HTTP/1.1 only. Go's HTTP/2 client may repeat a request on which the server has acted, after a
	// PROTOCOL_ERROR from the peer (golang/go#47635). The HTTP/1.1 client repeats a POST only if no byte was
	// written.
	var protocols http.Protocols
	protocols.SetHTTP1(true)

	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}

	return &http.Transport{
		Proxy:       http.ProxyFromEnvironment,
		DialContext: dial,
		Protocols:   &protocols,
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			RootCAs:    roots,
			// Off unless the user sets it.
			InsecureSkipVerify: cfg.InsecureSkipVerify, //nolint:gosec // an explicit choice of the user
		},
		TLSHandshakeTimeout:    handshakeTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           maxIdleConnections,
		MaxIdleConnsPerHost:    maxIdleConnections,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}, nil
}

// rootCertificates returns the system's roots and those in pem. For an empty pem it returns nil, which means
// the system's.
func rootCertificates(pem []byte) (*x509.CertPool, error) {
	if len(pem) == 0 {
		return nil, nil
	}

	roots, err := x509.SystemCertPool()
	if err != nil {
		// In containers without a certificate store, the given certificates alone are trusted.
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, &ConfigError{"CACert", "no PEM certificate in it"}
	}

	return roots, nil
}

// Transport returns a transport that connects to the server as a [Client] with this configuration does. It
// neither compresses nor decompresses bodies.
func Transport(cfg Config) (http.RoundTripper, error) {
	transport, err := newTransport(cfg)
	if err != nil {
		return nil, err
	}
	transport.DisableCompression = true

	return transport, nil
}
