package processoperation

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// invokedModel is the model of an action that runs an operation.
type invokedModel interface {
	operationModel
	invocation() *invocationModel
}

// invocationModel is what such actions have in common.
type invocationModel struct {
	operationInputs
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

func (m *invocationModel) invocation() *invocationModel { return m }

// invocationAttributes are those of invocationModel.
func invocationAttributes(ctx context.Context) map[string]schema.Attribute {
	attributes := reference.ActionAttributes(operationAttributes(""))
	limits := timeouts.Attributes(ctx)
	if nested, ok := limits.(schema.SingleNestedAttribute); ok {
		nested.MarkdownDescription = reference.TimeoutsDescription
		nested.Attributes = reference.ActionAttributes(reference.DeadlineAttribute("invoke", "the whole run, all waves", reference.DefaultChangeTimeout))
		limits = nested
	}
	attributes["timeouts"] = limits
	return attributes
}

// operationAction runs an operation when it is told to, whichever API it goes through.
// It keeps nothing, so every run is on every host.
type operationAction struct {
	platform *platform.Platform
	newModel func() invokedModel
}

func (a *operationAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (a *operationAction) ValidateConfig(ctx context.Context, req action.ValidateConfigRequest, resp *action.ValidateConfigResponse) {
	model := a.newModel()
	resp.Diagnostics.Append(req.Config.Get(ctx, model)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(model.Check(nil)...)
		resp.Diagnostics.Append(reference.CheckCommand(ctx, model, req.Config, model.inputs().Operation)...)
	}
}

// ModifyPlan checks once more, because a plan knows what a validation does not:
// the provider block, and what other objects give.
func (a *operationAction) ModifyPlan(ctx context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	_, diags := a.Check(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
}

func (a *operationAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	if !a.platform.Ready() {
		resp.Diagnostics.Append(a.platform.NotReady())
		return
	}
	model, diags := a.Check(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	o := openOperation(ctx, a.platform, model, &resp.Diagnostics)
	run, cancel := reference.WithDeadline(ctx, model.invocation().Timeouts.Invoke, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}

	report := newProgress(a.platform.Pace, string(o.operation)+" "+o.ID, func(message string) {
		// After an interrupt Terraform (1.15.9, stopHook.ProgressAction) turns away at
		// the next message and never reads how the action ended.
		if ctx.Err() == nil {
			resp.SendProgress(action.InvokeProgressEvent{Message: message})
		}
	})
	o.rollout.Watch = report.update
	results := fleet.Run(run, o.Process, o.operation, o.Hosts.Hosts(), nil, o.rollout)
	// Nobody listens any more once this method has returned.
	report.stop()

	resp.Diagnostics.Append(invoked(o, results)...)
}

// Check finds what can be found before anything runs. What is not known yet is
// left out.
func (a *operationAction) Check(ctx context.Context, config tfsdk.Config) (invokedModel, diag.Diagnostics) {
	model := a.newModel()
	diags := config.Get(ctx, model)
	if diags.HasError() {
		return model, diags
	}
	diags.Append(reference.CheckCommand(ctx, model, config, model.inputs().Operation)...)
	diags.Append(reference.CheckHosts(a.platform, model)...)
	if hosts := *model.HostsMap(); !hosts.IsUnknown() && hosts.Len() == 0 {
		reference.AddInvalid(&diags, path.Root("hosts"), diagnose.SummaryInvalidHost, "there is no host to run the operation on")
	}
	return model, diags
}
