package hostedprocess_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// hostedBy returns a hosted process, not created yet, that is reached through a face.
func hostedBy(t *testing.T, sim *providertest.Sim, by providertest.Face) *providertest.Core {
	t.Helper()
	return providertest.ConfiguredWith(t, sim.SettingsFor(by)).CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{})
}

func with(config map[string]any, name string, value any) map[string]any {
	config = maps.Clone(config)
	config[name] = value
	return config
}

func safety(more map[string]any) map[string]any { return map[string]any{"safety": more} }

// A plan that exceeds a limit of safety fails, and names the hosts and the limit to raise. If that is raised in the
// same change, the plan succeeds, but a destroy or replacement goes by what was applied last. A protected resource is
// neither destroyed nor replaced.
//
// Promised in reference: A plan that goes further fails, names the hosts, and says which number to raise.
// Promised in reference: No limits by default.
// Promised in safe-rollouts.md: With `-replace` no CLI prints that warning, but the limits hold.
func TestSafety(t *testing.T) {
	t.Parallel()
	removed := func(most string) map[string]any { return safety(map[string]any{"max_removed_hosts": most}) }
	one, all := safety(map[string]any{"max_removed_hosts": "1", "max_changed_hosts": "25%"}), safety(map[string]any{"max_removed_hosts": "2", "max_changed_hosts": "100%"})
	protected := safety(map[string]any{"deletion_protection": true})
	respelt := attribute("hosts", map[string]string{"web-1": "0:10.0.0.2", "other": "0:0:10.0.0.3", "web-3": "0:10.0.0.4", "web-4": "0:10.0.0.5"})
	const keyGone = "Where its key is gone from for_each, undo that first. Or, if a new key has its hosts, add a `moved` block to that key, "
	const isProtected, two = "is protected by safety.deletion_protection", `safety.max_removed_hosts = "1" allows 1: web-3, web-4.`
	const raiseAndUntaint = `allows 2: web-1…web-4. If that is what you want, set safety.max_removed_hosts to 4 or more and apply that first: a destroy has no ` +
		"configuration, so what was applied last counts. Where Terraform has tainted the resource, `terraform untaint` comes before. " + keyGone + "and raise the number in the same change. If it is the deposed object"
	for _, by := range providertest.Through(t, "", each) {
		other := otherProcess
		if by == job {
			process, _ := by.Reference("./start.sh", 0)["process"].(map[string]any)
			other = attribute("process", with(process, "setup_path", "/srv/other"))
		}
		for name, c := range map[string]struct {
			before, after      map[string]any // of four hosts; if after is nil, destroyed
			tainted, requested bool           // requested by -replace
			lost               bool           // the private state is lost
			said               string         // "" if it succeeds
		}{
			"one-leaves":      {before: one, after: fleetOf(by, 3, one)},
			"two-leave":       {before: one, after: fleetOf(by, 2, one), said: `this change unregisters 2 of 4 hosts, and ` + two + ` If that is what you want, set safety.max_removed_hosts to 2 or more in the same change.`},
			"two-may-leave":   {before: one, after: fleetOf(by, 2, all)},
			"no-limits":       {before: one, after: restartedBy(by, 1, nil)},
			"none-counts":     {before: one, after: fleetOf(by, 3, removed("0")), said: `safety.max_removed_hosts = "0" allows 0: web-4.`},
			"respelt":         {before: one, after: fleetOf(by, 4, respelt, removed("0"))},
			"changed":         {before: one, after: restartedBy(by, 4, one), said: `this change registers something else on 4 of 4 hosts, and safety.max_changed_hosts = "25%" allows 1: web-1…web-4. If that is what you want, set safety.max_changed_hosts to 4 or more in the same change.`},
			"changed-lost":    {before: one, after: restartedBy(by, 4, one), lost: true, said: `this change registers something else on 4 of 4 hosts, and safety.max_changed_hosts = "25%" allows 1: web-1…web-4.`},
			"unchanged-lost":  {before: one, after: fleetOf(by, 4, one), lost: true},
			"changed-as-much": {before: one, after: restartedBy(by, 4, all)},
			"changed-added":   {before: one, after: fleetOf(by, 6, one)},

			"destroy":                    {},
			"protected-destroy":          {before: protected, said: isProtected + ", and this would unregister 4 hosts: web-1…web-4."},
			"limited-destroy":            {before: removed("50%"), said: `unregisters 4 of 4 hosts, and safety.max_removed_hosts = "50%" allows 2: web-1…web-4. If that is what you want, set safety.max_removed_hosts to 4 or more and apply that first`},
			"limited-destroy-key-gone":   {before: removed("50%"), said: keyGone + "and raise the number in the same change."},
			"protected-destroy-key-gone": {before: protected, said: keyGone + "with safety.max_removed_hosts raised in the same change if hosts leave: then it is not destroyed."},
			"replaced":                   {after: fleetOf(by, 4, other)},
			"protected-replaced":         {before: protected, after: fleetOf(by, 4, protected, other), said: isProtected},
			"protection-taken-with-it":   {before: protected, after: fleetOf(by, 4, other), said: isProtected},
			"protection-comes-with-it":   {after: fleetOf(by, 4, protected, other), said: isProtected},
			"protection-comes-requested": {after: fleetOf(by, 4, protected), requested: true, said: isProtected},
			"limited-replaced":           {before: removed("50%"), after: fleetOf(by, 4, removed("50%"), other), said: `safety.max_removed_hosts = "50%" allows 2: web-1…web-4. If that is what you want, set safety.max_removed_hosts to 4 or more and apply that first`},
			"limit-raised-with-it":       {before: removed("50%"), after: fleetOf(by, 4, removed("4"), other), said: `safety.max_removed_hosts = "50%" allows 2: web-1…web-4.`},
			"limit-comes-with-it":        {after: fleetOf(by, 4, removed("50%"), other), said: `safety.max_removed_hosts = "50%" allows 2: web-1…web-4.`},
			"protected-tainted-replaced": {before: protected, after: fleetOf(by, 4, protected), tainted: true, said: "If Terraform has tainted the resource, run `terraform untaint` first: then the next apply is an update."},
			"requested":                  {after: fleetOf(by, 4), requested: true},
			"protected-requested":        {before: protected, after: fleetOf(by, 4, protected), requested: true, said: isProtected},
			"limited-tainted-replaced":   {before: removed("50%"), after: fleetOf(by, 4, removed("50%")), tainted: true, said: raiseAndUntaint},
			"raised-tainted-replaced":    {before: removed("50%"), after: fleetOf(by, 4, removed("4")), tainted: true, said: raiseAndUntaint},
			"within-tainted-replaced":    {before: removed("4"), after: fleetOf(by, 4, removed("4")), tainted: true},
			"raised-requested":           {before: removed("50%"), after: fleetOf(by, 4, removed("4")), requested: true, said: `safety.max_removed_hosts = "50%" allows 2: web-1…web-4.`},
			"limited-requested":          {before: removed("50%"), after: fleetOf(by, 4, removed("50%")), requested: true, said: `safety.max_removed_hosts = "50%" allows 2: web-1…web-4.`},
		} {
			t.Run(string(by)+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				resource := hostedBy(t, sim, by)
				resource.Applied(fleetOf(by, 4, c.before))
				if c.lost {
					*resource.Kept = providertest.Kept{State: resource.State, Identity: resource.Identity}
				}
				resource.Tainted, resource.Replacing = c.tainted, c.requested
				sim.ResetCalls()
				kind, said := resource.Apply(c.after)
				if said.Failed() != (c.said != "") || !strings.Contains(said.String(), c.said) || strings.Count(said.String(), "ERROR") > 1 {
					t.Errorf("%s said:\n%s\nwant:\n%s", kind, said, c.said)
				}
				if calls := sim.Changes(); said.Failed() && len(calls) > 0 {
					t.Errorf("called %v", calls)
				}
				if said.Failed() && !c.tainted && kind == providertest.PlanReplace { // Terraform shows no plan of a tainted object
					t.Errorf("not the plan said so, but the apply")
				}
			})
		}
	}
}

