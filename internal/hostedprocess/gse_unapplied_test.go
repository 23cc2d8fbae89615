package hostedprocess_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// unapplied is a resource that was imported and never applied, so that nobody knows
// its spec: two hosts of a process that somebody registered, hosts and runs.
func unapplied(t *testing.T, s *providertest.Sim, settings map[string]any) *providertest.Core {
	t.Helper()
	providertest.ConfiguredWith(t, settings).CoreOf(providertest.HostedType, &providertest.Kept{}).Applied(providertest.FaceESB.Reference("./start.sh", 2))
	for n := 1; n <= 2; n++ {
		if err := s.StartProcess(providertest.Address(n), "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	resource := providertest.ConfiguredWith(t, settings).CoreOf(providertest.HostedType, &providertest.Kept{})
	if said := resource.Imports("web:nginx"); len(said) > 0 {
		t.Fatal(said)
	}
	s.ResetCalls()
	return resource
}

// A destroy of what was imported and never applied unregisters it, and operates
// nothing: there is no spec to do it with. The gateway does not unregister without one
// either, and the resource stays.
func TestHostedProcess_destroyUnapplied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		face      providertest.Face
		onDestroy string
		want      []string
		said      string
	}{
		"esb":            {providertest.FaceESB, "unregister", []string{"unregister_proc_info " + providertest.Addresses(1, 2)}, ""},
		"esb-stop":       {providertest.FaceESB, "stop", []string{"unregister_proc_info " + providertest.Addresses(1, 2)}, ""},
		"esb-kill":       {providertest.FaceESB, "kill", []string{"unregister_proc_info " + providertest.Addresses(1, 2)}, ""},
		"gateway":        {providertest.FaceGateway, "unregister", []string{}, "this gateway wants the spec"},
		"gateway-stop":   {providertest.FaceGateway, "stop", []string{}, "this gateway wants the spec"},
		"gateway-killed": {providertest.FaceGateway, "kill", []string{}, "this gateway wants the spec"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := unapplied(t, sim, sim.SettingsFor(c.face))
			set(resource, "on_destroy", c.onDestroy)

			said := resource.DestroyUnrefreshed()

			if said.Failed() != (c.said != "") || !strings.Contains(said.String(), c.said) {
				t.Errorf("said: %s", said)
			}
			if resource.State.IsNull() != (c.said == "") {
				t.Errorf("state is %s", resource.State)
			}
			if diff := cmp.Diff(c.want, sim.Changes()); diff != "" {
				t.Errorf("calls that change something (-want +got):\n%s", diff)
			}
			for n := 1; n <= 2; n++ {
				process, _ := sim.Process(providertest.Address(n), "web", "nginx")
				if !process.Running || process.Hosted != (c.said != "") {
					t.Errorf("%s is %+v", providertest.Address(n), process)
				}
			}
		})
	}
}

// Of a process that was only hosted unregister_proc_info knows nothing. Without a spec
// it cannot be unhosted, and so it is not said to be gone.
func TestHostedProcess_destroyUnappliedHosting(t *testing.T) {
	t.Parallel()
	providertest.ESBOnly(t, "the gateway has no unregister_proc_info")
	sim := providertest.NewSim(t)
	for n := 1; n <= 2; n++ {
		if err := sim.Host(providertest.Address(n), "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	if said := resource.Imports("web:nginx"); len(said) > 0 {
		t.Fatal(said)
	}
	if err := sim.Unhost(providertest.Address(2), "web", "nginx"); err != nil { // since the import
		t.Fatal(err)
	}

	said := resource.DestroyUnrefreshed()

	if !said.Failed() || !strings.Contains(said.String(), "it may be hosted, which takes a spec to end") || !strings.Contains(said.String(), "on 1 of 2 hosts") {
		t.Errorf("said: %s", said)
	}
	if hosts := resource.Attribute("hosts"); !cmp.Equal(hosts, any(map[string]any{providertest.Address(1): providertest.Address(1)})) {
		t.Errorf("hosts of the state: %v", hosts)
	}
}

// set writes an attribute of the state, as another release may have left it.
func set(c *providertest.Core, name, value string) {
	c.T.Helper()
	attributes := providertest.AttributesOf(c.T, c.State)
	attributes[name] = tftypes.NewValue(tftypes.String, value)
	c.State = tftypes.NewValue(c.State.Type(), attributes)
}

// A host of which the file does not tell is named after an import as well, where the
// agent cannot be asked for want of a spec; and it is neither drift nor gone.
func TestHostedProcess_unknownAfterImport(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	settings := sim.SettingsFor(providertest.FaceESB)
	settings["max_hosts_per_request"] = 1
	resource := unapplied(t, sim, settings)
	sim.Inject(simulator.Fault{
		API: "get_proc_status_v2", Hosts: []string{providertest.Address(2)}, Replace: map[string]any{"data/proc_infos/*/status": nil},
	})

	said := resource.Refresh()

	if said.Failed() || !strings.Contains(said.String(), "Agents Not Reachable") {
		t.Errorf("said: %s", said)
	}
	for _, row := range []string{"on 1 of 2 hosts", "\n  " + providertest.Address(2) + ": the platform's row has no status\n"} {
		if !strings.Contains(said.String(), row) {
			t.Errorf("%q is not in: %s", row, said)
		}
	}
	if left := resource.Reasons("out_of_sync"); len(left) > 0 || resource.State.IsNull() {
		t.Errorf("out_of_sync is %v in %s", left, resource.State)
	}
	if calls := sim.Calls().Of("operate_*"); len(calls) > 0 {
		t.Errorf("agents were asked without a spec: %v", calls.APIs())
	}
}

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
	if said := resource.Imports("web:nginx@" + providertest.Address(1) + "," + providertest.Address(2) + "," + providertest.Address(3)); said.Failed() || !strings.Contains(said.String(), `owner: "other-team" on 0:10.0.0.3; not set on 0:10.0.0.2`) {
		t.Fatal(said)
	}
	sim.ResetCalls()

	kind, said := resource.Apply(config)

	if kind != providertest.PlanUpdate || said.Failed() {
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
