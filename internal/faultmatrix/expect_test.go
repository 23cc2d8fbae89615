package faultmatrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func (r *faultRun) expectSaid(said providertest.Diagnostics) {
	severity := map[ending]string{refused: "error", fails: "error", stays: "error", taints: "error", warns: "warning"}[r.cell.ending]
	providertest.Check(r.t, said.Severity() == severity, "ends with %q, want %q\n%s", said.Severity(), severity, said)
	if severity != "" {
		providertest.Says(r.t, said.String(), r.says())
	}
	providertest.SaysNot(r.t, said.String(), r.fault.hides...)
	providertest.Check(r.t, len(said) <= 1, "ends with more than one diagnostic:\n%s", said)
}

func (r *faultRun) says() string { return cmp.Or(r.cell.says, r.fault.says) }

func (r *faultRun) expectTries() {
	at := *r.face.Target(r.on)
	if r.fault.sends != "" {
		at = providertest.Target{API: r.fault.sends}
	}
	calls := at.Calls(r.sim.Calls())
	want := r.cell.tries
	if r.on == onAskFirst && (r.cell.ending == well || r.cell.ending == warns) {
		want++ // a create asks about what it has registered
	}
	providertest.Check(r.t, len(calls) == want, "%d calls of %s, want %d: %v", len(calls), at.API, want, r.sim.Calls().APIs())
	if _, once := providertest.Commands[r.on]; once {
		r.expectOnce()
	}
	if all := r.sim.Calls(); r.cell.ending == refused && len(all) > 0 {
		r.t.Errorf("calls were made for a refused configuration: %v", all.APIs())
	}
}

// expectOnce fails the test if an operation may have been done twice. A request that the platform
// received and did not refuse must not be sent again.
func (r *faultRun) expectOnce() {
	at := *r.face.Target(onOperate)
	at.Op = new(providertest.Commands[r.on].Op)
	taken := slices.DeleteFunc(at.Calls(r.sim.Calls()), func(c simulator.Call) bool { return c.Status == 429 || c.Code == busyCode })
	providertest.Check(r.t, len(taken) <= 1, "the operation was sent %d times", len(taken))
}

// expectState checks the state after the run: the hosts of the resource, if it is in state, and the reasons of failed hosts.
func (r *faultRun) expectState(hosts, reasons map[string]string) {
	var (
		wantHosts   = keyed(providertest.HostNumbers(r.hosts()), "")
		wantReasons = map[string]string{}
		hit         = keyed(r.hit(), r.cell.reason)
	)
	for key := range hosts {
		hosts[key] = ""
	}
	for key, reason := range reasons {
		if want, ok := hit[key]; ok && strings.HasPrefix(reason, want) {
			reasons[key] = want
		}
	}
	switch {
	case r.cell.ending == refused && r.on.BeginsWithoutState():
		wantHosts, wantReasons = nil, nil
	case r.cell.ending == stays, r.cell.ending == refused:
	case r.on.Destroys() && (r.cell.ending == well || r.cell.ending == warns), r.on.BeginsWithoutState() && r.cell.ending == fails:
		wantHosts, wantReasons = nil, nil
	case r.on.Destroys():
		wantHosts = keyed(r.hit(), "")
	case r.cell.ending == drifts, !r.on.Refreshes() && r.cell.ending != well:
		wantReasons = hit
	}
	same(r.t, "hosts in state", wantHosts, hosts)
	same(r.t, r.reasonsName()+" in state", wantReasons, reasons)
}

func (r *faultRun) reasonsName() string {
	if r.on.Operates() {
		return "failed_hosts"
	}
	return "out_of_sync"
}

func (r *faultRun) nextPlan(acted map[int]bool) providertest.PlanKind {
	undone := slices.ContainsFunc(r.hit(), func(n int) bool { return !acted[n] })
	switch {
	case r.cell.ending == taints:
		return providertest.PlanReplace
	case r.cell.ending == drifts:
		return providertest.PlanUpdate
	case r.cell.ending == well, r.on.Refreshes(), r.on.Destroys() && r.cell.ending == warns:
		return providertest.PlanNothing
	case r.on.Destroys():
		return providertest.PlanDestroy
	case r.filed() && !undone && (r.on.Updates() || r.cell.ending == warns):
		return providertest.PlanNothing // by now, the cached status proves that it was done
	case r.on.Updates(), r.cell.ending == warns:
		return providertest.PlanUpdate
	}
	return providertest.PlanCreate
}

