package rollouts

import (
	"cmp"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// In each of these tests web-2 hangs. With waves, the first one has four hosts.
const (
	hangingHosts = 8
	hanging      = 2
)

type bound struct {
	rollout map[string]any // nil for one wave
	timeout string         // of all waves, "" for the default
	most    time.Duration  // that an apply may take
}

// bounds are the time limits. For one wave, it is that of the whole apply. 3 seconds are less than any step may need,
// and the default of wave_timeout is just enough.
var bounds = map[string]bound{
	"3-seconds": {map[string]any{"waves": []any{"4"}, "wave_timeout": "3s", "max_failed_hosts": "1"}, "", 6 * time.Second},
	"default":   {map[string]any{"waves": []any{"4"}, "max_failed_hosts": "1"}, "", 2 * 185 * time.Second},
	"one-wave":  {nil, "", 10 * time.Minute},
	"scarce":    {nil, "5s", 5 * time.Second},
}

type hang struct {
	faces []providertest.Face // all if nil
	// at is the request to which the platform answers 115 for web-2, after it has answered the first skip of them.
	at   providertest.Operation
	ask  bool // the question to its agent, instead of at
	op   int  // the operation with this number, instead of at
	skip int
	// before, if not nil, is applied first. Then each is done on every host.
	before map[string]any
	each   func(sim *providertest.Sim, by providertest.Face, host string) error
	// config is applied while web-2 hangs. hosts is how many are left in it, or 0 for all.
	config map[string]any
	hosts  int
	start  string // the start command, ./v1.sh if empty
	kind   providertest.PlanKind
	gate   bool
	// once is what is done once on each other host.
	once []string
}

func ensure(ensure string) map[string]any { return map[string]any{"ensure": ensure} }

func onUpdate(then, ensure string) map[string]any {
	return map[string]any{"on_update": then, "ensure": ensure}
}

// hangs are the steps of a hosted process and of an operation. Before an update, the processes run.
var hangs = map[string]hang{
	"create/ask":      {faces: withLabels, ask: true, config: ensure("registered")},
	"create/register": {at: providertest.OnCreate, config: ensure("hosted")},
	"create/look-job": {faces: []providertest.Face{providertest.FaceJOB}, ask: true, config: ensure("running"), once: []string{"start"}},
	"create/host":     {faces: []providertest.Face{providertest.FaceESB}, at: providertest.OnHost, config: ensure("hosted"), once: []string{"host"}},
	"create/start":    {op: simulator.OpStart, config: ensure("running"), once: []string{"start"}},

	"update/register":           {before: ensure("hosted"), config: ensure("hosted"), start: "./v2.sh", at: providertest.OnUpdate},
	"update/register-only":      {before: ensure("registered"), config: ensure("registered"), start: "./v2.sh", at: providertest.OnUpdate},
	"update/register-restarted": {before: ensure("running"), config: onUpdate("restart", "running"), start: "./v2.sh", at: providertest.OnUpdate, once: []string{"restart"}},
	"update/ask":                {before: ensure("running"), config: onUpdate("restart", "running"), start: "./v2.sh", ask: true, once: []string{"restart"}},
	"update/restart":            {before: ensure("running"), config: onUpdate("restart", "running"), start: "./v2.sh", op: simulator.OpRestart, once: []string{"restart"}},
	"update/reload":             {before: ensure("running"), config: onUpdate("reload", "hosted"), start: "./v2.sh", op: simulator.OpReload, once: []string{"reload"}},
	"update/look":               {before: ensure("running"), config: onUpdate("restart", "running"), start: "./v2.sh", ask: true, skip: 1, once: []string{"restart"}},
	"update/gate":               {before: ensure("running"), config: onUpdate("restart", "running"), start: "./v2.sh", ask: true, skip: 2, gate: true, once: []string{"restart"}},
	"update/restart-gated":      {before: ensure("running"), config: onUpdate("restart", "running"), start: "./v2.sh", op: simulator.OpRestart, gate: true, once: []string{"restart"}},
	"update/look-first":         {faces: withLabels, before: ensure("hosted"), each: stopped, config: ensure("running"), ask: true, once: []string{"start"}},
	"update/start":              {before: ensure("hosted"), each: stopped, config: ensure("running"), op: simulator.OpStart, once: []string{"start"}},

	// Hosts that register again and hosts that leave share the time of the update.
	"leave/register-only": {before: ensure("registered"), config: ensure("registered"), start: "./v2.sh", hosts: 6, at: providertest.OnUpdate},
	"leave/register":      {before: ensure("hosted"), config: ensure("hosted"), start: "./v2.sh", hosts: 6, at: providertest.OnUpdate},
	"destroy/ask":         {before: leaving("stop"), kind: providertest.PlanDestroy, op: simulator.OpStop, once: []string{"stop"}},
	"destroy/kill":        {before: leaving("kill"), kind: providertest.PlanDestroy, op: simulator.OpKill, once: []string{"kill"}},
	"destroy/let-go":      {before: leaving("unregister"), kind: providertest.PlanDestroy, at: providertest.OnDelete},
	"destroy/stop-ask":    {before: leaving("stop"), each: stopped, kind: providertest.PlanDestroy, ask: true, once: []string{"stop"}},

	// The steps of an operation. A minute earlier, its processes were started, or hosted only.
	"restart":       operates("restart", hang{each: running, op: simulator.OpRestart, once: []string{"restart"}}),
	"restart/gated": operates("restart", hang{each: running, op: simulator.OpRestart, gate: true, once: []string{"restart"}}),
	"restart/gate":  operates("restart", hang{each: running, ask: true, gate: true, once: []string{"restart"}}),
	"reload":        operates("reload", hang{each: running, op: simulator.OpReload, once: []string{"reload"}}),
	"start":         operates("start", hang{op: simulator.OpStart, once: []string{"start"}}),
	"stop":          operates("stop", hang{each: running, op: simulator.OpStop, once: []string{"stop"}}),
	"kill":          operates("kill", hang{each: running, op: simulator.OpKill, once: []string{"kill"}}),
	// A process that does not run may still be hosted, so its agent is asked, and it is unhosted.
	"stop/of-idle":     operates("stop", hang{each: idle, op: simulator.OpStop, once: []string{"stop", "unhost"}}),
	"stop/ask-idle":    operates("stop", hang{each: idle, ask: true, once: []string{"stop", "unhost"}}),
	"stop/unhost-idle": operates("stop", hang{each: idle, op: simulator.OpUnhost, once: []string{"stop", "unhost"}}),
	// A process that ends by itself is not hosted afterwards, unless it was hosted before.
	"start/one-shot":        operates("start", hang{faces: withLabels, config: oneShot, op: simulator.OpStart, once: []string{"start", "unhost"}}),
	"start/ask-one-shot":    operates("start", hang{faces: withLabels, config: oneShot, ask: true, once: []string{"start", "unhost"}}),
	"start/unhost-one-shot": operates("start", hang{faces: withLabels, config: oneShot, op: simulator.OpUnhost, once: []string{"start", "unhost"}}),
}

func operates(operation string, h hang) hang {
	h.config = maps.Clone(h.config)
	if h.config == nil {
		h.config = make(map[string]any)
	}
	h.config["operation"] = operation
	return h
}

func leaving(how string) map[string]any {
	return map[string]any{"ensure": "running", "on_destroy": how}
}

func stopped(sim *providertest.Sim, by providertest.Face, host string) error {
	namespace, name := by.Process()
	return sim.StopProcess(host, namespace, name)
}

// A host that never answers fails alone, whichever step of a wave waits for it. The operations on the
// other hosts are done once, in this wave and the following ones, and within the time.
//
// Promised in partial-failure.md: A host that hangs fails alone
// Promised in rolling-restart.md: One host that hangs fails alone
// Promised in rollouts.md: It fails alone.
func TestHanging(t *testing.T) {
	t.Parallel()
	for step, h := range hangs {
		h.everywhere(t, step, h.try)
	}
}

func (h hang) everywhere(t *testing.T, step string, test func(*testing.T, *providertest.Timed, providertest.Face, bound)) {
	t.Helper()
	for within, b := range bounds {
		at := faces
		if h.faces != nil {
			at = h.faces
		}
		if within == "default" || within == "scarce" {
			at = at[:1] // these bounds do not depend on the face
		}
		for _, by := range providertest.Through(t, step+within, at) {
			t.Run(step+"/"+string(by)+"/"+within, func(t *testing.T) {
				t.Parallel()
				providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
					t.Helper()
					test(t, sim, by, b)
				})
			})
		}
	}
}

