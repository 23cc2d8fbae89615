package processoperation

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// place is a process on a host.
type place struct {
	process string // the process's id
	host    fleet.HostID
}

// change is the difference between a plan and the runs that state records.
type change struct {
	// everywhere is true if the operation runs again on every host.
	everywhere bool
	// records is true if hosts that join are only recorded, and the operation does not run on them.
	records bool
	next    []member
	prior   map[string][]fleet.Host // by process
	held    map[place]bool          // the places in state
	// failed has the failures of the last run, by the hosts' names in state.
	failed map[place]diagnose.HostStatus
	// unreachable has the hosts whose agents did not answer in the last run.
	unreachable unreachable
	doubt       doubt
	operation   fleet.Operation
	// renamed maps hosts of next to the other names that state has for them.
	renamed map[fleet.HostID]fleet.HostID
}

func (r *baseResource) changeOf(ctx context.Context, plan, state resourceModel) *change {
	supplier := 0
	if r.platform != nil {
		supplier = r.platform.Supplier
	}
	to, from := plan.values(), state.values()
	next, prior := membersOf(ctx, plan, supplier), membersOf(ctx, state, supplier)
	c := newChange(next, prior, reference.StringMap(from.FailedHosts))
	c.unreachable = unreachableOf(prior, reference.StringMap(from.Unreachable))
	if c.wasAway().machines() > limitOf(r.platform, plan, c.next).Hosts { // then they count as failed
		for at, status := range c.unreachable {
			status.Code = diagnose.NotTried
			c.failed[at] = status
		}
		c.unreachable = nil
	}
	c.everywhere = identifier(ctx, plan).IsUnknown() || !to.Operation.Equal(from.Operation) || !sameTriggers(to.Triggers, from.Triggers)
	c.records, c.operation = !to.runsOnCreate(), to.operation()
	return c
}

// newChange compares the processes of a plan with those of state. failed is failed_hosts.
func newChange(next, prior []member, failed map[string]string) *change {
	c := &change{next: next, prior: make(map[string][]fleet.Host), held: make(map[place]bool), failed: make(map[place]diagnose.HostStatus)}
	for _, m := range prior {
		for _, host := range m.Hosts.Hosts() {
			c.prior[m.ID] = append(c.prior[m.ID], host)
			c.held[place{m.ID, host.WithoutSupplier()}] = true
		}
		for host, status := range diagnose.Statuses(keysOf(m, failed), m.Hosts, diagnose.Failed) {
			c.failed[place{m.ID, host}] = status
		}
	}
	return c
}

// moved returns the hosts that joined a process, and those that left it.
func (c *change) moved(process string) (added, removed []fleet.Host) {
	stays := make(map[fleet.HostID]bool)
	for _, m := range c.next {
		if m.ID != process {
			continue
		}
		for _, host := range m.Hosts.Hosts() {
			stays[host.WithoutSupplier()] = true
			if !c.held[place{process, host.WithoutSupplier()}] {
				added = append(added, host)
			}
		}
	}
	for _, host := range c.prior[process] {
		if !stays[host.WithoutSupplier()] {
			removed = append(removed, host)
		}
	}
	return added, removed
}

// sameTriggers reports whether two values of triggers are equal. Null equals empty.
func sameTriggers(a, b types.Map) bool {
	return a.Equal(b) || (len(a.Elements()) == 0 && len(b.Elements()) == 0 && !a.IsUnknown() && !b.IsUnknown())
}