// A tainted resource that never registered anything is not protected.
func TestSafety_neverRegistered(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]map[string]any{"protected": {"deletion_protection": true}, "limited": {"max_removed_hosts": "0"}} {
		for code, refused := range map[string]bool{"not_registered": false, "unconfirmed": true} {
			t.Run(name+"/"+code, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, esb)
				config, object := w.declares(2, safety(limit)), w.object()
				object.Applied(config)
				attributes := providertest.AttributesOf(t, object.State)
				text := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
				attributes["out_of_sync"] = tftypes.NewValue(attributes["out_of_sync"].Type(), map[string]tftypes.Value{"web-1": text(code + ": refused"), "web-2": text("not_registered: refused")})
				*object.Kept = providertest.Kept{State: tftypes.NewValue(object.State.Type(), attributes), Identity: object.Identity}
				object.Tainted = true
				if _, said := object.ApplyUnrefreshed(config); said.Failed() != refused {
					t.Errorf("said: %s", said)
				}
			})
		}
	}
}

// A plan has one warning if several hosts leave and there is no safety block, and one if the resource is replaced, which
// says what happens to the process.
//
// Promised in safe-rollouts.md: A plan that removes more than one host without `safety` warns, and so does one that replaces
// the resource (*Hosted Process Is Replaced*).
func TestSafety_warnings(t *testing.T) {
	t.Parallel()
	const by, limit, replaced = providertest.FaceESB, "Hosts Leave Without A Limit", "Hosted Process Is Replaced: web:nginx"
	stops, set := map[string]any{"on_destroy": "stop"}, safety(map[string]any{"max_changed_hosts": "1"})
	for name, c := range map[string]struct {
		before, after map[string]any
		summary, says string
	}{
		"two-leave":      {fleetOf(by, 4, nil), fleetOf(by, 2, stops), limit, "web:nginx: stop and unregister 2 hosts: web-3, web-4. No safety limits how many hosts may leave: with safety = { max_removed_hosts ="},
		"one-leaves":     {fleetOf(by, 2, nil), fleetOf(by, 1, nil), "", ""},
		"safety":         {fleetOf(by, 4, nil), fleetOf(by, 2, set), "", ""},
		"destroy":        {fleetOf(by, 2, stops), nil, limit + ": web:nginx", "web:nginx: stop and unregister 2 hosts: web-1, web-2. No safety limits how many hosts may leave: with safety = { deletion_protection ="},
		"destroy-one":    {fleetOf(by, 1, nil), nil, "", ""},
		"destroy-safety": {fleetOf(by, 2, set), nil, "", ""},
		"replaced":       {fleetOf(by, 2, nil), fleetOf(by, 2, otherProcess), replaced, "first unregister 2 hosts: web-1, web-2; then register 2 hosts: web-1, web-2. In between and after that, the old process goes on running"},
		"stopped":        {fleetOf(by, 2, stops), fleetOf(by, 3, otherProcess), replaced, `first stop and unregister 2 hosts: web-1, web-2; then register 3 hosts: web-1…web-3. In between and after that, the process does not run: with ensure = "hosted" nothing starts it. To leave it running, set on_destroy = "unregister" and apply that first.`},
		"not-known":      {fleetOf(by, 2, stops), fleetOf(by, 2, otherProcess, attribute("ensure", providertest.NotKnown{})), replaced, "In between, the process does not run. To leave it running"},
		"killed":         {fleetOf(by, 2, attribute("on_destroy", "kill")), fleetOf(by, 2, otherProcess), replaced, "first kill and unregister 2 hosts: web-1, web-2; then register 2 hosts: web-1, web-2. In between and after that, the process does not run"},
		"restarted":      {fleetOf(by, 2, stops), fleetOf(by, 2, otherProcess, attribute("ensure", "running")), replaced, "In between, the process does not run; then it is started. To leave"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource := hostedBy(t, providertest.NewSim(t), by)
			resource.Applied(c.before)
			_, said := resource.Plan(c.after)
			if said.Failed() || strings.Count(said.String(), "WARNING: ") != min(len(c.summary), 1) || !strings.Contains(said.String(), c.summary) || !strings.Contains(said.String(), c.says) {
				t.Errorf("said: %s", said)
			}
		})
	}
}

