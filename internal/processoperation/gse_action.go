package processoperation

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"

	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ actionModel                     = (*gseActionModel)(nil)
	_ action.Action                   = (*gseAction)(nil)
	_ action.ActionWithConfigure      = (*gseAction)(nil)
	_ action.ActionWithModifyPlan     = (*gseAction)(nil)
	_ action.ActionWithValidateConfig = (*gseAction)(nil)
)

type gseActionModel struct {
	reference.GSEProcesses
	actionValues
}

// NewAction returns the action bk_process_operation.
func NewAction() action.Action {
	return &gseAction{baseAction{newModel: func() actionModel { return new(gseActionModel) }}}
}

type gseAction struct {
	baseAction
}

func (a *gseAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_process_operation"
}

func (a *gseAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	attributes := reference.ActionAttributes(reference.GSEAttributes(reference.Options{Several: true}))
	maps.Copy(attributes, actionAttributes(ctx))
	resp.Schema = schema.Schema{
		MarkdownDescription: "Starts, stops, restarts, reloads or kills a process, or several by their priorities, on its hosts when it is invoked. It reports its progress, and ends with " +
			"the result of each host. It does what the resource of the same name does, and keeps no state.",
		Attributes: attributes,
	}
}
