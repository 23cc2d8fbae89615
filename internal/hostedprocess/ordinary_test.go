package hostedprocess_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// If no one else acts and nothing fails, an object is created, changed, reduced, replaced and destroyed without an error,
// a warning or a wait. That holds however late the cached status is, and whether or not calls renew the registration time.
func TestOrdinaryLife(t *testing.T) {
	t.Parallel()
	type life struct {
		ensure   fleet.Ensure
		onUpdate fleet.OnUpdate
		leaving  fleet.OnDestroy
	}
	registered := life{fleet.EnsureRegistered, fleet.UpdateRegister, fleet.DestroyUnregister}
	hosted := life{fleet.EnsureHosted, fleet.UpdateRestart, fleet.DestroyStop}
	running := life{fleet.EnsureRunning, fleet.UpdateRegister, fleet.DestroyStop}
	restarted := life{fleet.EnsureRunning, fleet.UpdateRestart, fleet.DestroyUnregister}
	freeze := func(w *world) { w.sim.FreezeStatus() }
	for name, c := range map[string]struct {
		faces         []providertest.Face
		before, after func(*world) // the create
		kept          bool
		lives         []life
	}{
		"current":                 {faces: each, lives: []life{registered, hosted, running, restarted}},
		"late":                    {faces: gse, before: freeze, lives: []life{registered, restarted}},
		"late-since":              {faces: gse, after: freeze, lives: []life{hosted, running}},
		"late-and-times-are-kept": {faces: gse, before: freeze, kept: true, lives: []life{registered, hosted, restarted}},
	} {
		for _, life := range c.lives {
			t.Run(fmt.Sprintf("%s/%s-%s-%s", name, life.ensure, life.onUpdate, life.leaving), func(t *testing.T) {
				t.Parallel()
				through(t, c.faces, func(w *world) {
					w.sim.ReregisteringKeepsTime, w.sim.StartingKeepsTime, w.sim.HostingKeepsTime = c.kept, c.kept, c.kept
					more := map[string]any{"ensure": string(life.ensure), "on_update": string(life.onUpdate), "on_destroy": string(life.leaving)}
					object := w.objectOfCLI()
					w.play(object,
						step{name: "created", befalls: c.before, config: w.declares(4, more), kind: providertest.PlanCreate, anyCalls: true},
						step{name: "changed", befalls: c.after, config: w.changed(4, more), anyCalls: true},
						step{name: "reduced", config: w.changed(3, more), anyCalls: true},
					)
					object.Protocol, object.Replacing = w.open(), true
					if kind, said := object.Apply(w.changed(3, more)); kind != providertest.PlanReplace || len(said) > 0 {
						w.Errorf("replaced: %s; said: %s", kind, said)
					}
					for n := 1; n <= 3; n++ {
						if p := w.at(n); life.ensure != fleet.EnsureRegistered && !p.Hosted || life.ensure == fleet.EnsureRunning && !p.Running {
							w.Errorf("web-%d is %+v", n, p)
						}
					}
					object.Replacing = false
					w.play(object, step{name: "reduced once replaced", config: w.changed(2, more), anyCalls: true}, step{name: "destroyed", anyCalls: true})
					w.expectNothing()
					reads := w.sim.Calls().Count("get_proc_status_v2")
					providertest.Check(w, reads <= 3, "the cached status was read %d times", reads)
				})
			})
		}
	}
}

// On every platform that differs in one way from what the provider believes, applies without faults leave no drift, and
// a destroy leaves nothing. If a start replaces the registration, one more apply registers again, and operates nothing.
// BK_TEST_PLATFORM selects the platform of a profile instead.
func TestOrdinaryLife_onPlatforms(t *testing.T) {
	t.Parallel()
	for name, platform := range providertest.Platforms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, platform.Faces, func(w *world) {
				providertest.NoError(w, w.sim.With(platform.Switches...))
				more := map[string]any{"ensure": string(fleet.EnsureRunning), "on_update": string(fleet.UpdateRestart), "on_destroy": string(fleet.DestroyStop)}
				object := w.object()
				for i, config := range []map[string]any{w.declares(2, more), w.changed(1, more)} {
					if _, said := object.Apply(config); len(said) > 0 {
						w.Errorf("apply %d: %s", i, said)
					}
					w.sim.ResetCalls()
					w.sim.SetLag(0) // the cached status has caught up
					kind, said := object.Apply(config)
					operated := slices.ContainsFunc(w.sim.Changes(), func(call string) bool { return strings.Contains(call, "/0 ") || strings.Contains(call, "/7 ") })
					if replaced := kind == providertest.PlanUpdate && w.sim.StartReplaces && w.by == esb; kind != providertest.PlanNothing && !replaced || operated || len(said) > 0 {
						w.Errorf("again %d: %s %v %s", i, kind, w.sim.Changes(), said)
					}
					if kind != providertest.PlanNothing {
						w.sim.SetLag(0)
						w.play(object, step{name: "the third time", config: config, kind: providertest.PlanNothing})
					}
				}
				w.play(object, step{name: "destroyed", anyCalls: true})
				w.expectNothing()
			})
		})
	}
}

