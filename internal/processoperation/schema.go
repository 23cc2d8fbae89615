package processoperation

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// inputAttributes declares the attributes of inputValues. The arguments add sentences to descriptions: more
// about a change of the operation, order about a change of the order, and unreachableText about hosts whose
// agents do not answer.
func inputAttributes(more, order, unreachableText string) map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute)
	attributes["operation"] = schema.StringAttribute{
		MarkdownDescription: "What to do. " + reference.OneOf(fleet.Operations()) + " It runs the command of that name. A host that is already as wanted counts as done." + more,
		Required:            true,
		Validators:          []validator.String{operationValidator()},
	}
	attributes["order"] = schema.StringAttribute{
		MarkdownDescription: "In which order the operation takes the priorities of `processes`. " + reference.OneOf(fleet.Orders()) +
			" By default as GSEKit and BSCP do it: start, reload and kill ascend, stop and restart descend." + order,
		Optional:   true,
		Validators: []validator.String{stringvalidator.OneOf(reference.AsStrings(fleet.Orders())...)},
	}
	attributes["rollout"] = reference.RolloutAttribute("Runs the operation in waves.")
	attributes["max_unreachable_hosts"] = reference.MaxUnreachableAttribute(unreachableText)
	return attributes
}

func operationValidator() validator.String {
	return stringvalidator.OneOf(reference.AsStrings(fleet.Operations())...)
}

// idsOfSeveral ends the description of id.
const idsOfSeveral = "With `processes` it is the ids of all of them, joined by commas."

// resourceAttributes declares the attributes of resourceValues.
func resourceAttributes(ctx context.Context) map[string]schema.Attribute {
	attributes := inputAttributes(" Changing this runs the new operation on every host.",
		" Changing only this runs nothing. Not for `on_destroy`.",
		"The operation runs there once they answer. Not for `on_destroy`. ")
	attributes["unreachable"] = reference.UnreachableAttribute("since when, and the platform's message. They cause no update. Once an agent answers, its host is in `failed_hosts`.")
	attributes["triggers"] = schema.MapAttribute{
		MarkdownDescription: "Any values. When one changes, the operation runs again on every host. Such as the hash of a " +
			"configuration file, or the `fingerprint` of a `bk_hosted_process`, which changes with its `spec` and labels.",
		Optional:    true,
		ElementType: types.StringType,
	}
	attributes["run_on_create"] = schema.BoolAttribute{
		MarkdownDescription: "Whether the operation runs when the resource is created, and on hosts that join later. With `false` they are only recorded, for an operation that follows later changes. Defaults to `true`.",
		Optional:            true,
	}
	attributes["on_partial_create"] = reference.ChoiceAttribute(reference.PartialWarn, reference.OnPartialCreates,
		"How the first run ends if it failed on some hosts. `"+string(reference.PartialWarn)+"`: with a warning; the next apply retries those in `failed_hosts`. `"+string(reference.PartialError)+
			"`: with an error; Terraform taints the resource, and the next apply runs on every host again, after `on_destroy`. Defaults to `"+string(reference.PartialWarn)+"`.")
	attributes["on_destroy"] = schema.StringAttribute{
		MarkdownDescription: "Operation to run on every host when the resource is destroyed. " + reference.OneOf(fleet.Operations()) + " None by default.",
		Optional:            true,
		Validators:          []validator.String{operationValidator()},
	}
	attributes["timeouts"] = reference.TimeoutsAttribute(ctx, timeouts.Opts{
		Create: true, Update: true, Delete: true,
		CreateDescription: reference.TimeoutDescription("the first run, all waves", reference.DefaultChangeTimeout),
		UpdateDescription: reference.TimeoutDescription("a later run, all waves", reference.DefaultChangeTimeout),
		DeleteDescription: reference.TimeoutDescription("`on_destroy`, all waves", reference.DefaultChangeTimeout),
	})
	attributes["id"] = schema.StringAttribute{
		MarkdownDescription: "`namespace:name`. " + idsOfSeveral,
		Computed:            true,
	}
	attributes["rollout_plan"] = schema.StringAttribute{
		MarkdownDescription: "What the last change runs, on which hosts and in which waves: `run 2: restart on 200 hosts in 20 waves of 10: web-001…web-200`, or `" + runsNothing +
			"` where the change is only recorded. The wording may change.",
		Computed: true,
	}
	attributes["failed_hosts"] = schema.MapAttribute{
		MarkdownDescription: "Hosts on which the last run failed or was not tried: host key to a [code](../guides/codes.md#state-codes), a colon and the reason. " +
			"While it is not empty, every plan shows an update that retries them.",
		Computed:    true,
		ElementType: types.StringType,
	}
	return attributes
}
