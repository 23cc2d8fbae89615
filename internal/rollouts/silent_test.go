package rollouts

import (
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// secondIsSilent is the order of four hosts, one in each wave, of which the last is known to be silent.
var secondIsSilent = providertest.AddressList([]int{1, 4, 2, 3})

// called are the hosts in the order in which calls that change something reached them.
func called(calls simulator.CallList) []string {
	var order []string
	for _, call := range calls {
		if strings.HasPrefix(call.API, "get_") || call.Op == simulator.OpQuery || call.API == "sync_proc_status" {
			continue
		}
		for _, host := range call.Hosts {
			if !slices.Contains(order, host) {
				order = append(order, host)
			}
		}
	}
	return order
}

// A host whose agent the last refresh could not ask goes right behind the first wave.
func TestSilent_hosted(t *testing.T) {
	t.Parallel()
	onEach(t, "update", withLabels, func(t *testing.T, by providertest.Face) {
		t.Helper()
		r := begun(t, by, 4, map[string]any{"on_update": "register", "rollout": map[string]any{"batch_size": 1, "max_failed_hosts": "4"}})
		r.must(r.sim.Unregister(providertest.Address(4), r.namespace(), r.name()))
		r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpQuery), Hosts: []string{providertest.Address(4)}, Unreachable: "117"})
		r.declare("./v2.sh")
		r.sim.ResetCalls()
		r.anew()
		r.resource.Apply(r.config)
		providertest.Same(t, "the order of the waves", secondIsSilent, called(r.sim.Calls()))
		providertest.Same(t, "web-1", "v2", r.seen()[0])

		r.sim.Repair()
		r.apply("")
		r.update("./v3.sh", "")
		providertest.Same(t, "the order once it answers again", providertest.AddressList([]int{1, 2, 3, 4}), called(r.sim.Calls()))
	})
}

// A host that gave an operation no result goes right behind the first wave of the next.
func TestSilent_operation(t *testing.T) {
	t.Parallel()
	r := newRollout(t, providertest.NewSim(t), providertest.FaceESB, providertest.OnRestart, 4, map[string]any{
		"operation": "restart", "rollout": map[string]any{"batch_size": 1, "wave_timeout": "1s", "max_failed_hosts": "1"},
	})
	for _, address := range providertest.AddressList(providertest.HostNumbers(4)) {
		r.must(running(r.sim, r.by, address))
	}
	r.sim.Inject(simulator.Fault{API: "operate_*", Hosts: []string{providertest.Address(4)}, Unreachable: "pending"})
	r.resource.Apply(r.config)
	if reasons := r.resource.Reasons("failed_hosts"); len(reasons) != 1 {
		t.Fatal(reasons)
	}
	providertest.Same(t, "the first order", providertest.AddressList([]int{1, 2, 3, 4}), called(r.sim.Calls()))

	r.sim.Repair()
	r.set(map[string]any{"triggers": map[string]string{"run": "2"}})
	r.apply("")
	providertest.Same(t, "the next order", secondIsSilent, called(r.sim.Calls()))
}