// counted has the numbers of calls of an empty plan, and of applies without faults.
type counted struct{ create, plan, change, destroy int }

// The calls for 1000 hosts without faults. Asking agents, hosting and starting take two each: the call, and the result of
// its task. Registering takes one through the ESB, and two through the gateway, where it hosts. Each create but JOB's
// asks the agents first, since registering replaces what is there, and every apply asks them at the end.
func TestCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by                          providertest.Face
		hosting                     bool // registering hosts, which the documents of the ESB leave open
		registered, hosted, running counted
	}{
		// Hosting and starting take two more each. After unregistering, agents that hosted the process are asked whether
		// they still do, because no document says that they do not.
		"esb":         {esb, false, counted{5, 1, 3, 4}, counted{7, 1, 3, 6}, counted{7, 1, 3, 6}},
		"esb-hosting": {esb, true, counted{5, 1, 3, 6}, counted{7, 1, 3, 6}, counted{7, 1, 3, 6}},
		"gateway":     {gateway, false, counted{6, 1, 4, 5}, counted{6, 1, 4, 5}, counted{8, 1, 4, 5}},
		// JOB has no cached status, so a plan asks the agents.
		"job": {job, false, counted{2, 2, 2, 2}, counted{4, 2, 4, 2}, counted{6, 2, 4, 2}},
	} {
		for _, ensure := range fleet.Ensures() {
			t.Run(fmt.Sprintf("%s/%s", name, ensure), func(t *testing.T) {
				t.Parallel()
				hosts := 20
				if ensure == fleet.EnsureRunning && !c.hosting && c.by != job {
					hosts = 1000 // the size of a batch
				}
				w := newWorld(t, c.by)
				w.sim.RegisterHosts = c.hosting
				object, more := w.objectOfCLI(), attribute("ensure", string(ensure))
				var got counted
				object.Applied(w.declares(hosts, more))
				got.create = w.counted()
				object.Plan(w.declares(hosts, more))
				got.plan = w.counted()
				_, said := object.ApplyUnrefreshed(w.changed(hosts, more))
				providertest.Check(t, !said.Failed(), "%s", said)
				got.change = w.counted()
				providertest.Silent(t, object.DestroyUnrefreshed())
				got.destroy = w.counted()
				want := map[fleet.Ensure]counted{fleet.EnsureRegistered: c.registered, fleet.EnsureHosted: c.hosted, fleet.EnsureRunning: c.running}[ensure]
				providertest.Check(t, got == want, "create, plan, change, destroy: %v calls, want %v", got, want)
			})
		}
	}
}

// counted returns the number of calls since the last time. Of the calls for the result of one task only the first counts.
func (w *world) counted() int {
	calls, polled := 0, make(map[string]bool)
	for _, call := range w.sim.Calls() {
		if result := call.API == w.by.ResultAPI(); !result || !polled[call.TaskID] {
			calls++
			polled[call.TaskID] = polled[call.TaskID] || result
		}
	}
	w.sim.ResetCalls()
	return calls
}

// BenchmarkHostedProcess measures each request of Terraform for one bk_hosted_process, at three sizes, which show what
// grows faster than the number of hosts.
func BenchmarkHostedProcess(b *testing.B) {
	for _, hosts := range []int{50, 1000, 10000} {
		life := newHostedLife(b, hosts)
		for name, request := range map[string]func(){
			"validate": life.Validate, "upgrade": life.upgrade, "read": life.Read, "plan": life.Plan, "create": life.create,
		} {
			b.Run(fmt.Sprintf("%s/hosts=%d", name, hosts), func(b *testing.B) {
				life.T = b
				b.ReportAllocs()
				for b.Loop() {
					request()
				}
			})
		}
	}
}

