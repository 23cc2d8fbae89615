package reference_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// missingCommands are ways in which an object runs an operation: the object, and the setting that names the operation.
var missingCommands = map[string]struct{ block, setting string }{
	"operation":      {operationBlock, "operation"},
	"action":         {actionBlock, "operation"},
	"on-destroy":     {operationBlock, "on_destroy"},
	"hosted":         {hostedBlock, "on_destroy"},
	"job-operation":  {jobOperationBlock, "operation"},
	"job-action":     {"action bk_job_process_operation", "operation"},
	"job-on-destroy": {jobOperationBlock, "on_destroy"},
	"job-hosted":     {jobHostedBlock, "on_destroy"},
}

// An operation whose command is not set is rejected by the plan, at the path of the command. It passes if
// the command is set or not known yet. A stop through JOB brings a warning.
func TestMissingCommand(t *testing.T) {
	t.Parallel()
	for name, c := range missingCommands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := providertest.NewProtocol(t)
			for operation := range mappedOperations {
				if strings.HasSuffix(name, "hosted") && operation != "stop" && operation != "kill" {
					continue
				}
				// The object's other operation needs a command that is set.
				other := map[string]string{"start": "stop", "stop": "start", "restart": "start", "reload": "start", "kill": "start"}[operation]
				warned := operation == "stop" && (name == "job-operation" || name == "job-action")
				commands := map[bool]string{true: "process.", false: "spec.control."}[strings.HasPrefix(name, "job")]
				for command, missing := range map[any]bool{nil: true, "": true, "./some.sh": false, later: false} {
					values := object{commands + operation + "_cmd": command}
					if strings.HasSuffix(c.block, "operation") {
						values["operation"] = other
					}
					values[c.setting] = operation
					said := p.ValidateBlock(c.block, configOf(c.block, values))
					if said.Failed() != (missing && !warned) || missing && !strings.Contains(said.String(), "."+operation+"_cmd: ") {
						t.Errorf("%s = %s with the command %v: %s", c.setting, operation, command, said)
					}
				}
			}
		})
	}
}

// A plan of an action, and the action itself, say so as well, as only a plan may know the command. No call is made.
func TestMissingCommand_action(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceESB))
	for typ, command := range map[string]string{"bk_process_operation": "spec.control.restart_cmd", "bk_job_process_operation": "process.restart_cmd"} {
		config := configOf("action "+typ, object{"operation": "restart"})
		providertest.Same(t, "said with the command", "", p.PlanAction(typ, config))
		set(config, command, nil)
		_, end := p.Invoke(t.Context(), typ, config)
		for _, said := range []string{p.PlanAction(typ, config), end} {
			if !strings.HasPrefix(said, tfprotov6.DiagnosticSeverityError.String()) || !strings.Contains(said, ".restart_cmd: ") {
				t.Errorf("%s without its command: %q", typ, said)
			}
		}
	}
	providertest.Same(t, "calls", []string(nil), sim.Calls().APIs())
}
