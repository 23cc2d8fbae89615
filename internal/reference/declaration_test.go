package reference_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// declared is a declaration in its parts, with a different value in each field, and the names of the resource and the attributes.
type declared struct {
	attribute, hosted, operation, status string

	parts   map[string]any
	restart providertest.Target
	// started makes the process run on a host.
	namespace, name string
}

func declarations() map[string]declared {
	g, j := wholeGSE(1, ""), wholeJOB(1)
	return map[string]declared{
		"gse": {
			"process", "bk_hosted_process", "bk_process_operation", "bk_process_status",
			map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx", "labels": g.labels}, "hosts": mappedHosts, "spec": g.spec},
			providertest.Target{API: "operate_proc_v2", Op: new(simulator.OpRestart)}, "web", "nginx",
		},
		"job": {
			"declaration", "bk_job_hosted_process", "bk_job_process_operation", "bk_job_process_status", j.Reference(),
			providertest.Target{API: "operate_process", Op: new(simulator.OpRestart)}, "job", j.key,
		},
	}
}

// in is the value that a hosted process computes.
func (d declared) in(t *testing.T, hosted *providertest.Core) string {
	t.Helper()
	value, ok := hosted.Attribute(d.attribute).(string)
	if !ok {
		t.Fatal("no declaration in state")
	}
	return value
}

// A declaration is readable JSON, and contains only what the configuration says. An operation with it sends the same
// requests as one with its parts, in every field.
func TestDeclaration_everyField(t *testing.T) {
	t.Parallel()
	for face, d := range declarations() {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := sim.Configured(t)
			hosted := p.CoreOf(d.hosted, &providertest.Kept{})
			hosted.Applied(d.parts)
			parts, err := json.Marshal(d.parts)
			providertest.NoError(t, err)
			providertest.Same(t, "difference of the declarations", "", procapitest.DiffJSON(t, parts, []byte(d.in(t, hosted))))
			var sent [2][]string
			for i, reference := range []map[string]any{maps.Clone(d.parts), {d.attribute: d.in(t, hosted)}} {
				for _, address := range mappedHosts {
					providertest.NoError(t, sim.StartProcess(address, d.namespace, d.name))
				}
				sim.ResetCalls()
				reference["operation"] = "restart"
				operation := p.CoreOf(d.operation, &providertest.Kept{})
				operation.Applied(reference)
				if got, want := operation.Attribute("id"), hosted.Attribute("id"); got != want {
					t.Errorf("id is %v, want %v", got, want)
				}
				for _, call := range d.restart.Calls(sim.Calls()) {
					sent[i] = append(sent[i], string(call.Body))
				}
			}
			diff := cmp.Diff(sent[0], sent[1])
			providertest.Check(t, diff == "" && len(sent[0]) > 0, "sent for the parts and for the declaration (-parts +declaration):\n%s", diff)
			read, said := p.ReadData(d.status, map[string]any{d.attribute: d.in(t, hosted)})
			providertest.Check(t, len(said) == 0 && read["running_count"] == len(mappedHosts), "status: %v running, %s", read["running_count"], said)
		})
	}
}