func (h hang) fault(by providertest.Face) simulator.Fault {
	f := simulator.Fault{API: "operate_*", Hosts: []string{providertest.Address(hanging)}, Pending: -1, Skip: h.skip}
	switch {
	case h.ask:
		f.Op = new(simulator.OpQuery)
	case h.at != "":
		target := by.Target(h.at)
		f.API, f.Op = target.API, target.Op
	default:
		f.Op = new(h.op)
	}
	return f
}

func (h hang) declared(by providertest.Face, b bound, more map[string]any, start string, hosts int) map[string]any {
	config := by.Reference(start, hosts)
	maps.Copy(config, more)
	if b.rollout != nil {
		config["rollout"] = maps.Clone(b.rollout)
	}
	if h.gate {
		rollout := map[string]any{"waves": []any{"100%"}, "max_failed_hosts": "1"}
		maps.Copy(rollout, b.rollout)
		rollout["healthy"] = map[string]any{"stable_for": "1s", "within": "30s"}
		if b.timeout != "" {
			rollout["healthy"] = map[string]any{"stable_for": "1s"} // the default of within is longer than the deadline
		}
		config["rollout"] = rollout
	}
	if b.timeout != "" {
		config["timeouts"] = map[string]any{"create": b.timeout, "update": b.timeout, "delete": b.timeout}
	}
	return config
}

