package reference

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// commandAttributes is the name of the command that each operation runs: a field of
// spec.control for GSE, of process for JOB.
var commandAttributes = map[fleet.Operation]string{
	fleet.Start: "start_cmd", fleet.Stop: "stop_cmd", fleet.Restart: "restart_cmd",
	fleet.Reload: "reload_cmd", fleet.Kill: "kill_cmd",
}

// CheckCommand returns an error, before anything runs, if the operation needs a command
// that the configuration does not set. What is not known yet passes.
func CheckCommand(ctx context.Context, m Model, config tfsdk.Config, operation types.String) diag.Diagnostics {
	var diags diag.Diagnostics
	name, ok := commandAttributes[fleet.Operation(operation.ValueString())]
	commands, at := m.commands(ctx, config)
	if !ok || commands.IsNull() || commands.IsUnknown() {
		return diags
	}
	if command, ok := commands.Attributes()[name].(types.String); ok && command.IsNull() {
		AddInvalid(&diags, at.AtName(name), "Missing Command", fmt.Sprintf("the operation %q runs this command, which is not set", operation.ValueString()))
	}
	return diags
}
