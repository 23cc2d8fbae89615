package reference

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/blueking/terraform-provider-bk/internal/job"
)

// JobNote stands at the top of the page of each JOB object.
const JobNote = "For platforms whose JOB is older than 3.7: later releases do not have these APIs any more, and the objects without `job` in their " +
	"name are the way. "

// scopeType is what a scope of JOB is.
type scopeType string

var scopeTypes = []scopeType{"biz", "biz_set"}

const scopeNote = "Changing this forces replacement, except between `bk_biz_id` and the `scope` of the same business."

// scopeMoves tells whether a plan is about another scope. The business of a
// bk_biz_id and of a scope is the same: JOB's documents changed the name.
func scopeMoves(ctx context.Context, plan tfsdk.Plan, state tfsdk.State) bool {
	var next, prior JobModel
	for _, from := range []struct {
		get func(context.Context, path.Path, any) diag.Diagnostics
		to  *JobModel
	}{{plan.GetAttribute, &next}, {state.GetAttribute, &prior}} {
		if from.get(ctx, path.Root("scope"), &from.to.Scope).HasError() || from.get(ctx, path.Root("bk_biz_id"), &from.to.BizID).HasError() {
			return true
		}
	}
	if !Known(ctx, next.Scope, next.BizID) {
		return true
	}
	_, nextName, _ := next.scopeToAPI(ctx)
	_, priorName, _ := prior.scopeToAPI(ctx)
	return nextName != priorName
}

