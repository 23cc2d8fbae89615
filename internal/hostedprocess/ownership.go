package hostedprocess

import (
	"context"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// meaningNameUnread: whether it is a machine that was registered by its other name since
// could not be found out.
const meaningNameUnread = "whether another resource has just registered it by another name could not be asked"

// registrant is the owner who registered the process on a host last in this run, "" where
// nobody did.
func (h hostedProcess) registrant(host fleet.HostID) string {
	if h.owners == nil {
		return ""
	}
	return h.owners.Of(h.ID, host)
}

// notReplaced leaves out the hosts that another object has registered in this run. That
// takes no label, and no file. The configuration moves them there, so nothing is said of it.
func (l letting) notReplaced(hosts []fleet.Host) []fleet.Host {
	return keep(hosts, func(host fleet.Host) bool { return !l.replaced(host.WithoutSupplier()) })
}

// notRenamed leaves out the hosts that another object has registered in this run by the
// other name of the machine. To let go of one name may be to let go of both.
func (l letting) notRenamed(ctx context.Context, hosts []fleet.Host) []fleet.Host {
	if l.owners == nil {
		return hosts
	}
	suspects := otherForm(hosts, l.owners.OfOthers(l.ID, l.last.owner))
	if len(suspects) == 0 {
		return hosts
	}
	others, err := l.Process.OtherNames(ctx, suspects)
	if err != nil {
		l.gone.results.Merge(fleet.Same(suspects, fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningNameUnread}))
		return keep(hosts, func(host fleet.Host) bool { return !slices.Contains(suspects, host) })
	}
	return keep(hosts, func(host fleet.Host) bool {
		other, known := others[host]
		if !known || !l.replaced(other) {
			return true
		}
		if l.statuses[host.WithoutSupplier()].Code != fleet.RegisteredByOther {
			l.gone.owned = append(l.gone.owned, host)
		}
		return false
	})
}

// replaced reports whether another object has registered a host in this run by that name.
func (l letting) replaced(name fleet.HostID) bool {
	registrant := l.registrant(name)
	return registrant != "" && registrant != l.last.owner
}
