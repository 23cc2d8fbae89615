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
	hosts := o.Hosts.Hosts()
	if !mayRename(hosts, hosts) {
		return nil
	}
	others, err := o.Process.OtherNames(ctx, hosts)
	if err != nil {
		return diag.Diagnostics{namesUnknown(o, err)}
	}
	byName := make(map[fleet.HostID]fleet.Host, len(hosts))
	for _, host := range hosts {
		byName[host.WithoutSupplier()] = host
	}
	var diags diag.Diagnostics
	told := make(map[fleet.Host]bool)
	for _, host := range hosts {
		twin, double := byName[others[host]]
		if _, named := others[host]; !named || !double || told[host] {
			continue
		}
		told[twin] = true
		reference.AddInvalid(&diags, path.Root("hosts"), diagnose.SummaryInvalidHost,
			fmt.Sprintf("the keys %q and %q name the same machine, %s and %s; name it once. Nothing was run",
				o.Hosts.Key(host), o.Hosts.Key(twin), host.Address(), twin.Address()))
	}
	return diags
}

// namesUnknown is the error for hosts of which nobody tells whether they are the same
// machines as others.
func namesUnknown(o operation, err error) diag.Diagnostic {
	return diagnose.CallFailed(summary(o.name), o.Title+": "+string(o.name)+" was not run on any host. Hosts are given by address and by agent id, "+
		"and whether two of them are the same machine could not be asked.", err)
}
