package hostedprocess_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// The first apply after an import compares each host with what the platform has on
// file: what differs is registered again, what matches is left alone, and what is
// missing is registered.
func TestHostedProcess_firstApplyAfterImport(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(2), "spec": providertest.WholeSpec("./a.sh"),
	}
	if _, said := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{}).Apply(config); len(said) > 0 {
		t.Fatal(said)
	}
	sim.Colleague(t, "web", "nginx", map[string]string{"owner": "other-team"}, 2)
	config["hosts"] = providertest.HostsOf(3)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	if said := resource.Imports("web:nginx@" + providertest.Address(1) + "," + providertest.Address(2) + "," + providertest.Address(3)); len(said) > 0 {
		t.Fatal(said)
	}
	sim.ResetCalls()

	kind, said := resource.Apply(config)

	if kind != providertest.PlanUpdate || len(said) > 0 {
		t.Errorf("%s\n%s", kind, said)
	}
	want := providertest.OnGateway([]string{"operate_proc_v2/3 " + providertest.Addresses(3), "register_proc_info " + providertest.Addresses(3), "update_proc_info " + providertest.Addresses(2)})
	if diff := cmp.Diff(want, sim.Changes()); diff != "" {
		t.Errorf("calls that change something (-want +got):\n%s", diff)
	}
	sim.ResetCalls()
	if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 || len(sim.Changes()) > 0 {
		t.Errorf("something was left to do: %s %v\n%s", kind, sim.Changes(), said)
	}
}