// Terraform reads the configuration file for each warning that it prints, but prints only one of those with the same
// summary. So only three destroys get their own summary.
//
// Promised in measurements.md: Because of the last row, only three destroys without `safety` get warnings of their own.
func TestSafety_manyDestroys(t *testing.T) {
	t.Parallel()
	resource := hostedBy(t, providertest.NewSim(t), providertest.FaceESB)
	resource.Applied(fleetOf(providertest.FaceESB, 2, nil))
	named := 0
	for range 15 {
		if _, said := resource.Plan(nil); strings.Contains(said.String(), "Hosts Leave Without A Limit: web:nginx") {
			named++
		} else if !strings.Contains(said.String(), "web:nginx: unregister 2 hosts") {
			t.Errorf("said: %s", said)
		}
	}
	providertest.Same(t, "destroys named in the summary", 3, named)
}

// Once an apply has removed the protection, the resource can be destroyed.
func TestSafety_unprotected(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	protects := func(on bool) map[string]any { return w.declares(2, safety(map[string]any{"deletion_protection": on})) }
	w.play(w.object(),
		step{name: "protected", config: protects(true), kind: providertest.PlanCreate, anyCalls: true},
		step{name: "unprotected", config: protects(false)},
		step{name: "destroyed", anyCalls: true},
	)
}

