package providertest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Object is a resource or a data source in a configuration. Its name is "test".
type Object struct {
	Block  string // "resource" or "data"
	Typ    string
	Config map[string]any
}

// ConfigureJSON replaces the configuration by one object, in Terraform's JSON, for which the maps are the same
// as for Protocol.
func (c *CLI) ConfigureJSON(settings map[string]any, o Object) {
	c.T.Helper()
	text, err := json.MarshalIndent(map[string]any{
		"terraform": map[string]any{"required_providers": map[string]any{"bk": map[string]any{"source": "blueking/bk"}}},
		"provider":  map[string]any{"bk": settings},
		o.Block:     map[string]any{o.Typ: map[string]any{"test": o.Config}},
	}, "", "  ")
	NoError(c.T, err)
	c.Write("main.tf.json", string(text))
}

// JSONRun is the output of a command with -json.
type JSONRun struct {
	Code   int // exit code
	Said   Diagnostics
	Action PlanKind // planned for the one resource
	Text   string   // everything, unparsed
}

var plannedActions = map[string]PlanKind{
	"create": PlanCreate, "update": PlanUpdate, "replace": PlanReplace, "delete": PlanDestroy,
}

// RunJSON runs a command with -json and parses its output, without the notices.
func (c *CLI) RunJSON(args ...string) JSONRun {
	c.T.Helper()
	code, text := c.Run(slices.Insert(slices.Clone(args), 1, "-json")...)
	run := JSONRun{Code: code, Action: PlanNothing, Text: text}
	for line := range strings.Lines(text) {
		var message struct {
			Type       string
			Change     struct{ Action string }
			Diagnostic struct{ Severity, Summary, Detail string }
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			c.T.Fatalf("%s: %s\n%s", strings.Join(args, " "), err, text)
		}
		switch message.Type {
		case "planned_change":
			kind, ok := plannedActions[message.Change.Action]
			if !ok || run.Action != PlanNothing {
				c.T.Errorf("%s plans %q beside %q", strings.Join(args, " "), message.Change.Action, run.Action)
			}
			run.Action = kind
		case "diagnostic":
			if message.Diagnostic.Summary == "Provider development overrides are in effect" {
				continue
			}
			severity := tfprotov6.DiagnosticSeverityError
			if message.Diagnostic.Severity == "warning" {
				severity = tfprotov6.DiagnosticSeverityWarning
			}
			run.Said = append(run.Said, &tfprotov6.Diagnostic{Severity: severity, Summary: message.Diagnostic.Summary, Detail: message.Diagnostic.Detail})
		}
	}
	run.Said, _ = run.Said.withoutNotices()
	return run
}

// Planned returns the attributes of the one object after the refresh of a saved plan, nil if it has no
// object.
func (c *CLI) Planned(file string) map[string]any {
	c.T.Helper()
	text := c.Expect(0, "show", "-json", file)
	var plan struct {
		PriorState struct {
			Values struct {
				RootModule struct {
					Resources []struct{ Values map[string]any }
				} `json:"root_module"`
			}
		} `json:"prior_state"`
	}
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		c.T.Fatalf("%s\n%s", err, text)
	}
	if resources := plan.PriorState.Values.RootModule.Resources; len(resources) > 0 {
		return resources[0].Values
	}
	return nil
}

// InState returns the attributes of the one resource in state, nil if there is none, and its status:
// "tainted" or "".
func (c *CLI) InState() (attributes map[string]any, status string) {
	c.T.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dir, "terraform.tfstate"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	NoError(c.T, err)
	var state struct {
		Resources []struct {
			Instances []struct {
				Status     string
				Attributes map[string]any
			}
		}
	}
	NoError(c.T, json.Unmarshal(text, &state))
	if len(state.Resources) == 0 || len(state.Resources[0].Instances) == 0 {
		return nil, ""
	}
	instance := state.Resources[0].Instances[0]
	return instance.Attributes, instance.Status
}