// quiet reports whether the next apply says nothing. At the gateway, what was not registered may still be queued, and
// a warning says so.
func (r *faultRun) quiet(said providertest.Diagnostics) bool {
	queued := r.face == providertest.FaceGateway && r.on == onCreate && r.cell.ending == taints
	return len(said) == 0 || queued && len(said) == 1 && said[0].Summary == "Registration May Come Yet"
}

// filed reports whether the platform can show what the operation did. It has a cached status, except for
// JOB, where only the agents know what runs.
func (r *faultRun) filed() bool {
	return r.on == onRun || r.face != providertest.FaceJOB && slices.Contains([]operation{onCreate, onAskFirst, onConfirm, onHost, onUpdate, onKeepRun}, r.on)
}

// nextTouched returns the hosts that the next apply has to change. If the provider looks first, in the cached status
// or by asking agents after an operation that may have worked, it leaves out the hosts on which the platform did act.
func (r *faultRun) nextTouched(acted map[int]bool) []string {
	var numbers []int
	looks := (r.filed() && (r.on != onCreate || r.face == providertest.FaceGateway)) || (r.on.Operates() && r.on != onRestart && r.on != onReload && r.cell.ending == warns)
	switch {
	case r.cell.touches != nil:
		numbers = r.cell.touches
	case r.nextPlan(acted) == providertest.PlanNothing:
	case r.nextPlan(acted) == providertest.PlanReplace:
		numbers = r.hit()
	default:
		numbers = slices.DeleteFunc(slices.Clone(r.hit()), func(n int) bool { return looks && acted[n] })
	}
	return r.keysOf(r.addresses(numbers))
}

func (r *faultRun) touched() []string {
	var addresses []string
	for _, change := range r.sim.Changes() {
		addresses = append(addresses, strings.Fields(change)[1:]...)
	}
	return r.keysOf(addresses)
}

// acted returns the hosts on which the platform did the operation, whatever it answered.
func (r *faultRun) acted() map[int]bool {
	acted := make(map[int]bool)
	for _, n := range providertest.HostNumbers(r.hosts()) {
		p := r.at(n)
		switch r.on {
		case onOperate, onWait:
			acted[n] = p.LastStartTime != 0
		case onRun, onReadRun:
			acted[n] = p.Running && p.Hosted
		case onHost:
			acted[n] = p.Hosted
		case onStop, onKill:
			acted[n] = !p.Running && !p.Hosted
		case onRestart, onReload:
			acted[n] = r.executed(n, providertest.Commands[r.on].Name)
		case onUpdate, onKeepRun:
			acted[n] = strings.Contains(string(p.Spec), "./other.sh") && (r.on == onUpdate || p.Running)
		case onDelete, onReadOwner:
			acted[n] = !p.Registered && !p.Hosted
		default:
			ours := p.Labels["tf_spec"] != "" || r.face == providertest.FaceJOB // where processes have no labels
			acted[n] = (p.Registered || p.Hosted) && ours
		}
	}
	return acted
}

func (r *faultRun) executed(n int, action string) bool {
	return slices.ContainsFunc(r.sim.Executions(), func(e simulator.Execution) bool {
		return e.Action == action && e.Host == r.address(n) && e.Code == simulator.CodeOK
	})
}

// expectConverged expects the platform as declared. For a restart and a reload it only checks that they ran, before or now.
func (r *faultRun) expectConverged(before map[int]bool) {
	for n, done := range r.acted() {
		ran := (r.on == onRestart || r.on == onReload) && before[n]
		left := r.on.Destroys() && r.cell.ending == warns && slices.Contains(r.hit(), n)
		if !done && !ran && !left && !r.fault.oneShot {
			r.t.Errorf("%s is not as declared", providertest.HostKey(n))
		}
	}
}

func keyed(numbers []int, text string) map[string]string {
	byKey := make(map[string]string, len(numbers))
	for _, n := range numbers {
		byKey[providertest.HostKey(n)] = text
	}
	return byKey
}

