package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A provider that dies in an update takes along what is kept beside state: Terraform
// keeps the attributes alone. Drift is found all the same, and what is somebody else's
// stays so.
func TestHostedProcess_keptAttributesAlone(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	registerForeign(sim, t, 3)
	resource := sim.configured(t).coreOf(testList, &kept{})
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(3), "spec": wholeSpec("./a.sh"), "ensure": "registered",
	}
	if _, said := resource.apply(config); !strings.Contains(resource.reasons("out_of_sync")["web-3"], "registered by somebody else") {
		t.Fatalf("web-3 is not taken for somebody else's: %s", said)
	}
	if err := sim.Register(testAddress(1), "web", "nginx", nil, `{"identity":{}}`); err != nil {
		t.Fatal(err)
	}
	resource.private = nil
	sim.ResetCalls()

	if kind, _ := resource.apply(config); !kind.changes() {
		t.Error("drift was not found")
	}
	for _, host := range []int{2, 3} {
		for _, e := range sim.Executions() {
			if e.Host == testAddress(host) && e.Code == simulator.CodeOK {
				t.Errorf("nobody asked for %+v", e)
			}
		}
	}
	if diff := cmp.Diff(onGateway([]string{"update_proc_info " + addresses(1)}), slices.DeleteFunc(sim.changes(), func(call string) bool {
		return strings.Contains(call, testAddress(3))
	})); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A destroy that fails in part keeps in mind what is known of the hosts that are
// left.
func TestHostedProcess_partialDestroyKeepsReasons(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	resource := sim.configured(t).coreOf(testList, &kept{})
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(3), "spec": wholeSpec("./a.sh"), "ensure": "running",
	}
	start, code := simulator.OpStart, 65535
	sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: &start, Hosts: []string{testAddress(3)}, Code: &code})
	resource.apply(config)
	known := resource.reasons("out_of_sync")
	if len(known) != 1 || !strings.Contains(known["web-3"], "65535") {
		t.Fatalf("out_of_sync is %v", known)
	}
	sim.inject("unregister_proc_info", []int{2, 3}, 117, "agent is away")

	said := resource.destroyUnrefreshed().String()

	if len(told(said)) != 2 || !strings.HasPrefix(said, "ERROR: Unable to Unregister Hosted Process") {
		t.Errorf("said: %s", said)
	}
	want := map[string]string{"web-2": testAddress(2), "web-3": testAddress(3)}
	if diff := cmp.Diff(want, resource.reasons("hosts")); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(known, resource.reasons("out_of_sync")); diff != "" {
		t.Errorf("out_of_sync (-want +got):\n%s", diff)
	}
}

// Hosts that leave are released as they were registered. Where state does not tell
// that any more, as after an edit by hand, nothing is begun and nothing forgotten.
func TestHostedProcess_unreadableState(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	resource := sim.configured(t).coreOf(testList, &kept{})
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(2), "spec": wholeSpec("./a.sh"), "ensure": "registered",
	}
	resource.apply(config)
	attributes := attributesOf(t, resource.state)
	attributes["hosts"] = valueOf(attributes["hosts"].Type(), map[string]string{"web-1": testAddress(1), "web-2": "10.0.0.3"})
	resource.state = tftypes.NewValue(resource.state.Type(), attributes)
	before := resource.state
	sim.ResetCalls()
	config["hosts"] = hostsOf(1)

	_, said := resource.applyUnrefreshed(config)

	if !strings.Contains(said.String(), "10.0.0.3") || !said.failed() {
		t.Errorf("said: %s", said)
	}
	if calls := sim.Calls(); len(calls) > 0 {
		t.Errorf("called: %v", calls.APIs())
	}
	if !resource.state.Equal(before) {
		t.Errorf("state is now %s", resource.state)
	}
}

// A host cannot leave while the declaration changes. Should it come back, it is not as
// declared: state knows, even where the platform does not tell.
func TestHostedProcess_stuckHostReturns(t *testing.T) {
	t.Parallel()
	for _, by := range []face{faceESB, faceGateway, faceJOB} {
		for name, apply := range map[string]func(*core, map[string]any) (planKind, diagnostics){
			"refreshed": (*core).apply, "unrefreshed": (*core).applyUnrefreshed,
		} {
			t.Run(string(by)+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := newSim(t)
				resource := configuredWith(t, sim.settingsFor(by)).coreOf(by.typeName(onCreate), &kept{})
				config := func(start string, hosts int) map[string]any {
					config := by.reference(start, hosts)
					config["ensure"] = "registered"
					return config
				}
				resource.apply(config("./a.sh", 2))
				leave, code := by.target(onDelete), 117
				sim.Inject(simulator.Fault{API: leave.api, Op: leave.op, Hosts: []string{testAddress(2)}, Code: &code})
				if _, said := resource.apply(config("./b.sh", 1)); !said.failed() {
					t.Fatalf("web-2 has left: %s", said)
				}
				if reason := resource.reasons("out_of_sync")["web-2"]; !strings.HasPrefix(reason, "registered with another spec: 117") {
					t.Errorf("web-2 is %q", reason)
				}
				if address := texts(resource.attribute("hosts"))["web-2"]; address != testAddress(2) {
					t.Errorf("web-2 is at %q now", address)
				}
				sim.mend()

				if _, said := apply(resource, config("./b.sh", 2)); len(said) > 0 {
					t.Errorf("said: %s", said)
				}

				namespace, process := by.process()
				for n := 1; n <= 2; n++ {
					if p, _ := sim.Process(testAddress(n), namespace, process); !strings.Contains(string(p.Spec), `"./b.sh"`) {
						t.Errorf("web-%d has %s", n, p.Spec)
					}
				}
				if calls := sim.Calls().On(testAddress(1)); name == "unrefreshed" && len(calls) > 0 {
					t.Errorf("web-1 was as declared, and called: %v", calls.APIs())
				}
			})
		}
	}
}

// A host that was not told of the new declaration stops, too. The refresh that sees
// the latter does not forget the former, of which nothing on the platform tells.
func TestHostedProcess_oldDeclarationAndStopped(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	resource := configuredWith(t, sim.settingsFor(faceJOB)).coreOf(faceJOB.typeName(onCreate), &kept{})
	config := func(start string) map[string]any {
		config := faceJOB.reference(start, 2)
		config["ensure"] = "running"
		return config
	}
	resource.apply(config("./a.sh"))
	register, code := faceJOB.target(onUpdate), 117
	sim.Inject(simulator.Fault{API: register.api, Op: register.op, Hosts: []string{testAddress(2)}, Code: &code})
	resource.apply(config("./b.sh"))
	sim.mend()
	namespace, name := faceJOB.process()
	if err := sim.KillProcess(testAddress(2), namespace, name); err != nil {
		t.Fatal(err)
	}

	resource.refresh()
	if reason := resource.reasons("out_of_sync")["web-2"]; !strings.HasPrefix(reason, "registered with another spec: 117") {
		t.Errorf("web-2 is %q", reason)
	}
	if _, said := resource.apply(config("./b.sh")); len(said) > 0 {
		t.Errorf("said: %s", said)
	}

	if p, _ := sim.Process(testAddress(2), namespace, name); !p.Running || !p.Hosted || !strings.Contains(string(p.Spec), `"./b.sh"`) {
		t.Errorf("web-2 runs: %t, is hosted: %t, with %s", p.Running, p.Hosted, p.Spec)
	}
}
