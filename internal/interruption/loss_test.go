package interruption

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Connections are lost at random on any call: before a request is accepted, after it was carried out, and
// in the middle of its answer. No operation is sent to a host twice in one apply, however many are lost
// and however often it is applied. A possible effect is never reported as none.
//
// The same is true over JOB, which has no cached status: registered means hosted, and the agents are
// asked. Its processes have no fingerprint. So the spec with which a host is hosted is not known, and a
// host whose outcome is unknown counts as ours.
//
// The long job runs 1000 rounds of each: BK_TEST_ROUNDS sets their number.
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
	T        *testing.T
	by       providertest.Face
	sim      *providertest.Sim
	settings map[string]any
	chance   *rand.Rand
	hosts    int
}

func newLossRound(t *testing.T, by providertest.Face, chance *rand.Rand) *lossRound {
	t.Helper()
	r := &lossRound{T: t, by: by, sim: providertest.NewSim(t), chance: chance, hosts: 1 + chance.IntN(5)}
	r.sim.Seed = chance.Uint64()
	r.settings = map[string]any{
		"max_hosts_per_request": 1 + chance.IntN(r.hosts), "max_concurrent_requests": 1 + chance.IntN(4), "max_retries": chance.IntN(4),
	}
	return r
}

// provider is a provider of its own, as each run of Terraform's has: it knows nothing of
// what another was told a moment ago.
func (r *lossRound) provider() *providertest.Protocol { return r.sim.Configured(r.T, r.settings) }

// resource is a resource that does not exist yet.
func (r *lossRound) resource(on providertest.Operation) *providertest.Core {
	return r.provider().CoreOf(r.by.TypeName(on), &providertest.Kept{})
}

// anew starts the providers of the next run, one that plans and one that applies.
func (r *lossRound) anew(resource *providertest.Core) {
	applies := r.provider()
	resource.Protocol, resource.Fresh = r.provider(), func() *providertest.Protocol { return applies }
}

// lossy makes connections get lost, more or less often, on any call or on those of
// one kind.
func (r *lossRound) lossy() {
	r.sim.Repair()
	chance := []float64{0.02, 0.1, 0.25}[r.chance.IntN(3)]
	api := []string{"*", "*", "operate_*", "get_*"}[r.chance.IntN(4)]
	for _, when := range []string{"before", "after", "mid"} {
		r.sim.Inject(simulator.Fault{API: api, Drop: when, Chance: chance})
	}
}

// rollOut makes half of the configurations go in waves.
func (r *lossRound) rollOut(config map[string]any) map[string]any {
	if r.chance.IntN(2) == 0 {
		config["rollout"] = map[string]any{"batch_size": 1 + r.chance.IntN(r.hosts), "max_failed_hosts": r.chance.IntN(r.hosts)}
	}
	return config
}

// Model is the process on all hosts.
func (r *lossRound) Reference() map[string]any {
	config := r.by.Reference("./start.sh", r.hosts)
	r.define(config, "./start.sh")
	return r.rollOut(config)
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

func (r *lossRound) invocation(operation string) map[string]any {
	config := r.Reference()
	config["operation"] = operation
	return config
}

// Begin creates processes on the hosts, some of which run.
func (r *lossRound) begin() {
	r.T.Helper()
	if r.by != providertest.FaceJOB {
		r.sim.Registered(r.T, r.hosts)
	}
	namespace, name := r.by.Process()
	for _, n := range providertest.HostNumbers(r.hosts) {
		if r.chance.IntN(2) == 0 {
			r.must(r.sim.Host(providertest.Address(n), namespace, name))
			r.must(r.sim.StartProcess(providertest.Address(n), namespace, name))
		}
	}
}

func (r *lossRound) must(err error) {
	r.T.Helper()
	if err != nil {
		r.T.Fatal(err)
	}
}

// processes are those of the simulator by host key.
func (r *lossRound) processes() map[string]simulator.Process {
	found := make(map[string]simulator.Process)
	namespace, name := r.by.Process()
	for key, address := range providertest.HostsOf(r.hosts) {
		found[key], _ = r.sim.Process(address, namespace, name)
	}
	return found
}

// operated are the hosts that were told to start, stop, restart, reload or kill,
// and whether they did: one that was as wanted refused. A host that was told twice
// fails the test.
func (r *lossRound) operated(said string) map[string]bool {
	r.T.Helper()
	operated := make(map[string]bool)
	for key, address := range providertest.HostsOf(r.hosts) {
		for _, e := range r.sim.Executions() {
			if e.Host != address || !slices.Contains([]string{"start", "stop", "restart", "reload", "kill"}, e.Action) {
				continue
			}
			if _, before := operated[key]; before {
				r.T.Errorf("%s was operated twice in one apply: %v\n%s", key, r.sim.Executions(), said)
			}
			operated[key] = e.Code == simulator.CodeOK
		}
	}
	return operated
}

// checkTold compares what was said of an operation with what was done: a host that
// was operated is either done or in doubt.
func (r *lossRound) checkTold(operation string, rows map[string]string, said string) {
	r.T.Helper()
	operated := r.operated(said)
	for key, process := range r.processes() {
		reason, failing := rows[key]
		switch {
		case failing && open(reason):
			if !strings.Contains(said, "Where the outcome is not known") {
				r.T.Errorf("%s: %s, and no word of what to do\n%s", key, reason, said)
			}
		case failing && operated[key]:
			r.T.Errorf("%s was operated and is reported as %q\n%s", key, reason, said)
		case failing:
		case operation == "start" && !process.Running,
			(operation == "stop" || operation == "kill") && (process.Running || process.Hosted):
			r.T.Errorf("%s is reported as done and is %+v\n%s", key, process, said)
		}
	}
}

// Operation applies bk_process_operation again and again.
func (r *lossRound) operation() {
	var (
		operation = []string{"start", "stop", "restart", "kill"}[r.chance.IntN(4)]
		resource  = r.resource(providertest.OnOperate)
		config    = r.invocation(operation)
	)
	r.begin()
	for range 4 {
		r.lossy()
		r.applyOperation(resource, operation, config)
	}
	r.sim.Repair()
	if r.applyOperation(resource, operation, config); len(resource.Reasons("failed_hosts")) > 0 {
		r.T.Errorf("nothing is lost any more, and still %v", resource.Reasons("failed_hosts"))
	}
	r.anew(resource)
	if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
		r.T.Errorf("there was something left to do: %s", said)
	}
}

