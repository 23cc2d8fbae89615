package provider

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A first apply that failed on some hosts ends as on_partial_create says, and as
// "warn" where it says nothing. After an error Terraform taints the resource.
func TestOnPartialCreate(t *testing.T) {
	t.Parallel()
	for object, c := range map[string]struct {
		face      face
		on        operation
		attribute string
	}{
		"bk_hosted_process":        {faceESB, onCreate, "out_of_sync"},
		"bk_process_operation":     {faceESB, onOperate, "failed_hosts"},
		"bk_job_hosted_process":    {faceJOB, onCreate, "out_of_sync"},
		"bk_job_process_operation": {faceJOB, onOperate, "failed_hosts"},
	} {
		for setting, taints := range map[string]bool{"": false, "warn": false, "error": true} {
			t.Run(object+"-"+setting, func(t *testing.T) {
				t.Parallel()
				sim := newSim(t)
				first := c.face.target(c.on)
				sim.Inject(simulator.Fault{API: first.api, Op: first.op, Hosts: []string{testAddress(2)}, Code: new(65535)})
				resource := configuredWith(t, sim.settingsFor(c.face)).coreOf(object, &kept{})
				config := c.face.reference("./start.sh", 2)
				if c.on == onOperate {
					config["operation"] = "start"
				}
				if setting != "" {
					config["on_partial_create"] = setting
				}
				if said := resource.validate(config); len(said) > 0 {
					t.Fatal(said)
				}

				_, said := resource.apply(config)

				want := tfprotov6.DiagnosticSeverityWarning
				if taints {
					want = tfprotov6.DiagnosticSeverityError
				}
				if len(said) != 1 || said[0].Severity != want || strings.Contains(said.String(), `on_partial_create is "error"`) != taints {
					t.Errorf("said: %s", said)
				}
				if resource.tainted != taints {
					t.Errorf("tainted: %t", resource.tainted)
				}
				if failing := resource.reasons(c.attribute); len(failing) != 1 || !strings.Contains(failing["web-2"], "65535") {
					t.Errorf("%s is %v", c.attribute, failing)
				}
				if kept, declared := resource.attribute("on_partial_create"), map[bool]string{true: "error", false: "warn"}[taints]; kept != declared {
					t.Errorf("on_partial_create is %v in state", kept)
				}
				if taints {
					return
				}
				sim.mend()
				sim.ResetCalls()
				kind, said := resource.apply(config)
				changes := strings.Join(sim.changes(), "\n")
				if kind != planUpdate || len(said) > 0 || !strings.Contains(changes, testAddress(2)) || strings.Contains(changes, testAddress(1)) {
					t.Errorf("the next apply, which is for web-2 alone: %s\n%s\n%s", kind, changes, said)
				}
			})
		}
	}
}

// Anything else is refused.
func TestOnPartialCreate_unknown(t *testing.T) {
	t.Parallel()
	p := newProtocol(t)
	for object, reference := range map[string]map[string]any{
		"bk_hosted_process":        faceESB.reference("./start.sh", 1),
		"bk_process_operation":     faceESB.reference("./start.sh", 1),
		"bk_job_hosted_process":    faceJOB.reference("./start.sh", 1),
		"bk_job_process_operation": faceJOB.reference("./start.sh", 1),
	} {
		config := maps.Clone(reference)
		config["on_partial_create"] = "ignore"
		if strings.HasSuffix(object, "operation") {
			config["operation"] = "start"
		}
		said := p.coreOf(object, &kept{}).validate(config)
		if len(said) != 1 || !strings.Contains(said.String(), `["warn" "error"]`) {
			t.Errorf("%s: said %s", object, said)
		}
	}
}
