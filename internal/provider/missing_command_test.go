package provider

import (
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// missingCommand is how an object comes to run an operation.
type missingCommand struct {
	face   face
	object string
	// setting names the operation.
	setting string
}

var missingCommands = map[string]missingCommand{
	"operation":      {faceESB, "bk_process_operation", "operation"},
	"on-destroy":     {faceESB, "bk_process_operation", "on_destroy"},
	"hosted":         {faceESB, "bk_hosted_process", "on_destroy"},
	"job-operation":  {faceJOB, "bk_job_process_operation", "operation"},
	"job-on-destroy": {faceJOB, "bk_job_process_operation", "on_destroy"},
	"job-hosted":     {faceJOB, "bk_job_hosted_process", "on_destroy"},
}

// An operation whose command is not set is refused while planning, at the command,
// and one whose command is set or not known yet is not.
func TestMissingCommand(t *testing.T) {
	t.Parallel()
	for name, c := range missingCommands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProtocol(t)
			for operation := range mappedOperations {
				if strings.HasSuffix(name, "hosted") && operation != "stop" && operation != "kill" {
					continue
				}
				// The other operation of the object needs a command that is there.
				other := map[string]string{"start": "stop", "stop": "start", "restart": "start", "reload": "start", "kill": "start"}[operation]
				for command, refused := range map[any]bool{nil: true, "./some.sh": false, notKnown{}: false} {
					config := c.face.reference("./start.sh", 1)
					if strings.HasSuffix(c.object, "operation") {
						config["operation"] = other
					}
					config[c.setting] = operation
					at := commandsOf(config)
					at[operation+"_cmd"] = command

					said := p.coreOf(c.object, &kept{}).validate(config)

					if refused != said.failed() || refused && !strings.Contains(said.String(), "."+operation+"_cmd: ") {
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

// A process that is to run needs the command that starts it.
func TestMissingCommand_running(t *testing.T) {
	t.Parallel()
	p := newProtocol(t)
	for _, f := range []face{faceESB, faceJOB} {
		for command, refused := range map[any]bool{nil: true, "./some.sh": false, notKnown{}: false} {
			config := f.reference("./start.sh", 1)
			config["ensure"] = "running"
			commandsOf(config)["start_cmd"] = command
			said := p.coreOf(f.typeName(onCreate), &kept{}).validate(config)
			if refused != said.failed() || refused && !strings.Contains(said.String(), ".start_cmd: ") {
				t.Errorf("%s with the command %v: %s", f, command, said)
			}
		}
	}
}

// An action is refused when it is validated and, where only a plan knows the command,
// when it is planned; nothing is called.
func TestMissingCommand_action(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	p := configuredWith(t, sim.settingsFor(faceESB))
	for object, f := range map[string]face{"bk_process_operation": faceESB, "bk_job_process_operation": faceJOB} {
		for operation := range mappedOperations {
			config := maps.Clone(f.reference("./start.sh", 1))
			config["operation"] = operation
			for _, said := range []string{p.validateAction(object, config), p.planAction(object, config)} {
				if said != "" {
					t.Errorf("%s %s with its command: %s", object, operation, said)
				}
			}
			delete(commandsOf(config), operation+"_cmd")
			for _, said := range []string{p.validateAction(object, config), p.planAction(object, config), endOf(p, object, config)} {
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

// endOf runs an action and gives how it ended.
func endOf(p *protocol, name string, config map[string]any) string {
	p.t.Helper()
	_, end := p.invoke(p.t.Context(), name, config)
	return end
}
