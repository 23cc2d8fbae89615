package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Every attribute of every resource is unknown in a plan, and then equal or different. State and other attributes are drawn at
// random. Two plans are compared as Terraform compares them. Each round draws again, and the long job runs many.
func TestUnknown(t *testing.T) {
	t.Parallel()
	for _, o := range unknownObjects {
		t.Run(o.typ, func(t *testing.T) {
			t.Parallel()
			seen := make(map[string]bool)
			var all []*unknowns
			for _, base := range o.configs {
				u := newUnknowns(t, o, base)
				u.places = slices.DeleteFunc(u.places, func(p place) bool { return seen[p.kind()] })
				for _, p := range u.places {
					seen[p.kind()], seen[p.name] = true, true
				}
				all = append(all, u)
			}
			for _, p := range placesOf(all[0].schema(), nil, "", nil, true) {
				if takesNone := o.face == providertest.FaceJOB && p.name == ".rollout.healthy.output"; !seen[p.name] && !takesNone { // JOB has no command for that
					t.Errorf("no configuration of this test has %s, or no other value of it", p.name)
				}
			}
			providertest.InRounds(t, 1, func(t *testing.T, chance *rand.Rand) {
				t.Helper()
				for _, u := range all {
					u.round(t, chance)
				}
			})
		})
	}
}

// unknownObject is a resource with configurations that together set all its attributes.
type unknownObject struct {
	typ     string
	face    providertest.Face
	configs []map[string]any
}

type object = map[string]any

