package reference

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/blueking/terraform-provider-bk/internal/gse"
)

// reservedNote ends the description of a field whose effect is unknown.
const reservedNote = " Reserved by the platform."

// unsetNote ends the description of an object with optional fields.
const unsetNote = "A field that is unset or empty is not sent, so the platform's default applies."

func specAttribute(o Options) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "How the agent runs the process, in the platform's field names. " + unsetNote,
		Required:            o.Registers,
		Optional:            !o.Registers,
		Attributes: map[string]schema.Attribute{
			"identity":       identityAttribute(),
			"control":        controlAttribute(),
			"resource":       resourceAttribute(o),
			"monitor_policy": monitorPolicyAttribute(),
			"warn_report_policy": schema.SingleNestedAttribute{
				MarkdownDescription: "Where the platform reports problems.",
				Optional:            true,
				Validators:          []validator.Object{NotEmpty()},
				Attributes: map[string]schema.Attribute{
					"report_id": schema.Int64Attribute{
						CustomType:          WholeNumber{},
						MarkdownDescription: "ID of the alarm.",
						Optional:            true,
						Validators:          []validator.Int64{int64validator.AtLeast(0)},
					},
				},
			},
			"configmap": schema.ListNestedAttribute{
				MarkdownDescription: "Configuration files of the process." + reservedNote,
				Optional:            true,
				Validators:          []validator.List{NoNulls{}},
				NestedObject: schema.NestedAttributeObject{
					Attributes: map[string]schema.Attribute{
						"path": optionalPath("Absolute path of the file."),
						"md5": schema.StringAttribute{
							MarkdownDescription: "MD5 checksum of the file: 32 hexadecimal characters.",
							Optional:            true,
							Validators:          []validator.String{md5Validator()},
						},
					},
				},
			},
		},
	}
}

func identityAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "What identifies the process on a host.",
		Required:            true,
		Attributes: map[string]schema.Attribute{
			"proc_name": schema.StringAttribute{
				MarkdownDescription: "File name of the running binary, as `readlink /proc/<pid>/exe` shows it: `java`, not the script that starts it.",
				Required:            true,
				Validators:          []validator.String{binaryValidator()},
			},
			"setup_path": schema.StringAttribute{
				MarkdownDescription: "Absolute path of the working directory, in which commands run.",
				Required:            true,
				Validators:          []validator.String{absolutePathValidator{}},
			},
			"pid_path": schema.StringAttribute{
				MarkdownDescription: "Absolute path of the PID file (not of its directory). The agent finds the process by it.",
				Required:            true,
				Validators:          []validator.String{absolutePathValidator{file: true}},
			},
			"user": schema.StringAttribute{
				MarkdownDescription: "System account to run the process as, such as `root` or `Administrator`.",
				Required:            true,
				Validators:          []validator.String{accountValidator()},
			},
			"config_path": optionalPath("Absolute path of the configuration file."),
			"log_path":    optionalPath("Absolute path of the logs."),
			"index_key": schema.StringAttribute{
				MarkdownDescription: "Appears in the platform's examples. Its meaning is not documented.",
				Optional:            true,
			},
		},
	}
}

func controlAttribute() schema.SingleNestedAttribute {
	command := func(does string) schema.StringAttribute {
		return schema.StringAttribute{
			MarkdownDescription: does,
			Optional:            true,
			Validators:          []validator.String{commandValidator()},
		}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Commands, run in `setup_path`. An operation requires its command.",
		Required:            true,
		Attributes: map[string]schema.Attribute{
			"start_cmd": command("Starts the process, writes its PID to `pid_path` and returns. The agent also runs it when the process has died. " +
				"A hosted resident process requires it."),
			"stop_cmd": command("Stops the process. Beyond a limit, the agent runs it or kills the process (documents differ). " +
				"Limits without this command cause a warning if the process is kept running."),
			"restart_cmd": command("Restarts the process."),
			"reload_cmd":  command("Makes the process read its configuration again."),
			"kill_cmd":    command("Kills the process."),
			"version_cmd": command("Prints the version of the process."),
			"health_cmd":  command("Checks whether the process is healthy."),
		},
	}
}

func resourceAttribute(o Options) schema.SingleNestedAttribute {
	validators := []validator.Float64{percentValidator()}
	if o.Registers { // an object that only reads the spec does not repeat it
		validators = append(validators, shareValidator{})
	}
	percent := func(what string) schema.Float64Attribute {
		return schema.Float64Attribute{
			MarkdownDescription: "Maximum " + what + " usage, in percent of the whole machine: more than 0, at most 100.",
			Required:            true,
			Validators:          validators,
		}
	}
	reserved := func(what string) schema.Int64Attribute {
		return schema.Int64Attribute{
			CustomType:          WholeNumber{},
			MarkdownDescription: what + reservedNote,
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(0)},
		}
	}
	usage := "Resource limits. None by default. The agent stops or kills a process that exceeds one and, if hosted, starts it again: too low a limit causes a restart loop. " +
		"Through the ESB, `ensure = \"registered\"` requires them."
	if !o.Registers {
		usage = "Resource limits. Through the API gateway, operations send them. Through the ESB, only a registration does, and here they have no effect."
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: usage,
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"cpu":  percent("CPU"),
			"mem":  percent("memory"),
			"fd":   reserved("Maximum number of open file handles."),
			"disk": reserved("Maximum disk space."),
			"net":  reserved("Maximum network traffic."),
		},
	}
}

func monitorPolicyAttribute() schema.SingleNestedAttribute {
	seconds := func(what string, minimum int64) schema.Int64Attribute {
		return schema.Int64Attribute{
			CustomType:          WholeNumber{},
			MarkdownDescription: what,
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(minimum)},
		}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "How the agent monitors the process. Operations send it as `alive_monitor_policy`.",
		Required:            true,
		Attributes: map[string]schema.Attribute{
			"auto_type": schema.Int64Attribute{
				CustomType: WholeNumber{},
				MarkdownDescription: fmt.Sprintf("Kind of hosting. One of `%d` (periodic), `%d` (resident: restarted when it dies), `%d` (runs once).",
					gse.AutoPeriodic, gse.AutoResident, gse.AutoOneShot),
				Required:   true,
				Validators: []validator.Int64{int64validator.OneOf(gse.AutoPeriodic, gse.AutoResident, gse.AutoOneShot)},
			},
			"start_check_secs": seconds("Seconds from the start command to the agent's check that the process runs. At least 1: "+
				"with 0, every start is reported as failed. The platform's default is 5.", 1),
			"stop_check_secs": seconds("Seconds from the stop command to the agent's check that the process has stopped.", 0),
			"start_retries":   seconds("How many times the agent tries to restart a process that has died. The platform's default is 4.", 0),
			"start_interval":  seconds("Seconds between two attempts to restart it. The platform's default is 10.", 0),
			"crontab_rule": schema.StringAttribute{
				MarkdownDescription: "When a periodic process (`auto_type` 0) runs." + reservedNote,
				Optional:            true,
			},
			"op_timeout": seconds("Seconds that a command may take, at least 1. Changing only this registers the process again, except through the ESB if `resource` is set. "+
				"The platform's default is 60.", 1),
		},
	}
}

func md5Validator() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^([0-9a-fA-F]{32})?$`), "must be 32 hexadecimal characters")
}
