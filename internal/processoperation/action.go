package processoperation

import (
	"cmp"
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// actionAttributes declares the attributes of actionValues.
func actionAttributes(ctx context.Context) map[string]schema.Attribute {
	attributes := reference.ActionAttributes(inputAttributes("", "", "The action ends with a warning that names them. "))
	limits := timeouts.Attributes(ctx)
	if nested, ok := limits.(schema.SingleNestedAttribute); ok {
		nested.MarkdownDescription = reference.TimeoutsDescription
		nested.Validators = []validator.Object{reference.NotEmpty()}
		nested.Attributes = reference.ActionAttributes(reference.DeadlineAttribute("invoke", "the whole run, all waves", reference.DefaultChangeTimeout))
		limits = nested
	}
	attributes["timeouts"] = limits
	return attributes
}

// baseAction is an action that runs an operation, over either API. It keeps no state, so each invocation runs
// on every host.
type baseAction struct {
	platform *platform.Platform
	newModel func() actionModel
}

func (a *baseAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (a *baseAction) ValidateConfig(ctx context.Context, req action.ValidateConfigRequest, resp *action.ValidateConfigResponse) {
	model := a.newModel()
	resp.Diagnostics.Append(req.Config.Get(ctx, model)...)
	if !resp.Diagnostics.HasError() {
		entries, _ := model.Entries(ctx)
		resp.Diagnostics.Append(checkInputs(ctx, model, req.Config)...)
		resp.Diagnostics.Append(reference.CheckEntries(ctx, entries)...)
	}
}

// ModifyPlan repeats the checks of ValidateConfig, because a plan knows more: the provider block, and values of
// other objects.
func (a *baseAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	model, diags := a.check(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
	if !diags.HasError() {
		resp.Diagnostics.Append(manyAtOnce(ctx, model, model.inputs().Operation, model.inputs().order())...)
	}
}

func (a *baseAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	if !a.platform.Ready() {
		resp.Diagnostics.Append(a.platform.NotReady())
		return
	}
	model, diags := a.check(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	o := open(ctx, a.platform, model, &resp.Diagnostics)
	limited, cancel := reference.WithDeadline(ctx, model.values().Timeouts.Invoke, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}

	if resp.Diagnostics.Append(o.checkRun(limited)...); resp.Diagnostics.HasError() {
		return
	}

	report := newProgress(a.platform.Pace, string(o.name)+" "+o.subject(), func(message string) {
		// After an interrupt, Terraform (1.15.9, stopHook.ProgressAction) stops at the next message and never
		// reads the action's result.
		if ctx.Err() == nil {
			resp.SendProgress(action.InvokeProgressEvent{Message: message})
		}
	})
	o.rollout.Watch = report.update
	results := o.run(limited, everyHost(o.members))
	// Terraform reads no messages after this method returns.
	report.stop()

	entries, _ := model.Entries(ctx)
	var addresses []map[string]string
	inOneValue := ""
	for _, entry := range entries {
		inOneValue = cmp.Or(inOneValue, entry.InOneValue())
		addresses = append(addresses, maps.Collect(entry.HostsMap(ctx).Known()))
	}
	resp.Diagnostics.Append(invoked(o, addresses, inOneValue, results)...)
}

// check reports what can be found before any call. Unknown values pass.
func (a *baseAction) check(ctx context.Context, config tfsdk.Config) (actionModel, diag.Diagnostics) {
	model := a.newModel()
	diags := config.Get(ctx, model)
	if diags.HasError() {
		return model, diags
	}
	diags.Append(checkPlanned(ctx, a.platform, model)...)
	diags.Append(checkInputs(ctx, model, config)...)
	entries, _ := model.Entries(ctx)
	for _, entry := range entries {
		if hosts := entry.HostsMap(ctx); !hosts.IsUnknown() && hosts.Len() == 0 {
			diags.Append(reference.NoHosts(entry)...)
		}
	}
	return model, diags
}
