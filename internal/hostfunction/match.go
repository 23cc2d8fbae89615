package hostfunction

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/expression"
)

var _ function.Function = matchFunction{}

// NewMatch returns match, which returns the names that an expression selects.
func NewMatch() function.Function { return matchFunction{} }

type matchFunction struct{}

func (matchFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "match"
}

func (matchFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Names that an expression means",
		MarkdownDescription: "Returns the names that match an expression as GSEKit has them, in their order. " + expression.Forms +
			". An expression that is a slice and nothing else, such as `[0:10]`, `[:10]` or `[-10:]`, takes names by position, as GSEKit does with process IDs. " +
			"The whole name has to match, and case matters. The function makes no calls.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "expression", MarkdownDescription: "Expression."},
			function.ListParameter{Name: "names", ElementType: types.StringType, MarkdownDescription: "Names to select from."},
		},
		Return: function.ListReturn{ElementType: types.StringType},
	}
}

func (matchFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var (
		text   string
		values []types.String
	)
	if resp.Error = req.Arguments.Get(ctx, &text, &values); resp.Error != nil {
		return
	}
	names := make([]string, len(values))
	for i, value := range values {
		if value.IsNull() {
			resp.Error = function.NewArgumentFuncError(1, fmt.Sprintf("Element %d is null", i))
			return
		}
		names[i] = value.ValueString()
	}
	if slice, ok := expression.ParseSlice(text); ok {
		resp.Error = resp.Result.Set(ctx, slice.Of(names))
		return
	}
	parsed, err := expression.Parse(text)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, diagnose.WithoutStop(diagnose.Sentence(err.Error())))
		return
	}
	resp.Error = resp.Result.Set(ctx, parsed.Filter(names))
}
