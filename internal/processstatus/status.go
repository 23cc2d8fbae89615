package processstatus

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/datasource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// statusModel holds the values that both data sources have.
type statusModel struct {
	Timeouts          timeouts.Value `tfsdk:"timeouts"`
	Statuses          types.Map      `tfsdk:"statuses"`
	RunningCount      types.Int64    `tfsdk:"running_count"`
	StoppedCount      types.Int64    `tfsdk:"stopped_count"`
	UnregisteredCount types.Int64    `tfsdk:"unregistered_count"`
	UnknownCount      types.Int64    `tfsdk:"unknown_count"`
	UnreachableCount  types.Int64    `tfsdk:"unreachable_count"`

	unhealthy int64 // hosts that run and say nothing of their health
}

// statusType is the type of an element of statuses.
var statusType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"state":         types.StringType,
	"hosted":        types.BoolType,
	"health":        types.StringType,
	"pid":           types.Int64Type,
	"version":       types.StringType,
	"cpu_usage":     types.Float64Type,
	"mem_usage":     types.Float64Type,
	"error_code":    types.Int64Type,
	"error_message": types.StringType,
}}

// statusAttributes declares what statusModel holds. unregistered is a sentence about when
// that state occurs.
func statusAttributes(ctx context.Context, unregistered string) map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute)
	attributes["timeouts"] = reference.DataSourceTimeouts(ctx, "the whole read, after which a host that has not answered is `unknown`")
	attributes["statuses"] = schema.MapNestedAttribute{
		MarkdownDescription: "Status by host key.",
		Computed:            true,
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"state": schema.StringAttribute{
				MarkdownDescription: "One of `running`, `stopped`, `unregistered`, `unknown`. " + unregistered,
				Computed:            true,
			},
			"hosted":        schema.BoolAttribute{MarkdownDescription: "Whether the process is hosted: the agent restarts it when it dies. Null if the answer does not say.", Computed: true},
			"health":        schema.StringAttribute{MarkdownDescription: "What the health command printed, by the agent's answer, which the provider does not judge. Null if it says nothing; the cached status never does.", Computed: true},
			"pid":           schema.Int64Attribute{MarkdownDescription: "Process ID. Null unless the process is running.", Computed: true},
			"version":       schema.StringAttribute{MarkdownDescription: "First line that `version_cmd` printed. Null if there is none.", Computed: true},
			"cpu_usage":     schema.Float64Attribute{MarkdownDescription: "CPU usage, as a percentage of the whole machine. Null unless the process is running.", Computed: true},
			"mem_usage":     schema.Float64Attribute{MarkdownDescription: "Memory usage, as a percentage of the whole machine. Null unless the process is running.", Computed: true},
			"error_code":    schema.Int64Attribute{MarkdownDescription: "The platform's error code if the state is `unknown`, otherwise null.", Computed: true},
			"error_message": schema.StringAttribute{MarkdownDescription: "Why the state is `unknown`, otherwise null.", Computed: true},
		}},
	}
	for name, state := range map[string]fleet.State{
		"running_count": fleet.Running, "stopped_count": fleet.Stopped,
		"unregistered_count": fleet.Unregistered, "unknown_count": fleet.Unknown,
	} {
		attributes[name] = schema.Int64Attribute{MarkdownDescription: fmt.Sprintf("Number of hosts whose state is `%s`.", state), Computed: true}
	}
	attributes["unreachable_count"] = schema.Int64Attribute{
		MarkdownDescription: "Number of those among the `unknown` hosts whose agents do not answer. The others answered with something else than a status.", Computed: true,
	}
	return attributes
}

