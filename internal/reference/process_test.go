package reference_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// wholeReference has a value of its own in every field of meta, hosts and spec.
func wholeReference() map[string]any {
	m := wholeGSE(1, "")
	return map[string]any{
		"meta":  map[string]any{"namespace": "web", "name": "nginx", "labels": m.labels},
		"hosts": mappedHosts,
		"spec":  m.spec,
	}
}

// processOf is the process that a hosted process computes.
func processOf(t *testing.T, hosted *providertest.Core) string {
	t.Helper()
	process, ok := hosted.Attribute("process").(string)
	if !ok {
		t.Fatal("no process in state")
	}
	return process
}

// An operation that is given a process sends what it sends for its parts, every field.
func TestProcess_everyField(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := sim.Configured(t)
	hosted := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	hosted.Applied(wholeReference())
	var sent [2][]string
	for i, reference := range []map[string]any{wholeReference(), {"process": processOf(t, hosted)}} {
		for _, address := range mappedHosts {
			if err := sim.StartProcess(address, "web", "nginx"); err != nil {
				t.Fatal(err)
			}
		}
		sim.ResetCalls()
		reference["operation"] = "restart"
		p.CoreOf("bk_process_operation", &providertest.Kept{}).Applied(reference)
		for _, call := range (providertest.Target{API: "operate_proc_v2", Op: new(simulator.OpRestart)}).Calls(sim.Calls()) {
			sent[i] = append(sent[i], string(call.Body))
		}
	}
	if diff := cmp.Diff(sent[0], sent[1]); diff != "" || len(sent[0]) == 0 {
		t.Errorf("sent for the parts and for the process (-parts +process):\n%s", diff)
	}
}

// A process can be read by whoever wants to know what is in it, and holds what the
// configuration says and no more.
func TestProcess_content(t *testing.T) {
	t.Parallel()
	hosted := providertest.NewSim(t).Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := providertest.HostedConfigOf(providertest.HostsOf(2))
	hosted.Applied(config)
	var got map[string]any
	if err := json.Unmarshal([]byte(processOf(t, hosted)), &got); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("process (-want +got):\n%s", diff)
	}
}

