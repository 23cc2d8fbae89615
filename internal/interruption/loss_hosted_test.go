package interruption

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// hosted applies bk_hosted_process again and again, while processes stop by
// themselves and the declaration changes.
func (r *lossRound) hosted() {
	var (
		ensure   = []string{"running", "hosted"}[r.chance.IntN(2)]
		start    = "./start.sh"
		resource = r.resource(providertest.OnCreate)
		config   = r.Reference()
	)
	config["ensure"] = ensure
	namespace, name := r.by.Process()
	for range 5 {
		r.lossy()
		r.applyHosted(resource, ensure, config)
		for key, process := range r.processes() {
			if process.Running && r.chance.IntN(4) == 0 {
				r.must(r.sim.StopProcess(providertest.HostsOf(r.hosts)[key], namespace, name))
			}
		}
		if r.chance.IntN(2) == 0 {
			start = []string{"./start.sh", "./other.sh"}[r.chance.IntN(2)]
			r.define(config, start)
		}
		if r.chance.IntN(3) == 0 {
			hosts := providertest.HostsOf(r.hosts)
			for key := range maps.Clone(hosts) {
				if len(hosts) > 1 && r.chance.IntN(2) == 0 {
					delete(hosts, key)
				}
			}
			config["hosts"] = hosts
		}
	}
	r.sim.Repair()
	if r.applyHosted(resource, ensure, config); len(resource.Reasons("out_of_sync")) > 0 {
		r.T.Errorf("nothing is lost any more, and still %v", resource.Reasons("out_of_sync"))
	}
	r.anew(resource)
	if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
		r.T.Errorf("there was something left to do: %s", said)
	}
	declared, _ := config["hosts"].(map[string]string)
	for key, process := range r.processes() {
		_, wanted := declared[key]
		if wanted && !r.asDeclared(process, ensure, start) || !wanted && (process.Registered || process.Hosted) {
			r.T.Errorf("%s is %+v", key, process)
		}
	}
}

// asDeclared compares a process with what a declaration makes of it. Over JOB,
// registered is hosted.
func (r *lossRound) asDeclared(process simulator.Process, ensure, start string) bool {
	return process.Registered == (r.by != providertest.FaceJOB) && process.Hosted && providertest.StartsWith(process, start) && (process.Running || ensure != "running")
}

func (r *lossRound) applyHosted(resource *providertest.Core, ensure string, config map[string]any) {
	r.T.Helper()
	before, tainted := r.processes(), resource.Tainted

	r.anew(resource)
	kind, diags := resource.Apply(config)
	said := diags.String()

	if kind == providertest.PlanReplace && !tainted {
		r.T.Errorf("it was replaced, and nothing was wrong with it\n%s", said)
	}
	operated := r.operated(said)
	declared, _ := config["hosts"].(map[string]string)
	r.checkRegistered(declared, kind, said)
	reasons := resource.Reasons("out_of_sync")
	if resource.State.IsNull() {
		reasons = providertest.ReasonRows(said)
	}
	for key := range operated {
		_, wanted := declared[key]
		switch reason, failing := reasons[key]; {
		case ensure != "running" || !wanted:
			r.T.Errorf("%s was operated, which was not requested\n%s", key, said)
		case before[key].Running:
			r.T.Errorf("%s was running, and was started again\n%s", key, said)
		case failing && (!strings.Contains(reason, "outcome unknown") || !strings.Contains(providertest.ReasonRows(said)[key], "outcome unknown")):
			r.T.Errorf("%s was started, state says %q\n%s", key, reason, said)
		}
	}
	for key, process := range r.processes() {
		_, wanted := declared[key]
		_, failing := reasons[key]
		_, kept := resource.Reasons("hosts")[key]          // or a destroy before a create came to no end
		_, mentioned := providertest.ReasonRows(said)[key] // perhaps as one that could not be asked
		if kind.Changes() && wanted && kept && !failing && !mentioned &&
			!r.asDeclared(process, ensure, r.startKept(resource)) {
			r.T.Errorf("%s is reported as done and is %+v\n%s", key, process, said)
		}
	}
}

// startKept is the start_cmd in state.
func (r *lossRound) startKept(resource *providertest.Core) string {
	r.T.Helper()
	if r.by == providertest.FaceJOB {
		return providertest.Texts(resource.Attribute("process"))["start_cmd"]
	}
	spec, _ := resource.Attribute("spec").(map[string]any)
	return providertest.Texts(spec["control"])["start_cmd"]
}

// checkRegistered fails the test if an undeclared host was registered or hosted, or a declared one
// unregistered, unless everything was replaced.
func (r *lossRound) checkRegistered(declared map[string]string, kind providertest.PlanKind, said string) {
	r.T.Helper()
	for _, e := range r.sim.Executions() {
		wanted := slices.Contains(slices.Collect(maps.Values(declared)), e.Host)
		switch e.Action {
		case "register", "update", "host":
			if !wanted {
				r.T.Errorf("not declared: %+v\n%s", e, said)
			}
		case "unregister", "unhost":
			if wanted && kind != providertest.PlanReplace {
				r.T.Errorf("not unregistered: %+v\n%s", e, said)
			}
		}
	}
}

