package hostedprocess_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// The life of a process over both generations of JOB and both kinds of scope.
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

// The name of the scope changes between releases of JOB; the business does not. What the platform knows a process by forces replacement.
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

// On a host it is the same process in any scope: who leaves it to an object of another scope, in one run, leaves it hosted.
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

// What JOB does not do is told in a sentence.
func TestJobHostedProcess_cannot(t *testing.T) {
	t.Parallel()
	t.Run("imported", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, job)
		said := w.object().Imports("web")
		providertest.Check(t, said.Failed() && strings.Contains(said.String(), "Write the resource and apply it"), "said: %s", said)
	})
	t.Run("removed", func(t *testing.T) { // JOB from 3.7 on does not have the endpoints
		t.Parallel()
		w := newWorld(t, job)
		w.sim.JobRemoved = true
		w.play(w.object(), step{
			name: "created", config: w.declares(1), kind: providertest.PlanCreate, hosts: map[string]string{}, says: "JOB has no process APIs as of release 3.7", fails: true, anyCalls: true,
		})
		w.sim.ResetViolations()
	})
	// The releases whose code is public run manage_proc's operations as stop and query. That is found out, and not taken for success.
	t.Run("managed-by-a-bug", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, job)
		w.sim.ManageProcBug = true
		const says = "runs its operations 1 and 2 as stop and query; set registration_api to operate_process"
		if _, said := w.object().Apply(w.managed()); !said.Failed() || !strings.Contains(words(said.String()), "829, JOB answered") || !strings.Contains(words(said.String()), says) {
			t.Errorf("said: %s", said)
		}
	})
}

// manage_proc registers and unregisters where it is declared, and where agents confirm it.
func TestJobHostedProcess_manageProc(t *testing.T) {
	t.Parallel()
	w := newWorld(t, job)
	resource := w.object()
	resource.Applied(w.managed())
	_, said := resource.Apply(nil)
	providertest.Check(t, len(said) == 0 && w.sim.Calls().Count("manage_proc") == 2, "called %v; said: %s", w.sim.Calls().APIs(), said)
}

// managed is a JOB process that is registered by manage_proc.
func (w *world) managed() map[string]any {
	config := w.declares(1, map[string]any{"ensure": "registered", "registration_api": "manage_proc"})
	values{"process.proc_owner": "sre"}.put(config)
	return config
}

// A manage_proc that asks in place of what it is to do has success to tell. Where no agent confirms it, the host stays in state.
func TestJobHostedProcess_manageProcUnconfirmed(t *testing.T) {
	t.Parallel()
	const says = "the agent has not confirmed it: some releases run its operations 1 and 2 as stop and query; set registration_api to operate_process"
	for name, fault := range map[string]simulator.Fault{
		"query-refused":     {EnvelopeCode: new(1210001), EnvelopeMessage: "GSE error"},
		"query-bad-gateway": {HTTPStatus: http.StatusBadGateway},
		"agent-away":        {Code: new(117)},
		"hosting-unsaid":    {ContentShape: "no-isauto"},
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

// A value that is not known and names nothing makes no other process: nothing is replaced, and what is protected stays.
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