// read asks for the status of every host and sets the computed values.
func (m *statusModel) read(ctx context.Context, p *platform.Platform, which reference.Model,
	ask func(fleet.Process, context.Context, []fleet.Host) (map[fleet.Host]fleet.Status, error),
) diag.Diagnostics {
	if !p.Ready() {
		return diag.Diagnostics{p.NotReady()}
	}
	limit, diags := m.Timeouts.Read(ctx, reference.DefaultReadTimeout)
	o, d := which.Open(ctx, p, "")
	diags.Append(d...)
	if diags.HasError() {
		return diags
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	statuses, err := ask(o.Process, ctx, o.Hosts.Hosts())
	if err = diagnose.UnlessInterrupted(ctx, err); err != nil {
		diags.Append(diagnose.CallFailed("Unable to Read Process Status", o.Title+" could not be queried.", err))
		return diags
	}
	m.fromAPI(o.Hosts, statuses)
	if m.UnknownCount.ValueInt64() > 0 {
		diags.Append(statusUnknown(o.Title, o.Hosts, statuses))
	}
	return diags
}

func (m *statusModel) fromAPI(hosts fleet.Inventory, statuses map[fleet.Host]fleet.Status) {
	counts, unreachable := make(map[fleet.State]int64), int64(0)
	elements := make(map[string]attr.Value, hosts.Len())
	for key, host := range hosts.All {
		status := statuses[host]
		counts[status.State]++
		if status.State == fleet.Unknown && status.Away {
			unreachable++
		}
		if status.State == fleet.Running && status.Health == "" {
			m.unhealthy++
		}
		elements[key] = statusValue(status)
	}
	m.Statuses = types.MapValueMust(statusType, elements)
	m.RunningCount = types.Int64Value(counts[fleet.Running])
	m.StoppedCount = types.Int64Value(counts[fleet.Stopped])
	m.UnregisteredCount = types.Int64Value(counts[fleet.Unregistered])
	m.UnknownCount = types.Int64Value(counts[fleet.Unknown])
	m.UnreachableCount = types.Int64Value(unreachable)
}

func statusValue(s fleet.Status) types.Object {
	values := map[string]attr.Value{
		"state":         types.StringValue(string(s.State)),
		"hosted":        types.BoolNull(),
		"health":        types.StringNull(),
		"pid":           types.Int64Null(),
		"version":       types.StringNull(),
		"cpu_usage":     types.Float64Null(),
		"mem_usage":     types.Float64Null(),
		"error_code":    types.Int64Null(),
		"error_message": types.StringNull(),
	}
	if s.HostedKnown {
		values["hosted"] = types.BoolValue(s.Hosted)
	}
	if s.Health != "" {
		values["health"] = types.StringValue(s.Health)
	}
	if s.Version != "" {
		values["version"] = types.StringValue(s.Version)
	}
	switch s.State {
	case fleet.Running:
		values["pid"] = types.Int64Value(s.PID)
		values["cpu_usage"] = types.Float64Value(s.CPUUsage)
		values["mem_usage"] = types.Float64Value(s.MemUsage)
	case fleet.Unknown:
		values["error_message"] = types.StringValue(s.Message)
		if s.Code != 0 {
			values["error_code"] = types.Int64Value(s.Code)
		}
	default: // a process that does not run has no figures
	}
	return types.ObjectValueMust(statusType.AttrTypes, values)
}

// statusUnknown is the one warning about all hosts that did not answer.
func statusUnknown(title string, hosts fleet.Inventory, statuses map[fleet.Host]fleet.Status) diag.Diagnostic {
	failures := make(fleet.Results)
	for host, status := range statuses {
		if status.State == fleet.Unknown {
			failures[host] = fleet.Outcome{Verdict: fleet.Failed, Code: status.Code, Meaning: status.Message}
		}
	}
	return diag.NewWarningDiagnostic("Process Status Unknown", fmt.Sprintf("%s has an unknown status on %s.\n\n%s\nCheck the agents on these hosts.",
		title, diagnose.CountHosts(len(failures), hosts.Len()), diagnose.Rows(hosts, failures)))
}

// statusFromFile is the warning for a status that was to come from the agents and could
// not.
func statusFromFile(id string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Status Read From The Cache", id+" has no spec here, and asking the agents takes one. The status is the platform's "+
		"cached one, which may be minutes old.\n\nA process that was imported gets its spec with the first apply. Where the spec was left out on purpose, "+
		"set mode = \"cached\", which says so.")
}
