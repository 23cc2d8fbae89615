package hostedprocess

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// leave is how hosts are let go.
type leave struct {
	last     applied
	statuses map[fleet.HostID]diagnose.HostStatus
	first    fleet.OnDestroy
	forget   bool // forget_unreachable
	// anonymous is an object that does not know the owner id that it registered with, as
	// in state of a release that had no attribute for it.
	anonymous bool
}

// released is what became of hosts that were to be let go.
type released struct {
	// results hold those that needed a call, and those that could not go.
	results fleet.Results
	// owned belong to another object now, and were left alone.
	owned []fleet.Host
	// forgotten could not be asked, and were to be forgotten then.
	forgotten fleet.Results
}

func (r *released) add(results fleet.Results) {
	if r.results == nil {
		r.results = make(fleet.Results)
	}
	r.results.Merge(results)
}

// silent reports whether a host could not be let go because its agent does not answer.
func silent(o fleet.Outcome) bool {
	return !o.OK() && (o.Unreachable || (o.Verdict == fleet.Pending && !fleet.Interrupted(o.Err)))
}

// meaningUnread: whose a registration is could not be found out.
const meaningUnread = "who registered it could not be read"

// meaningNameUnread: whether it is a machine that was registered by its other name since
// could not be found out.
const meaningNameUnread = "whether another resource has just registered it by another name could not be asked"

// meaningNotRecognised: without the owner id, a registration with any may be anybody's.
const meaningNotRecognised = "it may be somebody else's registration, because state does not say with which owner this resource registered; " +
	"`terraform apply -refresh-only` writes that into state"

// release lets go of hosts. Only what is ours is touched: what was never registered by
// this object, and what another owns by now, is left as it is.
func (h hostedProcess) release(ctx context.Context, hosts []fleet.Host, l leave, rollout fleet.Rollout) released {
	gone := released{results: make(fleet.Results), forgotten: make(fleet.Results)}
	ours := h.ours(ctx, h.notRenamed(ctx, hosts, l, &gone), l, &gone)
	// What never came to be registered was not started by us, and is not ours to stop.
	spared := make(map[fleet.Host]bool)
	for _, host := range ours {
		spared[host] = l.statuses[host.WithoutSupplier()].Code == diagnose.NotRegistered
	}
	logged := platform.Run{Process: h.ID, Operation: "unregister", Keys: h.Hosts, Rollout: rollout}
	if l.first != fleet.DestroyUnregister {
		logged.Operation = string(l.first) + " and unregister"
	}
	gone.results.Merge(h.platform.Logged(ctx, logged, ours, func(ctx context.Context, rollout fleet.Rollout) fleet.Results {
		return fleet.Release(ctx, h.Process, ours, l.first, spared, rollout)
	}))
	h.releasePerhaps(ctx, ours, l, gone.results)
	if l.forget {
		for host, o := range gone.results {
			if silent(o) {
				gone.forgotten[host] = o
				delete(gone.results, host)
			}
		}
	}
	return gone
}

// releasePerhaps unregisters hosts under the supplier id as well under which they may have
// been registered since: the answer to that was lost.
func (h hostedProcess) releasePerhaps(ctx context.Context, hosts []fleet.Host, l leave, results fleet.Results) {
	also := make(map[fleet.Host]fleet.Host)
	for _, host := range hosts {
		name := l.last.Perhaps[host.Address()]
		if perhaps, err := fleet.ParseHost(name, host.SupplierID()); err == nil && perhaps != host && results[host].OK() {
			also[perhaps] = host
		}
	}
	if len(also) == 0 {
		return
	}
	for perhaps, o := range h.Process.Unregister(ctx, slices.Collect(maps.Keys(also))) {
		if !o.OK() {
			results[also[perhaps]] = o
		}
	}
}

// ours are the hosts on which the registration is this object's. What is not known
// cannot go.
func (h hostedProcess) ours(ctx context.Context, hosts []fleet.Host, l leave, gone *released) []fleet.Host {
	hosts = h.notReplaced(hosts, l, gone)
	if l.last.FingerprintLabel == "" || len(hosts) == 0 {
		// Without labels nobody can tell, and what was registered counts as ours.
		return keep(hosts, func(host fleet.Host) bool {
			return l.statuses[host.WithoutSupplier()].Code != diagnose.RegisteredByOther
		})
	}
	onFile, err := h.Process.CachedStatus(ctx, hosts)
	var (
		ours, owned, strange, unsure []fleet.Host
		held                         = l.last.held(h.Desired)
	)
	for _, host := range hosts {
		status, out := l.statuses[host.WithoutSupplier()]
		file := onFile[host]
		// What this object registered in this run is its own, although the file lags.
		other := held.OwnedByOther(file) && h.registrant(host.WithoutSupplier()) == ""
		foreign := out && status.Code == diagnose.RegisteredByOther
		doubtful := out && (foreign || status.Code == diagnose.NotRegistered || status.Code == diagnose.Unconfirmed)
		told := file.State != fleet.Unregistered && file.State != fleet.Unknown && file.Labels != nil
		switch {
		case other && l.anonymous && !foreign:
			gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningNotRecognised}
		case other && !foreign:
			owned = append(owned, host)
		case err != nil && foreign, other:
		case err != nil:
			gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningUnread}
		case !doubtful, told && l.last.ours(h.Desired, file):
			ours = append(ours, host)
		case foreign: // somebody else's
		case told: // somebody else's by what is on file
			strange = append(strange, host)
		case status.Code == diagnose.NotRegistered && file.State == fleet.Unregistered:
			// The platform refused to register it, and has nothing on file.
		case file.State == fleet.Unknown && !h.Process.HostingRegisters():
			// An agent cannot tell what is registered and not hosted from what never was.
			gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningUnread}
		default:
			unsure = append(unsure, host)
		}
	}
	gone.owned = append(gone.owned, h.leaveAlone(ctx, owned, onFile, gone)...)
	h.leaveAlone(ctx, strange, onFile, gone)
	h.askAgents(ctx, unsure, gone)
	return ours
}