// hostedLife is one resource, with the requests that Terraform sends for it.
type hostedLife struct {
	*providertest.Protocol
	sim                    *providertest.Sim
	config, proposed, none *tfprotov6.DynamicValue
	state                  *tfprotov6.DynamicValue
	private                []byte
	stored                 *tfprotov6.RawState
}

func newHostedLife(tb testing.TB, hosts int) *hostedLife {
	tb.Helper()
	sim := providertest.NewSim(tb)
	life := &hostedLife{Protocol: sim.Configured(tb), sim: sim}
	addresses := make(map[string]string, hosts)
	for i := range hosts {
		addresses[fmt.Sprintf("web-%05d", i)] = providertest.Address(i + 1)
	}
	config := providertest.HostedConfigOf(addresses)
	schema := life.Schema.ResourceSchemas[providertest.HostedType]
	life.config = life.Dynamic(schema, config)
	proposed := maps.Clone(config)
	maps.Copy(proposed, map[string]any{
		"id": providertest.NotKnown{}, "out_of_sync": providertest.NotKnown{},
		"ensure": "hosted", "adopt_existing": false, "on_partial_create": "warn", "on_destroy": "unregister",
	})
	life.proposed = life.Dynamic(schema, proposed)
	none, err := tfprotov6.NewDynamicValue(schema.ValueType(), tftypes.NewValue(schema.ValueType(), nil))
	providertest.NoError(tb, err)
	life.none = &none
	life.create()
	stored, err := json.Marshal(providertest.Plain(tb, life.decode(life.state)))
	providertest.NoError(tb, err)
	life.stored = &tfprotov6.RawState{JSON: stored}
	return life
}

func (l *hostedLife) decode(v *tfprotov6.DynamicValue) tftypes.Value {
	value, err := v.Unmarshal(l.Schema.ResourceSchemas[providertest.HostedType].ValueType())
	providertest.NoError(l.T, err)
	return value
}

func (l *hostedLife) Validate() {
	resp, err := l.Server.ValidateResourceConfig(l.T.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: providertest.HostedType, Config: l.config})
	l.Fine(err, resp.Diagnostics)
}

// Plan makes a plan that finds nothing to do.
func (l *hostedLife) Plan() {
	resp, err := l.Server.PlanResourceChange(l.T.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: providertest.HostedType, Config: l.config, PriorState: l.state, PriorPrivate: l.private, ProposedNewState: l.state,
	})
	l.Fine(err, resp.Diagnostics)
}

// upgrade sends what Terraform sends for every state that it reads, whatever its version.
func (l *hostedLife) upgrade() {
	resp, err := l.Server.UpgradeResourceState(l.T.Context(), &tfprotov6.UpgradeResourceStateRequest{TypeName: providertest.HostedType, RawState: l.stored})
	l.Fine(err, resp.Diagnostics)
}

func (l *hostedLife) Read() {
	resp, err := l.Server.ReadResource(l.T.Context(), &tfprotov6.ReadResourceRequest{TypeName: providertest.HostedType, CurrentState: l.state, Private: l.private})
	l.Fine(err, resp.Diagnostics)
}

// create plans and applies a create. It can be repeated, as if its answer had been lost: the process is then hosted already.
func (l *hostedLife) create() {
	planned, err := l.Server.PlanResourceChange(l.T.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: providertest.HostedType, Config: l.config, PriorState: l.none, ProposedNewState: l.proposed,
	})
	l.Fine(err, planned.Diagnostics)
	applied, err := l.Server.ApplyResourceChange(l.T.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: providertest.HostedType, Config: l.config, PriorState: l.none, PlannedState: planned.PlannedState, PlannedPrivate: planned.PlannedPrivate,
	})
	// Each create after the first takes the hosts over, with a warning.
	l.Fine(err, slices.DeleteFunc(applied.Diagnostics, func(d *tfprotov6.Diagnostic) bool { return strings.HasPrefix(d.Summary, "Hosts Taken Over") }))
	l.state, l.private = applied.NewState, applied.Private
	l.sim.ResetCalls()
}

// An empty plan makes few allocations for each host. Copies of all hosts once made plans of ten thousand hosts three
// times as slow, and no test failed.
func TestHostedProcess_planAllocates(t *testing.T) { //nolint:paralleltest // allocations of other tests would count
	of := func(hosts int) float64 {
		life := newHostedLife(t, hosts)
		return testing.AllocsPerRun(1, life.Plan)
	}
	const perHost = 10
	few, many := of(500), of(1500)
	grown := (many - few) / 1000
	providertest.Check(t, grown <= perHost, "a plan makes %.1f allocations for each host, want at most %d", grown, perHost)
}

