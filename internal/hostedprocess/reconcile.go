package hostedprocess

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// hostedPast is what an update starts from.
type hostedPast struct {
	hosts      fleet.Inventory
	outOfSync  map[fleet.HostID]string
	ensure     fleet.Ensure
	applied    applied
	hasApplied bool
	adopts     bool // adopt_existing
}

// change is the difference that an update has to bring about. What is as
// declared is not in it, and so not called.
func (h hostedProcess) change(ctx context.Context, past hostedPast) (fleet.Change, doubt, error) {
	found, err := h.doubts(ctx, h.Hosts.Pick(func(host fleet.Host) bool { return unconfirmed(past.outOfSync[host.WithoutSupplier()]) }), past.applied)
	if err != nil {
		return fleet.Change{}, found, err
	}
	change := fleet.Change{
		Register: h.Hosts.Without(past.hosts),
		Order:    h.Hosts.Hosts(),
		// The resource owns the name: a new or lost host that turns out to be
		// registered is taken over. Not so one whose owner was there before us.
		Adopt: func(host fleet.Host) bool {
			return past.adopts || (!found.strangers[host] && fleet.ParseDrift(past.outOfSync[host.WithoutSupplier()]) != fleet.Foreign)
		},
		Rollout: h.rollout,
	}
	kept := h.Hosts.Pick(past.hosts.Has)
	if !past.hasApplied {
		// In one return statement, Go may read change before it is filled in.
		err := h.compare(ctx, kept, &change)
		return change, found, err
	}
	var (
		changed = !past.applied.registeredAs(h.Desired)
		raised  = rank(h.Desired.Ensure) > rank(past.ensure)
	)
	for _, host := range kept {
		reason, out := past.outOfSync[host.WithoutSupplier()]
		switch drift := fleet.ParseDrift(reason); {
		case found.unread[host]:
		case out && (drift == fleet.NotRegistered || drift == fleet.Foreign):
			change.Register = append(change.Register, host)
		case changed, past.hosts.SupplierOf(host) != host.SupplierID(), out && (drift == fleet.OtherSpec || drift == fleet.OtherLabels):
			change.Reregister = append(change.Reregister, host)
		case out, raised:
			change.Settle = append(change.Settle, host)
		}
	}
	return change, found, nil
}

// compare sorts hosts by what the platform has on file, for a process whose last
// registration is not known: the first apply after an import.
func (h hostedProcess) compare(ctx context.Context, hosts []fleet.Host, change *fleet.Change) error {
	if len(hosts) == 0 {
		return nil
	}
	onFile, err := h.Process.CachedStatus(ctx, hosts)
	if err != nil {
		return fmt.Errorf("reading the cached status: %w", err)
	}
	for _, host := range hosts {
		switch status := onFile[host]; {
		case h.Desired.Ours(status):
			change.Settle = append(change.Settle, host)
		case status.State == fleet.Unregistered:
			change.Register = append(change.Register, host)
		default:
			change.Reregister = append(change.Reregister, host)
		}
	}
	return nil
}

// releaseRemoved lets go of the hosts that left, as they were registered: past is
// the resource before the update. What the update has used up of the rollout's
// patience counts here as well.
func (h hostedProcess) releaseRemoved(ctx context.Context, past hostedProcess, last applied, outOfSync map[fleet.Host]string, first fleet.OnDestroy, done fleet.Results) fleet.Results {
	var (
		removed = past.Hosts.Without(h.Hosts)
		rollout = h.rollout
	)
	if !past.Desired.HasSpec { // imported and never applied
		past.Process = h.Process
	}
	removed = slices.DeleteFunc(removed, func(host fleet.Host) bool { return foreign(outOfSync[host]) })
	if rollout.BatchSize > 0 {
		if rollout.MaxFailed -= len(done.Failures()); rollout.MaxFailed < 0 {
			return fleet.Same(removed, fleet.Outcome{Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures})
		}
	}
	return past.release(ctx, removed, last, outOfSync, first, rollout)
}

