package interruption

import (
	"maps"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// hosted applies bk_hosted_process again and again, while processes stop by
// themselves and the declaration changes.
func (r *lossRound) hosted() {
	var (
		ensure   = []string{"running", "hosted"}[r.chance.IntN(2)]
		start    = "./start.sh"
		resource = r.provider().CoreOf(r.by.TypeName(providertest.OnCreate), &providertest.Kept{})
		config   = maps.Clone(r.config)
	)
	delete(config, "operation")
	config["ensure"] = ensure
	r.define(config, start)
	namespace, name := r.by.Process()
	for range 5 {
		r.lossy()
		r.applyHosted(resource, ensure, config)
		for key, process := range r.processes() {
			if process.Running && r.chance.IntN(4) == 0 {
				providertest.NoError(r, r.sim.StopProcess(providertest.HostsOf(r.hosts)[key], namespace, name))
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
		r.Errorf("nothing is lost any more, and still %v", resource.Reasons("out_of_sync"))
	}
	r.anew(resource)
	if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
		r.Errorf("there was something left to do: %s", said)
	}
	declared, _ := config["hosts"].(map[string]string)
	for key, process := range r.processes() {
		_, wanted := declared[key]
		if wanted && !r.asDeclared(process, ensure, start) || !wanted && (process.Registered || process.Hosted) {
			r.Errorf("%s is %+v", key, process)
		}
	}
}

// asDeclared compares a process with what a declaration makes of it. Over JOB,
// registered is hosted.
func (r *lossRound) asDeclared(process simulator.Process, ensure, start string) bool {
	return process.Registered == (r.by != providertest.FaceJOB) && process.Hosted && providertest.StartsWith(process, start) && (process.Running || ensure != "running")
}

func (r *lossRound) applyHosted(resource *providertest.Core, ensure string, config map[string]any) {
	before, tainted := r.processes(), resource.Tainted

	r.anew(resource)
	kind, diags := resource.Apply(config)
	said := diags.String()

	if kind == providertest.PlanReplace && !tainted {
		r.Errorf("it was replaced, and nothing was wrong with it\n%s", said)
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
			r.Errorf("%s was operated, which was not requested\n%s", key, said)
		case before[key].Running:
			r.Errorf("%s was running, and was started again\n%s", key, said)
		case failing && (!strings.Contains(reason, "outcome unknown") || !strings.Contains(providertest.ReasonRows(said)[key], "outcome unknown")):
			r.Errorf("%s was started, state says %q\n%s", key, reason, said)
		}
	}
	for key, process := range r.processes() {
		_, wanted := declared[key]
		_, failing := reasons[key]
		_, kept := resource.Reasons("hosts")[key]          // or a destroy before a create came to no end
		_, mentioned := providertest.ReasonRows(said)[key] // perhaps as one that could not be asked
		if kind.Changes() && wanted && kept && !failing && !mentioned &&
			!r.asDeclared(process, ensure, r.startKept(resource)) {
			r.Errorf("%s is reported as done and is %+v\n%s", key, process, said)
		}
	}
}

// define gives the process every command, and its limits.
func (r *lossRound) define(config map[string]any, start string) {
	if r.by != providertest.FaceJOB {
		config["spec"] = providertest.WholeSpec(start)
		return
	}
	config["process"] = map[string]any{
		"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "type": 1, "cpu_lmt": 30, "mem_lmt": 10,
		"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh", "reload_cmd": "./reload.sh", "kill_cmd": "./kill.sh",
	}
}

// startKept is the start_cmd in state.
func (r *lossRound) startKept(resource *providertest.Core) string {
	if r.by == providertest.FaceJOB {
		return providertest.Texts(resource.Attribute("process"))["start_cmd"]
	}
	spec, _ := resource.Attribute("spec").(map[string]any)
	return providertest.Texts(spec["control"])["start_cmd"]
}

// checkRegistered fails the test if an undeclared host was registered or hosted, or a declared one
// unregistered, unless everything was replaced.
func (r *lossRound) checkRegistered(declared map[string]string, kind providertest.PlanKind, said string) {
	for _, e := range r.sim.Executions() {
		wanted := slices.Contains(slices.Collect(maps.Values(declared)), e.Host)
		switch e.Action {
		case "register", "update", "host":
			if !wanted {
				r.Errorf("not declared: %+v\n%s", e, said)
			}
		case "unregister", "unhost":
			if wanted && kind != providertest.PlanReplace {
				r.Errorf("not unregistered: %+v\n%s", e, said)
			}
		}
	}
}
