package processstatus

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/datasource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// statusModel holds the values that both data sources have.
type statusModel struct {
	Timeouts          timeouts.Value    `tfsdk:"timeouts"`
	Statuses          reference.Objects `tfsdk:"statuses"`
	RunningCount      types.Int64       `tfsdk:"running_count"`
	StoppedCount      types.Int64       `tfsdk:"stopped_count"`
	UnregisteredCount types.Int64       `tfsdk:"unregistered_count"`
	UnknownCount      types.Int64       `tfsdk:"unknown_count"`
	UnreachableCount  types.Int64       `tfsdk:"unreachable_count"`

	unhealthy int64 // hosts on which the process runs without health output
}

// statusOf declares the attributes of a status, in the order of valuesOf. state is the description of state.
func statusOf(state string) []reference.ObjectAttribute {
	return []reference.ObjectAttribute{
		{Name: "cpu_usage", Type: tftypes.Number, Description: "CPU usage, as a percentage of the whole machine. Null unless the process is running."},
		{Name: "error_code", Type: tftypes.Number, Description: "The platform's error code if the state is `unknown`, otherwise null."},
		{Name: "error_message", Type: tftypes.String, Description: "Why the state is `unknown`, otherwise null."},
		{Name: "health", Type: tftypes.String, Description: "What the health command printed, as the agent reports it. The provider does not judge it. Null if the agent reports nothing, and in the cached status."},
		{Name: "hosted", Type: tftypes.Bool, Description: "Whether the process is hosted: the agent restarts it when it dies. Null if the answer does not say."},
		{Name: "mem_usage", Type: tftypes.Number, Description: "Memory usage, as a percentage of the whole machine. Null unless the process is running."},
		{Name: "pid", Type: tftypes.Number, Description: "Process ID. Null unless the process is running."},
		{Name: "state", Type: tftypes.String, Description: state},
		{Name: "version", Type: tftypes.String, Description: "First line that `version_cmd` printed. Null if there is none."},
	}
}

// valuesOf returns the values of a status in the order of statusOf.
func valuesOf(s fleet.Status) []any {
	var cpu, code, message, health, hosted, mem, pid, version any
	if s.HostedKnown {
		hosted = s.Hosted
	}
	if s.Health != "" {
		health = s.Health
	}
	if s.Version != "" {
		version = s.Version
	}
	switch s.State {
	case fleet.Running:
		pid, cpu, mem = s.PID, s.CPUUsage, s.MemUsage
	case fleet.Unknown:
		message = s.Message
		if s.Code != 0 {
			code = s.Code
		}
	default: // a process that does not run has no figures
	}
	return []any{cpu, code, message, health, hosted, mem, pid, string(s.State), version}
}

// statusAttributes declares the attributes of statusModel. unregistered is a sentence that says when that state
// occurs.
func statusAttributes(ctx context.Context, unregistered string) map[string]schema.Attribute {
	attributes := make(map[string]schema.Attribute)
	attributes["timeouts"] = reference.DataSourceTimeouts(ctx, "the whole read, after which a host that has not answered is `unknown`")
	attributes["statuses"] = reference.ComputedObjects("Status by host key.", statusOf("One of `running`, `stopped`, `unregistered`, `unknown`. "+unregistered))
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

// read reads the status of every host and sets the computed values.
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
	if err := m.fromAPI(o.Hosts, statuses); err != nil {
		diags.Append(diagnose.Bug(err))
	}
	if m.UnknownCount.ValueInt64() > 0 {
		diags.Append(statusUnknown(o.Title, o.Hosts, statuses))
	}
	return diags
}

func (m *statusModel) fromAPI(hosts fleet.Inventory, statuses map[fleet.Host]fleet.Status) (err error) {
	counts, unreachable := make(map[fleet.State]int64), int64(0)
	for _, host := range hosts.All {
		status := statuses[host]
		counts[status.State]++
		if status.State == fleet.Unknown && status.Away {
			unreachable++
		}
		if status.State == fleet.Running && status.Health == "" {
			m.unhealthy++
		}
	}
	m.RunningCount = types.Int64Value(counts[fleet.Running])
	m.StoppedCount = types.Int64Value(counts[fleet.Stopped])
	m.UnregisteredCount = types.Int64Value(counts[fleet.Unregistered])
	m.UnknownCount = types.Int64Value(counts[fleet.Unknown])
	m.UnreachableCount = types.Int64Value(unreachable)
	m.Statuses, err = reference.NewObjects(statusOf(""), hosts.Len(), func(yield func(string, []any) bool) {
		for key, host := range hosts.All {
			if !yield(key, valuesOf(statuses[host])) {
				return
			}
		}
	})
	return err
}

// statusUnknown returns one warning about all hosts whose status is unknown.
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

// statusFromCache returns the warning for a cached status that was read because the agents could not be asked.
func statusFromCache(id string) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Status Read From The Cache", id+" has no spec here, and the agents cannot be asked without one. The status is the platform's "+
		"cached one, which may be minutes old.\n\nA process that was imported gets its spec with the first apply. If the spec was left out on purpose, "+
		"set mode = \"cached\", which says so.")
}
