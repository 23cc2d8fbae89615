package reference

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// commandAttributes names the attribute with the command of each operation. For GSE it is a field of
// spec.control, for JOB of process.
var commandAttributes = map[fleet.Operation]string{
	fleet.Start: "start_cmd", fleet.Stop: "stop_cmd", fleet.Restart: "restart_cmd",
	fleet.Reload: "reload_cmd", fleet.Kill: "kill_cmd",
}

// CheckOperation reports, before anything runs, that an operation lacks its command. That is an error, or
// a warning if the platform's documents have an example without the command. It refuses to restart a process that ends by
// itself. Unknown values pass.
func CheckOperation(ctx context.Context, m Model, config tfsdk.Config, operation types.String) diag.Diagnostics {
	op := fleet.Operation(operation.ValueString())
	diags := checkCommand(ctx, m, config, operation, m.needsCommand(op))
	if kind := m.passing(ctx, config); strings.HasSuffix(kind, " 2") { // auto_type of GSE, type of JOB
		CheckOneShot(&diags, op)
	}
	return diags
}

// CheckOneShot refuses an operation that is not for a one-shot process: whether it was run again could not be told from
// the code of a restart, whose check always fails.
func CheckOneShot(diags *diag.Diagnostics, op fleet.Operation) {
	if op == fleet.Restart {
		AddInvalid(diags, path.Root("operation"), "Invalid Operation", "a process that ends by itself (auto_type or type 2) is not restarted: start it, and stop it before if it may still run")
	}
}

// CheckCommand is CheckOperation for an operation that the provider runs later on its own. A missing
// command is always an error.
func CheckCommand(ctx context.Context, m Model, config tfsdk.Config, operation types.String) diag.Diagnostics {
	return checkCommand(ctx, m, config, operation, true)
}

func checkCommand(ctx context.Context, m Model, config tfsdk.Config, operation types.String, needed bool) diag.Diagnostics {
	var diags diag.Diagnostics
	if op := fleet.Operation(operation.ValueString()); op == fleet.Start || op == fleet.Restart {
		diags.Append(m.CheckPeriod(ctx)...)
	}
	name := commandAttributes[fleet.Operation(operation.ValueString())]
	commands, at := m.commands(ctx, config)
	if command, ok := commands.Attributes()[name].(types.String); ok && Unset(command) {
		add := addWarning
		if needed {
			add = AddInvalid
		}
		add(&diags, at.AtName(name), "Missing Command", fmt.Sprintf("the operation %q runs this command, which is not set. %s", operation.ValueString(), droppedNote))
	}
	return diags
}

// CheckHosting reports missing commands that the agent needs for a process that it hosts. It is an error if
// the agent could not restart the process, and a warning if the agent could not stop a process that exceeds
// its limits. Unknown values pass.
func CheckHosting(ctx context.Context, m Model, config tfsdk.Config, ensure types.String) diag.Diagnostics {
	var diags diag.Diagnostics
	commands, at := m.commands(ctx, config)
	if commands.IsNull() || commands.IsUnknown() || ensure.IsUnknown() {
		return diags
	}
	kept := fleet.Ensure(ensure.ValueString()) == fleet.EnsureRunning ||
		(fleet.Ensure(ensure.ValueString()) != fleet.EnsureRegistered && m.resident(ctx, config))
	switch {
	case !kept && isEmpty(commands):
		warnEmpty(&diags, at, commands)
		return diags
	case !kept:
		return diags
	}
	if Unset(commands.Attributes()["start_cmd"]) {
		AddInvalid(&diags, at.AtName("start_cmd"), "Missing Command", "the agent runs this command to revive a hosted process that has died, but it is not set. "+droppedNote)
	}
	if Unset(commands.Attributes()["stop_cmd"]) && m.limited(ctx, config) {
		addWarning(&diags, at.AtName("stop_cmd"), "Missing Command", "the agent runs this command to stop a process that exceeds its resource limits, but it is not set. "+droppedNote)
	}
	return diags
}