// With create_before_destroy, the old object of a tainted resource is destroyed where the new one has registered its hosts:
// that unregisters nothing, and nothing could be applied to raise its limits.
//
// Promised in shared-hosts.md: the destroy of the old one leaves them alone, without a warning and whatever its `safety` says.
func TestSafety_createBeforeDestroy(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]map[string]any{"protected": {"deletion_protection": true}, "limited": {"max_removed_hosts": "0"}} {
		for failing, says := range map[int]string{0: "", 3: "web-3 … If it is the deposed object that create_before_destroy left, remove the resource with terraform state rm, and create it again"} {
			t.Run(fmt.Sprint(name, "/", failing), func(t *testing.T) {
				t.Parallel()
				through(t, each, func(w *world) {
					config, old, anew := w.declares(3, safety(limit), attribute("on_destroy", "stop"), attribute("ensure", "running")), w.object(), w.object()
					old.Applied(config)
					for _, api := range []string{"register_proc_info", "update_proc_info"} {
						w.on(api, simulator.Fault{Code: new(simulator.CodeCommandFailed)}, failing)
					}
					_, said := anew.Apply(config)
					providertest.Check(w, !said.Failed(), "%s", said)
					w.sim.ResetCalls()
					old.Protocol, old.Tainted = anew.Protocol, true // in the same run
					said = old.DestroyUnrefreshed()
					providertest.Check(w, said.Failed() == (says != "") && tells(said, says) && len(w.sim.Changes()) == 0, "called %v; said: %s", w.sim.Changes(), said)
					providertest.Check(w, says != "" || len(said) == 0 && len(old.Notices) == 0, "said: %s %s", said, old.Notices)
					providertest.SaysNot(w, said.String(), "web-1", "web-2")
				})
			})
		}
	}
}

// A create that failed says that safety may refuse to replace what it has tainted, and how to go on.
//
// Promised in safe-rollouts.md: If it fails on every host that it reached, fix the cause, run `terraform untaint`, and apply again.
func TestSafety_createFailed(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]map[string]any{"protected": {"deletion_protection": true}, "limited": {"max_removed_hosts": "0"}} {
		for hosts, says := range map[int]string{
			2: "Unable to Create Hosted Process … if its safety allows that. After `terraform untaint` of this resource it retries these hosts as they are.",
			1: "Created In Part … if its safety allows that. `terraform untaint` of this resource makes the next apply retry these hosts alone.",
		} {
			t.Run(fmt.Sprint(name, "/", hosts), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, esb)
				config, object := w.declares(2, safety(limit), map[string]any{"ensure": "running", "on_partial_create": "error"}), w.object()
				w.onOp(simulator.OpStart, simulator.Fault{Code: new(simulator.CodeCommandFailed)}, []int{1, 2}[:hosts]...)
				_, said := object.Apply(config)
				providertest.Check(t, said.Failed() && tells(said, says), "want %s; said: %s", says, said)
				w.repair()
				_, said = object.Apply(config)
				providertest.Check(t, said.Failed() && object.Tainted, "the replacement is not refused: %s", said)
				object.Untaint()
				w.play(object, step{name: "untainted", config: config, anyCalls: true})
			})
		}
	}
}

