package core_test

import (
	"slices"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestFleet_ordersHostsAsPeopleDo(t *testing.T) {
	t.Parallel()
	want := []string{"0:9.0.0.1", "0:10.0.0.9", "0:10.0.0.10", "0:2001:db8::1", "2:10.0.0.1", "10:10.0.0.1", simtest.AgentA}
	got := slices.Clone(want)
	slices.Reverse(got)
	if slices.SortFunc(got, core.CompareHosts); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A machine is one cell, under any name, with its last operation and the platform's result. An operation
// in progress is distinguished from a finished one.
func TestFleet(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	g := core.New()
	g.Configure(core.Settings{EntryPerName: true, Now: func() time.Time { return now }, Faults: slow{}})
	for _, err := range []error{g.AddAgent(simtest.AgentA, "0:10.0.0.1"), g.AddHost("0:10.0.0.2"), g.SetReachable("0:10.0.0.2", false)} {
		simtest.Must(t, err)
	}
	for _, name := range []string{"0:10.0.0.1", simtest.AgentA} {
		simtest.Must(t, g.Register(name, "web", "nginx", nil, simtest.RegisterSpec))
	}
	target, err := core.ParseTarget("0:10.0.0.1")
	simtest.Must(t, err)
	spec := &core.Spec{}
	g.Operate("operate_proc_v2", []*core.Item{{Op: simulator.OpStop, Namespace: "web", Name: "nginx", Spec: spec, Targets: []core.Target{target}}})
	want := []core.Cell{
		{Host: "0:10.0.0.2", Away: true},
		{Host: "0:10.0.0.1", AgentID: simtest.AgentA, Namespace: "web", Name: "nginx", Registered: true, Busy: true},
	}
	simtest.Want(t, "under way", g.Fleet(), want)
	now = now.Add(time.Minute)
	want[1].Busy, want[1].Last = false, core.Last{Action: "stop", Code: core.CodeNotRunning, Message: core.CodeMessage(core.CodeNotRunning), At: time.Unix(1_700_000_005, 0)}
	simtest.Want(t, "ended", g.Fleet(), want)
}

// slow makes every operation take five seconds.
type slow struct{}

func (slow) OnHost(met *core.Met, _ string, _ core.Affected) []core.Trouble {
	if len(*met) > 0 {
		return nil
	}
	*met = append(*met, 1)
	return []core.Trouble{{Takes: 5 * time.Second}}
}

func (slow) OnTask(*core.Met, string, []*core.Item) []core.Queue { return nil }
func (slow) HidesRow(string, core.ProcKey) bool                  { return false }