// same distinguishes nil from an empty map, since a resource that is not in state has no map.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	diff := gocmp.Diff(want, got)
	providertest.Check(t, diff == "", "%s (-want +got):\n%s", what, diff)
}

func (r *faultRun) Status() {
	r.startAll()
	r.sim.ResetCalls()
	r.FailHosts()
	read := func(p *providertest.Protocol, config map[string]any) (map[string]any, providertest.Diagnostics) {
		if said := p.ValidateData(r.face.TypeName(r.on), config); said.Failed() {
			return nil, said
		}
		return p.ReadData(r.face.TypeName(r.on), config)
	}
	meeting := providertest.ConfiguredWith(r.t, r.settings)
	meeting.Until = r.deadline()
	values, said := read(meeting, r.declared())
	r.expectSaid(said)
	r.expectTries()
	r.expectStates(values)
	r.Repair()
	values, said = read(providertest.ConfiguredWith(r.t, r.sim.SettingsFor(r.face)), r.config(r.on))
	providertest.Check(r.t, len(said) == 0, "reported after the fault:\n%s", said)
	r.expectRunning(values)
}

func (r *faultRun) expectStates(values map[string]any) {
	want := keyed(providertest.HostNumbers(r.hosts()), string(fleet.Running))
	switch {
	case r.cell.ending == fails, r.cell.ending == refused:
		want = nil
	case r.fault.state != "":
		maps.Copy(want, keyed(r.hit(), string(r.fault.state)))
	case r.cell.ending == warns:
		maps.Copy(want, keyed(r.hit(), string(fleet.Unknown)))
	}
	same(r.t, "states", want, providertest.StatesOf(values))
	r.sim.Changed(r.t)
}

func (r *faultRun) expectRunning(values map[string]any) {
	same(r.t, "states once the fault has gone", keyed(providertest.HostNumbers(r.hosts()), string(fleet.Running)), providertest.StatesOf(values))
}

func (r *faultRun) find() {
	r.startAll()
	r.FailHosts()
	r.sim.ResetCalls()
	meeting := providertest.ConfiguredWith(r.t, r.settings)
	hosts, said := find(meeting, r.on)
	r.expectSaid(said)
	r.expectTries()
	good := make(map[string]string)
	for _, address := range r.addresses(providertest.HostNumbers(r.hosts())) {
		good[address] = address
	}
	want := maps.Clone(good)
	for _, address := range r.addresses(r.fault.unlisted) {
		delete(want, address)
	}
	if r.cell.ending == fails || len(want) == 0 {
		want = nil
	}
	same(r.t, "hosts", want, hosts)
	r.sim.Changed(r.t)
	r.Repair()
	hosts, said = find(providertest.ConfiguredWith(r.t, r.sim.SettingsFor(r.face)), r.on)
	same(r.t, "hosts once the fault has gone", good, hosts)
	same(r.t, "said once the fault has gone", "", said.String())
}

// find returns the hosts of the matrix's process as an import or a list has them, nil if there are none.
func find(p *providertest.Protocol, on operation) (map[string]string, providertest.Diagnostics) {
	p.T.Helper()
	typ := p.Schema.ResourceSchemas[providertest.HostedType].ValueType()
	if on == onImport {
		resp, err := p.Server.ImportResourceState(p.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: providertest.HostedType, ID: "web:nginx"})
		providertest.NoError(p.T, err)
		if providertest.Diagnostics(resp.Diagnostics).Failed() {
			return nil, resp.Diagnostics
		}
		return providertest.HostsIn(p.Read(resp.ImportedResources[0].State, typ)), resp.Diagnostics
	}
	stream, err := p.Server.ListResource(p.Context(), &tfprotov6.ListResourceRequest{
		TypeName: providertest.HostedType, IncludeResource: true,
		Config: p.Dynamic(p.Schema.ListResourceSchemas[providertest.HostedType], map[string]any{"namespace": "web", "name_prefix": "nginx"}),
	})
	providertest.NoError(p.T, err)
	var (
		hosts map[string]string
		said  providertest.Diagnostics
	)
	for result := range stream.Results {
		said = append(said, result.Diagnostics...)
		if result.Resource != nil {
			hosts = providertest.HostsIn(p.Read(result.Resource, typ))
		}
	}
	return hosts, said
}