// A host that was never registered does not count as removed.
func TestSafety_neverRegisteredLeaves(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		limit := func(n int) map[string]any { return w.declares(n, safety(map[string]any{"max_removed_hosts": "0"})) }
		w.on("register_proc_info", away, 2)
		resource := w.object()
		resource.Apply(limit(3))
		providertest.Same(w, "out_of_sync", codesOf("not_registered", 2), codes(resource))
		w.repair()
		two := limit(0)
		two["hosts"] = addresses(1, 3)
		w.play(resource, step{name: "leaves", config: two})
		_, said := resource.Plan(limit(1))
		providertest.Fails(w, said, "this change unregisters 1 of 2 hosts")
	})
}

// A machine whose address is replaced by its agent id does not count as removed, which the platform confirms. It is
// unregistered by its old name and registered by the new one, and nothing else is changed on any machine.
func TestSafety_renamed(t *testing.T) {
	t.Parallel()
	more := map[string]any{"safety": map[string]any{"max_removed_hosts": "0"}, "ensure": "running", "on_destroy": "stop"}
	for name, c := range map[string]struct {
		machine string // of the agent id
		calls   []string
		fails   bool
	}{
		"same":    {providertest.Address(1), []string{"operate_proc_multi/3 " + agents["web-1"], "operate_proc_multi/4 " + providertest.Address(1)}, false},
		"another": {"0:10.0.0.99", []string{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gateway)
			w.sim.AddAgent(agents["web-1"], c.machine)
			resource := w.object()
			resource.Applied(w.declares(2, more))
			before := pids(w.sim, 2)
			w.sim.ResetCalls()
			_, said := resource.Apply(w.declares(0, more, attribute("hosts", map[string]string{"web-1": agents["web-1"], "web-2": providertest.Address(2)})))
			diff := cmp.Diff(c.calls, w.sim.Changes())
			providertest.Check(t, diff == "" && said.Failed() == c.fails, "calls (-want +got):\n%s\nsaid %s", diff, said)
			after := pids(w.sim, 2)
			providertest.Check(t, slices.Equal(before, after), "processes %v became %v", before, after)
			for n := 1; n <= 2; n++ {
				p := w.sim.Machine(providertest.Address(n)).Process("web", "nginx")
				providertest.Check(t, p.Hosted && p.Running, "web-%d has %+v", n, p)
			}
		})
	}
}

// Limits that a plan could not check are checked by the apply before any call.
func TestSafety_knownLater(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		config := func(n int) map[string]any { return w.declares(n, safety(map[string]any{"max_removed_hosts": "1"})) }
		unknown := w.declares(3, safety(map[string]any{"max_removed_hosts": "1"}), attribute("hosts", providertest.NotKnown{}))
		resource := w.object()
		resource.Applied(config(3))
		w.sim.ResetCalls()
		if _, said := resource.ApplyResolved(unknown, config(1)); !said.Failed() || !strings.Contains(words(said.String()), `safety.max_removed_hosts = "1" allows 1: web-2, web-3.`) {
			t.Errorf("said: %s", said)
		}
		w.sim.Changed(t)
		if _, said := resource.ApplyResolved(unknown, config(2)); len(said) > 0 {
			t.Error(said)
		}
	})
}

// Limits in state hold for a replacement, which may unregister before those that are declared are known.
func TestSafety_unknownReplaced(t *testing.T) {
	t.Parallel()
	const refused = `safety.max_removed_hosts = "1" allows 1: web-1, web-2. If that is what you want, set safety.max_removed_hosts to 2 or more and apply that first`
	limited := func(most any) map[string]any { return safety(map[string]any{"max_removed_hosts": most}) }
	for name, c := range map[string]struct {
		before, unknown, after map[string]any
		refused                bool
	}{
		"limit":          {limited("1"), limited(providertest.NotKnown{}), limited("1"), true},
		"raised":         {limited("1"), limited(providertest.NotKnown{}), limited("2"), true},
		"all-of-it":      {limited("1"), attribute("safety", providertest.NotKnown{}), limited("1"), true},
		"within":         {limited("2"), limited(providertest.NotKnown{}), limited("2"), false},
		"without-limits": {nil, limited(providertest.NotKnown{}), limited("1"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, esb)
			resource := w.object()
			resource.Applied(w.declares(2, c.before))
			w.sim.ResetCalls()
			_, said := resource.ApplyResolved(w.declares(2, otherProcess, c.unknown), w.declares(2, otherProcess, c.after))
			if said.Failed() != c.refused || c.refused && (!tells(said, refused) || len(w.sim.Changes()) > 0) {
				t.Errorf("called %v; said: %s", w.sim.Changes(), said)
			}
		})
	}
}

