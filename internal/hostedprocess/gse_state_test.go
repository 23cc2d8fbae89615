package hostedprocess_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A provider that dies in an update takes along what is kept beside state: Terraform
// keeps the attributes alone. Drift is found all the same, and what is somebody else's
// stays so.
func TestHostedProcess_keptAttributesAlone(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Colleague(t, "web", "nginx", map[string]string{"owner": "other-team"}, 3)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(3), "spec": providertest.WholeSpec("./a.sh"), "ensure": "registered",
	}
	if _, said := resource.Apply(config); !strings.Contains(resource.Reasons("out_of_sync")["web-3"], "registered_by_other") {
		t.Fatalf("web-3 is not taken for somebody else's: %s", said)
	}
	if err := sim.Register(providertest.Address(1), "web", "nginx", nil, `{"identity":{}}`); err != nil {
		t.Fatal(err)
	}
	resource.Private = nil
	sim.ResetCalls()

	if kind, _ := resource.Apply(config); !kind.Changes() {
		t.Error("drift was not found")
	}
	for _, host := range []int{2, 3} {
		for _, e := range sim.Executions() {
			if e.Host == providertest.Address(host) && e.Code == simulator.CodeOK {
				t.Errorf("nobody asked for %+v", e)
			}
		}
	}
	if diff := cmp.Diff(providertest.OnGateway([]string{"update_proc_info " + providertest.Addresses(1)}), slices.DeleteFunc(sim.Changes(), func(call string) bool {
		return strings.Contains(call, providertest.Address(3))
	})); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A destroy that fails in part keeps in mind what is known of the hosts that are
// left.
func TestHostedProcess_partialDestroyKeepsReasons(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(3), "spec": providertest.WholeSpec("./a.sh"), "ensure": "running",
	}
	start, code := simulator.OpStart, 65535
	sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: &start, Hosts: []string{providertest.Address(3)}, Code: &code})
	resource.Apply(config)
	known := resource.Reasons("out_of_sync")
	if len(known) != 1 || !strings.Contains(known["web-3"], "65535") {
		t.Fatalf("out_of_sync is %v", known)
	}
	sim.FailHosts("unregister_proc_info", []int{2, 3}, 117, "agent is away")

	said := resource.DestroyUnrefreshed().String()

	if len(providertest.ReasonRows(said)) != 2 || !strings.HasPrefix(said, "ERROR: Unable to Unregister Hosted Process") {
		t.Errorf("said: %s", said)
	}
	want := map[string]string{"web-2": providertest.Address(2), "web-3": providertest.Address(3)}
	if diff := cmp.Diff(want, resource.Reasons("hosts")); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(known, resource.Reasons("out_of_sync")); diff != "" {
		t.Errorf("out_of_sync (-want +got):\n%s", diff)
	}
}

