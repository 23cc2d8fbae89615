package provider

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// hosted applies bk_hosted_process again and again, while processes stop by
// themselves and the declaration changes.
func (r *lossRound) hosted() {
	var (
		ensure   = []string{"running", "hosted"}[r.chance.IntN(2)]
		start    = "./start.sh"
		resource = r.coreOf(r.by.typeName(onCreate), &kept{})
		config   = r.reference()
	)
	config["ensure"] = ensure
	namespace, name := r.by.process()
	for range 5 {
		r.lossy()
		r.applyHosted(resource, ensure, config)
		for key, process := range r.processes() {
			if process.Running && r.chance.IntN(4) == 0 {
				r.must(r.sim.StopProcess(hostsOf(r.hosts)[key], namespace, name))
			}
		}
		if r.chance.IntN(2) == 0 {
			start = []string{"./start.sh", "./other.sh"}[r.chance.IntN(2)]
			r.define(config, start)
		}
		if r.chance.IntN(3) == 0 {
			hosts := hostsOf(r.hosts)
			for key := range maps.Clone(hosts) {
				if len(hosts) > 1 && r.chance.IntN(2) == 0 {
					delete(hosts, key)
				}
			}
			config["hosts"] = hosts
		}
	}
	r.sim.mend()
	if r.applyHosted(resource, ensure, config); len(resource.reasons("out_of_sync")) > 0 {
		r.t.Errorf("nothing is lost any more, and still %v", resource.reasons("out_of_sync"))
	}
	if kind, said := resource.apply(config); kind != planNothing || len(said) > 0 {
		r.t.Errorf("there was something left to do: %s", said)
	}
	declared, _ := config["hosts"].(map[string]string)
	for key, process := range r.processes() {
		_, wanted := declared[key]
		if wanted && !r.asDeclared(process, ensure, start) || !wanted && (process.Registered || process.Hosted) {
			r.t.Errorf("%s is %+v", key, process)
		}
	}
}

// asDeclared compares a process with what a declaration makes of it. Over JOB,
// registered is hosted.
func (r *lossRound) asDeclared(process simulator.Process, ensure, start string) bool {
	return process.Registered == (r.by != faceJOB) && process.Hosted && startsWith(process, start) && (process.Running || ensure != "running")
}

func (r *lossRound) applyHosted(resource *core, ensure string, config map[string]any) {
	r.t.Helper()
	before, tainted := r.processes(), resource.tainted

	kind, diags := resource.apply(config)
	said := diags.String()

	if kind == planReplace && !tainted {
		r.t.Errorf("it was replaced, and nothing was wrong with it\n%s", said)
	}
	operated := r.operated(said)
	declared, _ := config["hosts"].(map[string]string)
	r.checkRegistered(declared, kind, said)
	reasons := resource.reasons("out_of_sync")
	if resource.state.IsNull() {
		reasons = told(said)
	}
	for key := range operated {
		_, wanted := declared[key]
		switch reason, failing := reasons[key]; {
		case ensure != "running" || !wanted:
			r.t.Errorf("%s was operated, which nobody asked for\n%s", key, said)
		case before[key].Running:
			r.t.Errorf("%s was running, and was started again\n%s", key, said)
		case failing && (!strings.Contains(reason, "outcome unknown") || !strings.Contains(told(said)[key], "outcome unknown")):
			r.t.Errorf("%s was started, state says %q\n%s", key, reason, said)
		}
	}
	for key, process := range r.processes() {
		_, wanted := declared[key]
		_, failing := reasons[key]
		_, kept := resource.reasons("hosts")[key] // or a destroy before a create came to no end
		_, mentioned := told(said)[key]           // perhaps as one that could not be asked
		if kind.changes() && wanted && kept && !failing && !mentioned &&
			!r.asDeclared(process, ensure, r.startKept(resource)) {
			r.t.Errorf("%s is told as done and is %+v\n%s", key, process, said)
		}
	}
}

// startKept is the start_cmd in state.
func (r *lossRound) startKept(resource *core) string {
	r.t.Helper()
	if r.by == faceJOB {
		return texts(resource.attribute("process"))["start_cmd"]
	}
	spec, _ := resource.attribute("spec").(map[string]any)
	return texts(spec["control"])["start_cmd"]
}

// checkRegistered fails the test where a host was registered or hosted that is not
// declared, or where one was let go that is, unless it was all replaced.
func (r *lossRound) checkRegistered(declared map[string]string, kind planKind, said string) {
	r.t.Helper()
	for _, e := range r.sim.Executions() {
		wanted := slices.Contains(slices.Collect(maps.Values(declared)), e.Host)
		switch e.Action {
		case "register", "update", "host":
			if !wanted {
				r.t.Errorf("nobody declared %+v\n%s", e, said)
			}
		case "unregister", "unhost":
			if wanted && kind != planReplace {
				r.t.Errorf("nobody took back %+v\n%s", e, said)
			}
		}
	}
}