func TestSafety_mistakes(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource := hostedBy(t, sim, providertest.FaceESB)
	for value, want := range map[string]string{"-1": "is neither a number", "101%": "is more than all hosts", "few": "is neither a number", "": "is neither a number", "100%": "", "0": ""} {
		for _, name := range []string{"max_removed_hosts", "max_changed_hosts"} {
			said := resource.Validate(fleetOf(providertest.FaceESB, 1, safety(map[string]any{name: value}))).String()
			if !strings.Contains(said, want) || (want == "") != (said == "") || (want != "" && !strings.Contains(said, "Attribute safety."+name)) {
				t.Errorf("%s = %q: %s", name, value, said)
			}
		}
	}
}

// rollout_plan says what a change does to which hosts and in which waves, or that it calls no host.
func TestHostedProcess_rolloutPlan(t *testing.T) {
	t.Parallel()
	const by = providertest.FaceESB
	waves := attribute("rollout", map[string]any{"waves": []any{"1", "*2"}, "canary": []any{"web-3"}})
	one := attribute("rollout", map[string]any{"waves": []any{"100%"}})
	away := attribute("max_unreachable_hosts", "1")
	for name, c := range map[string]struct {
		before, after map[string]any
		want          string
	}{
		"no-rollout":       {nil, fleetOf(by, 4, nil), "register 4 hosts: web-1…web-4"},
		"created":          {nil, fleetOf(by, 4, one), "register 4 hosts: web-1…web-4"},
		"created-in-waves": {nil, fleetOf(by, 4, waves), "register 4 hosts: web-1…web-4\nin 3 waves of 1, 1, 2, first the canary web-3"},
		"nothing":          {fleetOf(by, 4, one), fleetOf(by, 4, one), "register 4 hosts: web-1…web-4"},
		"calls-nothing":    {fleetOf(by, 4, one), fleetOf(by, 4, waves), "calls no host"},
		"rollout-dropped":  {fleetOf(by, 4, one), restartedBy(by, 4, nil), "register anew 4 hosts: web-1…web-4"},
		"changed":          {fleetOf(by, 4, nil), restartedBy(by, 4, waves), "register anew 4 hosts: web-1…web-4\nin 3 waves of 1, 1, 2, first the canary web-3"},
		"added":            {fleetOf(by, 2, nil), fleetOf(by, 4, waves), "register 2 hosts: web-3, web-4\nin 2 waves of 1, first the canary web-3"},
		"removed":          {fleetOf(by, 4, nil), fleetOf(by, 1, one), "unregister 3 hosts: web-2…web-4"},
		"all-of-it": {
			fleetOf(by, 2, nil), restartedBy(by, 0, one, attribute("hosts", addresses(1, 9))),
			"register 1 host: web-9\nregister anew 1 host: web-1\nthen unregister 1 host: web-2",
		},
		"restarted": {
			fleetOf(by, 4, nil), restartedBy(by, 4, waves, attribute("on_update", "restart")),
			"register anew 4 hosts, restart what runs on 4 hosts: web-1…web-4\nin 3 waves of 1, 1, 2, first the canary web-3",
		},
		"reloaded": {fleetOf(by, 2, nil), restartedBy(by, 2, one, attribute("on_update", "reload")), "register anew 2 hosts, reload what runs on 2 hosts: web-1, web-2"},
		"restarted-and-joined": {
			fleetOf(by, 2, nil), restartedBy(by, 3, one, attribute("on_update", "restart")),
			"register 1 host: web-3\nregister anew 2 hosts, restart what runs on 2 hosts: web-1, web-2",
		},
		"labelled":       {fleetOf(by, 2, nil), fleetOf(by, 2, one, attribute("on_update", "restart"), labelled(map[string]any{"team": "sre"})), "register anew 2 hosts: web-1, web-2"},
		"raised":         {fleetOf(by, 2, nil), fleetOf(by, 2, one, attribute("ensure", "running")), "host what is not hosted on 2 hosts, start what does not run on 2 hosts: web-1, web-2"},
		"hosted":         {fleetOf(by, 2, map[string]any{"ensure": "registered"}), fleetOf(by, 2, one, attribute("ensure", "hosted")), "host what is not hosted on 2 hosts: web-1, web-2"},
		"lowered":        {fleetOf(by, 2, one, attribute("ensure", "running")), fleetOf(by, 2, one, attribute("ensure", "hosted")), "calls no host"},
		"created-to-run": {nil, fleetOf(by, 2, one, attribute("ensure", "running")), "register 2 hosts, start what does not run on 2 hosts: web-1, web-2"},
		"changed-to-run": {fleetOf(by, 2, one, attribute("ensure", "running")), restartedBy(by, 2, one, attribute("ensure", "running")), "register anew 2 hosts, start what does not run on 2 hosts: web-1, web-2"},
		"key-renamed": {
			fleetOf(by, 2, away), fleetOf(by, 2, away, map[string]any{"hosts": map[string]string{"web-1": providertest.Address(1), "b": providertest.Address(2)}}), "calls no host",
		},
		"long":               {nil, fleetOf(by, 1, map[string]any{"hosts": map[string]string{strings.Repeat("a", 90): providertest.Address(1)}}), "register 1 host:\n" + strings.Repeat("a", 90)},
		"adopted":            {nil, fleetOf(by, 2, map[string]any{"adopt_existing": true}), "register or take over 2 hosts, host what is not hosted on 2 hosts: web-1, web-2"},
		"removed-one-by-one": {fleetOf(by, 4, nil), fleetOf(by, 2, map[string]any{"on_destroy": "stop", "rollout": map[string]any{"batch_size": 1}}), "stop and unregister 2 hosts: web-3, web-4\nin 2 waves of 1"},
		"killed":             {fleetOf(by, 3, one, attribute("on_destroy", "kill")), fleetOf(by, 1, one, attribute("on_destroy", "kill")), "kill and unregister 2 hosts: web-2, web-3"},
		"stopped-now":        {fleetOf(by, 2, one, attribute("on_destroy", "kill")), fleetOf(by, 1, one, attribute("on_destroy", "stop")), "stop and unregister 1 host: web-2"},
		"forgotten":          {fleetOf(by, 2, one), fleetOf(by, 1, one, map[string]any{"on_destroy": "stop", "forget_unreachable": true}), "stop and unregister or forget 1 host: web-2"},
		"no-longer-killed":   {fleetOf(by, 2, one, attribute("on_destroy", "kill")), fleetOf(by, 1, one), "unregister 1 host: web-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := hostedBy(t, sim, by)
			if c.before != nil {
				resource.Applied(c.before)
			}
			plan, said := resource.PlanUnrefreshed(c.after)
			got := providertest.Plain(t, plan.Planned(t)["rollout_plan"])
			providertest.Check(t, got == c.want && !said.Failed(), "planned %q, want %q\n%s", got, c.want, said)
			calls := plan.Action != providertest.PlanNothing && got != "calls no host"
			if known := plan.Planned(t)["unreachable"].IsFullyKnown(); c.before != nil && known == calls {
				t.Errorf("unreachable is known: %t", known)
			}
		})
	}
}