// A create all of whose answers are lost may have registered its hosts. They are
// kept in mind, and so are found again although the declaration changed meanwhile.
//
// Promised in partial-failure.md: a create that no host confirmed, and that may have registered some (answers
// were lost, or Ctrl-C came before any host was done) | ends with an error, exit code 1.
func TestHostedProcess_lostCreate(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(2), "spec": providertest.WholeSpec("./a.sh"), "ensure": "registered",
	}
	api, op := providertest.FaultOn("register_proc_info")
	sim.Inject(simulator.Fault{API: api, Op: op, Drop: "after"})

	_, diags := resource.Apply(config)
	said := diags.String()
	want := map[string]string{}
	for key := range providertest.HostsOf(2) {
		want[key] = "unconfirmed: outcome unknown (the operation was sent and its answer got lost)"
	}
	if diff := cmp.Diff(want, resource.Reasons("out_of_sync")); diff != "" {
		t.Errorf("out_of_sync (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(said, "ERROR: Unable to Create Hosted Process") || len(providertest.ReasonRows(said)) != 2 {
		t.Errorf("said: %s", said)
	}

	sim.Repair()
	resource.Untaint()
	config["spec"] = providertest.WholeSpec("./b.sh")
	if _, said := resource.Apply(config); len(said) > 0 {
		t.Errorf("the next apply said: %s", said)
	}
	if diff := cmp.Diff(providertest.OnGateway([]string{"update_proc_info " + providertest.Addresses(1, 2)}), sim.Changes()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
		t.Errorf("there was something left to do: %s", said)
	}
}

// A registration that somebody else had made before such a create is neither taken
// over nor removed.
func TestHostedProcess_lostCreateOfStrangers(t *testing.T) {
	t.Parallel()
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(2), "spec": providertest.WholeSpec("./a.sh"), "ensure": "registered",
	}
	for name, next := range map[string]func(*providertest.Core){
		"retried": func(resource *providertest.Core) {
			resource.Untaint()
			resource.ApplyUnrefreshed(config)
			if reason := resource.Reasons("out_of_sync")["web-1"]; !strings.HasPrefix(reason, "registered_by_other") {
				t.Errorf("web-1 is %q", reason)
			}
		},
		"refreshed and retried": func(resource *providertest.Core) {
			resource.Untaint()
			resource.Apply(config)
			if reason := resource.Reasons("out_of_sync")["web-1"]; !strings.HasPrefix(reason, "registered_by_other") {
				t.Errorf("web-1 is %q", reason)
			}
		},
		"replaced": func(resource *providertest.Core) {
			if kind, said := resource.Apply(config); kind != providertest.PlanReplace || said.Failed() {
				t.Errorf("%s: %s", kind, said)
			}
			if reason := resource.Reasons("out_of_sync")["web-1"]; !strings.HasPrefix(reason, "registered_by_other") {
				t.Errorf("web-1 is %q", reason)
			}
		},
		"destroyed": func(resource *providertest.Core) {
			if said := resource.DestroyUnrefreshed(); len(said) > 0 || !resource.State.IsNull() {
				t.Errorf("the destroy said: %s", said)
			}
		},
		"refreshed and destroyed": func(resource *providertest.Core) {
			resource.Refresh()
			if said := resource.DestroyUnrefreshed(); len(said) > 0 || !resource.State.IsNull() {
				t.Errorf("the destroy said: %s", said)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			if err := sim.Register(providertest.Address(1), "web", "nginx", map[string]string{"owner": "sre"}, "{}"); err != nil {
				t.Fatal(err)
			}
			resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
			api, op := providertest.FaultOn("register_proc_info")
			sim.Inject(simulator.Fault{API: api, Op: op, Drop: "before"})
			// At the gateway, which looks first, one host is known to be somebody else's.
			if _, said := resource.Apply(config); !strings.HasPrefix(said.String(), "ERROR: Unable to Create Hosted Process") || resource.State.IsNull() {
				t.Errorf("the create said: %s", said)
			}
			sim.Repair()

			next(resource)
			if p, _ := sim.Process(providertest.Address(1), "web", "nginx"); p.Labels["owner"] != "sre" {
				t.Errorf("the other owner's registration is %+v", p)
			}
		})
	}
}

