package hostfunction

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

var _ function.Function = expandFunction{}

// NewExpand returns expand, which converts a range of IPv4 addresses to a list of them.
func NewExpand() function.Function { return expandFunction{} }

type expandFunction struct{}

func (expandFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "expand"
}

func (expandFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "IP addresses of a range",
		MarkdownDescription: "Returns the IP addresses of a range, in the order in which the range names them: " + fleet.RangeForms +
			fmt.Sprintf(". A range has at most %d addresses. The function makes no calls.", fleet.MaxExpanded),
		Parameters: []function.Parameter{
			function.StringParameter{Name: "range", MarkdownDescription: "Range of IPv4 addresses."},
		},
		Return: function.ListReturn{ElementType: types.StringType},
	}
}

func (expandFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var pattern string
	if resp.Error = req.Arguments.Get(ctx, &pattern); resp.Error != nil {
		return
	}
	expanded, err := fleet.ExpandIPs(pattern)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, diagnose.WithoutStop(diagnose.Sentence(err.Error())))
		return
	}
	ips := make([]string, len(expanded))
	for i, ip := range expanded {
		ips[i] = ip.String()
	}
	resp.Error = resp.Result.Set(ctx, ips)
}