var (
	unknownRollout = object{
		"waves": []any{"1"}, "canary": []any{"web-2"}, "pause": "1s", "wave_timeout": "1m", "max_failed_hosts": "50%",
		"healthy": object{"stable_for": "1s", "within": "1m"}, "on_failure": "stop",
	}
	unknownTimeouts = object{"create": "1m", "update": "1m", "delete": "1m"}
	unknownLife     = object{
		"ensure": "running", "adopt_existing": true, "on_partial_create": "error", "on_destroy": "stop", "forget_unreachable": true, "on_update": "restart",
		"rollout": unknownRollout, "safety": object{"max_removed_hosts": "100%", "max_changed_hosts": "100%", "deletion_protection": false},
		"timeouts": merged(unknownTimeouts, object{"read": "1m"}),
	}
	unknownRun = object{
		"operation": "restart", "triggers": object{"a": "1"}, "run_on_create": true, "on_partial_create": "error", "on_destroy": "stop",
		"rollout": unknownRollout, "timeouts": unknownTimeouts,
	}
	unknownGSE = object{
		"meta": object{"namespace": "web", "name": "nginx", "labels": object{"team": "a"}}, "hosts": object{"web-1": "0:10.0.0.2", "web-2": "0:10.0.0.3"},
		"spec": object{
			"identity":           object{"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "user": "root", "config_path": "/etc/web", "log_path": "/var/log/web", "index_key": "a"},
			"control":            object{"start_cmd": "a", "stop_cmd": "a", "restart_cmd": "a", "reload_cmd": "a", "kill_cmd": "a", "version_cmd": "a", "health_cmd": "a"},
			"resource":           object{"cpu": 30, "mem": 10, "fd": 1, "disk": 1, "net": 1},
			"monitor_policy":     object{"auto_type": 1, "start_check_secs": 1, "stop_check_secs": 1, "start_retries": 1, "start_interval": 1, "crontab_rule": "a", "op_timeout": 20},
			"warn_report_policy": object{"report_id": 1}, "configmap": []any{object{"path": "/etc/web/a", "md5": "0123456789abcdef0123456789abcdef"}},
		},
	}
	unknownJOB = object{
		"scope": object{"type": "biz", "id": "2"}, "hosts": unknownGSE["hosts"], "process": object{
			"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "value_key": "a", "proc_owner": "a", "contact": "a", "account": "a", "cfg_path": "/a", "log_path": "/a",
			"start_cmd": "a", "stop_cmd": "a", "restart_cmd": "a", "reload_cmd": "a", "kill_cmd": "a", "func_id": "a", "instance_id": "a", "type": 1, "cycle_time": 1, "cpu_lmt": 30, "mem_lmt": 10,
			"instance_num": 1, "op_timeout": 20, "start_check_begin_time": 1, "start_check_end_time": 1,
		},
	}
	unknownBusiness = merged(providertest.FaceJOB.Reference("a", 2), object{"scope": nil, "bk_biz_id": 2})
	unknownBatch    = object{"rollout": object{"batch_size": 1}}
)

var unknownObjects = []unknownObject{
	{"bk_hosted_process", providertest.FaceESB, []object{
		merged(unknownGSE, unknownLife), merged(providertest.FaceESB.Reference("a", 2), unknownBatch), providertest.FaceESB.Reference("a", 2),
	}},
	{"bk_job_hosted_process", providertest.FaceJOB, []object{
		merged(unknownJOB, unknownLife, object{"registration_api": "operate_process"}), merged(unknownBusiness, unknownBatch),
	}},
	{"bk_process_operation", providertest.FaceESB, []object{
		merged(unknownGSE, unknownRun), merged(providertest.FaceESB.Reference("a", 2), unknownBatch, object{"operation": "restart"}),
		{"operation": "restart", "process": jsonOf(unknownGSE)},
		{"operation": "restart", "processes": object{"a": merged(unknownGSE, object{"priority": 1})}},
		{"operation": "restart", "processes": object{"a": object{"process": jsonOf(unknownGSE), "priority": 1}}},
		merged(unknownGSE, object{"operation": "stop"}), // also of a one-shot process
		{"operation": "stop", "processes": object{"a": merged(unknownGSE, object{"priority": 1})}},
	}},
	{"bk_job_process_operation", providertest.FaceJOB, []object{
		merged(unknownJOB, unknownRun), merged(unknownBusiness, unknownBatch, object{"operation": "restart"}),
		{"operation": "restart", "declaration": jsonOf(unknownJOB)},
		{"operation": "restart", "processes": object{"a": merged(unknownJOB, object{"priority": 1})}},
		{"operation": "restart", "processes": object{"a": merged(unknownBusiness, object{"priority": 1})}},
		{"operation": "restart", "processes": object{"a": object{"declaration": jsonOf(unknownJOB), "priority": 1}}},
		merged(unknownJOB, object{"operation": "stop"}), // also of a one-shot process
		{"operation": "stop", "processes": object{"a": merged(unknownJOB, object{"priority": 1})}},
	}},
}

func merged(all ...object) object {
	whole := make(object)
	for _, one := range all {
		maps.Copy(whole, one)
	}
	return whole
}

func jsonOf(v any) string {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// place is the place of a value in a configuration. name is its path without keys, and other another valid value.
type place struct {
	at    []string
	name  string
	value any
	other any
}

// kind is the same for an attribute in each configuration that sets it, and in each that does not.
func (p place) kind() string { return fmt.Sprint(p.name, p.value == nil) }

func (p place) String() string { return strings.Join(p.at, ".") }

func (p place) within(other place) bool {
	return len(p.at) >= len(other.at) && slices.Equal(p.at[:len(other.at)], other.at)
}

// placesOf are the places of attributes, and of the values inside them in a configuration. If whole is
// true, they are all places, whatever the configuration contains.
func placesOf(attributes []*tfprotov6.SchemaAttribute, at []string, name string, config any, whole bool) []place {
	var places []place
	for _, attribute := range attributes {
		if attribute.Computed && !attribute.Optional {
			continue
		}
		p := place{at: append(slices.Clone(at), attribute.Name), name: name + "." + attribute.Name, value: get(config, []string{attribute.Name})}
		places = append(places, p)
		nested := attribute.NestedType
		switch keys := keysOf(p.value); {
		case p.value == nil && !whole:
		case nested != nil && nested.Nesting == tfprotov6.SchemaObjectNestingModeSingle:
			places = append(places, placesOf(nested.Attributes, p.at, p.name, p.value, whole)...)
		case len(keys) > 0:
			element := place{at: append(slices.Clone(p.at), keys[0]), name: p.name + "[]", value: get(p.value, keys[:1])}
			places = append(places, element)
			if nested != nil {
				places = append(places, placesOf(nested.Attributes, element.at, element.name, element.value, whole)...)
			}
		case nested != nil:
			places = append(places, placesOf(nested.Attributes, p.at, p.name+"[]", nil, true)...)
		}
	}
	return places
}

func keysOf(v any) []string {
	switch v := v.(type) {
	case object:
		return slices.Sorted(maps.Keys(v))
	case map[string]string:
		return slices.Sorted(maps.Keys(v))
	case []any:
		return []string{"0"}
	}
	return nil
}

func get(v any, at []string) any {
	for _, key := range at {
		switch in := v.(type) {
		case object:
			v = in[key]
		case map[string]string:
			v = in[key]
		case []any:
			n, _ := strconv.Atoi(key)
			v = in[n]
		default:
			return nil
		}
	}
	return v
}

func set(v any, at []string, value any) any {
	if len(at) == 0 {
		return value
	}
	switch in := v.(type) {
	case []any:
		list := slices.Clone(in)
		n, _ := strconv.Atoi(at[0])
		list[n] = set(in[n], at[1:], value)
		return list
	case map[string]string:
		copied := make(object)
		for key, element := range in {
			copied[key] = element
		}
		return set(copied, at, value)
	}
	copied := maps.Clone(v.(object)) //nolint:forcetypeassert // nothing else holds anything
	copied[at[0]] = set(copied[at[0]], at[1:], value)
	return copied
}

// unknownOthers has other values of attributes for which a longer text, a greater number or the opposite is not valid.
var unknownOthers = map[string]any{
	"ensure": "registered", "on_partial_create": "warn", "on_destroy": "unregister", "on_update": "reload", "registration_api": "manage_proc",
	"operation": "start", "waves": "2", "canary": "web-1", "pause": "2s", "wave_timeout": "2m", "max_failed_hosts": "10%", "stable_for": "2s", "within": "59s", "on_failure": nil,
	"output": "ok", "max_removed_hosts": "99%", "max_changed_hosts": "99%", "create": "2m", "read": "2m", "update": "2m", "delete": "2m",
	"hosts": "0:10.0.0.9", "md5": "fedcba9876543210fedcba9876543210", "auto_type": 2, "type": 2,
}

type unknowns struct {
	unknownObject

	base   object
	places []place
	// providers has the providers that plan and apply, by name. The settings of "" are unknown.
	providers map[string]*providertest.Protocol
	states    map[string]providertest.Kept

	mu    sync.Mutex // rounds run concurrently
	plans map[string]*providertest.Plan
}

func newUnknowns(t *testing.T, o unknownObject, base object) *unknowns {
	t.Helper()
	u := &unknowns{
		unknownObject: o, base: base, providers: make(map[string]*providertest.Protocol),
		states: map[string]providertest.Kept{"nothing": {}}, plans: make(map[string]*providertest.Plan),
	}
	sim := providertest.NewSim(t)
	for name, more := range map[string]object{
		"": {"default_labels": providertest.NotKnown{}}, "ready": nil, "labels": {"default_labels": object{"a": "b"}}, "label": {"spec_fingerprint_label": "other"}, "supplier": {"bk_supplier_id": 1},
	} {
		u.providers[name] = providertest.ConfiguredWith(t, merged(sim.SettingsFor(o.face), more))
	}
	u.states["applied"] = *u.applied(t, sim).Kept
	u.states["failed"] = *u.failed(t).Kept
	for _, p := range slices.Backward(placesOf(u.schema(), nil, "", u.base, false)) {
		p.other = u.otherOf(p)
		config := u.setting(u.base, p, p.other)
		if p.name == ".processes[]" {
			continue // the framework reads priority, which fails while the whole element is unknown
		}
		if jsonOf(config) != jsonOf(u.base) && !u.planner(t, "ready", "nothing").Validate(config).Failed() {
			u.places = append(u.places, p)
		}
	}
	return u
}

func (u *unknowns) schema() []*tfprotov6.SchemaAttribute {
	return u.providers["ready"].Schema.ResourceSchemas[u.typ].Block.Attributes
}

func (u *unknowns) setting(config object, p place, value any) object {
	changed, _ := set(config, p.at, value).(object)
	return changed
}

// otherOf returns another value for a place.
func (u *unknowns) otherOf(p place) any {
	for _, inner := range u.places { // inner places come first
		if len(inner.at) > len(p.at) && inner.within(p) {
			return set(p.value, inner.at[len(p.at):], inner.other)
		}
	}
	attribute := p.name[strings.LastIndex(p.name, ".")+1:]
	other, listed := unknownOthers[strings.TrimSuffix(attribute, "[]")]
	switch v := p.value.(type) {
	case string:
		if encoded := strings.ReplaceAll(v, `_cmd":"a"`, `_cmd":"b"`); encoded != v {
			return encoded
		}
		if !listed || attribute == "type" {
			return v + map[bool]string{true: "_set", false: "2"}[attribute == "type"]
		}
	case int:
		if !listed {
			return v + 1
		}
	case bool:
		return !v
	case nil:
		for _, config := range u.configs {
			if value := get(config, p.at); value != nil {
				return value
			}
		}
	}
	return other
}

func (u *unknowns) core(t *testing.T, sim *providertest.Sim) *providertest.Core {
	t.Helper()
	return providertest.ConfiguredBy(t, new(providertest.Clock), sim.SettingsFor(u.face)).CoreOf(u.typ, new(providertest.Kept))
}

func (u *unknowns) applied(t *testing.T, sim *providertest.Sim) *providertest.Core {
	t.Helper()
	core := u.core(t, sim)
	if _, said := core.Apply(u.base); said.Failed() {
		t.Fatal(said)
	}
	return core
}

func (u *unknowns) failed(t *testing.T) *providertest.Core {
	t.Helper()
	sim, on := providertest.NewSim(t), providertest.OnCreate
	if operation, runs := u.base["operation"].(string); runs {
		on = providertest.Operation(operation)
	}
	target := u.face.Target(on)
	sim.Inject(simulator.Fault{API: target.API, Op: target.Op, Hosts: []string{providertest.Address(2)}, Code: new(65535)})
	core := u.core(t, sim)
	core.Apply(u.base)
	core.Tainted = false
	if len(core.Reasons("out_of_sync"))+len(core.Reasons("failed_hosts")) == 0 {
		t.Fatal("nothing failed")
	}
	return core
}

func (u *unknowns) planner(t *testing.T, provider, state string) *providertest.Core {
	t.Helper()
	kept := u.states[state]
	return u.providers[provider].CoreOf(u.typ, &kept)
}

// plan plans a configuration, once. If the provider rejects it, that is an error of the user, and there is no plan.
func (u *unknowns) plan(t *testing.T, provider, state string, config object) *providertest.Plan {
	t.Helper()
	key := provider + " " + state + " " + jsonOf(config)
	u.mu.Lock()
	defer u.mu.Unlock()
	if known, is := u.plans[key]; is {
		return known
	}
	u.plans[key] = nil
	if plan, said := u.planner(t, provider, state).PlanUnrefreshed(config); !said.Failed() {
		u.plans[key] = &plan
	}
	return u.plans[key]
}

// round makes each place unknown once: alone, with another change, or with another unknown place.
func (u *unknowns) round(t *testing.T, chance *rand.Rand) {
	t.Helper()
	states := slices.Sorted(maps.Keys(u.states))
	for _, p := range u.places {
		state, q := states[chance.IntN(len(states))], u.places[chance.IntN(len(u.places))]
		switch draw := chance.IntN(4); {
		case draw < 2 || p.within(q) || q.within(p):
			u.turnsOut(t, state, u.base, p)
		case draw == 2:
			u.turnsOut(t, state, u.setting(u.base, q, q.other), p)
		default:
			u.turnsOut(t, state, u.base, p, q)
		}
		if chance.IntN(20) == 0 {
			u.applies(t, p)
		}
		if chance.IntN(10) == 0 {
			u.providerTurnsOut(t, state, u.setting(u.base, p, p.other))
		}
	}
	for state := range u.states {
		u.providerTurnsOut(t, state, u.base)
	}
}

// turnsOut plans a configuration with unknown places, and with each combination of their possible values.
func (u *unknowns) turnsOut(t *testing.T, state string, config object, places ...place) {
	t.Helper()
	unknown, finals := config, []object{config}
	for _, p := range places {
		unknown = u.setting(unknown, p, providertest.NotKnown{})
		for _, final := range finals {
			finals = append(finals, u.setting(final, p, p.other))
		}
	}
	planner := u.planner(t, "ready", state)
	said := planner.Validate(unknown)
	planned, also := planner.PlanUnrefreshed(unknown)
	if said.Failed() || also.Failed() {
		t.Errorf("%s, %v unknown: %s%s", state, places, said, also)
		return
	}
	for _, final := range finals {
		u.compare(t, state, planned, "ready", final, fmt.Sprintf("%v unknown in %s", places, jsonOf(config)))
	}
}

func (u *unknowns) providerTurnsOut(t *testing.T, state string, config object) {
	t.Helper()
	planned, said := u.planner(t, "", state).PlanUnrefreshed(config)
	if said.Failed() {
		t.Errorf("%s, no provider: %s", state, said)
		return
	}
	for provider := range u.providers {
		if provider != "" && planned.Action.Changes() {
			u.compare(t, state, planned, provider, config, "the provider turns out to be "+provider)
		}
	}
}

func (u *unknowns) compare(t *testing.T, state string, planned providertest.Plan, provider string, final object, what string) {
	t.Helper()
	if planned.Action == providertest.PlanReplace {
		state = "nothing" // it is destroyed first
	}
	again := u.plan(t, provider, state, final)
	if again == nil {
		return
	}
	for _, fault := range providertest.Inconsistent(t, planned, *again) {
		t.Errorf("%s, %s, turns out as %s: %s", state, what, jsonOf(final), fault)
	}
}

// applies applies a value that was unknown in the plan. An equal one calls no host, and a different one is applied at once.
func (u *unknowns) applies(t *testing.T, p place) {
	t.Helper()
	sim := providertest.NewSim(t)
	core := u.applied(t, sim)
	unknown, other := u.setting(u.base, p, providertest.NotKnown{}), u.setting(u.base, p, p.other)
	sim.ResetCalls()
	kind, said := core.ApplyResolved(unknown, u.base)
	if changes := sim.Changes(); said.Failed() || (kind != providertest.PlanReplace && len(changes) > 0) {
		t.Errorf("%s turns out equal: %s %v %s", p, kind, changes, said)
	}
	if _, said := core.ApplyResolved(unknown, other); said.Failed() {
		t.Errorf("%s turns out as %v: %s", p, p.other, said)
	}
	if kind, said := core.Apply(other); kind != providertest.PlanNothing {
		t.Errorf("the plan after %s turned out as %v: %s %s", p, p.other, kind, said)
	}
}