// The life of a process through both generations of JOB and with both kinds of scope.
func TestJobHostedProcess_lifecycle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		api   string
		scope map[string]any
	}{
		"jobv3-scope":   {"jobv3", attribute("scope", map[string]any{"type": "biz_set", "id": "9"})},
		"job-bk-biz-id": {"job", map[string]any{"scope": nil, "bk_biz_id": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, job)
			w.settings["job_api"] = c.api
			w.play(w.object(),
				step{name: "created", config: w.declares(3, c.scope), kind: providertest.PlanCreate, calls: []string{on("register_proc_info", 1, 2, 3)}},
				step{name: "the same", config: w.declares(3, c.scope), kind: providertest.PlanNothing},
				step{name: "another command", config: w.changed(3, c.scope), calls: []string{on("update_proc_info", 1, 2, 3)}},
				step{name: "a host leaves", config: w.declares(2, c.scope), calls: []string{on("update_proc_info", 1, 2), on("unregister_proc_info", 3)}},
				step{name: "one is unhosted", befalls: func(w *world) { w.do(w.sim.Unhost, 2) }, config: w.declares(2, c.scope), calls: []string{on("update_proc_info", 2)}},
				step{name: "destroyed", calls: []string{on("unregister_proc_info", 1, 2)}},
			)
			w.expectNothing()
		})
	}
}

// Another spelling of the same business does not force replacement, as it differs between releases of JOB. A change of
// what identifies the process on the platform does.
func TestJobHostedProcess_replaced(t *testing.T) {
	t.Parallel()
	anew := []string{on("register_proc_info", 1), on("unregister_proc_info", 1)}
	for name, c := range map[string]struct {
		set   values
		kind  providertest.PlanKind
		calls []string
	}{
		"scope-spelt-otherwise": {values{"scope": nil, "bk_biz_id": 2}, providertest.PlanUpdate, nil},
		"scope":                 {values{"scope.id": "3"}, providertest.PlanReplace, anew},
		"setup_path":            {values{"process.setup_path": "/srv/other"}, providertest.PlanReplace, anew},
		"value_key":             {values{"process.value_key": "other"}, providertest.PlanReplace, anew},
		"value_key-spelt-out":   {values{"process.value_key": "/srv/web/nginx"}, providertest.PlanReplace, anew},
		"value_key-empty":       {values{"process.value_key": ""}, providertest.PlanUpdate, nil},
		"proc_name":             {values{"process.proc_name": "other"}, providertest.PlanReplace, anew},
		"pid_path":              {values{"process.pid_path": "/srv/other.pid"}, providertest.PlanUpdate, []string{on("update_proc_info", 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, job)
			config := w.declares(1)
			c.set.put(config)
			resource := w.object()
			resource.Applied(w.declares(1))
			w.play(resource, step{name: name, config: config, kind: c.kind, calls: c.calls})
			warned := strings.Contains(resource.Notices.String(), "Hosted Process Is Replaced")
			providertest.Check(t, warned == (c.kind == providertest.PlanReplace), "said: %s", resource.Notices)
		})
	}
}

// On a host it is the same process in any scope. An object that is destroyed after one of another scope has registered
// the process in the same run leaves it hosted.
func TestJobHostedProcess_otherScope(t *testing.T) {
	t.Parallel()
	w := newWorld(t, job)
	first, second := w.object(), w.object()
	second.Protocol = first.Protocol
	first.Applied(w.declares(2, attribute("on_destroy", "stop")))
	second.Applied(w.declares(2, map[string]any{"scope": nil, "bk_biz_id": 3}))
	w.sim.ResetCalls()
	said := first.DestroyUnrefreshed()
	providertest.Check(t, len(said) == 0 && len(w.sim.Changes()) == 0, "called %v; said: %s", w.sim.Changes(), said)
	w.play(second, step{name: "the other", config: w.declares(2, map[string]any{"scope": nil, "bk_biz_id": 3}), kind: providertest.PlanNothing})
}

