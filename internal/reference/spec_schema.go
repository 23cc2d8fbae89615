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

func specAttribute(o Options) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "How the agent runs the process. Names are those of the platform's API. A field that is not set is left out of " +
			"the request, so the platform's own default applies.",
		Required: !o.OptionalSpec,
		Optional: o.OptionalSpec,
		Attributes: map[string]schema.Attribute{
			"identity":       identityAttribute(),
			"control":        controlAttribute(),
			"resource":       resourceAttribute(o),
			"monitor_policy": monitorPolicyAttribute(),
			"warn_report_policy": schema.SingleNestedAttribute{
				MarkdownDescription: "Where the platform reports trouble.",
				Optional:            true,
				Attributes: map[string]schema.Attribute{
					"report_id": schema.Int64Attribute{
						MarkdownDescription: "Alarm id.",
						Optional:            true,
						Validators:          []validator.Int64{int64validator.AtLeast(0)},
					},
				},
			},
			"configmap": schema.ListNestedAttribute{
				MarkdownDescription: "Configuration files of the process. Reserved by the platform's documents.",
				Optional:            true,
				NestedObject: schema.NestedAttributeObject{
					Attributes: map[string]schema.Attribute{
						"path": optionalPath("Absolute path of the file."),
						"md5": schema.StringAttribute{
							MarkdownDescription: "MD5 of the file, 32 hexadecimal characters.",
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
		MarkdownDescription: "What the process is on the host.",
		Required:            true,
		Attributes: map[string]schema.Attribute{
			"proc_name": schema.StringAttribute{
				MarkdownDescription: "File name of the binary, which is not the same as `meta.name`.",
				Required:            true,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"setup_path": schema.StringAttribute{
				MarkdownDescription: "Absolute path of the working directory. Commands run in it.",
				Required:            true,
				Validators:          []validator.String{absolutePathValidator{}},
			},
			"pid_path": schema.StringAttribute{
				MarkdownDescription: "Absolute path of the file that holds the process id: a file, not its directory. The agent finds the process by it.",
				Required:            true,
				Validators:          []validator.String{absolutePathValidator{file: true}},
			},
			"user": schema.StringAttribute{
				MarkdownDescription: "System account that the process runs as, such as `root` or `Administrator`.",
				Required:            true,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"config_path": optionalPath("Absolute path of the configuration file."),
			"log_path":    optionalPath("Absolute path of the logs."),
			"index_key": schema.StringAttribute{
				MarkdownDescription: "Stands in the samples of the platform's documents and in none of their tables; its meaning is not documented.",
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
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Commands, run in `setup_path`. An operation needs its own.",
		Required:            true,
		Attributes: map[string]schema.Attribute{
			"start_cmd":   command("Starts the process, and returns. The agent also runs it when the process died."),
			"stop_cmd":    command("Stops the process. The agent also runs it when the process exceeds its limits."),
			"restart_cmd": command("Restarts the process."),
			"reload_cmd":  command("Makes the process read its configuration again."),
			"kill_cmd":    command("Kills the process."),
			"version_cmd": command("Prints the version of the process."),
			"health_cmd":  command("Tells whether the process is healthy."),
		},
	}
}

func resourceAttribute(o Options) schema.SingleNestedAttribute {
	percent := func(what string) schema.Float64Attribute {
		return schema.Float64Attribute{
			MarkdownDescription: "Most " + what + " that the process may use, in percent of the whole machine, above 0 and up to 100. " +
				"The agent stops a process that exceeds it, and a hosted one is started again: a limit that is too low makes a loop.",
			Required:   true,
			Validators: []validator.Float64{percentValidator()},
		}
	}
	reserved := func(what string) schema.Int64Attribute {
		return schema.Int64Attribute{
			MarkdownDescription: what + " Reserved by the platform's documents.",
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(0)},
		}
	}
	usage := "Limits."
	if !o.Registers {
		usage = "Limits. Only registering sends them; they are taken here so that the `spec` of a hosted process fits as it is."
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: usage,
		Required:            o.Registers,
		Optional:            !o.Registers,
		Attributes: map[string]schema.Attribute{
			"cpu":  percent("CPU"),
			"mem":  percent("memory"),
			"fd":   reserved("Most file handles."),
			"disk": reserved("Most disk space."),
			"net":  reserved("Most network traffic."),
		},
	}
}

func monitorPolicyAttribute() schema.SingleNestedAttribute {
	seconds := func(what string, minimum int64) schema.Int64Attribute {
		return schema.Int64Attribute{
			MarkdownDescription: what,
			Optional:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(minimum)},
		}
	}
	return schema.SingleNestedAttribute{
		MarkdownDescription: "How the agent watches the process. Operations send it under its other name, `alive_monitor_policy`.",
		Required:            true,
		Attributes: map[string]schema.Attribute{
			"auto_type": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("Kind of hosting. One of `%d` (runs periodically), `%d` (resident: revived when it dies), `%d` (runs once).",
					gse.AutoPeriodic, gse.AutoResident, gse.AutoOneShot),
				Required:   true,
				Validators: []validator.Int64{int64validator.OneOf(gse.AutoPeriodic, gse.AutoResident, gse.AutoOneShot)},
			},
			"start_check_secs": seconds("Seconds after the start command at which the agent checks that the process lives. At least 1: "+
				"with 0 a start is reported as failed at once. The platform's default is 5.", 1),
			"stop_check_secs": seconds("Seconds after the stop command at which the agent checks that the process is gone.", 0),
			"start_retries":   seconds("How often the agent tries to revive a dead process. The platform's default is 4.", 0),
			"start_interval":  seconds("Seconds between two such tries. The platform's default is 10.", 0),
			"crontab_rule": schema.StringAttribute{
				MarkdownDescription: "When a periodic process (`auto_type` 0) runs. Reserved by the platform's documents.",
				Optional:            true,
			},
			"op_timeout": seconds("Seconds that a command may take. At least 1. Operations send it; registering has no such field, so a "+
				"change of it alone registers nothing anew. The platform's default is 60.", 1),
		},
	}
}

func md5Validator() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^[0-9a-fA-F]{32}$`), "must be 32 hexadecimal characters")
}
