package hostedprocess

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// renames returns the hosts whose name changes form, between agent id and address: the old names by the new
// ones. It refuses a rename if anything else is to be done to the host. If the platform does not say which
// names are one machine, it also refuses what may be a rename. prior are the hosts in state, and k is what was
// known of them.
func (h hostedProcess) renames(ctx context.Context, prior fleet.Inventory, k known) (map[fleet.Host]fleet.Host, diag.Diagnostics) {
	removed, added := prior.Without(h.Hosts), h.Hosts.Without(prior)
	suspects := fleet.OtherForm(removed, h.Hosts.Hosts())
	if len(suspects) == 0 {
		return nil, nil
	}
	// Some agents give both names only by one of them. State may have a machine by both, so all that stay are asked as well.
	others, err := h.Process.OtherNames(ctx, append(fleet.OtherForm(h.Hosts.Hosts(), removed), suspects...))
	if err != nil {
		return nil, diag.Diagnostics{diagnose.CallFailed("Unable to Tell Hosts Apart", h.Title+
			" was left as it is, because hosts leave that are named in another form than hosts that stay or come, and whether they are the same machines could not be asked.", err)}
	}
	unnamed := fleet.Where(added, func(host fleet.Host) bool { _, told := others[host]; return !told })
	// came names the hosts that may be the machine of an old name, by whether that is an agent id.
	came := map[bool]string{true: keysOf(h.Hosts, named(unnamed, false)), false: keysOf(h.Hosts, named(unnamed, true))}
	renamed, refused := make(map[fleet.Host]fleet.Host), make(fleet.Results)
	sent, tried := h.Process.Resume(ctx, k.last.hostings(suspects), false, nil), h.Process.Resume(ctx, k.last.tries(suspects), false, nil)
	for _, was := range suspects {
		other, known := others[was]
		now, declared := h.Hosts.Find(other)
		why := ""
		switch {
		case known && declared:
			renamed[now] = was
			if !prior.Has(now) { // otherwise state has the machine under both names, and one of them leaves
				why = k.hindersRename(h, was, sent[was].Verdict == fleet.Pending || tried[was].Verdict == fleet.Pending)
			}
		case !known && came[byID(was)] != "":
			why = fmt.Sprintf("the platform does not say whether it is one machine with %s; take it out and apply, then add the other and apply again", came[byID(was)])
		}
		if why != "" {
			refused[was] = fleet.Outcome{Verdict: fleet.NotTried, Meaning: why}
		}
	}
	if len(refused) == 0 {
		return renamed, nil
	}
	return nil, diag.Diagnostics{diag.NewErrorDiagnostic("Hosts Cannot Be Renamed Now", fmt.Sprintf(
		"%s: %s may get another name, an agent id for an address or the reverse. That is done where nothing else is to be done to the host. Nothing was changed.\n\n%s",
		h.Title, diagnose.CountHosts(len(refused), prior.Len()), diagnose.Rows(prior, refused)))}
}

// hindersRename says why a host cannot be renamed in this apply. It returns "" if it can. underWay reports whether a
// request of an earlier apply has not ended there.
func (k known) hindersRename(h hostedProcess, host fleet.Host, underWay bool) string {
	const first = "; apply with its old name until it is as declared, then rename it and apply again"
	status, out := k.statuses[host.WithoutSupplier()]
	switch {
	case !k.last.kept:
		return "nothing is known of its last apply; with its old name, apply a change of anything else, such as timeouts, until it is as declared, then rename it and apply again"
	case status.Away():
		return "its agent does not answer" + first
	case out:
		return "it is out of sync (" + string(status.Code) + ")" + first
	case k.last.isOvertaken(host):
		return "another resource has registered it since" + first
	case underWay:
		return "an operation of an earlier apply is under way on it; apply again once it is over, or take it out and apply, then add it by its new name"
	case k.last.on(host).Runs.Due(h.Desired.Spec):
		return "an operation is due on it" + first
	case !k.last.registeredAs(h.Desired):
		return "what it is registered with changes as well; rename it and apply, then make the change and apply again"
	}
	return ""
}

// byID reports whether a host is named by agent id.
func byID(host fleet.Host) bool { return host.AgentID() != "" }

// named returns those of hosts that are named by agent id, or those that are not.
func named(hosts []fleet.Host, id bool) []fleet.Host {
	return fleet.Where(hosts, func(host fleet.Host) bool { return byID(host) == id })
}

// meaningNewNameTaken: unregistering the old name would end the hosting of the new one.
const meaningNewNameTaken = "somebody else has registered it by its new name"

// dropOld unregisters the hosts of a wave under their old names, as hosts that leave are. It returns the hosts
// on which that failed, which keep their old names.
func (u *update) dropOld(ctx context.Context, hosts []fleet.Host) fleet.Results {
	failed := make(fleet.Results)
	var old, now []fleet.Host
	for _, host := range hosts {
		if was, renamed := u.names.old[host]; renamed {
			old, now = append(old, was), append(now, host)
		}
	}
	if len(old) == 0 {
		return nil
	}
	l := u.names.dropped
	ours := l.stillOurs(ctx, old)
	rows, err := u.h.Process.CachedStatus(ctx, slices.Concat(now, old))
	for i, was := range old {
		if err != nil {
			l.results[was] = fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningUnread}
		} else if u.last.FingerprintLabel != "" && u.anothers(rows[now[i]], rows[was]) {
			l.results[was] = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningNewNameTaken}
		}
	}
	ours = fleet.Where(ours, func(was fleet.Host) bool { _, stays := l.results[was]; return !stays })
	if len(ours) > 0 {
		results, _ := fleet.Release(ctx, l.Process, ours, fleet.DestroyUnregister, nil, l.was)
		l.noteBegun(results)
		l.results.Merge(results)
	}
	for i, was := range old {
		o := l.results[was] // the zero value, Done, if there was nothing to do
		if o.OK() {
			delete(u.names.open, now[i])
			continue
		}
		o.Left, o.Away = fleet.NotRegistered, false // a failed rename fails the apply, whatever max_unreachable_hosts allows
		o.Meaning = strings.TrimSuffix("not renamed, because its old name could not be unregistered: "+o.Meaning, ": ")
		failed[now[i]] = o
	}
	return failed
}

// anothers reports whether the row of a host's new name is another object's registration, and not the one that
// the row of its old name shows.
func (u *update) anothers(now, old fleet.Status) bool {
	same := now.RegisterTime > 0 && now.RegisterTime == old.RegisterTime && maps.Equal(now.Labels, old.Labels)
	return now.State != fleet.Unregistered && now.Labels != nil && !same && !u.last.ours(u.h.Desired, now)
}

// checkSuppliers refuses an address with another supplier id than the one that its host is registered with. To
// the ESB these are two registrations, and an object may be applied through the ESB after the API gateway. State knows
// the id by the address, or else as the object's own.
func checkSuppliers(next, prior fleet.Inventory) diag.Diagnostics {
	var diags diag.Diagnostics
	for key, host := range next.All {
		was, held := prior.Find(host.WithoutSupplier())
		if !held || host.AgentID() != "" || host.SupplierID() == was.SupplierID() {
			continue
		}
		reference.AddInvalid(&diags, reference.HostsPath().AtMapKey(key), diagnose.SummaryInvalidHost, fmt.Sprintf(
			"%s would have the bk_supplier_id %d, and is registered with %d, which it keeps: write %s; to register it with another one, take it out of hosts and apply, then add it and apply again",
			host.Address(), host.SupplierID(), was.SupplierID(), was))
	}
	return diags
}
