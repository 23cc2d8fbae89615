package reference_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// missingCommand is a way in which an object runs an operation.
type missingCommand struct {
	face   providertest.Face
	object string
	// setting names the operation.
	setting string
}

var missingCommands = map[string]missingCommand{
	"operation":      {providertest.FaceESB, "bk_process_operation", "operation"},
	"on-destroy":     {providertest.FaceESB, "bk_process_operation", "on_destroy"},
	"hosted":         {providertest.FaceESB, "bk_hosted_process", "on_destroy"},
	"job-operation":  {providertest.FaceJOB, "bk_job_process_operation", "operation"},
	"job-on-destroy": {providertest.FaceJOB, "bk_job_process_operation", "on_destroy"},
	"job-hosted":     {providertest.FaceJOB, "bk_job_hosted_process", "on_destroy"},
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
				warned := name == "job-operation" && operation == "stop"
				for command, missing := range map[any]bool{nil: true, "": true, "./some.sh": false, providertest.NotKnown{}: false} {
					config := c.face.Reference("./start.sh", 1)
					if strings.HasSuffix(c.object, "operation") {
						config["operation"] = other
					}
					config[c.setting] = operation
					at := commandsOf(config)
					at[operation+"_cmd"] = command

					said := p.CoreOf(c.object, &providertest.Kept{}).Validate(config)

					if said.Failed() != (missing && !warned) || missing && !strings.Contains(said.String(), "."+operation+"_cmd: ") {
						t.Errorf("%s = %s with the command %v: %s", c.setting, operation, command, said)
					}
				}
			}
		})
	}
}

// commandsOf are the commands of a configuration.
func commandsOf(config map[string]any) map[string]any {
	commands, _ := config["process"].(map[string]any)
	if spec, ok := config["spec"].(map[string]any); ok {
		commands, _ = spec["control"].(map[string]any)
	}
	return commands
}

// A process that must run needs its start command.
func TestMissingCommand_running(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	for _, f := range []providertest.Face{providertest.FaceESB, providertest.FaceJOB} {
		for command, refused := range map[any]bool{nil: true, "": true, "./some.sh": false, providertest.NotKnown{}: false} {
			config := f.Reference("./start.sh", 1)
			config["ensure"] = "running"
			commandsOf(config)["start_cmd"] = command
			said := p.CoreOf(f.TypeName(providertest.OnCreate), &providertest.Kept{}).Validate(config)
			if refused != said.Failed() || refused && !strings.Contains(said.String(), ".start_cmd: ") {
				t.Errorf("%s with the command %v: %s", f, command, said)
			}
		}
	}
}

// An action is rejected when it is validated, or when it is planned if only the plan knows the command.
// No call is made.
func TestMissingCommand_action(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceESB))
	for object, f := range map[string]providertest.Face{"bk_process_operation": providertest.FaceESB, "bk_job_process_operation": providertest.FaceJOB} {
		for operation := range mappedOperations {
			config := maps.Clone(f.Reference("./start.sh", 1))
			config["operation"] = operation
			for _, said := range []string{p.ValidateAction(object, config), p.PlanAction(object, config)} {
				if said != "" {
					t.Errorf("%s %s with its command: %s", object, operation, said)
				}
			}
			if f == providertest.FaceJOB && operation == "stop" {
				continue // JOB's documents have a sample without one
			}
			delete(commandsOf(config), operation+"_cmd")
			for _, said := range []string{p.ValidateAction(object, config), p.PlanAction(object, config), endOf(p, object, config)} {
				if !strings.HasPrefix(said, tfprotov6.DiagnosticSeverityError.String()) || !strings.Contains(said, "."+operation+"_cmd: ") {
					t.Errorf("%s %s without its command: %q", object, operation, said)
				}
			}
		}
	}
	if calls := sim.Calls(); len(calls) > 0 {
		t.Errorf("called: %v", calls.APIs())
	}
}

// endOf runs an action and returns its end.
func endOf(p *providertest.Protocol, name string, config map[string]any) string {
	p.T.Helper()
	_, end := p.Invoke(p.T.Context(), name, config)
	return end
}