// A plan can be applied with another BK_MAX_UNREACHABLE_HOSTS than it was made with, because each run reads it anew.
func TestMaxUnreachable_otherThanPlanned(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		object := w.objectOfCLI()
		object.Applied(w.declares(2))
		for name, c := range map[string]struct {
			planned, applied string
			config           map[string]any
		}{
			"more": {"0", "1", w.declares(3)}, "fewer": {"1", "0", w.declares(3)}, "changed": {"0", "100%", w.changed(2)}, "removed": {"0", "1", w.declares(1)},
		} {
			w.settings["max_unreachable_hosts"] = c.planned
			object.Protocol = w.open()
			object.Between = func() { w.settings["max_unreachable_hosts"] = c.applied }
			if _, said := object.Apply(c.config); said.Failed() {
				w.Errorf("%s said: %s", name, said)
			}
			object.Between = nil
			object.Applied(w.declares(2))
		}
	})
}

// rollout_plan says what an update does to hosts out of sync: it registers, hosts and starts what is missing, names
// no host with nothing missing, and unregisters only what is this resource's.
func TestHostedProcess_rolloutPlanOutOfSync(t *testing.T) {
	t.Parallel()
	const by, namespace, nginx = providertest.FaceESB, "web", "nginx"
	one, two := providertest.Address(1), providertest.Address(2)
	for name, c := range map[string]struct {
		before, after string // ensure
		hosts         int
		gone          string // unregistered by another tool, which stopped web-2 too
		refused       []int  // hosts on which the create was refused
		want          string
		calls         []string
	}{
		"hosted":     {"hosted", "hosted", 3, one, nil, "register 1 host: web-1\nhost what is not hosted on 1 host: web-2\nin 2 waves of 1", []string{"operate_proc_v2/3 " + one, "operate_proc_v2/3 " + two, "register_proc_info " + one}},
		"running":    {"running", "running", 3, one, nil, "register 1 host: web-1\nhost what is not hosted on 1 host: web-2\nstart what does not run on 2 hosts: web-1, web-2\nin 2 waves of 1", []string{"operate_proc_v2/0 " + two, "operate_proc_v2/3 " + one, "register_proc_info " + one}},
		"left-alone": {"hosted", "registered", 3, one, nil, "register 1 host: web-1\nin 2 waves of 1", []string{"register_proc_info " + one}},
		"all-left":   {"hosted", "registered", 3, "", nil, "calls no host", []string{}},
		"never-ours": {"hosted", "registered", 1, "", []int{3}, "kill and unregister 1 host: web-2\nunregister what is this resource's on 1 host: web-3\nin 2 waves of 1", []string{"operate_proc_v2/9 " + two, "unregister_proc_info " + two}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := hostedBy(t, sim, by)
			more := map[string]any{"rollout": map[string]any{"batch_size": 1, "max_failed_hosts": "100%"}, "on_destroy": "kill"}
			if len(c.refused) > 0 {
				sim.FailHosts("register_proc_info", c.refused, 1, "no")
			}
			resource.Apply(fleetOf(by, 3, with(more, "ensure", c.before)))
			sim.Repair()
			if c.gone != "" {
				_ = sim.Unregister(c.gone, namespace, nginx)
			}
			_ = sim.StopProcess(two, namespace, nginx)
			sim.ResetCalls()
			resource.Apply(fleetOf(by, c.hosts, with(more, "ensure", c.after)))
			providertest.Same(t, "planned", c.want, resource.Attribute("rollout_plan"))
			providertest.Same(t, "calls", c.calls, sim.Changes())
		})
	}
}

