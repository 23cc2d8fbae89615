package interruption

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Connections are lost at random on any call: before a request is accepted, after it was carried out, and in the middle
// of its answer. No operation is sent to a host twice in one apply, however many are lost and however often it is
// applied. A possible effect is never reported as none. The histories do the same to hosted processes.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	for objects, by := range map[string]providertest.Face{"gse": providertest.Face(providertest.Gateway), "job": providertest.FaceJOB} {
		for name, round := range map[string]func(*lossRound){
			"operation": (*lossRound).operation, "action": (*lossRound).action, "hosted": (*lossRound).hosted,
		} {
			t.Run(objects+"/"+name, func(t *testing.T) {
				t.Parallel()
				if by == providertest.FaceJOB {
					providertest.ESBOnly(t, "JOB is behind it whatever the gateway")
				}
				providertest.InRounds(t, 30, func(t *testing.T, chance *rand.Rand) {
					t.Helper()
					round(newLossRound(t, by, chance))
				})
			})
		}
	}
}

// lossRound is one simulator and providers that often lose it.
type lossRound struct {
	*testing.T
	by       providertest.Face
	sim      *providertest.Sim
	settings map[string]any
	chance   *rand.Rand
	hosts    int
	does     string // the operation
	config   map[string]any
}

func newLossRound(t *testing.T, by providertest.Face, chance *rand.Rand) *lossRound {
	t.Helper()
	r := &lossRound{T: t, by: by, sim: providertest.NewSim(t), chance: chance, hosts: 1 + chance.IntN(5)}
	r.sim.Seed = chance.Uint64()
	concurrent := 1 + chance.IntN(4)
	r.settings = map[string]any{"max_hosts_per_request": 1 + chance.IntN(r.hosts), "max_concurrent_requests": concurrent, "max_retries": chance.IntN(4)}
	r.does = []string{"start", "stop", "restart", "kill"}[chance.IntN(4)]
	r.config = by.Reference("./start.sh", r.hosts)
	r.config["operation"] = r.does
	if chance.IntN(2) == 0 {
		r.config["rollout"] = map[string]any{"batch_size": 1 + chance.IntN(r.hosts), "max_failed_hosts": chance.IntN(r.hosts)}
	}
	t.Cleanup(func() {
		if most := r.sim.MaxInFlight(); most > concurrent {
			t.Errorf("%d requests at once, want up to %d", most, concurrent)
		}
	})
	return r
}

// begin registers the process, which runs on some of the hosts.
func (r *lossRound) begin() {
	namespace, name := r.by.Process()
	for _, address := range providertest.AddressList(providertest.HostNumbers(r.hosts)) {
		if r.by != providertest.FaceJOB {
			providertest.NoError(r, r.sim.Register(address, namespace, name, nil, "{}"))
		}
		if r.chance.IntN(2) == 0 {
			providertest.NoError(r, r.sim.Host(address, namespace, name), r.sim.StartProcess(address, namespace, name))
		}
	}
}

func (r *lossRound) provider() *providertest.Protocol { return r.sim.Configured(r.T, r.settings) }

// anew starts the providers of the next run, one that plans and one that applies.
func (r *lossRound) anew(resource *providertest.Core) {
	applies := r.provider()
	resource.Protocol, resource.Fresh = r.provider(), func() *providertest.Protocol { return applies }
}

// lossy makes connections get lost, more or less often, on any call or on those of one kind.
func (r *lossRound) lossy() {
	r.sim.Repair()
	chance := []float64{0.02, 0.1, 0.25}[r.chance.IntN(3)]
	api := []string{"*", "*", "operate_*", "get_*"}[r.chance.IntN(4)]
	for _, when := range []string{"before", "after", "mid"} {
		r.sim.Inject(simulator.Fault{API: api, Drop: when, Chance: chance})
	}
}

func (r *lossRound) processes() map[string]simulator.Process {
	found := make(map[string]simulator.Process)
	namespace, name := r.by.Process()
	for key, address := range providertest.HostsOf(r.hosts) {
		found[key], _ = r.sim.Process(address, namespace, name)
	}
	return found
}

// operated are the hosts that were operated, and whether that worked. It fails the test where a host was
// operated twice.
func (r *lossRound) operated(said string) map[string]bool {
	operated := make(map[string]bool)
	for key, address := range providertest.HostsOf(r.hosts) {
		for _, e := range r.sim.Executions() {
			if e.Host != address || !slices.Contains([]string{"start", "stop", "restart", "reload", "kill"}, e.Action) {
				continue
			}
			if _, before := operated[key]; before {
				r.Errorf("%s was operated twice in one apply: %v\n%s", key, r.sim.Executions(), said)
			}
			operated[key] = e.Code == simulator.CodeOK
		}
	}
	return operated
}

