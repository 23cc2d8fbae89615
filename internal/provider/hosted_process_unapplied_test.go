package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// unapplied is a resource that was imported and never applied, so that nobody knows
// its spec: two hosts of a process that somebody registered, hosts and runs.
func unapplied(s *testSim, t *testing.T, settings map[string]any) *core {
	t.Helper()
	configuredWith(t, settings).coreOf(testList, &kept{}).applied(faceESB.reference("./start.sh", 2))
	for n := 1; n <= 2; n++ {
		if err := s.StartProcess(testAddress(n), "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	resource := configuredWith(t, settings).coreOf(testList, &kept{})
	if said := resource.imports("web:nginx"); len(said) > 0 {
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
		face      face
		onDestroy string
		want      []string
		said      string
	}{
		"esb":            {faceESB, "unregister", []string{"unregister_proc_info " + addresses(1, 2)}, ""},
		"esb-stop":       {faceESB, "stop", []string{"unregister_proc_info " + addresses(1, 2)}, ""},
		"esb-kill":       {faceESB, "kill", []string{"unregister_proc_info " + addresses(1, 2)}, ""},
		"gateway":        {faceGateway, "unregister", []string{}, "this gateway wants the spec"},
		"gateway-stop":   {faceGateway, "stop", []string{}, "this gateway wants the spec"},
		"gateway-killed": {faceGateway, "kill", []string{}, "this gateway wants the spec"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			resource := unapplied(sim, t, sim.settingsFor(c.face))
			set(resource, "on_destroy", c.onDestroy)

			said := resource.destroyUnrefreshed()

			if said.failed() != (c.said != "") || !strings.Contains(said.String(), c.said) {
				t.Errorf("said: %s", said)
			}
			if resource.state.IsNull() != (c.said == "") {
				t.Errorf("state is %s", resource.state)
			}
			if diff := cmp.Diff(c.want, sim.changes()); diff != "" {
				t.Errorf("calls that change something (-want +got):\n%s", diff)
			}
			for n := 1; n <= 2; n++ {
				process, _ := sim.Process(testAddress(n), "web", "nginx")
				if !process.Running || process.Hosted != (c.said != "") {
					t.Errorf("%s is %+v", testAddress(n), process)
				}
			}
		})
	}
}

// set writes an attribute of the state, as another release may have left it.
func set(c *core, name, value string) {
	c.t.Helper()
	attributes := attributesOf(c.t, c.state)
	attributes[name] = tftypes.NewValue(tftypes.String, value)
	c.state = tftypes.NewValue(c.state.Type(), attributes)
}

// A host of which the file does not tell is named after an import as well, where the
// agent cannot be asked for want of a spec; and it is neither drift nor gone.
func TestHostedProcess_unknownAfterImport(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	settings := sim.settingsFor(faceESB)
	settings["max_hosts_per_request"] = 1
	resource := unapplied(sim, t, settings)
	sim.Inject(simulator.Fault{
		API: "get_proc_status_v2", Hosts: []string{testAddress(2)}, Replace: map[string]any{"data/proc_infos/*/status": nil},
	})

	said := resource.refresh()

	if said.failed() || !strings.Contains(said.String(), "Agents Not Reachable") {
		t.Errorf("said: %s", said)
	}
	for _, row := range []string{"on 1 of 2 hosts", "\n  " + testAddress(2) + ": the platform's row has no status\n"} {
		if !strings.Contains(said.String(), row) {
			t.Errorf("%q is not in: %s", row, said)
		}
	}
	if left := resource.reasons("out_of_sync"); len(left) > 0 || resource.state.IsNull() {
		t.Errorf("out_of_sync is %v in %s", left, resource.state)
	}
	if calls := sim.Calls().Of("operate_*"); len(calls) > 0 {
		t.Errorf("agents were asked without a spec: %v", calls.APIs())
	}
}
