package gse

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A row that has only the other name of a host is placed as soon as somebody tells that
// name. Until then nobody is said not to be registered.
func TestGateway_placing(t *testing.T) {
	t.Parallel()
	const (
		addressA, addressB = "0:10.0.0.1", "0:10.0.0.2"
		where              = `"host":{"ip":"10.0.0.1","bk_cloud_id":0}`
	)
	var (
		idAlone = gatewayRow(`"bk_agent_id":"`+agentA+`"`, 1)
		other   = gatewayRow(`"bk_agent_id":"`+agentB+`","host":{"ip":"10.0.0.2","bk_cloud_id":0}`, 2)
		nowhere = gatewayRow(`"bk_agent_id":""`, 1)
		tells   = named(addressA, `"bk_agent_id":"`+agentA+`"`)
		silent  = []string{addressA + ":gse:proc-test", code(117), addressB + ":gse:proc-test", code(117)}
		mute    = append(named(addressB, `"ip":"10.0.0.2"`), tells...)
	)
	tests := map[string]struct {
		hosts []string
		steps []exchange
		want  map[string]fleet.State
	}{
		"agent-tells": {
			[]string{addressA, addressB}, []exchange{cached(idAlone), accepted, result(said(mute...))},
			map[string]fleet.State{addressA: fleet.Running, addressB: fleet.Unregistered},
		},
		"nobody-tells": {
			[]string{addressA, addressB}, []exchange{cached(idAlone), accepted, result(said(silent...))},
			map[string]fleet.State{addressA: fleet.Unknown, addressB: fleet.Unknown},
		},
		"agents-cannot-be-asked": {
			[]string{addressA}, []exchange{cached(idAlone), {API: apiOperate, Reply: refusal(1306000, "null")}},
			map[string]fleet.State{addressA: fleet.Unknown},
		},
		// Rows teach each other, in whatever order.
		"another-row-tells": {
			[]string{addressA, addressB}, []exchange{cached(idAlone, gatewayRow(`"bk_agent_id":"`+agentA+`",`+where, 2))},
			map[string]fleet.State{addressA: fleet.Stopped, addressB: fleet.Unregistered},
		},
		// It is known whose the row is, and that nobody asked for it.
		"row-of-a-known-host": {[]string{addressA}, []exchange{cached(other)}, map[string]fleet.State{addressA: fleet.Unregistered}},
		"row-of-a-host-known-by-now": {
			[]string{addressA}, []exchange{cached(other, gatewayRow(`"bk_agent_id":"`+agentB+`"`, 1))},
			map[string]fleet.State{addressA: fleet.Unregistered},
		},
		"row-of-nobody": {
			[]string{addressA}, []exchange{cached(nowhere), accepted, result(said(tells...))},
			map[string]fleet.State{addressA: fleet.Unknown},
		},
		"a-row-of-its-own": {
			[]string{addressA, addressB}, []exchange{cached(onFile(1, 2), nowhere), accepted, result(said(silent[2:]...))},
			map[string]fleet.State{addressA: fleet.Stopped, addressB: fleet.Unknown},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, url := newGateway(t, test.steps...)
			got, err := gatewayProcess(t, url, sampleSpec()).CachedStatus(t.Context(), procapitest.Parse(t, test.hosts...))
			if err != nil {
				t.Fatal(err)
			}
			states := make(map[string]fleet.State)
			for address, status := range procapitest.ByAddress(got) {
				states[address] = status.State
				if (status.State == fleet.Unknown) != (status.Message != "") {
					t.Errorf("%s: got %+v", address, status)
				}
			}
			if diff := cmp.Diff(test.want, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			if n := len(script.Requests()); n != len(test.steps) {
				t.Errorf("got %d requests, want %d", n, len(test.steps))
			}
		})
	}
}

// Of two rows of one host the later registration counts, in whatever order they come.
func TestCachedStatus_twoRows(t *testing.T) {
	t.Parallel()
	at := func(status, time int, labels string) string {
		return strings.Replace(strings.Replace(onFile(1, status), `}`, `,"labels":`+labels+`}`, 1), `"status"`, `"register_time":`+strconv.Itoa(time)+`,"status"`, 1)
	}
	tests := map[string]struct {
		one, other string
		want       fleet.State
	}{
		"later":               {at(2, 200, `{}`), at(1, 100, `{}`), fleet.Stopped},
		"later-is-gone":       {at(0, 200, `{}`), at(1, 100, `{}`), fleet.Unregistered},
		"earlier-is-gone":     {at(1, 200, `{}`), at(0, 100, `{}`), fleet.Running},
		"one-is-gone":         {at(1, 0, `{}`), at(0, 0, `{}`), fleet.Running},
		"they-agree":          {at(1, 0, `{"a":"b"}`), at(1, 0, `{"a":"b"}`), fleet.Running},
		"they-contradict":     {at(1, 100, `{}`), at(2, 100, `{}`), fleet.Unknown},
		"of-different-owners": {at(1, 0, `{"tf_spec_owner":"a"}`), at(1, 0, `{"tf_spec_owner":"b"}`), fleet.Unknown},
	}
	for name, test := range tests {
		for order, rows := range map[string][]string{"": {test.one, test.other}, "-backwards": {test.other, test.one}} {
			t.Run(name+order, func(t *testing.T) {
				t.Parallel()
				_, url := newScript(t, cached(rows...))
				got, err := quick(t, url).Process(sampleMeta, sampleSpec()).CachedStatus(t.Context(), hosts(1))
				if err != nil || got[host(1)].State != test.want || (test.want == fleet.Unknown) != (got[host(1)].Message != "") {
					t.Errorf("got %+v, %v, want %s", got[host(1)], err, test.want)
				}
			})
		}
	}
}