func (h hang) try(t *testing.T, sim *providertest.Timed, by providertest.Face, b bound) {
	t.Helper()
	operates := h.config["operation"] != nil
	typ, kept := by.TypeName(map[bool]providertest.Operation{true: providertest.OnRestart, false: providertest.OnCreate}[operates]), &providertest.Kept{}
	if h.before != nil {
		sim.ConfiguredFor(t, by).CoreOf(typ, kept).Applied(h.declared(by, b, h.before, "./v1.sh", hangingHosts))
		time.Sleep(time.Minute) // so that the cached status is that old
	}
	for n := 1; n <= hangingHosts && h.each != nil; n++ {
		providertest.NoError(t, h.each(sim.Sim, by, providertest.Address(n)))
	}
	if operates {
		time.Sleep(time.Minute) // so that the start of the processes is that old
	}
	var config map[string]any
	if h.kind != providertest.PlanDestroy {
		config = h.declared(by, b, h.config, cmp.Or(h.start, "./v1.sh"), cmp.Or(h.hosts, hangingHosts))
	}
	h.apply(t, sim, by, b, typ, kept, config)
}

func (h hang) apply(t *testing.T, sim *providertest.Timed, by providertest.Face, b bound, typ string, kept *providertest.Kept, config map[string]any) {
	t.Helper()
	resource := sim.ConfiguredFor(t, by).CoreOf(typ, kept)
	sim.ResetCalls()
	sim.Inject(h.fault(by))
	if said := resource.Refresh(); said.Failed() {
		t.Fatal(said)
	}
	began := time.Now()
	_, said := resource.ApplyUnrefreshed(config)
	h.wantInTime(t, by, b, began)
	attribute := "out_of_sync"
	switch {
	case config == nil:
		attribute = "hosts"
	case config["operation"] != nil:
		attribute = "failed_hosts"
	}
	h.wantFailed(t, resource, attribute, said)
	h.wantOnce(t, sim.Sim, began)

	sim.Repair()
	for _, task := range sim.Tasks() {
		sim.ExpireTask(task.ID) // the task of web-2 would never end
	}
	delete(config, "rollout") // so that there is time to find that the tasks are forgotten
	delete(config, "timeouts")
	sim.ResetCalls()
	time.Sleep(time.Hour)
	resource = sim.ConfiguredFor(t, by).CoreOf(typ, kept)
	if _, said := resource.Apply(config); said.Failed() {
		t.Fatal(said)
	}
	for _, change := range sim.Changes() {
		providertest.Check(t, strings.HasSuffix(change, " "+providertest.Address(hanging)), "another host was called again: %s", change)
	}
	left := resource.Reasons(attribute)
	providertest.Check(t, len(left) == 0, "left: %v", left)
}

