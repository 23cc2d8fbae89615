package providertest

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/provider"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// InTime runs a test with a simulator on the clock of [synctest]. Every wait of the provider and of the
// simulator takes its full time on that clock, and no real time. The simulator is reached in memory, because
// the clock stops while a goroutine waits for a socket.
func InTime(t *testing.T, test func(t *testing.T, sim *Timed)) {
	t.Helper()
	if _, err := servedSchema(t.Context()); err != nil { // cached here, because it outlives the test's clock
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		sim := &Timed{Sim: &Sim{Server: &simulator.Server{}, URL: "http://127.0.0.1"}, wire: make(wire)}
		sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
		server := &http.Server{Handler: sim.Server, ReadHeaderTimeout: time.Hour}
		go func() { _ = server.Serve(sim.wire) }() // returns when the server is closed
		t.Cleanup(func() {
			sim.record()
			<-time.After(time.Hour) // by then the provider has closed its idle connections
			if err := server.Close(); err != nil {
				t.Errorf("closing the server: %s", err)
			}
			if err := sim.Close(); err != nil {
				t.Errorf("closing the simulator: %s", err)
			}
			for _, violation := range sim.Violations() {
				t.Errorf("the simulator refused: %s", violation)
			}
		})
		test(t, sim)
	})
}

// Timed is a simulator in a test that InTime runs.
type Timed struct {
	*Sim

	wire wire
}

// ConfiguredFor serves a provider that calls the simulator on a face, with the waits that users have. more
// holds further settings.
func (s *Timed) ConfiguredFor(t *testing.T, by Face, more ...map[string]any) *Protocol {
	t.Helper()
	settings := s.SettingsFor(by)
	for _, m := range more {
		maps.Copy(settings, m)
	}
	p := &Protocol{T: t, Schema: served.schema, Server: provider.NewServer(provider.Options{
		Version: "test", Backoff: poll.DefaultBackoff(), Pace: platform.DefaultPace, Dial: s.wire.dial,
	})}
	return configured(t, p, settings)
}

// wire is a listener in memory. It accepts the other ends of dialled connections.
type wire chan net.Conn

func (w wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case w <- local{there}:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements [net.Listener].
func (w wire) Accept() (net.Conn, error) {
	conn, open := <-w
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close implements [net.Listener].
func (w wire) Close() error {
	close(w)
	return nil
}

// Addr implements [net.Listener].
func (w wire) Addr() net.Addr { return loopback }

// local is a connection that seems to come from this machine.
type local struct{ net.Conn }

func (local) RemoteAddr() net.Addr { return loopback }

var loopback = net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:80"))