func (r *lossRound) applyOperation(resource *providertest.Core, operation string, config map[string]any) {
	r.T.Helper()
	first := resource.State.IsNull()
	before, earlier := r.processes(), resource.Reasons("failed_hosts")

	r.anew(resource)
	kind, diags := resource.Apply(config)
	said := diags.String()

	rows, kept := providertest.ReasonRows(said), resource.Reasons("failed_hosts")
	switch {
	case resource.State.IsNull() && len(rows) != r.hosts:
		r.T.Errorf("nothing is in state, although %d of %d hosts came out well\n%s", r.hosts-len(rows), r.hosts, said)
	case resource.Tainted && (!first || len(rows) != r.hosts):
		r.T.Errorf("it is tainted, and so will run on every host again\n%s", said)
	case resource.Tainted:
		resource.Untaint() // as the error says, so that the next apply asks first
	}
	for key, reason := range rows {
		if status, ok := kept[key]; !resource.State.IsNull() && (!ok || inDoubt(status) != open(reason)) {
			r.T.Errorf("%s is reported as %q and kept as %q", key, reason, status)
		}
	}
	if !resource.State.IsNull() && len(kept) != len(rows) {
		r.T.Errorf("reported were %v, kept are %v", rows, kept)
	}
	r.checkTold(operation, rows, said)
	operated := r.operated(said)
	for key, process := range before {
		_, sent := operated[key]
		reason, again := earlier[key]
		_, failing := rows[key]
		doubt := again && inDoubt(reason)
		asWanted := (operation == "start" && process.Running) || (operation != "start" && operation != "restart" && !process.Running && !process.Hosted)
		switch {
		case sent && doubt && asWanted:
			r.T.Errorf("%s was as wanted, which was not known, and was not asked before it was operated again\n%s", key, said)
		case sent && !first && !again:
			r.T.Errorf("%s was done, and operated again\n%s", key, said)
		case !operated[key] && kind.Changes() && operation == "restart" && !failing && (first || again):
			r.T.Errorf("%s is reported as restarted and was not\n%s", key, said)
		}
	}
}

// action invokes the action, which keeps nothing.
func (r *lossRound) action() {
	operation := []string{"start", "stop", "restart", "kill"}[r.chance.IntN(4)]
	r.begin()
	config := r.invocation(operation)
	for range 4 {
		r.lossy()
		_, end := r.provider().Invoke(r.T.Context(), r.by.TypeName(providertest.OnOperate), config)
		r.checkTold(operation, providertest.ReasonRows(end), end)
	}
}

// inDoubt reports whether state leaves open that the operation worked.
func inDoubt(status string) bool {
	code, _, _ := strings.Cut(status, ": ")
	return slices.Contains([]string{"outcome_unknown", "no_verdict", "interrupted"}, code)
}

// Open reports whether a message leaves open that the operation worked.
func open(reason string) bool {
	return strings.HasPrefix(reason, "outcome unknown") || strings.HasPrefix(reason, "no verdict when the time was up") || strings.HasPrefix(reason, "interrupted")
}