// A create all of whose answers are lost may have registered its hosts. They are
// kept in mind, and so are found again although the declaration changed meanwhile.
func TestHostedProcess_lostCreate(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	resource := sim.configured(t).coreOf(testList, &kept{})
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(2), "spec": wholeSpec("./a.sh"), "ensure": "registered",
	}
	api, op := faultOn("register_proc_info")
	sim.Inject(simulator.Fault{API: api, Op: op, Drop: "after"})

	_, diags := resource.apply(config)
	said := diags.String()
	want := map[string]string{}
	for key := range hostsOf(2) {
		want[key] = "registration not confirmed: outcome unknown (the operation was sent and its answer got lost)"
	}
	if diff := cmp.Diff(want, resource.reasons("out_of_sync")); diff != "" {
		t.Errorf("out_of_sync (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(said, "ERROR: Unable to Register Hosted Process") || len(told(said)) != 2 {
		t.Errorf("said: %s", said)
	}

	sim.mend()
	resource.untaint()
	config["spec"] = wholeSpec("./b.sh")
	if _, said := resource.apply(config); len(said) > 0 {
		t.Errorf("the next apply said: %s", said)
	}
	if diff := cmp.Diff(onGateway([]string{"update_proc_info " + addresses(1, 2)}), sim.changes()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if kind, said := resource.apply(config); kind != planNothing || len(said) > 0 {
		t.Errorf("there was something left to do: %s", said)
	}
}

// A registration that somebody else had made before such a create is neither taken
// over nor removed.
func TestHostedProcess_lostCreateOfStrangers(t *testing.T) {
	t.Parallel()
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(2), "spec": wholeSpec("./a.sh"), "ensure": "registered",
	}
	for name, next := range map[string]func(*core){
		"retried": func(resource *core) {
			resource.untaint()
			resource.applyUnrefreshed(config)
			if reason := resource.reasons("out_of_sync")["web-1"]; !strings.HasPrefix(reason, "registered by somebody else") {
				t.Errorf("web-1 is %q", reason)
			}
		},
		"refreshed and retried": func(resource *core) {
			resource.untaint()
			resource.apply(config)
			if reason := resource.reasons("out_of_sync")["web-1"]; !strings.HasPrefix(reason, "registered by somebody else") {
				t.Errorf("web-1 is %q", reason)
			}
		},
		"replaced": func(resource *core) {
			if kind, said := resource.apply(config); kind != planReplace || said.failed() {
				t.Errorf("%s: %s", kind, said)
			}
			if reason := resource.reasons("out_of_sync")["web-1"]; !strings.HasPrefix(reason, "registered by somebody else") {
				t.Errorf("web-1 is %q", reason)
			}
		},
		"destroyed": func(resource *core) {
			if said := resource.destroyUnrefreshed(); len(said) > 0 || !resource.state.IsNull() {
				t.Errorf("the destroy said: %s", said)
			}
		},
		"refreshed and destroyed": func(resource *core) {
			resource.refresh()
			if said := resource.destroyUnrefreshed(); len(said) > 0 || !resource.state.IsNull() {
				t.Errorf("the destroy said: %s", said)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			if err := sim.Register(testAddress(1), "web", "nginx", map[string]string{"owner": "sre"}, "{}"); err != nil {
				t.Fatal(err)
			}
			resource := sim.configured(t).coreOf(testList, &kept{})
			api, op := faultOn("register_proc_info")
			sim.Inject(simulator.Fault{API: api, Op: op, Drop: "before"})
			// At the gateway, which looks first, one host is known to be somebody else's.
			if _, said := resource.apply(config); !strings.HasPrefix(said.String(), "ERROR: Unable to Register Hosted Process") || resource.state.IsNull() {
				t.Errorf("the create said: %s", said)
			}
			sim.mend()

			next(resource)
			if p, _ := sim.Process(testAddress(1), "web", "nginx"); p.Labels["owner"] != "sre" {
				t.Errorf("the other owner's registration is %+v", p)
			}
		})
	}
}

