package reference

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/blueking/terraform-provider-bk/internal/job"
)

// JobNote begins the description of each JOB object, and ends with a space.
const JobNote = "For platforms whose JOB is older than 3.7. Later releases no longer have these APIs: there, use the object without `job` in its " +
	"name. "

// JobAttributes declares scope, bk_biz_id, process and hosts, which identify a process for JOB, and
// declaration. The object that registers computes declaration. Any other object accepts a declaration in
// place of the four, or several processes in either form.
func JobAttributes(o Options) map[string]schema.Attribute {
	hosts := jobHostsAttribute()
	hosts.Required, hosts.Optional = o.Registers, !o.Registers
	declared := jobDeclaration.accepted()
	switch {
	case o.Registers:
		declared = jobDeclaration.computed()
	case o.Several:
		declared = jobDeclaration.orSeveral()
	case o.Whole:
		declared = jobDeclaration.orWhole()
	}
	attributes := map[string]schema.Attribute{
		"scope":             jobScopeAttribute(o.ReplaceOnRename),
		"bk_biz_id":         jobBizIDAttribute(o.ReplaceOnRename),
		"process":           jobProcessAttribute(o),
		hostsPart:           hosts,
		jobDeclaration.name: declared,
	}
	scope := jobScopeAttribute(false)
	scope.Validators = []validator.Object{objectvalidator.ConflictsWith(path.MatchRelative().AtParent().AtName("bk_biz_id"))}
	nested := map[string]schema.Attribute{"scope": scope, "bk_biz_id": jobBizIDAttribute(false), "process": jobProcessAttribute(Options{})}
	if o.Whole {
		attributes[wholePart] = jobDeclaration.whole(nested)
	}
	if o.Several {
		attributes["processes"] = processesAttribute(jobDeclaration, nested, "each in a call of its own", "")
	}
	return attributes
}

func jobProcessAttribute(o Options) schema.SingleNestedAttribute {
	var (
		modifiers []planmodifier.String
		whole     []planmodifier.Object
		note      string
	)
	if o.ReplaceOnRename {
		modifiers = []planmodifier.String{stringplanmodifier.RequiresReplaceIf(otherText, otherTextDescription, otherTextDescription)}
		whole = replaceIfUnknown
		note = " Changing this forces replacement."
	}
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Optional: true}
	}
	command := func(description string) schema.StringAttribute {
		attribute := text(description)
		attribute.Validators = []validator.String{commandValidator()}
		return attribute
	}
	number := func(description string) schema.Int64Attribute {
		return schema.Int64Attribute{
			CustomType:          WholeNumber{},
			MarkdownDescription: description, Optional: true,
			Validators: []validator.Int64{int64validator.AtLeast(0)},
		}
	}
	limit := func(what string) schema.Int64Attribute {
		return schema.Int64Attribute{
			CustomType: WholeNumber{},
			MarkdownDescription: "Maximum " + what + " usage, as a percentage from 0 to 100. The agent stops or kills a process that exceeds it. " +
				"Any other value is refused, because the platform silently treats it as 0.",
			Optional:   true,
			Validators: []validator.Int64{int64validator.Between(0, 100)},
		}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "The process and how to run it, in the field names of JOB's `process_infos`. " + unsetNote,
		Required:            o.Registers,
		Optional:            !o.Registers,
		PlanModifiers:       whole,
		Attributes: map[string]schema.Attribute{
			"proc_name": schema.StringAttribute{
				MarkdownDescription: "File name of the binary, without its directory." + note,
				Required:            true,
				PlanModifiers:       modifiers,
				Validators:          []validator.String{binaryValidator()},
			},
			"setup_path": schema.StringAttribute{
				MarkdownDescription: "Absolute path of the directory of the binary. JOB refuses a request without it, although it is documented as optional." + note,
				Required:            true,
				PlanModifiers:       modifiers,
				Validators:          []validator.String{absolutePathValidator{}},
			},
			"pid_path": schema.StringAttribute{
				MarkdownDescription: "Absolute path of the PID file. JOB refuses a request without it, although it is documented as optional.",
				Required:            true,
				Validators:          []validator.String{absolutePathValidator{}},
			},
			"value_key": schema.StringAttribute{
				MarkdownDescription: "Key by which the agent knows the process, if `setup_path` and `proc_name` are not unique on a host. Defaults to these two." + note,
				Optional:            true,
				PlanModifiers:       modifiers,
			},
			"proc_owner":  text("Owner of the process. Sent to `manage_proc`, which requires it."),
			"contact":     text("Contact for the process. Sent to `operate_process`."),
			"account":     text("System account to run commands as. The platform's default is `root`."),
			"cfg_path":    optionalPath("Absolute path of the configuration."),
			"log_path":    optionalPath("Absolute path of the logs."),
			"start_cmd":   command("Starts the process and returns. The agent also runs it when the process has died. A hosted resident process requires it."),
			"stop_cmd":    command("Stops the process. Beyond a limit, the agent runs it or kills the process (documents differ). Limits without this command cause a warning if the process is kept running."),
			"restart_cmd": command("Restarts the process."),
			"reload_cmd":  command("Makes the process read its configuration again."),
			"kill_cmd":    command("Kills the process."),
			"func_id":     text("ID of the process function in BlueKing CC."),
			"instance_id": text("ID of the process instance in BlueKing CC."),
			"type": schema.Int64Attribute{
				CustomType: WholeNumber{},
				MarkdownDescription: fmt.Sprintf("Kind of hosting. One of `%d` (runs periodically), `%d` (keeps running: restarted when it dies), `%d` (runs once). "+
					"The platform's default is %d.", job.TypePeriodic, job.TypeResident, job.TypeOneShot, job.TypePeriodic),
				Optional:   true,
				Validators: []validator.Int64{int64validator.OneOf(job.TypePeriodic, job.TypeResident, job.TypeOneShot)},
			},
			"cycle_time": schema.Int64Attribute{
				CustomType:          WholeNumber{},
				MarkdownDescription: fmt.Sprintf("Period of a periodic process. Required to host, start or restart the process if `type` is %d or not set.", job.TypePeriodic),
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(0)},
			},
			"cpu_lmt":                limit("CPU"),
			"mem_lmt":                limit("memory"),
			"instance_num":           number("Number of instances."),
			"op_timeout":             number("Seconds that a command may take."),
			"start_check_begin_time": number("Seconds after a start at which the agent begins to check the process."),
			"start_check_end_time":   number("Seconds after a start at which the agent stops checking. Some releases of JOB use the begin time instead."),
		},
	}
}

const otherTextDescription = "Another text replaces the object. Null and empty are the same."

func otherText(_ context.Context, req planmodifier.StringRequest, resp *stringplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = req.PlanValue.IsUnknown() || req.PlanValue.ValueString() != req.StateValue.ValueString()
}