// checkTold compares what was said of an operation with what was done: a host that was operated is either
// done or in doubt.
func (r *lossRound) checkTold(rows map[string]string, said string) {
	operated := r.operated(said)
	for key, process := range r.processes() {
		reason, failing := rows[key]
		switch {
		case failing && open(reason):
			if !strings.Contains(said, "Where the outcome is not known") {
				r.Errorf("%s: %s, and no word of what to do\n%s", key, reason, said)
			}
		case failing && operated[key]:
			r.Errorf("%s was operated and is reported as %q\n%s", key, reason, said)
		case failing:
		case r.does == "start" && !process.Running, (r.does == "stop" || r.does == "kill") && (process.Running || process.Hosted):
			r.Errorf("%s is reported as done and is %+v\n%s", key, process, said)
		}
	}
}

func (r *lossRound) operation() {
	r.begin()
	resource := r.provider().CoreOf(r.by.TypeName(providertest.OnOperate), &providertest.Kept{})
	for range 4 {
		r.lossy()
		r.apply(resource)
	}
	r.sim.Repair()
	if r.apply(resource); len(resource.Reasons("failed_hosts")) > 0 {
		r.Errorf("nothing is lost any more, and still %v", resource.Reasons("failed_hosts"))
	}
	if kind, said := resource.Apply(r.config); kind != providertest.PlanNothing || len(said) > 0 {
		r.Errorf("there was something left to do: %s", said)
	}
}

func (r *lossRound) apply(resource *providertest.Core) {
	first := resource.State.IsNull()
	before, earlier := r.processes(), resource.Reasons("failed_hosts")
	r.anew(resource)
	kind, diags := resource.Apply(r.config)
	said := diags.String()

	rows, kept := providertest.ReasonRows(said), resource.Reasons("failed_hosts")
	switch {
	case resource.State.IsNull() && len(rows) != r.hosts:
		r.Errorf("nothing is in state, although %d of %d hosts came out well\n%s", r.hosts-len(rows), r.hosts, said)
	case resource.Tainted && (!first || len(rows) != r.hosts):
		r.Errorf("it is tainted, and so will run on every host again\n%s", said)
	case resource.Tainted:
		resource.Untaint() // as the error says, so that the next apply asks first
	}
	for key, reason := range rows {
		if status, ok := kept[key]; !resource.State.IsNull() && (!ok || inDoubt(status) != open(reason)) {
			r.Errorf("%s is reported as %q and kept as %q", key, reason, status)
		}
	}
	if !resource.State.IsNull() && len(kept) != len(rows) {
		r.Errorf("reported were %v, kept are %v", rows, kept)
	}
	r.checkTold(rows, said)
	operated := r.operated(said)
	for key, process := range before {
		_, sent := operated[key]
		reason, again := earlier[key]
		_, failing := rows[key]
		asWanted := r.does == "start" && process.Running || r.does != "start" && r.does != "restart" && !process.Running && !process.Hosted
		switch {
		case sent && again && inDoubt(reason) && asWanted:
			r.Errorf("%s was as wanted, which was not known, and was not asked before it was operated again\n%s", key, said)
		case sent && !first && !again:
			r.Errorf("%s was done, and operated again\n%s", key, said)
		case !operated[key] && kind.Changes() && r.does == "restart" && !failing && (first || again):
			r.Errorf("%s is reported as restarted and was not\n%s", key, said)
		}
	}
}

func (r *lossRound) action() {
	r.begin()
	for range 4 {
		r.lossy()
		_, end := r.provider().Invoke(r.Context(), r.by.TypeName(providertest.OnOperate), r.config)
		r.checkTold(providertest.ReasonRows(end), end)
	}
}

// inDoubt reports whether state leaves open that the operation worked, and open whether a message does.
func inDoubt(status string) bool {
	code, _, _ := strings.Cut(status, ": ")
	return slices.Contains([]string{"outcome_unknown", "no_verdict", "interrupted"}, code)
}

func open(reason string) bool {
	return slices.ContainsFunc([]string{"outcome unknown", "no verdict when the time was up", "interrupted"}, func(words string) bool {
		return strings.HasPrefix(reason, words)
	})
}

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