// The declaration is known in a plan as soon as all of its parts are, whatever else is unknown.
func TestDeclaration_planned(t *testing.T) {
	t.Parallel()
	with := func(of any, name string) map[string]any {
		object := maps.Clone(of.(map[string]any)) //nolint:forcetypeassert // it is made so
		object[name] = providertest.NotKnown{}
		return object
	}
	for face, d := range declarations() {
		for name, c := range map[string]struct {
			more  map[string]any
			face  string // all if empty
			known bool
		}{
			"all-known":      {nil, "", true},
			"unknown-ensure": {map[string]any{"ensure": providertest.NotKnown{}}, "", true},
			"hosts":          {map[string]any{"hosts": providertest.NotKnown{}}, "", false},
			"meta":           {map[string]any{"meta": providertest.NotKnown{}}, "gse", false},
			"label":          {map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx", "labels": providertest.NotKnown{}}}, "gse", false},
			"spec":           {map[string]any{"spec": providertest.NotKnown{}}, "gse", false},
			"command":        {map[string]any{"spec": with(wholeGSE(1, "").spec, "control")}, "gse", false},
			"scope":          {map[string]any{"scope": map[string]any{"type": "biz_set", "id": providertest.NotKnown{}}}, "job", false},
			"job-command":    {map[string]any{"process": with(wholeJOB(1).process, "start_cmd")}, "job", false},
		} {
			if c.face != "" && c.face != face {
				continue
			}
			for platform, p := range map[string]*providertest.Protocol{
				"ready":           providertest.NewSim(t).Configured(t),
				"not-configured":  providertest.NewProtocol(t),
				"unknown-setting": providertest.ConfiguredWith(t, map[string]any{"endpoint": providertest.NotKnown{}}),
			} {
				t.Run(face+"-"+name+"-"+platform, func(t *testing.T) {
					t.Parallel()
					config := maps.Clone(d.parts)
					maps.Copy(config, c.more)
					plan, said := p.CoreOf(d.hosted, &providertest.Kept{}).Plan(config)
					if said.Failed() {
						t.Fatal(said)
					}
					if got := plan.Planned(t)[d.attribute]; got.IsKnown() != c.known || got.IsNull() {
						t.Errorf("%s is planned as %s", d.attribute, got)
					}
					if got := plan.Planned(t)["id"]; got.IsKnown() != (name != "meta" && name != "scope") {
						t.Errorf("id is planned as %s", got)
					}
				})
			}
		}
	}
}

// gseProcess and jobProcess are declarations as in state. Each has one command.
const (
	gseProcess = `{"hosts":{"a":"0:10.0.0.1"},"meta":{"namespace":"web","name":"nginx"},` +
		`"spec":{"identity":{"proc_name":"n","setup_path":"/s","pid_path":"/p","user":"u"},"control":{"restart_cmd":"./r"},"monitor_policy":{"auto_type":1}}}`
	jobProcess = `{"hosts":{"a":"0:10.0.0.1"},"process":{"proc_name":"n","setup_path":"/s","pid_path":"/p","restart_cmd":"./r","type":1},"scope":{"type":"biz","id":"2"}}`
)

// A declaration replaces its parts: it is an error to set both, or neither.
func TestDeclaration_validation(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	gse, job := providertest.FaceESB.Reference("./start.sh", 1), providertest.FaceJOB.Reference("./start.sh", 1)
	for name, c := range map[string]struct {
		job       bool
		config    map[string]any
		operation string // part of the diagnostic; none if empty
		status    string
	}{
		"parts":        {false, gse, "", ""},
		"process":      {false, map[string]any{"process": gseProcess}, "", ""},
		"unknown":      {false, map[string]any{"process": providertest.NotKnown{}}, "", ""},
		"neither":      {false, map[string]any{}, "set process = bk_hosted_process.<name>.process, or meta, hosts and spec, or processes for several processes; not set: meta, hosts, spec.", "or meta, hosts and spec; not set: meta, hosts."},
		"hosts-only":   {false, map[string]any{"hosts": gse["hosts"]}, "not set: meta, spec.", "not set: meta."},
		"no-spec":      {false, map[string]any{"hosts": gse["hosts"], "meta": gse["meta"]}, "not set: spec.", ""},
		"both":         {false, map[string]any{"process": gseProcess, "hosts": gse["hosts"]}, "leave out hosts.", "leave out hosts."},
		"unknown-both": {false, map[string]any{"process": providertest.NotKnown{}, "spec": gse["spec"]}, "", ""},
		"no-command":   {false, map[string]any{"process": strings.Replace(gseProcess, "restart_cmd", "start_cmd", 1)}, "Attribute process.spec.control.restart_cmd: the operation", ""},

		"job-parts":        {true, job, "", ""},
		"job-declaration":  {true, map[string]any{"declaration": jobProcess}, "", ""},
		"job-unknown":      {true, map[string]any{"declaration": providertest.NotKnown{}}, "", ""},
		"job-neither":      {true, map[string]any{}, "set declaration = bk_job_hosted_process.<name>.declaration, or process, hosts and either scope or bk_biz_id, or processes for several processes; not set: scope or bk_biz_id, process, hosts.", "or bk_biz_id; not set: scope or bk_biz_id, process, hosts."},
		"job-no-scope":     {true, map[string]any{"hosts": job["hosts"], "process": job["process"]}, "not set: scope or bk_biz_id.", "not set: scope or bk_biz_id."},
		"job-two-scopes":   {true, map[string]any{"hosts": job["hosts"], "process": job["process"], "scope": job["scope"], "bk_biz_id": 2}, "cannot be configured together: [scope,bk_biz_id]", "cannot be configured together: [scope,bk_biz_id]"},
		"job-both":         {true, map[string]any{"declaration": jobProcess, "bk_biz_id": 2, "hosts": job["hosts"]}, "leave out bk_biz_id, hosts.", "leave out bk_biz_id, hosts."},
		"job-unknown-both": {true, map[string]any{"declaration": providertest.NotKnown{}, "process": job["process"]}, "", ""},
		"job-no-command":   {true, map[string]any{"declaration": strings.Replace(jobProcess, "restart_cmd", "start_cmd", 1)}, "Attribute declaration.process.restart_cmd: the operation", ""},
		"job-no-cycle":     {true, map[string]any{"declaration": strings.Replace(jobProcess, `"type":1`, `"type":0`, 1)}, "Attribute declaration.process.cycle_time: ", ""},
	} {
		d := declarations()["gse"]
		if c.job {
			d = declarations()["job"]
		}
		operation := maps.Clone(c.config)
		operation["operation"] = "restart"
		for on, said := range map[string]string{
			"resource": p.CoreOf(d.operation, &providertest.Kept{}).Validate(operation).String(),
			"action":   p.ValidateAction(d.operation, operation),
		} {
			providertest.Check(t, (c.operation == "") == (said == "") && strings.Contains(said, c.operation), "%s: %s: %s", name, on, said)
		}
		said := p.ValidateData(d.status, c.config).String()
		providertest.Check(t, (c.status == "") == (said == "") && strings.Contains(said, c.status), "%s: status: %s", name, said)
	}
}

// A module may offer every form, and its caller sets one of them. While Terraform validates the module, its variables are unknown.
// Two known forms are refused. The plan refuses them as well, because a validation may not know them yet.
func TestDeclaration_everyForm(t *testing.T) {
	t.Parallel()
	notKnown := providertest.NotKnown{}
	for face, d := range declarations() {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := sim.Configured(t)
			text := map[string]string{"gse": gseProcess, "job": jobProcess}[face]
			entry := with(d.parts, "priority", 1)
			operation, status := map[string]any{"operation": "restart", d.attribute: notKnown, "processes": notKnown}, map[string]any{d.attribute: notKnown, "hosted_process": notKnown}
			for name := range d.parts {
				operation[name], status[name] = notKnown, notKnown
			}
			providertest.Silent(t, p.CoreOf(d.operation, &providertest.Kept{}).Validate(operation))
			providertest.Same(t, "the action", "", p.ValidateAction(d.operation, operation))
			providertest.Silent(t, p.ValidateData(d.status, status))
			_, said := p.CoreOf(d.operation, &providertest.Kept{}).Plan(operation)
			providertest.Silent(t, said)

			for says, config := range map[string]map[string]any{
				d.attribute + " is set, and holds": with(d.parts, d.attribute, text),
				"processes is set, and says which": with(d.parts, "processes", map[string]any{"a": entry}),
				`processes["a"].`:                  {"processes": map[string]any{"a": with(entry, d.attribute, text)}},
				"leave out " + d.attribute + ".":   {"processes": map[string]any{"a": entry}, d.attribute: text},
			} {
				config["operation"] = "restart"
				_, said := p.CoreOf(d.operation, &providertest.Kept{}).Plan(config)
				providertest.Says(t, said.String(), "Process Given Twice", says)
				providertest.Says(t, p.PlanAction(d.operation, config), "Process Given Twice", says)
			}
			for says, config := range map[string]map[string]any{
				d.attribute + " is set, and holds": with(d.parts, d.attribute, text),
				"hosted_process is set, and holds": with(d.parts, "hosted_process", d.parts),
				"leave out " + d.attribute + ".":   {"hosted_process": d.parts, d.attribute: text},
			} {
				_, said := p.ReadData(d.status, config)
				providertest.Says(t, said.String(), "Process Given Twice", says)
			}
			providertest.Check(t, len(sim.Calls()) == 0, "calls: %v", sim.Calls())
		})
	}
}