// If a change or a repeated apply does the same as the one before, rollout_plan begins with "again", because a plan does
// not show a value that stays the same.
func TestHostedProcess_rolloutPlanAgain(t *testing.T) {
	t.Parallel()
	const by = providertest.FaceESB
	sim := providertest.NewSim(t)
	resource := hostedBy(t, sim, by)
	const changed = "register anew 2 hosts: web-1, web-2"
	for i, want := range []string{"register 2 hosts: web-1, web-2", changed, "again: " + changed, "again (2): " + changed} {
		config := restartedBy(by, 2, nil)
		if i%2 == 0 {
			config = fleetOf(by, 2, nil)
		}
		resource.Applied(config)
		providertest.Same(t, fmt.Sprintf("step %d: planned", i), want, resource.Attribute("rollout_plan"))
	}
	for i, want := range []string{"calls no host", "again: calls no host"} {
		resource.Applied(restartedBy(by, 2, map[string]any{"max_unreachable_hosts": strconv.Itoa(2 - i)}))
		providertest.Same(t, fmt.Sprintf("settings %d: planned", i), want, resource.Attribute("rollout_plan"))
	}
	sim.FailHosts("register_proc_info", []int{3}, 1, "no")
	for i, want := range []string{"", "again: ", "again (2): "} {
		_, said := resource.Apply(restartedBy(by, 3, nil))
		got := resource.Attribute("rollout_plan")
		providertest.Check(t, said.Failed() && got == want+"register 1 host: web-3", "failed %d times: %q\n%s", i+1, got, said)
	}
}
