package processoperation

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// checkNames reports machines that hosts holds under two names, an address and an agent
// id: the operation would run on them twice.
func (o operation) checkNames(ctx context.Context) diag.Diagnostics {
	twins, err := o.twins(ctx)
	if err != nil {
		return diag.Diagnostics{namesUnknown(o, err)}
	}
	var diags diag.Diagnostics
	for _, host := range o.Hosts.Hosts() {
		if first, double := twins[host]; double {
			reference.AddInvalid(&diags, path.Root("hosts"), diagnose.SummaryInvalidHost,
				fmt.Sprintf("the keys %q and %q name the same machine, %s and %s; name it once. Nothing was run",
					o.Hosts.Key(first), o.Hosts.Key(host), first.Address(), host.Address()))
		}
	}
	return diags
}

// twins are the hosts that are another one by a second name, with that one.
func (o operation) twins(ctx context.Context) (map[fleet.Host]fleet.Host, error) {
	hosts := o.Hosts.Hosts()
	if !mayRename(hosts, hosts) {
		return nil, nil //nolint:nilnil // names of one form are of different machines
	}
	others, err := o.Process.OtherNames(ctx, hosts)
	if err != nil {
		return nil, err
	}
	byName := make(map[fleet.HostID]fleet.Host, len(hosts))
	for _, host := range hosts {
		byName[host.WithoutSupplier()] = host
	}
	twins := make(map[fleet.Host]fleet.Host)
	for _, host := range hosts {
		other, named := others[host]
		twin, double := byName[other]
		if _, told := twins[host]; named && double && !told {
			twins[twin] = host
		}
	}
	return twins, nil
}

// namesUnknown is the error for hosts of which nobody tells whether they are the same
// machines as others.
func namesUnknown(o operation, err error) diag.Diagnostic {
	return diagnose.CallFailed(summary(o.name), o.Title+": "+string(o.name)+" was not run on any host. Hosts are given by address and by agent id, "+
		"and whether two of them are the same machine could not be asked.", err)
}
