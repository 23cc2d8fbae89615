package hostfunction

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

var _ function.Function = parseHostFunction{}

// NewParseHost returns parse_host, which converts a host address to an object of its parts.
func NewParseHost() function.Function { return parseHostFunction{} }

type parseHostFunction struct{}

type parsedHostModel struct {
	IP         types.String `tfsdk:"ip"`
	CloudID    types.Int64  `tfsdk:"bk_cloud_id"`
	SupplierID types.Int64  `tfsdk:"bk_supplier_id"`
	AgentID    types.String `tfsdk:"agent_id"`
}

func (parseHostFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "parse_host"
}

func (parseHostFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Parts of a host address",
		MarkdownDescription: "Splits an address of the `hosts` map of resources into its parts: " + fleet.AddressForms + ". No document bounds agent ids; these bounds are the provider's. " +
			"Returns an object with `ip`, `bk_cloud_id`, `bk_supplier_id` and `agent_id`; parts that the address does not have are null. " +
			"If it has no `bk_supplier_id`, resources use the provider's. The function makes no calls.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "address", MarkdownDescription: "Address of a host."},
		},
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{
			"ip":             types.StringType,
			"bk_cloud_id":    types.Int64Type,
			"bk_supplier_id": types.Int64Type,
			"agent_id":       types.StringType,
		}},
	}
}

func (parseHostFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	const unnamed = -1 // a supplier id that no address can have
	var address string
	if resp.Error = req.Arguments.Get(ctx, &address); resp.Error != nil {
		return
	}
	host, err := fleet.ParseHost(address, unnamed)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, diagnose.WithoutStop(diagnose.Sentence(err.Error())))
		return
	}
	var parsed parsedHostModel
	if id := host.AgentID(); id != "" {
		parsed.AgentID = types.StringValue(id)
	} else {
		parsed.IP = types.StringValue(host.IP().String())
		parsed.CloudID = types.Int64Value(int64(host.CloudID()))
		if id := host.SupplierID(); id != unnamed {
			parsed.SupplierID = types.Int64Value(int64(id))
		}
	}
	resp.Error = resp.Result.Set(ctx, parsed)
}
