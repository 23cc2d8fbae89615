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

// codesText lists the codes of out_of_sync.
const codesText = "The codes are `not_registered`, `unregistered` (by somebody else, after it was registered), `unconfirmed` (it may be registered), " +
	"`registered_by_other`, `other_spec`, `other_labels`, `not_hosted`, `not_running`, `unhealthy` (as declared, and did not pass `rollout.healthy`), " +
	"`not_operated` (registered as declared, and the operation of `on_update` is still due) and `operation_unconfirmed` (it was sent, and how it ended is not known)."

// lifecycleAttributes are those of lifecycleModel. ownerText says what the owner is for.
func lifecycleAttributes(ctx context.Context, ownerText string) map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute)
	attributes["ensure"] = reference.ChoiceAttribute(fleet.EnsureHosted, fleet.Ensures(),
		"How far the process is looked after, and so what counts as drift. `"+string(fleet.EnsureRegistered)+
			"`: the platform knows it. `"+string(fleet.EnsureHosted)+"`: the agent also revives it when it dies; hosting does not start it. `"+
			string(fleet.EnsureRunning)+"`: it also runs, and is started where it does not; needs a resident process (`auto_type` 1, or `type` 1 with JOB). "+
			"Defaults to `"+string(fleet.EnsureHosted)+"`.")
	attributes["adopt_existing"] = schema.BoolAttribute{
		MarkdownDescription: "Take over hosts on which the process is registered already when the resource is created, instead of failing there. " +
			"Defaults to `false`.",
		Optional: true,
	}
	attributes["on_partial_create"] = reference.ChoiceAttribute(reference.PartialWarn, reference.OnPartialCreates,
		"How a create ends that left work undone, where at least one host was registered or the create was cut off. `"+string(reference.PartialWarn)+"`: with a warning; the hosts are "+
			"in `out_of_sync`, and the next apply retries just those. `"+string(reference.PartialError)+"`: with an error, after which Terraform taints the "+
			"resource and the next apply unregisters every host and begins anew. Defaults to `"+string(reference.PartialWarn)+"`.")
	attributes["on_destroy"] = reference.ChoiceAttribute(fleet.DestroyUnregister, fleet.OnDestroys(),
		"What becomes of the process when its host is unregistered, by a destroy or by leaving `hosts`. `"+
			string(fleet.DestroyUnregister)+"`: it goes on running, and nobody revives it. `"+string(fleet.DestroyStop)+"` or `"+
			string(fleet.DestroyKill)+"`: it is stopped or killed first; where that fails, the host stays registered. A destroy, also that of a replacement, has no configuration: it does what was "+
			"applied last, so a changed value has to be applied before it. For hosts that leave `hosts` it counts at once. Defaults to `"+
			string(fleet.DestroyUnregister)+"`.")
	attributes["forget_unreachable"] = schema.BoolAttribute{
		MarkdownDescription: "Let hosts that leave `hosts`, or are destroyed, go from state although their agent does not answer, with a warning that names " +
			"them. For machines that are gone for good: one that comes back goes on hosting the process. Without it such a host stays in state, and " +
			"the apply fails. Defaults to `false`.",
		Optional: true,
	}
	attributes["max_unreachable_hosts"] = reference.MaxUnreachableAttribute("Such hosts are in `unreachable` and not in `out_of_sync`, and the next apply that reaches " +
		"them brings them up to date. Removing and destroying go by `forget_unreachable`.")
	attributes["on_update"] = schema.StringAttribute{
		MarkdownDescription: "What a changed `spec` does to the process on each host, once the host is registered with it and before the next wave begins. `" +
			string(fleet.UpdateRegister) + "`: nothing, so that it shows when the process is started next. `" + string(fleet.UpdateReload) + "` or `" +
			string(fleet.UpdateRestart) + "`: it is reloaded or restarted where it runs; a process that does not run is not started by it, and one that an " +
			"earlier try has taken down is. A host whose registration was replaced by one with another spec, or without a fingerprint, is operated " +
			"when that is repaired. Changed labels alone operate nothing, nor does joining `hosts`, an import or taking over. Hosts of waves that did not begin " +
			"keep the old registration and are in `out_of_sync`; the next apply goes on from there. An operation that was still under way when its apply ended is asked for by its task and waited for, and not sent " +
			"again unless it failed. Where its answer was lost, or the platform knows of no such task any more, the next apply asks the agents " +
			"and operates again only where the process has the same pid as before. Where an apply was killed and nothing tells how far it came, " +
			"hosts that run are registered and not operated, the apply fails with `operation_unconfirmed`, and the apply after that operates them. " +
			"Needs the command and a resident process. Defaults to `" + string(fleet.UpdateRegister) + "`.",
		Optional:   true,
		Validators: []validator.String{stringvalidator.OneOf(reference.AsStrings(fleet.OnUpdates())...)},
	}
	rollout := reference.RolloutAttribute("Registers, re-registers, starts, reloads, restarts and unregisters in waves.")
	rollout.Attributes["on_failure"] = reference.OnFailureAttribute()
	attributes["rollout"] = rollout
	attributes["safety"] = schema.SingleNestedAttribute{
		MarkdownDescription: "How far a change may go. A plan that goes further fails, names the hosts, and says which number to raise. The planned value counts, " +
			"so that the change that needs it may raise it; for a destroy, which has no configuration, what was applied last counts. " +
			"A host whose key changes, or whose address is spelt otherwise, is the same host. No limits by default.",
		Optional:   true,
		Validators: []validator.Object{reference.NotEmpty()},
		Attributes: map[string]schema.Attribute{
			"max_removed_hosts": reference.ToleranceAttribute("How many hosts may leave at once: a number, or a percentage such as `\"10%\"` of the hosts in state, rounded " +
				"down. A destroy and a replacement unregister all."),
			"max_changed_hosts": reference.ToleranceAttribute("How many of the hosts that stay may be registered with something else at once, because `spec`, labels or what " +
				"else is registered has changed: a number, or a percentage of the hosts in state, rounded down. Repairing what drifted does not count, nor does the first apply after an import."),
			"deletion_protection": schema.BoolAttribute{
				MarkdownDescription: "Refuse to destroy or replace the resource, also where it is tainted. `false` has to be applied before. Defaults to `false`.",
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
		MarkdownDescription: "What the plan that last called hosts does to them, in which waves, for those who review it: such as " +
			"`register anew 1000 hosts, restart what runs on 1000 hosts in 5 waves of 1, 100, 200, 400, 299, first the canary web-7: web-1…web-1000`. To register includes to host, where `ensure` asks for that. " +
			"Where the plan before told the same, it begins with `again:`. Null without `rollout`. It is for people; its wording may change.",
		Computed: true,
	}
	attributes["fingerprint"] = schema.StringAttribute{
		MarkdownDescription: "Fingerprint of what is declared: it changes whenever the hosts are registered with something else. Name it in the `triggers` of an " +
			"operation that is to run then.",
		Computed: true,
	}
	attributes["owner"] = schema.StringAttribute{
		MarkdownDescription: "Id of this resource object, given when it is created and never changed. " + ownerText,
		Computed:            true,
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseNonNullStateForUnknown()},
	}
	attributes["unreachable"] = reference.UnreachableAttribute("what is left to do there, if anything, since when, and what the platform says. " +
		"A plan with nothing else is empty. Once an agent answers, its host is as declared or in `out_of_sync`.")
	attributes["out_of_sync"] = schema.MapAttribute{
		MarkdownDescription: "Hosts that are not as declared, as a map of host key to a code and, behind a colon, the reason with the last lines of what a command printed. " + codesText + " Empty when all is well. While it is not empty, " +
			"every plan shows an update that repairs those hosts.",
		Computed:    true,
		ElementType: types.StringType,
	}
	return attributes
}
