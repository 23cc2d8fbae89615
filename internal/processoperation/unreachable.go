package processoperation

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// unreachable has the processes on hosts whose agents do not answer.
type unreachable map[place]diagnose.HostStatus

// unreachableOf reads the attribute unreachable.
func unreachableOf(members []member, byKey map[string]string) unreachable {
	u := make(unreachable)
	for _, m := range members {
		for host, status := range diagnose.Unreachable(keysOf(m, byKey), m.Hosts) {
			u[place{m.ID, host}] = status
		}
	}
	return u
}

// keysOf returns the entries of an attribute that are about a member's hosts, by key.
func keysOf(m member, byKey map[string]string) map[string]string {
	own := make(map[string]string, len(byKey))
	for key := range m.Hosts.All {
		if text, said := byKey[reference.HostKey(m.name, key)]; said {
			own[key] = text
		}
	}
	return own
}

// byKey returns the attribute unreachable.
func (u unreachable) byKey(members []member) map[string]string {
	all := make(map[string]string)
	for _, m := range members {
		for key, status := range diagnose.UnreachableByKey(m.Hosts, u.of(m)) {
			all[reference.HostKey(m.name, key)] = status
		}
	}
	return all
}

// of returns the statuses of one member.
func (u unreachable) of(m member) map[fleet.HostID]diagnose.HostStatus {
	statuses := make(map[fleet.HostID]diagnose.HostStatus)
	for at, status := range u {
		if at.process == m.ID {
			statuses[at.host] = status
		}
	}
	return statuses
}

// leftOf returns the entries of u for hosts on which a destroy failed.
func (u unreachable) leftOf(o operation, left outcome) unreachable {
	rest := make(unreachable)
	for i, m := range o.members {
		for host := range left[i] {
			at := place{m.ID, host.WithoutSupplier()}
			if status, is := u[at]; is {
				rest[at] = status
			}
		}
	}
	return rest
}

// besides returns the processes on all other machines.
func (u unreachable) besides(machines []machine) unreachable {
	on := make(map[fleet.HostID]bool, len(machines))
	for _, m := range machines {
		on[m.host.WithoutSupplier()] = true
	}
	rest := maps.Clone(u)
	maps.DeleteFunc(rest, func(at place, _ diagnose.HostStatus) bool { return on[at.host] })
	return rest
}

// machines counts the machines.
func (u unreachable) machines() int {
	machines := make(map[fleet.HostID]bool)
	for at := range u {
		machines[at.host] = true
	}
	return len(machines)
}

// limitOf returns max_unreachable_hosts of an object.
func limitOf(p *platform.Platform, m model, members []member) reference.MaxUnreachable {
	return reference.MaxUnreachableOf(p, m.inputs().MaxUnreachable, len(machinesOf(members, everyHost(members))))
}

// judge separates unreachable hosts from the failures of a run. If there are more of them, with those of
// unreached, on which it did not run, than allowed, they count as failures. was are all that were unreachable before.
func (o operation) judge(failures outcome, unreached, was unreachable) (outcome, unreachable) {
	away := maps.Clone(unreached)
	if away == nil {
		away = make(unreachable)
	}
	failing := make(outcome, len(failures))
	for i, m := range o.members {
		failing[i] = maps.Clone(failures[i])
		for host := range failures[i].Away() {
			at := place{m.ID, host.WithoutSupplier()}
			away[at] = diagnose.Unanswered(o.platform.Clock.Now(), "", failures[i][host], was[at])
			delete(failing[i], host)
		}
	}
	if away.machines() > o.maxUnreachable.Hosts {
		return o.tooMany(failures, unreached), nil
	}
	return failing, away
}

// tooMany returns the failures of a run that has more unreachable hosts than allowed. The hosts that it
// skipped, because their agents had not answered before, count as failed as well.
func (o operation) tooMany(failures outcome, before unreachable) outcome {
	all := make(outcome, len(failures))
	for i, m := range o.members {
		all[i] = maps.Clone(failures[i])
		for _, host := range m.Hosts.Hosts() {
			status, left := before[place{m.ID, host.WithoutSupplier()}]
			if _, ran := all[i][host]; left && !ran {
				all[i][host] = fleet.Outcome{Verdict: fleet.NotTried, Away: true, Meaning: status.Text}
			}
		}
	}
	return all
}

// raise says which max_unreachable_hosts would have been sufficient for a failed run.
func (o operation) raise(failures outcome) string {
	machines := make(map[fleet.HostID]bool)
	for _, of := range failures {
		for host := range of.Away() {
			machines[host.WithoutSupplier()] = true
		}
	}
	return diagnose.RaiseUnreachable(len(machines), o.maxUnreachable.Hosts, o.maxUnreachable.Set)
}