type held struct{ registered, hosted, running bool }

func (h held) String() string {
	var words []string
	for _, w := range []struct {
		is        bool
		yes, name string
	}{{h.registered, "registered", "not registered"}, {h.hosted, "hosted", "not hosted"}, {h.running, "running", "not running"}} {
		words = append(words, map[bool]string{true: w.yes, false: w.name}[w.is])
	}
	return strings.Join(words, ", ")
}

var (
	nothingHeld = held{}
	allHeld     = held{true, true, true}
)

// effect is the effect of an operation on a process, its side effects included.
type effect struct {
	on            operation
	by            []face
	before, after held
}

var effectTable = []effect{
	{onCreate, esbOnlyFace, nothingHeld, held{registered: true}},
	{onCreate, []face{providertest.FaceGateway}, nothingHeld, held{registered: true, hosted: true}},
	{onCreate, jobFace, nothingHeld, held{hosted: true}},
	{onCreate, esbOnlyFace, held{running: true}, held{registered: true, running: true}},
	{onHost, esbOnlyFace, nothingHeld, held{registered: true, hosted: true}},
	{onRun, gseFaces, nothingHeld, allHeld},
	{onRun, jobFace, nothingHeld, held{hosted: true, running: true}},
	{onDelete, gseFaces, allHeld, held{running: true}},
	{onDelete, jobFace, held{hosted: true, running: true}, held{running: true}},
	{onOperate, faces, nothingHeld, held{hosted: true, running: true}},
	{onOperate, faces, held{registered: true}, allHeld},
	{onStop, faces, allHeld, held{registered: true}},
	{onStop, []face{providertest.FaceESB, providertest.FaceJOB}, held{registered: true, hosted: true}, held{registered: true}},
	{onStop, []face{providertest.FaceGateway}, held{registered: true, hosted: true}, nothingHeld}, // at the gateway, unhosting unregisters
	{onKill, faces, allHeld, held{registered: true}},
	{onRestart, faces, allHeld, allHeld},
	{onRestart, faces, held{registered: true, running: true}, allHeld},
	{onReload, faces, allHeld, allHeld},
	{onReload, faces, held{registered: true, running: true}, held{registered: true, running: true}},
	{onStatus, faces, held{registered: true, running: true}, held{registered: true, running: true}},
}

func TestFaultMatrix_effects(t *testing.T) {
	t.Parallel()
	for i, e := range effectTable {
		for _, by := range e.by {
			t.Run(fmt.Sprintf("%d/%s/%s", i, e.on.Path(), by), func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				r := &faultRun{t: t, sim: sim, face: by, on: e.on, settings: sim.SettingsFor(by), kept: &providertest.Kept{}}
				if e.on == onDelete {
					r.applies(onRun)
				} else {
					r.bring(e.before)
				}
				r.expectHeld("before", e.before)
				var said providertest.Diagnostics
				if e.on.Stateless() {
					_, said = providertest.ConfiguredWith(t, r.settings).ReadData(by.TypeName(e.on), r.config(e.on))
				} else {
					_, said = r.Run(r.settings).Apply(r.config(e.on))
				}
				providertest.Check(t, len(said) == 0, "%s", said)
				r.expectHeld("after", e.after)
			})
		}
	}
}

func (r *faultRun) bring(to held) {
	if to == nothingHeld {
		return
	}
	r.registerAll()
	if to.running {
		r.each(r.sim.StartProcess)
		r.each(r.sim.Unhost)
	}
	if !to.registered {
		r.each(r.sim.Unregister)
	}
	if to.hosted {
		r.each(r.sim.Host)
	}
}

func (r *faultRun) expectHeld(when string, want held) {
	for _, n := range providertest.HostNumbers(r.hosts()) {
		p := r.at(n)
		got := (held{p.Registered, p.Hosted, p.Running})
		providertest.Check(r.t, got == want, "%s, %s is %s, want %s", when, providertest.HostKey(n), got, want)
	}
}
