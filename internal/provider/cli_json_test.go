package provider

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

// object is a resource or a data source in a configuration.
type object struct {
	block  string // "resource" or "data"
	typ    string
	config map[string]any
}

// configureJSON replaces the configuration, and writes it as Terraform's JSON: that
// takes the same maps as the protocol.
func (c *testCLI) configureJSON(settings map[string]any, o object) {
	c.t.Helper()
	text, err := json.MarshalIndent(map[string]any{
		"terraform": map[string]any{"required_providers": map[string]any{"bk": map[string]any{"source": "blueking/bk"}}},
		"provider":  map[string]any{"bk": settings},
		o.block:     map[string]any{o.typ: map[string]any{"test": o.config}},
	}, "", "  ")
	if err != nil {
		c.t.Fatal(err)
	}
	c.write("main.tf.json", string(text))
}

// printed is what a command printed with -json.
type printed struct {
	code   int
	said   diagnostics
	action planKind // on the one resource
	text   string
}

var plannedActions = map[string]planKind{
	"create": planCreate, "update": planUpdate, "replace": planReplace, "delete": planDestroy,
}

// tell runs a command with -json.
func (c *testCLI) tell(args ...string) printed {
	c.t.Helper()
	code, text := c.run(slices.Insert(slices.Clone(args), 1, "-json")...)
	run := printed{code: code, action: planNothing, text: text}
	for line := range strings.Lines(text) {
		var message struct {
			Type       string
			Change     struct{ Action string }
			Diagnostic struct{ Severity, Summary, Detail string }
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			c.t.Fatalf("%s: %s\n%s", strings.Join(args, " "), err, text)
		}
		switch message.Type {
		case "planned_change":
			kind, ok := plannedActions[message.Change.Action]
			if !ok || run.action != planNothing {
				c.t.Errorf("%s plans %q beside %q", strings.Join(args, " "), message.Change.Action, run.action)
			}
			run.action = kind
		case "diagnostic":
			if message.Diagnostic.Summary == "Provider development overrides are in effect" {
				continue
			}
			severity := tfprotov6.DiagnosticSeverityError
			if message.Diagnostic.Severity == "warning" {
				severity = tfprotov6.DiagnosticSeverityWarning
			}
			run.said = append(run.said, &tfprotov6.Diagnostic{Severity: severity, Summary: message.Diagnostic.Summary, Detail: message.Diagnostic.Detail})
		}
	}
	return run
}

// planned are the attributes of the one object as the refresh of a plan that was
// kept found them.
func (c *testCLI) planned(file string) map[string]any {
	c.t.Helper()
	text := c.expect(0, "show", "-json", file)
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
		c.t.Fatalf("%s\n%s", err, text)
	}
	if resources := plan.PriorState.Values.RootModule.Resources; len(resources) > 0 {
		return resources[0].Values
	}
	return nil
}

// inState are the attributes of the one resource in state, none where there is
// none, and its status: "tainted" or nothing.
func (c *testCLI) inState() (attributes map[string]any, status string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ""
	}
	if err != nil {
		c.t.Fatal(err)
	}
	var state struct {
		Resources []struct {
			Instances []struct {
				Status     string
				Attributes map[string]any
			}
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		c.t.Fatal(err)
	}
	if len(state.Resources) == 0 || len(state.Resources[0].Instances) == 0 {
		return nil, ""
	}
	instance := state.Resources[0].Instances[0]
	return instance.Attributes, instance.Status
}
