package hostedprocess

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// lifecycleAttributes returns the attributes of lifecycleModel. definition is the attribute that defines the process, covers
// is what the fingerprint covers, and ownerText says what the owner is for.
func lifecycleAttributes(ctx context.Context, definition, covers, ownerText string) map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute)
	attributes["ensure"] = reference.ChoiceAttribute(fleet.EnsureHosted, fleet.Ensures(),
		"What is ensured, and counts as drift. `"+string(fleet.EnsureRegistered)+"`: the platform knows the process. `"+string(fleet.EnsureHosted)+
			"`: the agent also restarts it when it dies. `"+string(fleet.EnsureRunning)+"`: it is also started where it does not run (resident processes only). "+
			"Defaults to `"+string(fleet.EnsureHosted)+"`.")
	attributes["adopt_existing"] = schema.BoolAttribute{
		MarkdownDescription: "Take over hosts on which the process is registered already, instead of failing there. Defaults to `false`.",
		Optional:            true,
	}
	attributes["on_partial_create"] = reference.ChoiceAttribute(reference.PartialWarn, reference.OnPartialCreates,
		"How a create ends that failed on some hosts. `"+string(reference.PartialWarn)+"`: with a warning; the next apply retries those. `"+string(reference.PartialError)+
			"`: with an error; Terraform taints the resource, and the next apply unregisters every host first. Defaults to `"+string(reference.PartialWarn)+"`.")
	attributes["on_destroy"] = reference.ChoiceAttribute(fleet.DestroyUnregister, fleet.OnDestroys(),
		"What happens to the process before its host is unregistered. `"+string(fleet.DestroyUnregister)+"`: it runs on. `"+string(fleet.DestroyStop)+"` or `"+
			string(fleet.DestroyKill)+"`: it is ended; where that fails, the host stays registered. A destroy goes by what was applied last. Defaults to `"+string(fleet.DestroyUnregister)+"`.")
	attributes["forget_unreachable"] = schema.BoolAttribute{
		MarkdownDescription: "For machines that are gone. Hosts that leave `hosts`, or are destroyed, leave state with a warning if the platform says their agents do not answer. " +
			"Without it they stay in state and the apply fails. Defaults to `false`.",
		Optional: true,
	}
	attributes["max_unreachable_hosts"] = reference.MaxUnreachableAttribute("")
	attributes["on_update"] = schema.StringAttribute{
		MarkdownDescription: "What a changed `" + definition + "` [does to the process](../guides/rollouts.md#on_update), once its host is registered. `" + string(fleet.UpdateRegister) + "`: nothing until its next start. `" +
			string(fleet.UpdateReload) + "` or `" + string(fleet.UpdateRestart) + "`: it is reloaded or restarted where it runs. Needs the command and a resident process. " +
			"Defaults to `" + string(fleet.UpdateRegister) + "`.",
		Optional:   true,
		Validators: []validator.String{stringvalidator.OneOf(reference.AsStrings(fleet.OnUpdates())...)},
	}
	rollout := reference.RolloutAttribute("Changes hosts in waves.")
	rollout.Attributes["on_failure"] = reference.OnFailureAttribute()
	attributes["rollout"] = rollout
	attributes["safety"] = schema.SingleNestedAttribute{
		MarkdownDescription: "Limits of a change. A plan that goes further fails, names the hosts, and says which number to raise; the same change may raise it. " +
			"Destroying or replacing goes by what was applied last. No limits by default.",
		Optional:   true,
		Validators: []validator.Object{reference.NotEmpty()},
		Attributes: map[string]schema.Attribute{
			"max_removed_hosts": reference.ToleranceAttribute("How many hosts may leave at once: a number, or a percentage of the hosts in state (`\"10%\"`, rounded " +
				"down). A destroy or replacement, tainted or not, counts as all."),
			"max_changed_hosts": reference.ToleranceAttribute("How many hosts that stay may be registered again at once: a number or a percentage. Repairs " +
				"and imports without `spec` do not count."),
			"deletion_protection": schema.BoolAttribute{
				MarkdownDescription: "Refuse to destroy or replace the resource, also where it is tainted. Apply `false` first. Defaults to `false`.",
				Optional:            true,
			},
		},
	}
	attributes["timeouts"] = reference.TimeoutsAttribute(ctx, timeouts.Opts{
		Create: true, Read: true, Update: true, Delete: true,
		CreateDescription: reference.TimeoutDescription("the whole create", reference.DefaultChangeTimeout),
		ReadDescription:   reference.TimeoutDescription("a refresh", reference.DefaultReadTimeout),
		UpdateDescription: reference.TimeoutDescription("the whole update", reference.DefaultChangeTimeout),
		DeleteDescription: reference.TimeoutDescription("the whole destroy", reference.DefaultChangeTimeout),
	})
	attributes["id"] = schema.StringAttribute{
		MarkdownDescription: "`namespace:name`.",
		Computed:            true,
	}
	attributes["rollout_plan"] = schema.StringAttribute{
		MarkdownDescription: "What the [last change](../guides/how-it-works.md#what-the-last-change-did) does, on which hosts and in which waves. The wording may change.",
		Computed:            true,
	}
	attributes["fingerprint"] = schema.StringAttribute{
		MarkdownDescription: "Changes whenever " + covers + " does. For the `triggers` of operations.",
		Computed:            true,
	}
	attributes["owner"] = schema.StringAttribute{
		MarkdownDescription: "ID of this object. " + ownerText,
		Computed:            true,
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
	}
	attributes["unreachable"] = reference.UnreachableAttribute("what is left to do, since when, and the platform's message. They cause no update until they answer.")
	attributes["out_of_sync"] = schema.MapAttribute{
		MarkdownDescription: "Hosts that are not as declared: host key to a [code](../guides/codes.md#state-codes), a colon and the reason. " +
			"While it is not empty, every plan shows an update that repairs them.",
		Computed:    true,
		ElementType: types.StringType,
	}
	return attributes
}