// An address without its cloud area is that of the one host that was asked that has it.
func TestCachedStatus_rowWithoutCloud(t *testing.T) {
	t.Parallel()
	row := strings.Replace(onFile(1, 1), `,"bk_cloud_id":0`, "", 1)
	for name, test := range map[string]struct {
		asked []string
		want  map[string]fleet.State
	}{
		"one-has-it":  {[]string{"5:10.0.0.1", "0:10.0.0.2"}, map[string]fleet.State{"5:10.0.0.1": fleet.Running, "0:10.0.0.2": fleet.Unregistered}},
		"two-have-it": {[]string{"0:10.0.0.1", "5:10.0.0.1"}, map[string]fleet.State{"0:10.0.0.1": fleet.Unknown, "5:10.0.0.1": fleet.Unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, cached(row))
			got, err := quick(t, url).Process(sampleMeta, sampleSpec()).CachedStatus(t.Context(), procapitest.Parse(t, test.asked...))
			if err != nil {
				t.Fatal(err)
			}
			states := make(map[string]fleet.State)
			for address, status := range procapitest.ByAddress(got) {
				states[address] = status.State
			}
			if diff := cmp.Diff(test.want, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

// The agents of a fleet are asked for their names once, not with every look at the file.
func TestGateway_placingAsksOnce(t *testing.T) {
	t.Parallel()
	row := cached(gatewayRow(`"bk_agent_id":""`, 1))
	script, url := newGateway(t, row, accepted, result(said(v2(1), code(117))), row)
	p := gatewayProcess(t, url, sampleSpec())
	for range 2 {
		if got, err := p.CachedStatus(t.Context(), hosts(1)); err != nil || got[host(1)].State != fleet.Unknown {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if n := len(script.Requests()); n != 4 {
		t.Errorf("got %d requests, want 4", n)
	}
}

// On the ESB hosts have addresses, and a row without one may be anybody's.
func TestCachedStatus_rowWithoutAddress(t *testing.T) {
	t.Parallel()
	for _, row := range []string{`"bk_agent_id":"` + agentA + `"`, `"host":{"ip":"web-1","bk_cloud_id":0}`} {
		_, url := newScript(t, cached(gatewayRow(row, 2), onFile(2, 1)))
		got, err := quick(t, url).Process(sampleMeta, sampleSpec()).CachedStatus(t.Context(), hosts(2))
		if err != nil || got[host(1)].State != fleet.Unknown || got[host(2)].State != fleet.Running {
			t.Errorf("%s: got %v, %v", row, got, err)
		}
	}
}

// A row by an agent id that is not known yet has its agent asked, and not waited for until the
// deadline.
func TestCachedStatus_patience(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{RowsWithoutHost: true}
	p := gatewaySim(t, sim, 0)
	p.client.askPatience = 100 * time.Millisecond
	sim.AddAgent(agentA, "0:10.0.0.1")
	if err := sim.Register("0:10.0.0.1", sampleMeta.Namespace, sampleMeta.Name, nil, "{}"); err != nil {
		t.Fatal(err)
	}
	sim.Inject(simulator.Fault{API: apiOperate, Pending: -1})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := p.CachedStatus(ctx, hosts(1)); err != nil || ctx.Err() != nil {
		t.Errorf("%v, and the time is up: %v", err, ctx.Err())
	}
	if n := sim.Calls().Count(apiOperate); n != 1 {
		t.Errorf("the agent was asked %d times", n)
	}
}

// A listing that does not name hosts tells nothing of them.
func TestGatewayFlow_sharedWithoutHosts(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{RowsWithoutHost: true, RowsWithoutAgentID: true}
	p := gatewaySim(t, sim, 0)
	inventory := procapitest.Parse(t, "0:10.0.0.1")
	listed := false
	// A process that asks again counts once, so it takes several.
	for n := range 2 * sharedFrom {
		meta := sampleMeta
		if n > 0 {
			meta.Name += strconv.Itoa(n)
		}
		p := p.client.Process(meta, sampleSpec())
		if failures := p.Operate(t.Context(), fleet.Supervise, inventory, nil).Failures(); len(failures) > 0 {
			t.Fatal(failures)
		}
		got, err := p.SharedStatus(t.Context(), inventory)
		if err != nil || got[inventory[0]].State != fleet.Unknown {
			t.Fatalf("got %v, %v, want it not to be known", got, err)
		}
		listed = listed || sim.Calls().Count(apiSync) > 0
	}
	if !listed {
		t.Error("the namespace was never listed")
	}
}