// findRenamed asks the platform for the other names of hosts that joined and left, if a machine may have
// changed from its address to its agent id, or back. members are the processes of next, opened on the platform.
// findRenamed returns the hosts that left of which the platform does not say whether they are a host that
// joined, each with the hosts that it may be, if what runs there depends on that.
func (c *change) findRenamed(ctx context.Context, members []member) (unclear map[fleet.HostID][]fleet.Host, err error) {
	c.renamed, unclear = make(map[fleet.HostID]fleet.HostID), make(map[fleet.HostID][]fleet.Host)
	asked := make(map[string]bool)
	for _, m := range members {
		added, removed := c.moved(m.ID)
		if asked[m.ID] || len(fleet.OtherForm(added, removed)) == 0 {
			continue
		}
		asked[m.ID] = true
		others, err := m.Process.OtherNames(ctx, slices.Concat(added, removed))
		if err != nil {
			return nil, err
		}
		unnamed := make(map[bool][]fleet.Host) // those that joined and have no other name, by whether they are given by agent id
		for _, host := range added {
			if other, known := others[host]; known {
				c.renamed[host.WithoutSupplier()] = other
			} else {
				unnamed[host.AgentID() != ""] = append(unnamed[host.AgentID() != ""], host)
			}
		}
		for _, host := range removed {
			if other, known := others[host]; known {
				c.renamed[other] = host.WithoutSupplier()
			} else if came := unnamed[host.AgentID() == ""]; len(came) > 0 && c.dependsOnName(place{m.ID, host.WithoutSupplier()}) {
				unclear[host.WithoutSupplier()] = came
			}
		}
	}
	return unclear, nil
}

// dependsOnName reports whether it matters if a host that left is one that joined. A host that joins is operated on,
// though a machine that only changes its name may have been. With run_on_create = false it is only recorded, though
// the operation may be due on that machine.
func (c *change) dependsOnName(left place) bool {
	if !c.records {
		return !c.everywhere
	}
	_, failed := c.failed[left]
	_, unreached := c.unreachable[left]
	return c.everywhere || failed || unreached
}

// mayRename reports whether hosts that joined may be hosts that left.
func (c *change) mayRename() bool {
	return slices.ContainsFunc(c.next, func(m member) bool { return len(fleet.OtherForm(c.moved(m.ID))) > 0 })
}

// inState returns the place under which state may have a process on a host. If state has the host under another
// name, it is the place of that name.
func (c *change) inState(process string, host fleet.Host) place {
	if before := c.renamed[host.WithoutSupplier()]; c.held[place{process, before}] {
		return place{process, before}
	}
	return place{process, host.WithoutSupplier()}
}

// inDoubt returns the doubt that earlier runs have left on a host of next.
func (c *change) inDoubt(process string, host fleet.Host) (inDoubt, bool) {
	at := c.inState(process, host)
	known, kept := c.doubt.at(at)
	if known.ID != "" && known.As == "" && at.host != host.WithoutSupplier() {
		known.As = at.host.Address()
	}
	return known, kept
}

// keptDoubt returns the doubt that earlier runs have left on unreached hosts. It stays until the platform is
// asked.
func (c *change) keptDoubt(unreached unreachable) doubt {
	kept := make(doubt)
	for _, m := range c.next {
		for _, host := range m.Hosts.Hosts() {
			at := place{m.ID, host.WithoutSupplier()}
			if _, is := unreached[at]; !is {
				continue
			}
			if known, was := c.inDoubt(m.ID, host); was {
				kept.set(at, known)
			}
		}
	}
	return kept
}

// retries reports whether the operation runs on any host because the last run failed there.
func (c *change) retries() bool {
	return slices.ContainsFunc(c.next, func(m member) bool {
		return slices.ContainsFunc(m.Hosts.Hosts(), func(host fleet.Host) bool {
			_, failed := c.failed[c.inState(m.ID, host)]
			return failed
		})
	})
}

// due returns the duties of an update. The operation runs on every host, or on hosts that join and those on
// which the last run failed. With run_on_create = false, hosts that join are only recorded, as in a create. It
// may have worked on the hosts in unsure. Those in silent had no result in the last run.
func (c *change) due() []duty {
	duties := make([]duty, len(c.next))
	for i, m := range c.next {
		duties[i] = dutyOn(nil)
		for _, host := range m.Hosts.Hosts() {
			at := c.inState(m.ID, host)
			status, failed := c.failed[at]
			_, unreached := c.unreachable[at]
			joins := !c.held[at]
			if joins && !c.records || !joins && (c.everywhere || failed) {
				known, kept := c.inDoubt(m.ID, host)
				duties[i].hosts = append(duties[i].hosts, host)
				duties[i].addDoubt(host, known, c.operation, false, !c.everywhere && failed && (kept || diagnose.CodeInDoubt(status.Code)))
			}
			if unreached || status.Away() || status.Code == diagnose.NoVerdict {
				duties[i].silent = append(duties[i].silent, host.WithoutSupplier())
			}
		}
	}
	return duties
}