// With on_destroy a host is unregistered only after its process was stopped or killed.
//
// Promised in reference: where it fails, the host stays registered.
func TestHostedProcess_stopsBeforeItGoes(t *testing.T) {
	t.Parallel()
	for ending, op := range map[string]int{"stop": simulator.OpStop, "kill": simulator.OpKill} {
		for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
			t.Run(ending+"-"+string(by), func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				resource := providertest.ConfiguredWith(t, sim.SettingsFor(by)).CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{})
				config := by.Reference("./start.sh", 2)
				config["ensure"], config["on_destroy"] = "running", ending
				resource.Applied(config)
				sim.Inject(simulator.Fault{Op: &op, Hosts: []string{providertest.Address(2)}, Code: new(65535), Message: "still in use"})

				said := resource.DestroyUnrefreshed()

				if !said.Failed() || !strings.Contains(said.String(), "still in use") {
					t.Errorf("said: %s", said)
				}
				namespace, name := by.Process()
				for n, stays := range map[int]bool{1: false, 2: true} {
					if process, _ := sim.Process(providertest.Address(n), namespace, name); process.Hosted != stays || process.Running != stays {
						t.Errorf("%s is %+v", providertest.Address(n), process)
					}
				}
				if diff := cmp.Diff(map[string]string{"web-2": providertest.Address(2)}, resource.Reasons("hosts")); diff != "" {
					t.Errorf("hosts (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// What was applied last is what the destroy of a replacement does, whatever its plan declares.
func TestHostedProcess_replacedAsApplied(t *testing.T) {
	t.Parallel()
	for ending, after := range map[string]string{"kill": "unregister", "unregister": "kill"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
			config := providertest.FaceESB.Reference("./start.sh", 1)
			config["ensure"], config["on_destroy"] = "running", ending
			resource.Applied(config)
			config["on_destroy"], config["meta"] = after, map[string]any{"namespace": "web", "name": "other"}

			if _, said := resource.Apply(config); said.Failed() {
				t.Fatal(said)
			}

			if killed := sim.Calls().OfOp(simulator.OpKill).HostCalls("operate_*"); killed > 0 != (ending == "kill") {
				t.Errorf("%d hosts were killed", killed)
			}
		})
	}
}

// Hosts that leave are released as they were registered. Where state does not tell
// that any more, as after an edit by hand, nothing is begun and nothing forgotten.
func TestHostedProcess_unreadableState(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(2), "spec": providertest.WholeSpec("./a.sh"), "ensure": "registered",
	}
	resource.Apply(config)
	attributes := providertest.AttributesOf(t, resource.State)
	attributes["hosts"] = providertest.ValueOf(attributes["hosts"].Type(), map[string]string{"web-1": providertest.Address(1), "web-2": "10.0.0.3"})
	resource.State = tftypes.NewValue(resource.State.Type(), attributes)
	before := resource.State
	sim.ResetCalls()
	config["hosts"] = providertest.HostsOf(1)

	_, said := resource.ApplyUnrefreshed(config)

	if !strings.Contains(said.String(), "10.0.0.3") || !said.Failed() {
		t.Errorf("said: %s", said)
	}
	if calls := sim.Calls(); len(calls) > 0 {
		t.Errorf("called: %v", calls.APIs())
	}
	if !resource.State.Equal(before) {
		t.Errorf("state is now %s", resource.State)
	}
}

// State that has no unreachable yet and is not refreshed gets one, with the update that it needs.
func TestHostedProcess_stateWithoutUnreachable(t *testing.T) {
	t.Parallel()
	for _, config := range []map[string]any{fleetOf(providertest.FaceESB, 2, nil), restartedBy(providertest.FaceESB, 2, nil)} {
		resource := hostedBy(t, providertest.NewSim(t), providertest.FaceESB)
		resource.Applied(fleetOf(providertest.FaceESB, 2, nil))
		attributes := providertest.AttributesOf(t, resource.State)
		attributes["unreachable"] = tftypes.NewValue(attributes["unreachable"].Type(), nil)
		resource.State = tftypes.NewValue(resource.State.Type(), attributes)
		if kind, said := resource.ApplyUnrefreshed(config); kind != providertest.PlanUpdate || len(said) > 0 || len(resource.Reasons("unreachable")) > 0 {
			t.Errorf("%s: %s", kind, said)
		}
		if kind, said := resource.ApplyUnrefreshed(config); kind != providertest.PlanNothing {
			t.Errorf("the plan after it: %s: %s", kind, said)
		}
	}
}

// A host cannot leave while the declaration changes. Should it come back, it is not as
// declared: state knows, even where the platform does not tell.
func TestHostedProcess_stuckHostReturns(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
		for name, apply := range map[string]func(*providertest.Core, map[string]any) (providertest.PlanKind, providertest.Diagnostics){
			"refreshed": (*providertest.Core).Apply, "unrefreshed": (*providertest.Core).ApplyUnrefreshed,
		} {
			t.Run(string(by)+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				resource := providertest.ConfiguredWith(t, sim.SettingsFor(by)).CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{})
				config := func(start string, hosts int) map[string]any {
					config := by.Reference(start, hosts)
					config["ensure"] = "registered"
					return config
				}
				resource.Apply(config("./a.sh", 2))
				leave, code := by.Target(providertest.OnDelete), 117
				sim.Inject(simulator.Fault{API: leave.API, Op: leave.Op, Hosts: []string{providertest.Address(2)}, Code: &code})
				if _, said := resource.Apply(config("./b.sh", 1)); !said.Failed() {
					t.Fatalf("web-2 has left: %s", said)
				}
				if reason := resource.Reasons("out_of_sync")["web-2"]; !strings.HasPrefix(reason, "other_spec: 117") {
					t.Errorf("web-2 is %q", reason)
				}
				if address := providertest.Texts(resource.Attribute("hosts"))["web-2"]; address != providertest.Address(2) {
					t.Errorf("web-2 is at %q now", address)
				}
				sim.Repair()

				if _, said := apply(resource, config("./b.sh", 2)); len(said) > 0 {
					t.Errorf("said: %s", said)
				}

				namespace, process := by.Process()
				for n := 1; n <= 2; n++ {
					if p, _ := sim.Process(providertest.Address(n), namespace, process); !strings.Contains(string(p.Spec), `"./b.sh"`) {
						t.Errorf("web-%d has %s", n, p.Spec)
					}
				}
				if calls := sim.Calls().On(providertest.Address(1)); name == "unrefreshed" && len(calls) > 0 {
					t.Errorf("web-1 was as declared, and called: %v", calls.APIs())
				}
			})
		}
	}
}

