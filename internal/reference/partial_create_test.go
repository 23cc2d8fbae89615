package reference_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A first apply that failed on some hosts ends as on_partial_create says, and by default as with "warn".
// After an error Terraform taints the resource.
//
// Promised in reference: `warn`: with a warning; the next apply retries those in
// Promised in reference: with an error; Terraform taints the resource, and the next apply runs on every host again.
func TestOnPartialCreate(t *testing.T) {
	t.Parallel()
	for object, c := range map[string]struct {
		face      providertest.Face
		on        providertest.Operation
		attribute string
	}{
		"bk_hosted_process":        {providertest.FaceESB, providertest.OnCreate, "out_of_sync"},
		"bk_process_operation":     {providertest.FaceESB, providertest.OnOperate, "failed_hosts"},
		"bk_job_hosted_process":    {providertest.FaceJOB, providertest.OnCreate, "out_of_sync"},
		"bk_job_process_operation": {providertest.FaceJOB, providertest.OnOperate, "failed_hosts"},
	} {
		for setting, taints := range map[string]bool{"": false, "warn": false, "error": true} {
			t.Run(object+"-"+setting, func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				first := c.face.Target(c.on)
				sim.Inject(simulator.Fault{API: first.API, Op: first.Op, Hosts: []string{providertest.Address(2)}, Code: new(65535)})
				resource := providertest.ConfiguredWith(t, sim.SettingsFor(c.face)).CoreOf(object, &providertest.Kept{})
				config := c.face.Reference("./start.sh", 2)
				if c.on == providertest.OnOperate {
					config["operation"] = "start"
				}
				if setting != "" {
					config["on_partial_create"] = setting
				}
				providertest.Silent(t, resource.Validate(config))
				_, said := resource.Apply(config)
				want := map[bool]string{false: "warning", true: "error"}[taints]
				if len(said) != 1 || said.Severity() != want || strings.Contains(said.String(), `on_partial_create is "error"`) != taints || resource.Tainted != taints {
					t.Errorf("tainted: %t, said: %s", resource.Tainted, said)
				}
				if failing := resource.Reasons(c.attribute); len(failing) != 1 || !strings.Contains(failing["web-2"], "65535") {
					t.Errorf("%s is %v", c.attribute, failing)
				}
				if kept, declared := resource.Attribute("on_partial_create"), map[bool]string{true: "error", false: "warn"}[taints]; kept != declared {
					t.Errorf("on_partial_create is %v in state", kept)
				}
				if taints {
					return
				}
				sim.Repair()
				sim.ResetCalls()
				kind, said := resource.Apply(config)
				changes := strings.Join(sim.Changes(), "\n")
				if kind != providertest.PlanUpdate || len(said) > 0 || !strings.Contains(changes, providertest.Address(2)) || strings.Contains(changes, providertest.Address(1)) {
					t.Errorf("the next apply, which is for web-2 alone: %s\n%s\n%s", kind, changes, said)
				}
			})
		}
	}
}