// warn returns one warning about all unreachable hosts. so is what follows from it.
func (u unreachable) warn(o operation, so string) diag.Diagnostics {
	if len(u) == 0 {
		return nil
	}
	text := ""
	for _, m := range o.members {
		if of := u.of(m); len(of) > 0 {
			text += diagnose.LeftUnreachable(m.Title, m.Hosts, of)
		}
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic("Agents Not Reachable", text+diagnose.AllowedUnreachable(o.maxUnreachable.Set, so))}
}

// ranLater says what happens to unreachable hosts.
func (o operation) ranLater() string {
	return diagnose.KeptUnreachable + " The " + string(o.name) + " runs on such a host in the first apply after its agent answers."
}

// Read asks the agents that did not answer during the operation whether they answer now. It asks nothing else:
// an operation is an event, and bk_process_status reports the state of the process.
func (r *baseResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state := r.newModel()
	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	if resp.Diagnostics.HasError() || len(state.values().Unreachable.Elements()) == 0 || !r.platform.Ready() {
		return
	}
	o := open(ctx, r.platform, state, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	failed, away := reference.StringMap(state.values().FailedHosts), unreachableOf(o.members, reference.StringMap(state.values().Unreachable))
	answering, diags := o.answering(ctx, away)
	if resp.Diagnostics.Append(diags...); diags.HasError() {
		return
	}
	for _, m := range o.members {
		for key, host := range m.Hosts.All {
			at := place{m.ID, host.WithoutSupplier()}
			if _, is := away[at]; is && answering[at.host] {
				delete(away, at)
				failed[reference.HostKey(m.name, key)] = diagnose.HostStatus{Code: diagnose.NotTried}.AnswersAgain().String()
			}
		}
	}
	state.values().FailedHosts = reference.StringMapValue(failed)
	state.values().Unreachable = reference.StringMapValue(away.byKey(o.members))
	resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	resp.Diagnostics.Append(away.warn(o, o.ranLater())...)
}

// answering returns the machines of away whose agents answer now. It asks each agent once, for one of the processes
// there. If it asked for each, a later process could run before an earlier one whose answer was late.
func (o operation) answering(ctx context.Context, away unreachable) (map[fleet.HostID]bool, diag.Diagnostics) {
	var (
		answers   = make([]map[fleet.Host]fleet.Status, len(o.members))
		errs      = make([]error, len(o.members))
		asked     = make(map[fleet.HostID]bool)
		answering = make(map[fleet.HostID]bool)
		all       sync.WaitGroup
	)
	for i, m := range o.members {
		hosts := m.Hosts.Pick(func(host fleet.Host) bool {
			_, is := away[place{m.ID, host.WithoutSupplier()}]
			first := is && !asked[host.WithoutSupplier()]
			asked[host.WithoutSupplier()] = asked[host.WithoutSupplier()] || first
			return first
		})
		all.Go(func() { answers[i], errs[i] = fleet.LiveStatusWithin(ctx, m.Process, patience, hosts) })
	}
	all.Wait()
	for i, m := range o.members {
		if err := diagnose.UnlessInterrupted(ctx, errs[i]); err != nil {
			return nil, diag.Diagnostics{diagnose.CallFailed("Unable to Read Process Operation", m.Title+
				": agents that did not answer before could not be asked. Its state is kept as it was.", err)}
		}
		for host, s := range answers[i] {
			if s.State != "" && (s.State != fleet.Unknown || s.Refused || s.Unread) {
				answering[host.WithoutSupplier()] = true
			}
		}
	}
	return answering, nil
}

// patience limits how long Read waits for agents that did not answer before.
const patience = 15 * time.Second

// wasAway returns the processes on hosts of the plan whose agents did not answer in the last run.
func (c *change) wasAway() unreachable {
	was := make(unreachable)
	for _, m := range c.next {
		for _, host := range m.Hosts.Hosts() {
			if status, is := c.unreachable[c.inState(m.ID, host)]; is {
				was[place{m.ID, host.WithoutSupplier()}] = status
			}
		}
	}
	return was
}

// unreached returns the entries of u for hosts that are not due.
func (u unreachable) unreached(members []member, duties []duty) unreachable {
	rest := maps.Clone(u)
	for i, m := range members {
		for _, host := range duties[i].hosts {
			delete(rest, place{m.ID, host.WithoutSupplier()})
		}
	}
	return rest
}