// An error says what JOB cannot do.
func TestJobHostedProcess_cannot(t *testing.T) {
	t.Parallel()
	t.Run("imported", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, job)
		w.colleague(1, 2)
		w.on("register_proc_info", simulator.Fault{Code: new(850), Times: 1}, 1) // some releases of JOB say that it exists
		before := w.at(1).PID
		said := w.object().Imports("web")
		providertest.Check(t, said.Failed() && strings.Contains(said.String(), "Write the resource with adopt_existing = true and apply it"), "said: %s", said)
		w.play(w.object(), step{name: "as it says", config: w.declares(2, attribute("adopt_existing", true)), kind: providertest.PlanCreate, anyCalls: true})
		providertest.Check(t, w.at(1).PID == before && w.at(1).Hosted && w.at(2).Hosted, "they are %+v and %+v", w.at(1), w.at(2))
	})
	t.Run("removed", func(t *testing.T) { // JOB has no such endpoints from 3.7 on
		t.Parallel()
		w := newWorld(t, job)
		w.sim.JobRemoved = true
		w.play(w.object(), step{
			name: "created", config: w.declares(1), kind: providertest.PlanCreate, hosts: map[string]string{}, says: "JOB has no process APIs as of release 3.7", fails: true, anyCalls: true,
		})
		w.sim.ResetViolations()
	})
	// The releases whose code is public run manage_proc's operations as stop and query. That is detected, not reported as success.
	t.Run("managed-by-a-bug", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, job)
		w.sim.ManageProcBug = true
		const says = "runs its operations 1 and 2 as stop and query; set registration_api to operate_process"
		object := w.object()
		_, said := object.Apply(w.managed())
		providertest.Fails(t, said, "829, JOB answered", says)
		object.Applied(w.declares(1))
	})
}

// manage_proc registers and unregisters if it is declared, and agents confirm it.
func TestJobHostedProcess_manageProc(t *testing.T) {
	t.Parallel()
	w := newWorld(t, job)
	resource := w.object()
	resource.Applied(w.managed())
	_, said := resource.Apply(nil)
	providertest.Check(t, len(said) == 0 && w.sim.Calls().Count("manage_proc") == 2, "called %v; said: %s", w.sim.Calls().APIs(), said)
}

// managed declares a JOB process that is registered by manage_proc.
func (w *world) managed() map[string]any {
	config := w.declares(1, map[string]any{"ensure": "registered", "registration_api": "manage_proc"})
	values{"process.proc_owner": "sre"}.put(config)
	return config
}

// A manage_proc that only queries reports success. If the agent does not confirm that, the host stays in state.
func TestJobHostedProcess_manageProcUnconfirmed(t *testing.T) {
	t.Parallel()
	const says = "the agent has not confirmed it: some releases run its operations 1 and 2 as stop and query; set registration_api to operate_process"
	for name, fault := range map[string]simulator.Fault{
		"query-refused":     {EnvelopeCode: new(1210001), EnvelopeMessage: "GSE error"},
		"query-bad-gateway": {HTTPStatus: http.StatusBadGateway},
		"agent-away":        {Code: new(117)},
		"hosting-unknown":   {ContentShape: "no-isauto"},
		"unreadable":        {ContentShape: "broken"},
	} {
		for what, exists := range map[string]bool{"create": false, "destroy": true} {
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, job)
				resource, config := w.object(), w.managed()
				if exists {
					resource.Applied(config)
					config = nil
				}
				w.sim.Inject(simulator.Fault{API: "manage_proc", Code: new(0)})
				w.onOp(simulator.OpQuery, fault)
				_, said := resource.ApplyUnrefreshed(config)
				if !said.Failed() || !strings.Contains(said.String(), says) || resource.State.IsNull() || exists == (resource.Reasons("out_of_sync")["web-1"] != "") {
					t.Errorf("out_of_sync %v; said: %s", resource.Reasons("out_of_sync"), said)
				}
				providertest.Same(t, fmt.Sprintf("hosted: %+v", w.at(1)), exists, w.at(1).Hosted)
			})
		}
	}
}

// An unknown value that does not identify the process does not replace it, so safety does not refuse the plan.
func TestJobHostedProcess_unknownCommand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, job)
	config, resource := w.declares(2, safety(map[string]any{"deletion_protection": true, "max_removed_hosts": "0"})), w.object()
	resource.Applied(config)
	values{"process.start_cmd": providertest.NotKnown{}}.put(config)
	plan, said := resource.Plan(config)
	providertest.Silent(t, said)
	id := plan.Planned(t)["id"]
	providertest.Check(t, plan.Action == providertest.PlanUpdate && id.IsKnown(), "planned %s of %s", plan.Action, id)
}
