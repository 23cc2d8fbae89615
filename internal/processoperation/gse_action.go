package processoperation

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"

	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ invokedModel                    = (*processInvocationModel)(nil)
	_ action.Action                   = (*processOperationAction)(nil)
	_ action.ActionWithConfigure      = (*processOperationAction)(nil)
	_ action.ActionWithModifyPlan     = (*processOperationAction)(nil)
	_ action.ActionWithValidateConfig = (*processOperationAction)(nil)
)

type processInvocationModel struct {
	reference.GSEModel
	invocationModel
}

// NewAction makes the action bk_process_operation.
func NewAction() action.Action {
	return &processOperationAction{operationAction{newModel: func() invokedModel { return new(processInvocationModel) }}}
}

type processOperationAction struct {
	operationAction
}

func (a *processOperationAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_process_operation"
}

func (a *processOperationAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	attributes := reference.ActionAttributes(reference.GSEAttributes(reference.Options{}))
	maps.Copy(attributes, invocationAttributes(ctx))
	resp.Schema = schema.Schema{
		MarkdownDescription: "Starts, stops, restarts, reloads or kills a process on its hosts when it is invoked, tells how far it has come, and ends with " +
			"the result of each host. It does what the resource of the same name does, and keeps nothing.",
		Attributes: attributes,
	}
}
