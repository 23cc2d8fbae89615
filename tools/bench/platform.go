package main

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// platform is a simulator that measures how long it was busy.
type platform struct {
	sim    *simulator.Server
	server *httptest.Server

	mu       sync.Mutex
	inFlight int
	since    time.Time
	busy     time.Duration
}

// newPlatform returns a platform whose CMDB has a topology, unless that is empty.
func newPlatform(topology string) (*platform, error) {
	p := &platform{sim: &simulator.Server{}}
	if topology != "" {
		parsed, err := simulator.ParseTopology([]byte(topology))
		if err != nil {
			return nil, err
		}
		p.sim.Topology = parsed
	}
	p.sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
	p.server = httptest.NewServer(http.HandlerFunc(p.serve))
	return p, nil
}

func (p *platform) close() error {
	p.server.Close()
	return p.sim.Close()
}

// serve adds up the time during which at least one request is in progress.
func (p *platform) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if p.inFlight++; p.inFlight == 1 {
		p.since = time.Now()
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.inFlight--; p.inFlight == 0 {
			p.busy += time.Since(p.since)
		}
	}()
	p.sim.ServeHTTP(w, r)
}

// traffic is the platform's work during one step.
type traffic struct {
	busy        time.Duration
	calls       int
	statusCalls int
}

// take returns the traffic since the last take.
func (p *platform) take() traffic {
	calls := p.sim.Calls()
	p.sim.ResetCalls()
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := traffic{busy: p.busy, calls: len(calls), statusCalls: calls.Count("get_proc_status_v2") + calls.Count("sync_proc_status")}
	p.busy = 0
	return seen
}
