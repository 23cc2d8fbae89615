package hostfunction

import (
	"context"
	"fmt"
	"math/big"
	"net/netip"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

var _ function.Function = hostFunction{}

// NewHost returns host, which converts an IP address and a cloud area to a host address.
func NewHost() function.Function { return hostFunction{} }

type hostFunction struct{}

func (hostFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "host"
}

func (hostFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary:             "Address of a host",
		MarkdownDescription: "Returns the address of a host in the form that the `hosts` map of resources takes. The function makes no calls.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "ip", MarkdownDescription: "IPv4 or IPv6 address."},
			cloudParameter(),
		},
		Return: function.StringReturn{},
	}
}

func (hostFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var (
		ip     string
		number *big.Float
	)
	if resp.Error = req.Arguments.Get(ctx, &ip, &number); resp.Error != nil {
		return
	}
	cloud, failed := cloudOf(1, number)
	if resp.Error = failed; failed != nil {
		return
	}
	host, err := hostAt(ip, cloud)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, diagnose.WithoutStop(diagnose.Sentence(err.Error())))
		return
	}
	resp.Error = resp.Result.Set(ctx, host.Address())
}

// cloudParameter declares the cloud area, which with an IP address makes a host address.
func cloudParameter() function.Parameter {
	return function.NumberParameter{Name: "bk_cloud_id", MarkdownDescription: "ID of the cloud area that the IP address belongs to; `0` is the area of direct connections."}
}

func cloudOf(position int64, number *big.Float) (int64, *function.FuncError) {
	cloud, failed := wholeNumber(position, "bk_cloud_id", number)
	if failed == nil && cloud < 0 {
		failed = function.NewArgumentFuncError(position, fmt.Sprintf("bk_cloud_id must be at least 0; got %d", cloud))
	}
	return cloud, failed
}

// wholeNumber returns the value of a parameter, which is not declared as an integer because the framework
// would report a fraction as a bug of the provider.
func wholeNumber(position int64, name string, number *big.Float) (int64, *function.FuncError) {
	whole, accuracy := number.Int64()
	if accuracy != big.Exact {
		return 0, function.NewArgumentFuncError(position, fmt.Sprintf("%s must be a whole number, such as 2; got %s", name, number.Text('g', -1)))
	}
	return whole, nil
}

// hostAt returns the host at an IP address, without a supplier id, so that resources use
// that of the provider block.
func hostAt(ip string, cloud int64) (fleet.Host, error) {
	address, err := netip.ParseAddr(ip)
	switch {
	case err != nil:
		return fleet.Host{}, fmt.Errorf("%q is not an IP address", ip)
	case address.Zone() != "":
		return fleet.Host{}, fmt.Errorf("%q has a zone, which has no meaning on another machine", ip)
	}
	return fleet.NewHost(int(cloud), 0, address), nil
}
