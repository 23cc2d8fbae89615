package processoperation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// checkNames reports machines for which a process has two names, an address and an agent id. The operation
// would run on them twice.
func (o operation) checkNames(ctx context.Context) diag.Diagnostics {
	duplicates, err := o.duplicates(ctx)
	if err != nil {
		return diag.Diagnostics{namesUnknown(o, err)}
	}
	var diags diag.Diagnostics
	for _, m := range o.members {
		at := path.Empty()
		if m.name != "" {
			at = path.Root("processes").AtMapKey(m.name)
		}
		for _, host := range m.Hosts.Hosts() {
			if first, double := duplicates[place{m.ID, host.WithoutSupplier()}]; double {
				reference.AddInvalid(&diags, at.AtName("hosts"), diagnose.SummaryInvalidHost,
					fmt.Sprintf("the keys %q and %q name the same machine, %s and %s; name it once. Nothing was run",
						o.keyOf(m.ID, first), m.Hosts.Key(host), first.Address(), host.Address()))
			}
		}
	}
	return diags
}

// keyOf returns the key of a host of a process.
func (o operation) keyOf(process string, host fleet.Host) string {
	for _, m := range o.members {
		if m.ID == process && m.Hosts.Has(host) {
			return m.Hosts.Key(host)
		}
	}
	return host.Address()
}

// duplicates returns the hosts of a process that are the same machine as another of its hosts, with that other
// host.
func (o operation) duplicates(ctx context.Context) (map[place]fleet.Host, error) {
	duplicates, hosts, process := make(map[place]fleet.Host), make(map[string][]fleet.Host), make(map[string]fleet.Process)
	for _, m := range o.members {
		hosts[m.ID] = append(hosts[m.ID], m.Hosts.Hosts()...)
		process[m.ID] = m.Process
	}
	for id, hosts := range hosts {
		if len(fleet.OtherForm(hosts, hosts)) == 0 {
			continue // names of one form are different machines
		}
		others, err := process[id].OtherNames(ctx, hosts)
		if err != nil {
			return nil, err
		}
		byName := make(map[fleet.HostID]bool, len(hosts))
		for _, host := range hosts {
			byName[host.WithoutSupplier()] = true
		}
		for _, host := range hosts {
			other, named := others[host]
			if _, is := duplicates[place{id, host.WithoutSupplier()}]; named && byName[other] && !is {
				duplicates[place{id, other}] = host
			}
		}
	}
	return duplicates, nil
}

// namesUnknown returns the error for hosts that may be the same machines as others, if the platform could not
// be asked.
func namesUnknown(o operation, err error) diag.Diagnostic {
	return diagnose.CallFailed(summary(o.name), o.title()+": "+string(o.name)+" was not run on any host. Hosts are given by address and by agent id, "+
		"and the platform could not be asked whether two of them are the same machine.", err)
}

// namesNotSaid returns the error for hosts that left and may be hosts that joined, if the platform does not
// say. The operation would run once more on a machine that only changes its name.
func namesNotSaid(o operation, unclear map[fleet.HostID][]fleet.Host) diag.Diagnostic {
	const most = 10
	var lines []string
	for left, came := range unclear {
		var names []string
		for _, host := range came[:min(len(came), most)] {
			names = append(names, host.Address())
		}
		if len(came) > most {
			names = append(names, fmt.Sprintf("%d more", len(came)-most))
		}
		lines = append(lines, fmt.Sprintf("The platform does not say whether %s, which leaves, is the same machine as %s.", left.Address(), strings.Join(names, " or ")))
	}
	slices.Sort(lines)
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("Nor does it say that of %d more.", more))
	}
	return diag.NewErrorDiagnostic(summary(o.name), o.title()+": "+string(o.name)+" was not run on any host.\n\n"+strings.Join(lines, " ")+
		" Remove it from hosts and apply, then add the other and apply again. With run_on_create = false, the second apply only records the added host.")
}