// What cannot be read on file says nothing of whose a registration is: it is kept
// in state until it can, and then unregistered as ours.
func TestHostedProcess_lostCreateUnread(t *testing.T) {
	t.Parallel()
	const unread = "whose the registration is could not be read"
	sim := newSim(t)
	resource := sim.configured(t).coreOf(testList, &kept{})
	api, op := faultOn("register_proc_info")
	sim.Inject(simulator.Fault{API: api, Op: op, Drop: "after"})
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(2), "spec": wholeSpec("./a.sh"), "ensure": "registered",
	}
	resource.apply(config)
	sim.mend()

	sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": "none"}})
	if said := resource.destroyUnrefreshed(); !strings.Contains(said.String(), unread) || len(resource.reasons("out_of_sync")) != 2 {
		t.Errorf("the destroy said: %s\nand state holds %v", said, resource.reasons("out_of_sync"))
	}
	resource.untaint()
	_, said := resource.applyUnrefreshed(config)
	if reason := resource.reasons("out_of_sync")["web-1"]; !strings.Contains(said.String(), unread) || reason != "registration not confirmed: "+unread {
		t.Errorf("the update said: %s\nand web-1 is %q", said, reason)
	}
	if calls := sim.changes(); len(calls) > 0 {
		t.Errorf("hosts were changed: %v", calls)
	}
	sim.mend()
	if said := resource.destroyUnrefreshed(); len(said) > 0 || len(sim.Processes()) > 0 {
		t.Errorf("the next destroy said: %s\nand %v are left", said, sim.Processes())
	}
}

// Two declarations were sent and nobody heard of either. Whichever of them is on
// file is ours.
func TestHostedProcess_lostTwice(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	resource := sim.configured(t).coreOf(testList, &kept{})
	config := func(start string) map[string]any {
		return map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(1), "spec": wholeSpec(start), "ensure": "registered",
		}
	}
	api, op := faultOn("register_proc_info")
	sim.Inject(simulator.Fault{API: api, Op: op, Drop: "after"})
	resource.apply(config("./a.sh"))
	sim.mend()
	sim.Inject(simulator.Fault{API: api, Op: op, Drop: "before"})
	resource.untaint()
	resource.applyUnrefreshed(config("./b.sh"))
	sim.mend()
	if reason := resource.reasons("out_of_sync")["web-1"]; !strings.HasPrefix(reason, "registration not confirmed") {
		t.Fatalf("web-1 is %q", reason)
	}
	if said := resource.destroyUnrefreshed(); len(said) > 0 || len(sim.Processes()) > 0 {
		t.Errorf("the destroy said: %s\nand %v are left", said, sim.Processes())
	}
}

// Hosts leave while another one fails, so that nothing is done about them yet. What
// state knows of them goes on to decide what may be done: nothing to another owner's
// process, and nothing but unregistering where ours never came to be.
func TestHostedProcess_leaveWhileOthersFail(t *testing.T) {
	t.Parallel()
	const kill = 9
	sim := newSim(t)
	for _, err := range []error{
		sim.Register(testAddress(1), "web", "nginx", map[string]string{"owner": "sre"}, "{}"), sim.StartProcess(testAddress(1), "web", "nginx"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	resource := sim.configured(t).coreOf(testList, &kept{})
	config := func(rollout map[string]any, numbers ...int) map[string]any {
		hosts := make(map[string]string)
		for _, n := range numbers {
			hosts[hostKey(n)] = testAddress(n)
		}
		config := map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hosts, "spec": wholeSpec("./a.sh"), "ensure": "registered",
			"on_destroy": "kill",
		}
		if rollout != nil {
			config["rollout"] = rollout
		}
		return config
	}
	fails := func(n int) {
		api, op := faultOn("register_proc_info")
		code := 117
		sim.Inject(simulator.Fault{API: api, Op: op, Hosts: []string{testAddress(n)}, Code: &code})
	}
	fails(2)
	fails(4)
	resource.apply(config(nil, 1, 2, 3))
	if reasons := resource.reasons("out_of_sync"); !strings.HasPrefix(reasons["web-1"], "registered by somebody else") || !strings.HasPrefix(reasons["web-2"], "not registered") {
		t.Fatalf("after the create: %v", reasons)
	}

	resource.applyUnrefreshed(config(map[string]any{"batch_size": 1}, 3, 4))
	reasons := resource.reasons("out_of_sync")
	if _, kept := reasons["web-1"]; kept || !strings.HasPrefix(reasons["web-2"], "not registered") || !strings.HasPrefix(reasons["web-4"], "not registered") {
		t.Errorf("after the update: %v", reasons)
	}

	sim.mend()
	if said := resource.destroyUnrefreshed(); len(said) > 0 {
		t.Errorf("the destroy said: %s", said)
	}
	if p, _ := sim.Process(testAddress(1), "web", "nginx"); !p.Running || p.Labels["owner"] != "sre" {
		t.Errorf("the other owner's process is %+v", p)
	}
	for n := 1; n <= 2; n++ {
		if calls := sim.Calls().OfOp(kill).On(testAddress(n)); len(calls) > 0 {
			t.Errorf("web-%d was killed", n)
		}
	}
}
