package procapitest

import (
	"net"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Serve serves a simulator that knows every host of 10.0.0.0/8. A request that no document describes
// fails the test.
func Serve(tb testing.TB, sim *simulator.Server) string {
	tb.Helper()
	sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
	server := httptest.NewServer(sim)
	tb.Cleanup(func() {
		server.Close()
		if err := sim.Close(); err != nil {
			tb.Error(err)
		}
		for _, violation := range sim.Violations() {
			tb.Errorf("violation: %s", violation)
		}
	})
	return server.URL
}

// ClosedEndpoint is an address that refuses connections until the test ends. The port of a closed server
// might be reused by another test. This port is held: it is the near end of a connection.
func ClosedEndpoint(tb testing.TB) string {
	tb.Helper()
	far, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = far.Close() })
	conn, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", far.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return "http://" + conn.LocalAddr().String()
}
