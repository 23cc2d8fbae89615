package rollouts

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// secondIsSilent is the order of four hosts, one in each wave, of which the last is known
// to be silent.
var secondIsSilent = providertest.AddressList([]int{1, 4, 2, 3})

// called are the hosts in the order in which calls that change something reached them.
func called(sim *providertest.Sim) []string {
	var order []string
	for _, call := range sim.Calls() {
		if call.Op == simulator.OpQuery || call.API == "sync_proc_status" || call.API == "get_proc_status_v2" || call.API == "get_proc_operate_result_v2" {
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
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r := begun(t, by, 4, map[string]any{"on_update": "register", "rollout": map[string]any{"batch_size": 1, "max_failed_hosts": "4"}})
			r.must(r.sim.Unregister(providertest.Address(4), r.namespace(), r.name()))
			r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpQuery), Hosts: []string{providertest.Address(4)}, Unreachable: "117"})
			r.declare("./v2.sh")
			r.sim.ResetCalls()
			r.anew()
			r.resource.Apply(r.config)
			if diff := cmp.Diff(secondIsSilent, called(r.sim)); diff != "" {
				t.Errorf("the order of the waves (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff("v2", r.seen()[0]); diff != "" {
				t.Error(diff)
			}

			r.sim.Repair()
			r.apply("")
			r.declare("./v3.sh")
			r.apply("")
			if diff := cmp.Diff(providertest.AddressList([]int{1, 2, 3, 4}), called(r.sim)); diff != "" {
				t.Errorf("the order once it answers again (-want +got):\n%s", diff)
			}
		})
	}
}

// A host that gave an operation no result goes right behind the first wave of the next.
func TestSilent_operation(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Registered(t, 4)
	for _, n := range providertest.HostNumbers(4) {
		if err := sim.StartProcess(providertest.Address(n), "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	resource := sim.Configured(t).CoreOf("bk_process_operation", &providertest.Kept{})
	config := providertest.FaceESB.Reference("./start.sh", 4)
	maps.Copy(config, map[string]any{
		"operation": "restart", "rollout": map[string]any{"batch_size": 1, "wave_timeout": "1s", "max_failed_hosts": "1"}, "triggers": map[string]string{"run": "1"},
	})
	sim.Inject(simulator.Fault{API: "operate_*", Hosts: []string{providertest.Address(4)}, Unreachable: "pending"})
	resource.Apply(config)
	if reasons := resource.Reasons("failed_hosts"); len(reasons) != 1 {
		t.Fatal(reasons)
	}
	if diff := cmp.Diff(providertest.AddressList([]int{1, 2, 3, 4}), called(sim)); diff != "" {
		t.Errorf("the first order (-want +got):\n%s", diff)
	}

	sim.Repair()
	sim.ResetCalls()
	config["triggers"] = map[string]string{"run": "2"}
	if _, said := resource.Apply(config); said.Failed() {
		t.Fatal(said)
	}
	if diff := cmp.Diff(secondIsSilent, called(sim)); diff != "" {
		t.Errorf("the next order (-want +got):\n%s", diff)
	}
}
