package gse

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Keys are built, never parsed: their parts may contain the separator.
func TestKeys(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		host   string
		meta   Meta
		v1, v2 string
	}{
		"documented": {"1:2:10.0.0.1", sampleMeta, "1:2:10.0.0.1:gse:proc-test", "1:10.0.0.1:gse:proc-test"},
		"ipv6":       {"0:2001:DB8::0:1", sampleMeta, "0:0:2001:db8::1:gse:proc-test", "0:2001:db8::1:gse:proc-test"},
		"separators": {"0:10.0.0.1", Meta{Namespace: "a:b", Name: "c:d"}, "0:0:10.0.0.1:a:b:c:d", "0:10.0.0.1:a:b:c:d"},
	} {
		h := procapitest.Parse(t, test.host)[0]
		if first, second := keyV1(h, test.meta), keyV2(h.WithoutSupplier(), test.meta); first != test.v1 || second != test.v2 {
			t.Errorf("%s: got %q and %q, want %q and %q", name, first, second, test.v1, test.v2)
		}
	}
}

// The key of the other generation names the host too, unless it may be another host's key. For IPv6, the
// first form of one host is the second form of another.
func TestKeys_otherGeneration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		host       string
		own, other string
		want       int64
	}{
		"ipv4": {"0:10.0.0.1", v2(1), v1(1), procapi.CodeCommandFailed},
		"ipv6": {"0:2001:db8::1", "0:2001:db8::1:gse:proc-test", "0:0:2001:db8::1:gse:proc-test", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := procapitest.Parse(t, test.host)
			p, _ := scripted(t, "esb", accepted, result(said(test.other, code(procapi.CodeCommandFailed))), procapitest.Times(procapitest.ForEver, result(said(test.own, code(0)))))
			if got := start(p, t.Context(), h)[h[0]]; got.Code != test.want {
				t.Errorf("operate: got %+v, want code %d", got, test.want)
			}
			p, _ = scripted(t, "esb", register(said(test.own, code(procapi.CodeCommandFailed))), procapitest.Times(procapitest.ForEver, register(said(test.other, code(0)))))
			if got := registerOnly(t.Context(), p, h)[h[0]]; got.Code != test.want {
				t.Errorf("register: got %+v, want code %d", got, test.want)
			}
		})
	}
}

// The key of a result names a host as the request did. The client looks up once which host another name may
// belong to.
func TestGateway_keys(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ host, noise, key string }{
		"agent":         {agentA, agentB, agentA},
		"agent-v1":      {agentA, "0:0:" + agentA, agentA},
		"address":       {"0:10.0.0.1", agentA, "0:10.0.0.1"},
		"longer":        {"0:10.0.0.1", "0:10.0.0.12", "0:10.0.0.1"},
		"other-cloud":   {"0:10.0.0.1", "1:10.0.0.1", "0:10.0.0.1"},
		"with-supplier": {"3:7:10.0.0.1", "3:8:10.0.0.1", "3:10.0.0.1"},
		"ipv6":          {"0:2001:DB8::0:1", "0:2001:db8::2", "0:2001:db8::1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, noise := procapitest.Parse(t, test.host), []string{test.noise + ":gse:proc-test", code(65535)}
			p, _ := scripted(t, "apigw", hosting, result(said(noise...)), cached(), result(said(append(noise, test.key+":gse:proc-test", code(0))...)))
			if diff := cmp.Diff(byTask(outcome(fleet.Done, 0)), p.Reregister(t.Context(), h)[h[0]]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The gateway may answer about a host by its other name. The client knows that name from a row, or asks
// for it at once. A destroy may have read nothing yet, and after unhosting no row has the other name.
func TestGatewayFlow_keyFallback(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		registered, looked bool // before
		act                func(fleet.Process, context.Context, []fleet.Host) fleet.Results
	}{
		"first-operation":   {false, false, start},
		"known-from-a-look": {true, true, start},
		"first-unregister":  {true, false, fleet.Process.Unregister},
	} {
		for address, keys := range map[string]string{agentA: "address", "0:10.0.0.1": "agent"} {
			t.Run(name+"/by-"+keys, func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{}
				sim.AddAgent(agentA, "0:10.0.0.1")
				inventory := procapitest.Parse(t, address)
				if test.registered {
					wantDone(t, simAt(t, "apigw", sim, 0).Register(t.Context(), inventory))
				}
				p := simAt(t, "apigw", sim, 0) // a client that has read nothing yet
				if test.looked {
					if _, err := p.CachedStatus(t.Context(), inventory); err != nil {
						t.Fatal(err)
					}
				}
				sim.Inject(simulator.Fault{API: apiResult, Keys: keys})
				sim.ResetCalls()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				wantDone(t, test.act(p, ctx, inventory))
				if n := sim.Calls().Count(apiStatus); (n == 1) == test.looked {
					t.Errorf("the other name was asked for %d times", n)
				}
			})
		}
	}
}
