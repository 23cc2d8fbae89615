package faultmatrix

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func (r *faultRun) expectSaid(said providertest.Diagnostics) {
	severity := map[ending]string{refused: "error", fails: "error", stays: "error", taints: "error", warns: "warning"}[r.cell.ending]
	if said.Severity() != severity {
		r.t.Errorf("ends with %q, want %q\n%s", said.Severity(), severity, said)
	}
	if severity != "" {
		providertest.Says(r.t, said.String(), r.says())
	}
	providertest.SaysNot(r.t, said.String(), r.fault.hides...)
	if len(said) > 1 {
		r.t.Errorf("says more than one thing:\n%s", said)
	}
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
		want++ // a create looks at what it has registered
	}
	if len(calls) != want {
		r.t.Errorf("%d calls of %s, want %d: %v", len(calls), at.API, want, r.sim.Calls().APIs())
	}
	if _, once := providertest.Commands[r.on]; once {
		r.expectOnce()
	}
	if all := r.sim.Calls(); r.cell.ending == refused && len(all) > 0 {
		r.t.Errorf("called for a configuration that is refused: %v", all.APIs())
	}
}

// expectOnce fails the test if an operation may have been done twice. A request that the platform
// received and did not refuse must not be sent again.
func (r *faultRun) expectOnce() {
	at := *r.face.Target(onOperate)
	at.Op = new(providertest.Commands[r.on].Op)
	taken := slices.DeleteFunc(at.Calls(r.sim.Calls()), func(c simulator.Call) bool { return c.Status == 429 || c.Code == busyCode })
	if len(taken) > 1 {
		r.t.Errorf("the operation was sent %d times", len(taken))
	}
}

// expectState checks the state after the run: the hosts of the resource, none if it is not in state, and
// the reasons of failed hosts.
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
	case r.cell.ending == taints && (r.face != providertest.FaceGateway || r.on != onCreate || len(acted) > 0 && !undone):
		return providertest.PlanReplace
	case r.cell.ending == taints:
		return providertest.PlanCreate // agents report that nothing is hosted, and there hosting is registering
	case r.cell.ending == drifts:
		return providertest.PlanUpdate
	case r.cell.ending == well, r.on.Refreshes(), r.on.Destroys() && r.cell.ending == warns:
		return providertest.PlanNothing
	case r.on.Destroys() && !undone && r.face == providertest.FaceGateway:
		return providertest.PlanNothing // agents report that nothing is left
	case r.on.Destroys():
		return providertest.PlanDestroy
	case r.filed() && !undone && (r.on.Updates() || r.cell.ending == warns):
		return providertest.PlanNothing // the cached status by now proves that it was done
	case r.on.Updates(), r.cell.ending == warns:
		return providertest.PlanUpdate
	}
	return providertest.PlanCreate
}

// filed reports whether the platform can show what the operation did. It has a cached status, except for
// JOB, where only the agents know what runs.
func (r *faultRun) filed() bool {
	return r.on == onRun || r.face != providertest.FaceJOB && slices.Contains([]operation{onCreate, onAskFirst, onConfirm, onHost, onUpdate, onKeepRun}, r.on)
}

// nextTouched are the hosts that the next apply has to change. If the provider looks first, it finds those on which the
// platform did act. It looks in the cached status, or asks the agents if an operation may have worked.
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

// acted returns the hosts on which the platform has done the operation, whatever it answered.
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

// expectConverged wants the platform as declared. A restart and a reload leave nothing
// behind but that they ran, before or now.
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

// same tells nothing from an empty list, since state that is not there has no list.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