// A host that did not get the new declaration stops, too. The refresh that sees
// the latter does not forget the former, of which nothing on the platform tells.
func TestHostedProcess_oldDeclarationAndStopped(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceJOB)).CoreOf(providertest.FaceJOB.TypeName(providertest.OnCreate), &providertest.Kept{})
	config := func(start string) map[string]any {
		config := providertest.FaceJOB.Reference(start, 2)
		config["ensure"] = "running"
		return config
	}
	resource.Apply(config("./a.sh"))
	register, code := providertest.FaceJOB.Target(providertest.OnUpdate), 117
	sim.Inject(simulator.Fault{API: register.API, Op: register.Op, Hosts: []string{providertest.Address(2)}, Code: &code})
	resource.Apply(config("./b.sh"))
	sim.Repair()
	namespace, name := providertest.FaceJOB.Process()
	if err := sim.KillProcess(providertest.Address(2), namespace, name); err != nil {
		t.Fatal(err)
	}

	resource.Refresh()
	if reason := resource.Reasons("out_of_sync")["web-2"]; !strings.HasPrefix(reason, "other_spec: 117") {
		t.Errorf("web-2 is %q", reason)
	}
	if _, said := resource.Apply(config("./b.sh")); len(said) > 0 {
		t.Errorf("said: %s", said)
	}

	if p, _ := sim.Process(providertest.Address(2), namespace, name); !p.Running || !p.Hosted || !strings.Contains(string(p.Spec), `"./b.sh"`) {
		t.Errorf("web-2 runs: %t, is hosted: %t, with %s", p.Running, p.Hosted, p.Spec)
	}
}

// A resource says its identity in every answer: to a CLI that keeps it, and to one
// that has none to give because its state is from before there were identities.
func TestHostedProcess_identity(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"kept": true, "from-an-older-cli": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := sim.Configured(t)
			resource := p.CoreOf(providertest.HostedType, &providertest.Kept{})
			config := providertest.FaceESB.Reference("./start.sh", 2)
			expect := func(when string) {
				t.Helper()
				want := any(map[string]any{"namespace": "web", "name": "nginx"})
				if diff := cmp.Diff(want, p.IdentityOf(resource.Identity)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", when, diff)
				}
				if !keeps {
					resource.Identity = nil
				}
			}

			resource.Applied(config)
			expect("created")
			if said := resource.Refresh(); len(said) > 0 {
				t.Fatal(said)
			}
			expect("refreshed")
			config["adopt_existing"] = true
			if _, said := resource.ApplyUnrefreshed(config); len(said) > 0 {
				t.Fatal(said)
			}
			expect("updated")

			// Nobody minds that it has none when it turns out to be gone.
			for n := 1; n <= 2; n++ {
				if err := sim.Unregister(providertest.Address(n), "web", "nginx"); err != nil {
					t.Fatal(err)
				}
			}
			if said := resource.Refresh(); len(said) > 0 || !resource.State.IsNull() {
				t.Errorf("refreshed when it is gone: %s%s", resource.State, said)
			}
		})
	}
}

// An import by identity finds what an import by id finds, and both say the identity
// before anything is refreshed.
func TestHostedProcess_importByIdentity(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := sim.Configured(t)
	created := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	created.Applied(providertest.FaceESB.Reference("./start.sh", 2))

	resp, err := p.Server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: providertest.HostedType, ID: "web:nginx"})
	p.Fine(err, resp.Diagnostics)
	if diff := cmp.Diff(p.IdentityOf(created.Identity), p.IdentityOf(resp.ImportedResources[0].Identity)); diff != "" {
		t.Errorf("identity of an import by id (-want +got):\n%s", diff)
	}
	resp, err = p.Server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: providertest.HostedType, Identity: created.Identity})
	p.Fine(err, resp.Diagnostics)

	byID := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	if said := byID.Imports("web:nginx"); len(said) > 0 {
		t.Fatal(said)
	}
	byIdentity := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	imported := resp.ImportedResources[0]
	byIdentity.State, byIdentity.Private, byIdentity.Identity = byIdentity.Unwire(imported.State), imported.Private, imported.Identity
	if said := byIdentity.Refresh(); len(said) > 0 {
		t.Fatal(said)
	}
	if diff := cmp.Diff(providertest.Plain(t, byID.State), providertest.Plain(t, byIdentity.State)); diff != "" {
		t.Errorf("state (-by id +by identity):\n%s", diff)
	}
	if diff := cmp.Diff(p.IdentityOf(byID.Identity), p.IdentityOf(byIdentity.Identity)); diff != "" {
		t.Errorf("identity (-by id +by identity):\n%s", diff)
	}
}