// release lets go of hosts. Where somebody else registered the process and it was
// never adopted it is forgotten and not touched; where it never came to be
// registered there is nothing of ours to stop.
func (h hostedProcess) release(ctx context.Context, hosts []fleet.Host, last applied, outOfSync map[fleet.Host]string, first fleet.OnDestroy, rollout fleet.Rollout) fleet.Results {
	var (
		results  = make(fleet.Results)
		doubtful []fleet.Host
		spared   = make(map[fleet.Host]bool)
	)
	for _, host := range hosts {
		switch reason, out := outOfSync[host]; {
		case unconfirmed(reason):
			doubtful = append(doubtful, host)
		case out && fleet.ParseDrift(reason) == fleet.NotRegistered:
			spared[host] = true
		}
	}
	found, err := h.doubts(ctx, doubtful, last)
	for _, host := range doubtful {
		if err != nil || found.unread[host] {
			results[host] = fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningUnread}
		}
		spared[host] = true
	}
	leaving := slices.DeleteFunc(slices.Clone(hosts), func(host fleet.Host) bool {
		_, unread := results[host]
		return unread || found.strangers[host] || foreign(outOfSync[host])
	})
	results.Merge(fleet.Release(ctx, h.Process, leaving, first, spared, rollout))
	return results
}

// foreign tells whether a reason says that somebody else registered the host.
func foreign(reason string) bool { return fleet.ParseDrift(reason) == fleet.Foreign }

func rank(e fleet.Ensure) int { return slices.Index(fleet.Ensures(), e) }

// anyRegistered tells whether a create left anything that state must remember:
// what is registered, and what may be.
func anyRegistered(results fleet.Results) bool {
	for _, o := range results {
		if o.OK() || (o.Left != fleet.NotRegistered && o.Left != fleet.Foreign) || o.Verdict == fleet.Pending || o.Verdict == fleet.Lost {
			return true
		}
	}
	return false
}

// nothingConfirmed tells whether a create may have registered hosts and heard of
// none. One that its deadline or an interrupt cut off is another matter: there the
// platform answers, and the next apply goes on.
func nothingConfirmed(results fleet.Results) bool {
	for _, o := range results {
		if o.OK() || (o.Left != fleet.NotRegistered && o.Left != fleet.Foreign) || o.Verdict == fleet.Pending || fleet.Ended(o.Err) {
			return false
		}
	}
	return true
}

// stuckReasons is what state says of hosts that could not leave, and might come back.
// Where there was nothing of ours, that goes on to decide what may be done to them.
// The others were not told of a declaration that has changed.
func stuckReasons(stuck fleet.Results, was map[fleet.HostID]string, changed bool) map[fleet.Host]string {
	reasons := make(map[fleet.Host]string)
	for host, o := range stuck {
		reason, out := was[host.WithoutSupplier()]
		drift := fleet.ParseDrift(reason)
		switch ours := !out || (drift != fleet.NotRegistered && drift != fleet.Foreign); {
		case ours && changed:
			reasons[host] = string(fleet.OtherSpec) + ": " + diagnose.Reason(o)
		case out:
			reasons[host] = reason
		}
	}
	return reasons
}

// withStuck keeps hosts in state that could not be unregistered, so that the
// next plan shows them leaving again. A key that the plan gave to another host
// is not theirs any more; their address is a key then.
func withStuck(hosts, before reference.HostMap, prior fleet.Inventory, stuck fleet.Results) reference.HostMap {
	if len(stuck) == 0 {
		return hosts
	}
	all, was := hosts.Known(), before.Known()
	for host := range stuck {
		key := prior.Key(host)
		address := was[key]
		if _, taken := all[key]; taken {
			key = host.String()
		}
		all[key] = address
	}
	return reference.NewHostMap(all)
}

// setIdentity does nothing for a resource without identity.
func setIdentity(ctx context.Context, to *tfsdk.ResourceIdentity, identity any) diag.Diagnostics {
	if to == nil || identity == nil {
		return nil
	}
	return to.Set(ctx, identity)
}
