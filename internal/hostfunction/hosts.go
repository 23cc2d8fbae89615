package hostfunction

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var _ function.Function = hostsFunction{}

// NewHosts returns hosts, which converts IP addresses and a cloud area to a map for the
// hosts of resources.
func NewHosts() function.Function { return hostsFunction{} }

type hostsFunction struct{}

func (hostsFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "hosts"
}

func (hostsFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Map of hosts",
		MarkdownDescription: "Makes a map for the `hosts` of resources from IP addresses: each address is the key of its host. " +
			"An address that appears twice is an error. The function makes no calls.",
		Parameters: []function.Parameter{
			function.ListParameter{Name: "ips", ElementType: types.StringType, MarkdownDescription: "IPv4 or IPv6 addresses."},
			cloudParameter(),
		},
		Return: function.MapReturn{ElementType: types.StringType},
	}
}

func (hostsFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var (
		ips    []types.String
		number *big.Float
	)
	if resp.Error = req.Arguments.Get(ctx, &ips, &number); resp.Error != nil {
		return
	}
	cloud, failed := cloudOf(1, number)
	if resp.Error = failed; failed != nil {
		return
	}
	hosts := make(map[string]string, len(ips))
	for i, ip := range ips {
		if ip.IsNull() {
			resp.Error = function.NewArgumentFuncError(0, fmt.Sprintf("Element %d is null", i))
			return
		}
		host, err := hostAt(ip.ValueString(), cloud)
		if err != nil {
			resp.Error = function.NewArgumentFuncError(0, fmt.Sprintf("Element %d: %s", i, err))
			return
		}
		key := host.IP().String()
		if _, twice := hosts[key]; twice {
			resp.Error = function.NewArgumentFuncError(0, fmt.Sprintf("Element %d: %s appears more than once", i, key))
			return
		}
		hosts[key] = host.Address()
	}
	resp.Error = resp.Result.Set(ctx, hosts)
}
