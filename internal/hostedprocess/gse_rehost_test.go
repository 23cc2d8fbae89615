package hostedprocess_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A gateway that does not replace a hosting is made to: what it says is hosted already
// is unhosted and hosted again. A host that cannot be unhosted stays as it is.
func TestHostedProcess_gatewayHostsOnce(t *testing.T) {
	t.Parallel()
	hosting := func(op string, numbers ...int) string {
		return "operate_proc_multi/" + op + " " + providertest.Addresses(numbers...)
	}
	for name, c := range map[string]struct {
		fails []int // to be unhosted
		calls []string
		left  map[string]string
	}{
		"all": {nil, []string{hosting("3", 1, 2, 3), hosting("4", 1, 2, 3), hosting("3", 1, 2, 3)}, map[string]string{}},
		"one-cannot-be-unhosted": {
			[]int{2}, []string{hosting("3", 1, 2, 3), hosting("4", 1, 2, 3), hosting("3", 1, 3)},
			map[string]string{"web-2": "other_spec"},
		},
		"none-can-be-unhosted": {
			[]int{1, 2, 3}, []string{hosting("3", 1, 2, 3), hosting("4", 1, 2, 3)},
			map[string]string{"web-1": "other_spec", "web-2": "other_spec", "web-3": "other_spec"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.HostingOnce = true
			resource := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceGateway)).CoreOf(providertest.HostedType, &providertest.Kept{})
			resource.Applied(providertest.FaceGateway.Reference("./a.sh", 3))
			if len(c.fails) > 0 {
				sim.Inject(simulator.Fault{
					API: "operate_proc_multi", Op: new(simulator.OpUnhost), Hosts: providertest.AddressList(c.fails), Code: new(65535),
				})
			}
			sim.ResetCalls()

			_, said := resource.Apply(providertest.FaceGateway.Reference("./b.sh", 3))

			var calls []string
			for _, call := range sim.Calls().Of("operate_proc_multi") {
				calls = append(calls, call.API+"/"+map[int]string{3: "3", 4: "4"}[call.Op]+" "+strings.Join(call.Hosts, " "))
			}
			if diff := cmp.Diff(c.calls, calls); diff != "" {
				t.Errorf("calls in their order (-want +got):\n%s", diff)
			}
			if said.Failed() != (len(c.fails) > 0) {
				t.Errorf("said: %s", said)
			}
			left := map[string]string{}
			for key, reason := range resource.Reasons("out_of_sync") {
				left[key], _, _ = strings.Cut(reason, ":")
				if !strings.Contains(reason, "65535") {
					t.Errorf("%s: %s", key, reason)
				}
			}
			if diff := cmp.Diff(c.left, left); diff != "" {
				t.Errorf("out_of_sync (-want +got):\n%s", diff)
			}
			for key, address := range providertest.HostsOf(3) {
				process, _ := sim.Process(address, "web", "nginx")
				start := "./b.sh"
				if _, failed := c.left[key]; failed {
					start = "./a.sh"
				}
				if !process.Hosted || !providertest.StartsWith(process, start) {
					t.Errorf("%s should be hosted with %s and is %+v", key, start, process)
				}
			}
		})
	}
}