func with(config map[string]any, name string, value any) map[string]any {
	config = maps.Clone(config)
	config[name] = value
	return config
}

// A plan checks the content of a declaration. If it cannot be read, that is an error. Without a spec, as
// after an import, it cannot be operated.
func TestDeclaration_unreadable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ face, value, want string }{
		"not-json":       {"gse", "web:nginx", "Attribute process: it is not the process of a bk_hosted_process: an id, a name or any other text; set process = bk_hosted_process.<name>.process."},
		"no-hosts":       {"gse", `{"meta":{"namespace":"web","name":"nginx"}}`, "hosts is missing"},
		"unknown-field":  {"gse", strings.Replace(gseProcess, `"user"`, `"account"`, 1), `unsupported attribute "account"`},
		"more-parts":     {"gse", strings.Replace(gseProcess, `"hosts"`, `"host":{},"hosts"`, 1), `unknown field "host"`},
		"invalid-host":   {"gse", strings.Replace(gseProcess, "0:10.0.0.1", "web-1", 1), `Attribute hosts["a"]`},
		"without-a-spec": {"gse", gseProcess[:strings.Index(gseProcess, `,"spec"`)] + "}", "it was imported and not applied yet"},

		"job-not-json":      {"job", "biz:2:/s/n", "Attribute declaration: it is not the declaration of a bk_job_hosted_process: an id, a name or any other text; set declaration = bk_job_hosted_process.<name>.declaration."},
		"job-no-scope":      {"job", jobProcess[:strings.Index(jobProcess, `,"scope"`)] + "}", "scope or bk_biz_id is missing"},
		"job-other-api":     {"job", gseProcess, "scope or bk_biz_id is missing"},
		"job-unknown-field": {"job", strings.Replace(jobProcess, `"pid_path"`, `"pid"`, 1), `unsupported attribute "pid"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := declarations()[c.face]
			sim := providertest.NewSim(t)
			p := sim.Configured(t)
			config := map[string]any{d.attribute: c.value, "operation": "restart"}
			resource := p.CoreOf(d.operation, &providertest.Kept{})
			providertest.Silent(t, resource.Validate(config))
			_, planned := resource.Plan(config)
			providertest.Says(t, planned.String(), c.want)
			providertest.Says(t, p.PlanAction(d.operation, config), c.want)
			providertest.Check(t, len(sim.Calls()) == 0, "calls: %v", sim.Calls())
		})
	}
}