// registrant is the owner who registered the process on a host last in this run, "" where
// nobody did.
func (h hostedProcess) registrant(host fleet.HostID) string {
	if h.owners == nil {
		return ""
	}
	return h.owners.Of(h.ID, host)
}

// notReplaced leaves out the hosts that another object has registered in this run. That
// takes no label, and no file.
func (h hostedProcess) notReplaced(hosts []fleet.Host, l leave, gone *released) []fleet.Host {
	return keep(hosts, func(host fleet.Host) bool { return !h.replaced(host, host.WithoutSupplier(), l, gone) })
}

// notRenamed leaves out the hosts that another object has registered in this run by the
// other name of the machine. To let go of one name may be to let go of both.
func (h hostedProcess) notRenamed(ctx context.Context, hosts []fleet.Host, l leave, gone *released) []fleet.Host {
	if h.owners == nil {
		return hosts
	}
	suspects := otherForm(hosts, h.owners.OfOthers(h.ID, l.last.Owner))
	if len(suspects) == 0 {
		return hosts
	}
	others, err := h.Process.OtherNames(ctx, suspects)
	if err != nil {
		gone.results.Merge(fleet.Same(suspects, fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningNameUnread}))
		return keep(hosts, func(host fleet.Host) bool { return !slices.Contains(suspects, host) })
	}
	return keep(hosts, func(host fleet.Host) bool {
		other, known := others[host]
		return !known || !h.replaced(host, other, l, gone)
	})
}

// replaced reports whether another object has registered a host in this run by a name of
// its machine, and notes that it was left alone.
func (h hostedProcess) replaced(host fleet.Host, name fleet.HostID, l leave, gone *released) bool {
	registrant := h.registrant(name)
	if registrant == "" || registrant == l.last.Owner {
		return false
	}
	if l.statuses[host.WithoutSupplier()].Code != diagnose.RegisteredByOther {
		gone.owned = append(gone.owned, host)
	}
	return true
}

// leaveAlone gives the hosts that are somebody else's, as is on file. Where the agent
// knows of a later registration than the file, that may well be ours; and where it does
// not answer, nobody knows how old the file is: these are failures.
func (h hostedProcess) leaveAlone(ctx context.Context, hosts []fleet.Host, onFile map[fleet.Host]fleet.Status, gone *released) []fleet.Host {
	if len(hosts) == 0 || !h.Desired.HasSpec { // no agent can be asked, and nothing was registered by this object yet
		return hosts
	}
	live, err := h.Process.LiveStatus(ctx, hosts)
	return keep(hosts, func(host fleet.Host) bool {
		s := live[host]
		switch {
		case err != nil, s.State == fleet.Unknown:
			gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Err: err, Code: s.Code, Message: s.Message, Unreachable: err == nil,
				Meaning: meaningUnread + ": what is on file is somebody else's and may be old, and its agent does not answer"}
		case s.RegisterTime > onFile[host].RegisterTime:
			gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningUnread + ": what is on file is older than the registration"}
		default:
			return true
		}
		return false
	})
}

// askAgents settles hosts of which nobody knows whether they were registered. What is
// not hosted was not, or is no more; what is hosted may be anybody's.
func (h hostedProcess) askAgents(ctx context.Context, hosts []fleet.Host, gone *released) {
	if len(hosts) == 0 {
		return
	}
	live, err := h.Process.LiveStatus(ctx, hosts)
	for _, host := range hosts {
		s := live[host]
		if err == nil && s.State != fleet.Unknown && s.HostedKnown && !s.Hosted {
			continue
		}
		gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Err: err, Code: s.Code, Message: s.Message, Meaning: meaningUnread,
			Unreachable: err == nil && s.State == fleet.Unknown}
	}
}

// warnings tell of hosts that were let go without having been unregistered.
func (r *released) warnings(h hostedProcess, keys fleet.Inventory) diag.Diagnostics {
	var diags diag.Diagnostics
	if len(r.owned) > 0 {
		rows := fleet.Same(r.owned, fleet.Outcome{Verdict: fleet.NotTried, Meaning: "registered by another resource since"})
		diags.AddWarning("Hosts Belong To Another Resource", fmt.Sprintf("%s was registered on %s by another resource after this one: a replacement that was "+
			"created first, a resource that was renamed without a moved block, or another configuration. It was left as it is there, hosted and running, "+
			"and is no longer managed by this one.\n\n%s", h.Title, diagnose.CountHosts(len(r.owned), keys.Len()), diagnose.Rows(keys, rows)))
	}
	if len(r.forgotten) > 0 {
		diags.AddWarning("Unreachable Hosts Forgotten", fmt.Sprintf("%s could not be unregistered on %s, whose agents do not answer, and "+
			"forget_unreachable is set: they are no longer in state. If one of these machines comes back, its agent goes on hosting the process, and nobody "+
			"here knows of it.\n\n%s", h.Title, diagnose.CountHosts(len(r.forgotten), keys.Len()), diagnose.Rows(keys, maps.Clone(r.forgotten))))
	}
	return diags
}

func keep(hosts []fleet.Host, wanted func(fleet.Host) bool) []fleet.Host {
	var kept []fleet.Host
	for _, host := range hosts {
		if wanted(host) {
			kept = append(kept, host)
		}
	}
	return kept
}
