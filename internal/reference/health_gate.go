package reference

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

const summaryInvalidGate = "Invalid Health Gate"

// gateSlack is added to stable_for if within is not set.
const gateSlack = 5 * time.Minute

// healthyAttribute declares the gate of a rollout.
func healthyAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "A [gate](../guides/rollouts.md#the-health-gate) after each wave: every host must run the process with one PID for `stable_for`, or it has failed. No gate by default.",
		Optional:            true,
		Validators:          []validator.Object{gateValidator{}},
		Attributes: map[string]schema.Attribute{
			"stable_for": schema.StringAttribute{
				MarkdownDescription: "For how long the process has to run with one PID, such as `\"30s\"`.",
				Required:            true,
				Validators:          []validator.String{DurationValidator{Min: time.Second}},
			},
			"within": schema.StringAttribute{
				MarkdownDescription: "How long a host has in total to become stable, such as `\"5m\"`. Limited by `timeouts`, not by `wave_timeout`. " +
					"Defaults to `stable_for` plus five minutes.",
				Optional:   true,
				Validators: []validator.String{DurationValidator{Min: time.Second}},
			},
			"output": schema.StringAttribute{
				MarkdownDescription: "[Regular expression](https://github.com/google/re2/wiki/Syntax) that the output of `spec.control.health_cmd` (not through JOB) must match throughout, " +
					"such as `\"^ok\"`. A command that fails counts as empty output. Not checked by default.",
				Optional:   true,
				Validators: []validator.String{expressionValidator()},
			},
		},
	}
}

// expressionValidator accepts regular expressions.
func expressionValidator() validator.String {
	return textValidator{
		"Invalid Expression", "must be a regular expression (RE2), such as ^ok",
		func(text string) string {
			if text == "" {
				return "the expression is empty and matches anything; write what is to be printed, such as ^ok, or leave it out"
			}
			if _, err := regexp.Compile(text); err != nil {
				return fmt.Sprintf("%q is no regular expression (%s); the syntax is RE2's, as in ^ok", text, err)
			}
			return ""
		},
	}
}

// gateValidator rejects a gate that no host could pass.
type gateValidator struct{}

func (gateValidator) Description(context.Context) string { return "within must exceed stable_for" }

func (v gateValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (gateValidator) ValidateObject(_ context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	text := func(name string) string {
		value, _ := req.ConfigValue.Attributes()[name].(types.String)
		return value.ValueString()
	}
	stable, err := time.ParseDuration(text("stable_for"))
	within, err2 := time.ParseDuration(text("within"))
	if err == nil && err2 == nil && within >= time.Second && within <= stable {
		AddInvalid(&resp.Diagnostics, req.Path.AtName("within"), summaryInvalidGate, fmt.Sprintf(
			"no host can be stable for %s within %s; allow more than stable_for, such as %q, or leave it out", text("stable_for"), text("within"), (stable+gateSlack).String()))
	}
}

// GateOf returns the gate of a rollout, null if it has none.
func GateOf(rollout types.Object) types.Object {
	gate, found := rollout.Attributes()["healthy"].(types.Object)
	if !found {
		return types.ObjectNull(nil)
	}
	return gate
}

// gateOf converts a gate, whose values must be known.
func gateOf(gate types.Object) (*fleet.Gate, error) {
	text := func(name string) types.String {
		value, _ := gate.Attributes()[name].(types.String)
		return value
	}
	stable, err := time.ParseDuration(text("stable_for").ValueString())
	g := &fleet.Gate{StableFor: stable, Within: stable + gateSlack}
	if within := text("within"); err == nil && !within.IsNull() {
		g.Within, err = time.ParseDuration(within.ValueString())
	}
	if output := text("output"); err == nil && !output.IsNull() {
		g.Output, err = regexp.Compile(output.ValueString())
	}
	return g, err
}

// CheckGate rejects a gate that the process cannot pass: one that ends by itself does not keep running, and
// without a health command there is no output to match. The gate must be known; other unknown values pass.
func CheckGate(ctx context.Context, m Model, config tfsdk.Config, rollout types.Object) diag.Diagnostics {
	var diags diag.Diagnostics
	gate, at := GateOf(rollout), GatePath()
	if kind := m.passing(ctx, config); kind != "" {
		AddInvalid(&diags, at, summaryInvalidGate, "only a resident process goes on running, and this one does not ("+kind+"); leave it out")
		return diags
	}
	output, _ := gate.Attributes()["output"].(types.String)
	commands, commandsAt := m.commands(ctx, config)
	if output.IsNull() || output.IsUnknown() || commands.IsNull() || commands.IsUnknown() {
		return diags
	}
	switch command, exists := commands.Attributes()["health_cmd"].(types.String); {
	case !exists:
		AddInvalid(&diags, at.AtName("output"), summaryInvalidGate, "JOB's process has no health_cmd whose output could match; leave it out, so that only stable_for is checked")
	case Unset(command):
		AddInvalid(&diags, at.AtName("output"), summaryInvalidGate, "it is compared with the output of "+commandsAt.AtName("health_cmd").String()+", which is not set; "+
			"set that command, or leave this out")
	}
	return diags
}

// CheckGateEnds rejects a gate that cannot end before the object's own deadline. deadlines names the timeouts
// that apply; one that is not set has its default. Unknown values pass.
func CheckGateEnds(rollout, timeouts types.Object, deadlines ...string) diag.Diagnostics {
	var diags diag.Diagnostics
	object := GateOf(rollout)
	if object.IsNull() || object.IsUnknown() || timeouts.IsUnknown() {
		return diags
	}
	gate, err := gateOf(object)
	if err != nil { // unknown, or rejected by another validator
		return diags
	}
	for _, name := range deadlines {
		value, _ := timeouts.Attributes()[name].(types.String)
		deadline, source := DefaultChangeTimeout, ", which is "+DefaultChangeTimeout.String()+" by default"
		if !value.IsNull() {
			var err error
			if deadline, err = time.ParseDuration(value.ValueString()); err != nil { // as above
				continue
			}
			source = ", which is " + value.ValueString()
		}
		advice := fmt.Sprintf("allow more there, such as %q, or less here", (max(gate.StableFor, gate.Within) + gateSlack).String())
		within, _ := object.Attributes()["within"].(types.String)
		switch {
		case gate.StableFor >= deadline:
			AddInvalid(&diags, GatePath().AtName("stable_for"), summaryInvalidGate, fmt.Sprintf("no host can be stable for %s before the end of timeouts.%s%s; %s",
				gate.StableFor, name, source, advice))
		case gate.Within > deadline && within.ValueString() != "":
			AddInvalid(&diags, GatePath().AtName("within"), summaryInvalidGate, fmt.Sprintf("%s is longer than timeouts.%s%s; %s", gate.Within, name, source, advice))
		}
	}
	return diags
}

// GatePath is the path of the gate.
func GatePath() path.Path { return path.Root("rollout").AtName("healthy") }
