package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The first apply after an import compares each host with what the platform has on
// file: what differs is registered again, what matches is left alone, and what is
// missing is registered.
func TestHostedProcess_firstApplyAfterImport(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(2), "spec": wholeSpec("./a.sh"),
	}
	if _, said := sim.configured(t).coreOf(testList, &kept{}).apply(config); len(said) > 0 {
		t.Fatal(said)
	}
	sim.colleague(t, "web", "nginx", map[string]string{"owner": "other-team"}, 2)
	config["hosts"] = hostsOf(3)
	resource := sim.configured(t).coreOf(testList, &kept{})
	if said := resource.imports("web:nginx@" + testAddress(1) + "," + testAddress(2) + "," + testAddress(3)); len(said) > 0 {
		t.Fatal(said)
	}
	sim.ResetCalls()

	kind, said := resource.apply(config)

	if kind != planUpdate || len(said) > 0 {
		t.Errorf("%s\n%s", kind, said)
	}
	want := onGateway([]string{"operate_proc_v2/3 " + addresses(3), "register_proc_info " + addresses(3), "update_proc_info " + addresses(2)})
	if diff := cmp.Diff(want, sim.changes()); diff != "" {
		t.Errorf("calls that change something (-want +got):\n%s", diff)
	}
	sim.ResetCalls()
	if kind, said := resource.apply(config); kind != planNothing || len(said) > 0 || len(sim.changes()) > 0 {
		t.Errorf("something was left to do: %s %v\n%s", kind, sim.changes(), said)
	}
}
