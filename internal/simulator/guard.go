package simulator

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/face"
)

// stranger returns why a request is refused, or "". A simulator runs commands for every caller, and its
// credentials are in its documentation. So only a program on this machine may reach it, and neither another
// machine nor a web page in this machine's browser. A page is recognized by its origin, or by a host name
// that resolves to this machine (DNS rebinding). A browser sends a form with JSON in it without a preflight
// request.
func stranger(r *http.Request) string {
	if !isLoopback(r.RemoteAddr) || !isLoopback(r.Host) {
		return "the simulator answers this machine only"
	}
	if origin := r.Header.Get("Origin"); origin != "" && (origin != "http://"+r.Host || !isControl(r)) {
		return "the simulator does not answer web pages"
	}
	// Browsers send Sec-Fetch-Site even without an Origin header. It is "none" for an address that the user
	// typed.
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return ""
	default:
		return "the simulator does not answer web pages"
	}
}

// isControl reports whether a request is for the control endpoint.
func isControl(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, controlPrefix) }

// maySwitch reports whether a request may use the control endpoint. A simulator with a secret of its own
// requires it there too, or the control endpoint would allow what the faces refuse.
func maySwitch(r *http.Request, c face.Credentials) bool {
	if !c.Secret() {
		return true
	}
	code, secret, _ := r.BasicAuth()
	return c.Admit(code, secret)
}

// isLoopback reports whether "host" or "host:port" is this machine, by address or as localhost.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