// The process is known in a plan as soon as all of its parts are, whatever else is not.
func TestProcess_planned(t *testing.T) {
	t.Parallel()
	unknownCommand := providertest.WholeSpec("./start.sh")
	unknownCommand["control"] = map[string]any{"start_cmd": providertest.NotKnown{}}
	for name, c := range map[string]struct {
		more  map[string]any
		known bool
	}{
		"all-known":      {nil, true},
		"unknown-ensure": {map[string]any{"ensure": providertest.NotKnown{}}, true},
		"label":          {map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx", "labels": providertest.NotKnown{}}}, false},
		"hosts":          {map[string]any{"hosts": providertest.NotKnown{}}, false},
		"spec":           {map[string]any{"spec": providertest.NotKnown{}}, false},
		"command":        {map[string]any{"spec": unknownCommand}, false},
	} {
		for platform, p := range map[string]*providertest.Protocol{
			"ready":           providertest.NewSim(t).Configured(t),
			"not-configured":  providertest.NewProtocol(t),
			"unknown-setting": providertest.ConfiguredWith(t, map[string]any{"endpoint": providertest.NotKnown{}}),
		} {
			t.Run(name+"-"+platform, func(t *testing.T) {
				t.Parallel()
				config := providertest.HostedConfigOf(providertest.HostsOf(2))
				maps.Copy(config, c.more)
				plan, said := p.CoreOf(providertest.HostedType, &providertest.Kept{}).Plan(config)
				if said.Failed() {
					t.Fatal(said)
				}
				if got := plan.Planned(t)["process"]; got.IsKnown() != c.known || got.IsNull() {
					t.Errorf("process is planned as %s", got)
				}
			})
		}
	}
}

// State of a release without the attribute gets it from a refresh, and nothing is planned
// for that.
func TestProcess_olderState(t *testing.T) {
	t.Parallel()
	hosted := providertest.NewSim(t).Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := providertest.HostedConfigOf(providertest.HostsOf(2))
	hosted.Applied(config)
	want := processOf(t, hosted)
	attributes := providertest.AttributesOf(t, hosted.State)
	attributes["process"] = tftypes.NewValue(tftypes.String, nil)
	hosted.State = tftypes.NewValue(hosted.State.Type(), attributes)
	if plan, said := hosted.Plan(config); plan.Action != providertest.PlanNothing || len(said) > 0 {
		t.Errorf("%s: %s", plan.Action, said)
	}
	if got := processOf(t, hosted); got != want {
		t.Errorf("process after a refresh is %s, want %s", got, want)
	}
}

// A process stands in the place of its parts: not beside them, and not without them.
func TestProcess_validation(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	const process = `{"meta":{"namespace":"web","name":"nginx"},"hosts":{"a":"0:10.0.0.1"},` +
		`"spec":{"identity":{"proc_name":"n","setup_path":"/s","pid_path":"/p","user":"u"},"control":{"restart_cmd":"./r"},"monitor_policy":{"auto_type":1}}}`
	whole := providertest.FaceESB.Reference("./start.sh", 1)
	none := map[string]any{"meta": nil, "hosts": nil, "spec": nil}
	for name, c := range map[string]struct {
		more      map[string]any
		operation string // what is said of it; nothing if empty
		status    string
	}{
		"parts":        {nil, "", ""},
		"process":      {map[string]any{"process": process}, "", ""},
		"unknown":      {map[string]any{"process": providertest.NotKnown{}}, "", ""},
		"neither":      {map[string]any{}, "not set: meta, hosts, spec", "not set: meta, hosts."},
		"hosts-only":   {map[string]any{"hosts": whole["hosts"]}, "not set: meta, spec", "not set: meta."},
		"no-spec":      {map[string]any{"hosts": whole["hosts"], "meta": whole["meta"]}, "not set: spec", ""},
		"both":         {map[string]any{"process": process, "hosts": whole["hosts"]}, "leave out hosts", "leave out hosts"},
		"unknown-both": {map[string]any{"process": providertest.NotKnown{}, "spec": whole["spec"]}, "leave out spec", "leave out spec"},
		"no-command":   {map[string]any{"process": strings.Replace(process, "restart_cmd", "start_cmd", 1)}, "Attribute process.spec.control.restart_cmd: the operation", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := maps.Clone(whole)
			if c.more != nil {
				maps.Copy(config, none)
				maps.Copy(config, c.more)
			}
			operation := maps.Clone(config)
			operation["operation"] = "restart"
			for on, said := range map[string]string{
				"resource": p.CoreOf("bk_process_operation", &providertest.Kept{}).Validate(operation).String(),
				"action":   p.ValidateAction("bk_process_operation", operation),
			} {
				if (c.operation == "") != (said == "") || !strings.Contains(said, c.operation) {
					t.Errorf("%s: %s", on, said)
				}
			}
			said := p.ValidateData("bk_process_status", config).String()
			if (c.status == "") != (said == "") || !strings.Contains(said, c.status) {
				t.Errorf("status: %s", said)
			}
		})
	}
}

// What a process holds is looked at by a plan: one that cannot be read is an error there,
// and one without a spec, as after an import, cannot be operated.
func TestProcess_unreadable(t *testing.T) {
	t.Parallel()
	const process = `{"meta":{"namespace":"web","name":"nginx"},"hosts":{"a":"0:10.0.0.1"},` +
		`"spec":{"identity":{"proc_name":"n","setup_path":"/s","pid_path":"/p","user":"u"},"control":{"restart_cmd":"./r"},"monitor_policy":{"auto_type":1}}}`
	for name, c := range map[string]struct{ process, want string }{
		"not-json":       {"web:nginx", "Attribute process: it is not the process of a bk_hosted_process: invalid character"},
		"no-hosts":       {`{"meta":{"namespace":"web","name":"nginx"},"hosts":{}}`, "meta or hosts is missing"},
		"unknown-field":  {strings.Replace(process, `"user"`, `"account"`, 1), `unsupported attribute "account"`},
		"more-parts":     {strings.Replace(process, `"hosts"`, `"host":{},"hosts"`, 1), `unknown field "host"`},
		"invalid-host":   {strings.Replace(process, "0:10.0.0.1", "web-1", 1), `Attribute hosts["a"]`},
		"without-a-spec": {process[:strings.Index(process, `,"spec"`)] + "}", "it was imported and not applied yet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := sim.Configured(t)
			config := map[string]any{"process": c.process, "operation": "restart"}
			resource := p.CoreOf("bk_process_operation", &providertest.Kept{})
			if said := resource.Validate(config); len(said) > 0 {
				t.Errorf("validate: %s", said)
			}
			_, planned := resource.Plan(config)
			for on, said := range map[string]string{"resource": planned.String(), "action": p.PlanAction("bk_process_operation", config)} {
				if !strings.Contains(said, c.want) {
					t.Errorf("%s: %q", on, said)
				}
			}
			if len(sim.Calls()) > 0 {
				t.Errorf("calls: %v", sim.Calls())
			}
		})
	}
}
