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

// checkNames reports machines that have two names, an address and an agent id. A process would be operated twice on
// such a machine, and two processes would not count as processes of one machine.
func (o operation) checkNames(ctx context.Context) diag.Diagnostics {
	duplicates, err := o.duplicates(ctx)
	if err != nil {
		return diag.Diagnostics{namesUnknown(o, err)}
	}
	diags := o.checkApart(duplicates)
	for _, m := range o.members {
		for _, host := range m.Hosts.Hosts() {
			if first, double := duplicates[place{m.ID, host.WithoutSupplier()}]; double && o.members[first.member].ID == m.ID {
				reference.AddInvalid(&diags, m.at().AtName("hosts"), diagnose.SummaryInvalidHost,
					fmt.Sprintf("the keys %q and %q name the same machine, %s and %s; name it once. Nothing was run",
						o.members[first.member].Hosts.Key(first.host), m.Hosts.Key(host), first.host.Address(), host.Address()))
			}
		}
	}
	return diags
}

// checkApart reports machines that two processes name in different ways, once for each process.
func (o operation) checkApart(duplicates map[place]namedBefore) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, m := range o.members {
		apart := m.Hosts.Pick(func(host fleet.Host) bool {
			first, double := duplicates[place{m.ID, host.WithoutSupplier()}]
			return double && o.members[first.member].ID != m.ID
		})
		if len(apart) == 0 {
			continue
		}
		first := duplicates[place{m.ID, apart[0].WithoutSupplier()}]
		reference.AddInvalid(&diags, m.at().AtName("hosts"), diagnose.SummaryInvalidHost, fmt.Sprintf(
			"%q has another name for %s: %s is %s there; name each machine alike in all processes, because their order and the limits go by names. Nothing was run",
			o.members[first.member].name, diagnose.Hosts(len(apart)), apart[0].Address(), first.host.Address()))
	}
	return diags
}

// at returns where the process is in the configuration.
func (m member) at() path.Path {
	if m.name == "" {
		return path.Empty()
	}
	return path.Root("processes").AtMapKey(m.name)
}

// namedBefore is a host of a member, given by its index.
type namedBefore struct {
	member int
	host   fleet.Host
}

// duplicates returns the hosts that are the same machine as a host before them, by another name, with that host. It
// is a host of the same process if one is.
func (o operation) duplicates(ctx context.Context) (map[place]namedBefore, error) {
	var all []fleet.Host
	for _, m := range o.members {
		all = append(all, m.Hosts.Hosts()...)
	}
	if len(fleet.OtherForm(all, all)) == 0 {
		return nil, nil //nolint:nilnil // names of one form are different machines
	}
	others := make(map[fleet.HostID]fleet.HostID, len(all))
	for _, m := range o.members {
		named, err := m.Process.OtherNames(ctx, m.Hosts.Hosts())
		if err != nil {
			return nil, err
		}
		for host, other := range named {
			others[host.WithoutSupplier()] = other
		}
	}
	duplicates, before := make(map[place]namedBefore), make(map[place]namedBefore)
	for i, m := range o.members {
		for _, host := range m.Hosts.Hosts() {
			id := host.WithoutSupplier()
			for _, process := range []string{m.ID, anyProcess} {
				first, double := before[place{process, others[id]}]
				if _, is := duplicates[place{m.ID, id}]; double && !is {
					duplicates[place{m.ID, id}] = first
				}
				before[place{process, id}] = namedBefore{i, host}
			}
		}
	}
	return duplicates, nil
}

// anyProcess stands for the id of any process.
const anyProcess = ""

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