// A row that cannot be read does not show the owner of a registration. The host is kept in state until it
// can be read, and then unregistered as ours.
//
// Promised in partial-failure.md: a destroy, or the removal of a host, where
// [ownership](ownership.md) cannot be determined | ends with an error, exit code 1.
// Promised in reference: If ownership cannot be determined, the host stays and the error says so.
func TestHostedProcess_lostCreateUnread(t *testing.T) {
	t.Parallel()
	const unread = "who registered it could not be read"
	sim := providertest.NewSim(t)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	api, op := providertest.FaultOn("register_proc_info")
	sim.Inject(simulator.Fault{API: api, Op: op, Drop: "after"})
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(2), "spec": providertest.WholeSpec("./a.sh"), "ensure": "registered",
	}
	resource.Apply(config)
	sim.Repair()

	sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": "none"}})
	if said := resource.DestroyUnrefreshed(); !strings.Contains(said.String(), unread) || len(resource.Reasons("out_of_sync")) != 2 {
		t.Errorf("the destroy said: %s\nand state holds %v", said, resource.Reasons("out_of_sync"))
	}
	resource.Untaint()
	_, said := resource.ApplyUnrefreshed(config)
	if reason := resource.Reasons("out_of_sync")["web-1"]; !strings.Contains(said.String(), unread) || reason != "unconfirmed: "+unread {
		t.Errorf("the update said: %s\nand web-1 is %q", said, reason)
	}
	for _, e := range sim.Executions() {
		if e.Action == "update" || e.Action == "unregister" {
			t.Errorf("a host was changed: %+v", e)
		}
	}
	sim.Repair()
	if said := resource.DestroyUnrefreshed(); len(said) > 0 || len(sim.Processes()) > 0 {
		t.Errorf("the next destroy said: %s\nand %v are left", said, sim.Processes())
	}
}

// Two declarations were sent and neither was answered. Either of them in the cached status is ours.
func TestHostedProcess_lostTwice(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := func(start string) map[string]any {
		return map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(1), "spec": providertest.WholeSpec(start), "ensure": "registered",
		}
	}
	api, op := providertest.FaultOn("register_proc_info")
	sim.Inject(simulator.Fault{API: api, Op: op, Drop: "after"})
	resource.Apply(config("./a.sh"))
	sim.Repair()
	sim.Inject(simulator.Fault{API: api, Op: op, Drop: "before"})
	resource.Untaint()
	resource.ApplyUnrefreshed(config("./b.sh"))
	sim.Repair()
	if reason := resource.Reasons("out_of_sync")["web-1"]; !strings.HasPrefix(reason, "unconfirmed") {
		t.Fatalf("web-1 is %q", reason)
	}
	if said := resource.DestroyUnrefreshed(); len(said) > 0 || len(sim.Processes()) > 0 {
		t.Errorf("the destroy said: %s\nand %v are left", said, sim.Processes())
	}
}

// Hosts leave while another one fails, so nothing is done about them yet. What state knows of them still
// decides what may be done. Nothing is done to another owner's process, and where ours was never
// registered it is only unregistered.
func TestHostedProcess_leaveWhileOthersFail(t *testing.T) {
	t.Parallel()
	const kill = 9
	sim := providertest.NewSim(t)
	for _, err := range []error{
		sim.Register(providertest.Address(1), "web", "nginx", map[string]string{"owner": "sre"}, "{}"), sim.StartProcess(providertest.Address(1), "web", "nginx"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := func(rollout map[string]any, numbers ...int) map[string]any {
		hosts := make(map[string]string)
		for _, n := range numbers {
			hosts[providertest.HostKey(n)] = providertest.Address(n)
		}
		config := map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hosts, "spec": providertest.WholeSpec("./a.sh"), "ensure": "registered",
			"on_destroy": "kill",
		}
		if rollout != nil {
			config["rollout"] = rollout
		}
		return config
	}
	fails := func(n int) {
		api, op := providertest.FaultOn("register_proc_info")
		code := 117
		sim.Inject(simulator.Fault{API: api, Op: op, Hosts: []string{providertest.Address(n)}, Code: &code})
	}
	fails(2)
	fails(4)
	resource.Apply(config(nil, 1, 2, 3))
	if reasons := resource.Reasons("out_of_sync"); !strings.HasPrefix(reasons["web-1"], "registered_by_other") || !strings.HasPrefix(reasons["web-2"], "not_registered") {
		t.Fatalf("after the create: %v", reasons)
	}

	resource.ApplyUnrefreshed(config(map[string]any{"batch_size": 1}, 3, 4))
	reasons := resource.Reasons("out_of_sync")
	// Nothing was tried of those that leave, so state goes on naming them.
	if !strings.HasPrefix(reasons["web-1"], "registered_by_other") || !strings.HasPrefix(reasons["web-2"], "not_registered") || !strings.HasPrefix(reasons["web-4"], "not_registered") {
		t.Errorf("after the update: %v", reasons)
	}

	sim.Repair()
	if said := resource.DestroyUnrefreshed(); len(said) > 0 {
		t.Errorf("the destroy said: %s", said)
	}
	if p, _ := sim.Process(providertest.Address(1), "web", "nginx"); !p.Running || p.Labels["owner"] != "sre" {
		t.Errorf("the other owner's process is %+v", p)
	}
	for n := 1; n <= 2; n++ {
		if calls := sim.Calls().OfOp(kill).On(providertest.Address(n)); len(calls) > 0 {
			t.Errorf("web-%d was killed", n)
		}
	}
}