// JobAttributes are scope, bk_biz_id, process and hosts: what a process
// is to JOB. With replaces, a process of another name is another object.
func JobAttributes(replaces bool) map[string]schema.Attribute {
	var (
		objects  []planmodifier.Object
		integers []planmodifier.Int64
		note     string
	)
	if replaces {
		objects = []planmodifier.Object{objectplanmodifier.RequiresReplaceIf(func(ctx context.Context, req planmodifier.ObjectRequest, resp *objectplanmodifier.RequiresReplaceIfFuncResponse) {
			resp.RequiresReplace = scopeMoves(ctx, req.Plan, req.State)
		}, scopeNote, scopeNote)}
		integers = []planmodifier.Int64{int64planmodifier.RequiresReplaceIf(func(ctx context.Context, req planmodifier.Int64Request, resp *int64planmodifier.RequiresReplaceIfFuncResponse) {
			resp.RequiresReplace = scopeMoves(ctx, req.Plan, req.State)
		}, scopeNote, scopeNote)}
		note = " " + scopeNote
	}
	return map[string]schema.Attribute{
		"scope": schema.SingleNestedAttribute{
			MarkdownDescription: "Scope of resources that the hosts belong to. Exactly one of `scope` and `bk_biz_id` is needed." + note,
			Optional:            true,
			PlanModifiers:       objects,
			Attributes: map[string]schema.Attribute{
				"type": schema.StringAttribute{
					MarkdownDescription: "A business or a set of them. " + OneOf(scopeTypes),
					Required:            true,
					Validators:          []validator.String{stringvalidator.OneOf(AsStrings(scopeTypes)...)},
				},
				"id": schema.StringAttribute{
					MarkdownDescription: "Id of the business or the set.",
					Required:            true,
					Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
				},
			},
		},
		"bk_biz_id": schema.Int64Attribute{
			MarkdownDescription: "Id of the business that the hosts belong to, as older releases of JOB want it." + note,
			Optional:            true,
			PlanModifiers:       integers,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"process": jobProcessAttribute(replaces),
		"hosts":   jobHostsAttribute(),
	}
}

// jobHostsAttribute is hosts without agent ids, which JOB does not know.
func jobHostsAttribute() schema.StringAttribute {
	attribute := hostsAttribute()
	attribute.MarkdownDescription += " JOB does not know agent ids."
	return attribute
}

func jobProcessAttribute(replaces bool) schema.SingleNestedAttribute {
	var (
		modifiers []planmodifier.String
		note      string
	)
	if replaces {
		modifiers = []planmodifier.String{stringplanmodifier.RequiresReplace()}
		note = " Changing this forces replacement."
	}
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Optional: true}
	}
	command := func(description string) schema.StringAttribute {
		attribute := text(description)
		attribute.Validators = []validator.String{stringvalidator.LengthAtLeast(1)}
		return attribute
	}
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{
			MarkdownDescription: description, Optional: true,
			Validators: []validator.Int64{int64validator.AtLeast(0)},
		}
	}
	limit := func(what string) schema.Int64Attribute {
		return schema.Int64Attribute{
			MarkdownDescription: "Most " + what + " that the process may use, in percent, from 0 to 100; the agent stops a process that exceeds it. " +
				"The platform silently takes a value outside for 0, so it is refused here.",
			Optional:   true,
			Validators: []validator.Int64{int64validator.Between(0, 100)},
		}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "The process. Names are those of JOB's `process_infos`. A field that is not set is left out of the request, so the " +
			"platform's own default applies.",
		Required: true,
		Attributes: map[string]schema.Attribute{
			"proc_name": schema.StringAttribute{
				MarkdownDescription: "File name of the binary." + note,
				Required:            true,
				PlanModifiers:       modifiers,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"setup_path": schema.StringAttribute{
				MarkdownDescription: "Absolute path of the directory of the binary. JOB's documents call it optional; its servers refuse a request without it." + note,
				Required:            true,
				PlanModifiers:       modifiers,
				Validators:          []validator.String{absolutePathValidator{}},
			},
			"pid_path": schema.StringAttribute{
				MarkdownDescription: "Absolute path of the file that holds the process id. JOB's documents call it optional; its servers refuse a request without it.",
				Required:            true,
				Validators:          []validator.String{absolutePathValidator{}},
			},
			"value_key": schema.StringAttribute{
				MarkdownDescription: "What the agent knows the process by, where `setup_path` and `proc_name` are not unique on a host. They are the key by default." + note,
				Optional:            true,
				PlanModifiers:       modifiers,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"proc_owner":  text("Owner of the process. Sent to `manage_proc`, which requires it."),
			"contact":     text("Contact for the process. Sent to `operate_process`."),
			"account":     text("System account that commands run as. The platform's default is `root`."),
			"cfg_path":    optionalPath("Absolute path of the configuration."),
			"log_path":    optionalPath("Absolute path of the logs."),
			"start_cmd":   command("Starts the process, and returns. The agent also runs it when the process died."),
			"stop_cmd":    command("Stops the process. The agent also runs it when the process exceeds its limits."),
			"restart_cmd": command("Restarts the process."),
			"reload_cmd":  command("Makes the process read its configuration again."),
			"kill_cmd":    command("Kills the process."),
			"func_id":     text("Id of the process function in BlueKing CC."),
			"instance_id": text("Id of the process instance in BlueKing CC."),
			"type": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("Kind of hosting. One of `%d` (runs periodically), `%d` (resident: revived when it dies), `%d` (runs once). "+
					"The platform's default is %d.", job.TypePeriodic, job.TypeResident, job.TypeOneShot, job.TypePeriodic),
				Optional:   true,
				Validators: []validator.Int64{int64validator.OneOf(job.TypePeriodic, job.TypeResident, job.TypeOneShot)},
			},
			"cycle_time": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("Period of a periodic process. Required when `type` is %d, or is not set.", job.TypePeriodic),
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"cpu_lmt":                limit("CPU"),
			"mem_lmt":                limit("memory"),
			"instance_num":           number("Number of instances."),
			"op_timeout":             number("Seconds that a command may take."),
			"start_check_begin_time": number("Seconds after a start at which checking begins."),
			"start_check_end_time":   number("Seconds after a start at which checking ends. Some releases of JOB take the begin for the end."),
		},
	}
}