func (h hang) wantFailed(t *testing.T, resource *providertest.Core, attribute string, said providertest.Diagnostics) {
	t.Helper()
	got := resource.Reasons(attribute)
	providertest.Check(t, len(got) == 1 && got[providertest.HostKey(hanging)] != "", "%s has %v, want web-2; said: %s", attribute, got, said)
}

func (h hang) wantInTime(t *testing.T, by providertest.Face, b bound, began time.Time) {
	t.Helper()
	if took, most := time.Since(began), h.most(by, b); took > most {
		t.Errorf("it took %s, want at most %s", took, most)
	}
}

func (h hang) most(by providertest.Face, b bound) time.Duration {
	most := b.most
	if h.gate {
		most += 2 * 40 * time.Second
	}
	if h.ask && (h.kind == providertest.PlanDestroy || by == providertest.FaceJOB) {
		most += 2 * time.Minute // the agents are also asked before the first wave
	}
	return most + time.Second // for retries
}

// wantOnce checks the operations on the other hosts since the given time: those of the row, once on each.
func (h hang) wantOnce(t *testing.T, sim *providertest.Sim, since time.Time) {
	t.Helper()
	type done struct{ host, action string }
	times := make(map[done]int)
	for _, e := range sim.Executions() {
		if what := (done{e.Host, e.Action}); e.Host != providertest.Address(hanging) && !e.At.Before(since) {
			if times[what]++; times[what] > 1 {
				t.Errorf("%v: done %d times", what, times[what])
			}
		}
	}
	for n := 1; n <= hangingHosts; n++ {
		for _, action := range h.once {
			if what := (done{providertest.Address(n), action}); n != hanging && times[what] == 0 {
				t.Errorf("%v: not done", what)
			}
		}
	}
}

func idle(sim *providertest.Sim, by providertest.Face, host string) error {
	namespace, name := by.Process()
	return sim.Host(host, namespace, name)
}

func running(sim *providertest.Sim, by providertest.Face, host string) error {
	namespace, name := by.Process()
	if err := sim.Host(host, namespace, name); err != nil {
		return err
	}
	return sim.StartProcess(host, namespace, name)
}

var oneShot = func() map[string]any {
	spec, _ := providertest.FaceESB.Reference("./v1.sh", 0)["spec"].(map[string]any)
	spec["monitor_policy"] = map[string]any{"auto_type": 2}
	return map[string]any{"spec": spec}
}()

// An operation that never ends on web-2 does not keep the next release from any other host.
func TestHanging_stillUnderWay(t *testing.T) {
	t.Parallel()
	h := hang{op: simulator.OpRestart, once: []string{"restart"}}
	h.everywhere(t, "restart", func(t *testing.T, sim *providertest.Timed, by providertest.Face, b bound) {
		t.Helper()
		kept, typ := &providertest.Kept{}, by.TypeName(providertest.OnUpdate)
		release := func(start string) map[string]any {
			return h.declared(by, b, onUpdate("restart", "running"), start, hangingHosts)
		}
		sim.ConfiguredFor(t, by).CoreOf(typ, kept).Applied(release("./v1.sh"))
		sim.Inject(h.fault(by))
		for _, start := range []string{"./v2.sh", "./v3.sh"} {
			time.Sleep(time.Minute)
			began := time.Now()
			resource := sim.ConfiguredFor(t, by).CoreOf(typ, kept)
			_, said := resource.Apply(release(start))
			h.wantFailed(t, resource, "out_of_sync", said)
			h.wantInTime(t, by, b, began)
			h.wantOnce(t, sim.Sim, began)
		}
	})
}
