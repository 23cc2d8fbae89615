package hostedprocess

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// codesText lists the codes of out_of_sync.
const codesText = "The codes are `not_registered`, `unregistered` (by somebody else, after it was registered), `unconfirmed` (it may be registered), " +
	"`registered_by_other`, `other_spec`, `other_labels`, `not_hosted`, `not_running` and `unhealthy` (as declared, and did not pass `rollout.healthy`)."

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
		"How a create ends that left work undone, where at least one host was registered or the create was cut off. `"+string(reference.PartialWarn)+"`: with a warning; the hosts stand "+
			"in `out_of_sync`, and the next apply retries just those. `"+string(reference.PartialError)+"`: with an error, after which Terraform taints the "+
			"resource and the next apply unregisters every host and begins anew. Defaults to `"+string(reference.PartialWarn)+"`.")
	attributes["on_destroy"] = reference.ChoiceAttribute(fleet.DestroyUnregister, fleet.OnDestroys(),
		"What becomes of the process when its host is unregistered, by a destroy or by leaving `hosts`. `"+
			string(fleet.DestroyUnregister)+"`: it goes on running, and nobody revives it. `"+string(fleet.DestroyStop)+"` or `"+
			string(fleet.DestroyKill)+"`: it is stopped or killed first; where that fails, the host stays registered. Defaults to `"+
			string(fleet.DestroyUnregister)+"`.")
	attributes["forget_unreachable"] = schema.BoolAttribute{
		MarkdownDescription: "Let hosts that leave `hosts`, or are destroyed, go from state although their agent does not answer, with a warning that names " +
			"them. For machines that are gone for good: one that comes back goes on hosting the process. Without it such a host stays in state, and " +
			"the apply fails. Defaults to `false`.",
		Optional: true,
	}
	attributes["rollout"] = reference.RolloutAttribute("Registers, re-registers, starts and unregisters in waves.")
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
	attributes["fingerprint"] = schema.StringAttribute{
		MarkdownDescription: "Fingerprint of what is declared: it changes whenever the hosts are registered with something else. Name it in the `triggers` of an " +
			"operation that is to run then.",
		Computed: true,
	}
	attributes["owner"] = schema.StringAttribute{
		MarkdownDescription: "Id of this resource object, given when it is created and never changed. " + ownerText,
		Computed:            true,
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
	attributes["out_of_sync"] = schema.MapAttribute{
		MarkdownDescription: "Hosts that are not as declared, as a map of host key to a code and, behind a colon, the reason with the last lines of what a command printed. " + codesText + " Empty when all is well. While it is not empty, " +
			"every plan shows an update that mends those hosts.",
		Computed:    true,
		ElementType: types.StringType,
	}
	return attributes
}
