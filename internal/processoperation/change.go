package processoperation

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// change is what a plan asks for beyond what state says was done.
type change struct {
	// everywhere: the operation runs again on every host.
	everywhere  bool
	next, prior fleet.Inventory
	// failed is what the last run left undone, by the hosts' names in state.
	failed map[fleet.HostID]diagnose.HostStatus
	// renamed holds hosts of next that state has under another name.
	renamed map[fleet.HostID]fleet.HostID
}

func (r *baseResource) changeOf(ctx context.Context, plan, state resourceModel) *change {
	supplier := 0
	if r.platform != nil {
		supplier = r.platform.Supplier
	}
	// Addresses were checked by the plan; what cannot be read is left out there.
	next, _ := reference.InventoryOf(plan.HostsMap(ctx), supplier)
	prior, _ := reference.InventoryOf(state.HostsMap(ctx), supplier)
	to, from := plan.values(), state.values()
	return &change{
		everywhere: !plan.Identifier(ctx).Equal(state.Identifier(ctx)) || !to.Operation.Equal(from.Operation) || !sameTriggers(to.Triggers, from.Triggers),
		next:       next,
		prior:      prior,
		failed:     diagnose.Statuses(reference.StringMap(from.FailedHosts), prior, diagnose.Failed),
	}
}

// sameTriggers takes null and empty for the same: neither says anything.
func sameTriggers(a, b types.Map) bool {
	return a.Equal(b) || (len(a.Elements()) == 0 && len(b.Elements()) == 0 && !a.IsUnknown() && !b.IsUnknown())
}

// findRenamed asks for the other names of hosts that came and went, where a machine may
// have done both: an address gave way to an agent id, or the other way round.
func (c *change) findRenamed(ctx context.Context, p fleet.Process) error {
	if !c.mayRename() {
		return nil
	}
	added, removed := c.next.Without(c.prior), c.prior.Without(c.next)
	others, err := p.OtherNames(ctx, append(added, removed...))
	if err != nil {
		return err
	}
	c.renamed = make(map[fleet.HostID]fleet.HostID)
	for _, host := range added {
		if other, known := others[host]; known {
			c.renamed[host.WithoutSupplier()] = other
		}
	}
	for _, host := range removed {
		if other, known := others[host]; known {
			c.renamed[other] = host.WithoutSupplier()
		}
	}
	return nil
}

// mayRename reports whether hosts that came may be hosts that went.
func (c *change) mayRename() bool { return mayRename(c.next.Without(c.prior), c.prior.Without(c.next)) }

// mayRename reports whether a host of one list may be one of the other by another name:
// only an address and an agent id can be the same machine.
func mayRename(a, b []fleet.Host) bool {
	agents, addresses := byForm(a)
	otherAgents, otherAddresses := byForm(b)
	return (agents && otherAddresses) || (addresses && otherAgents)
}

func byForm(hosts []fleet.Host) (agents, addresses bool) {
	for _, host := range hosts {
		if host.AgentID() != "" {
			agents = true
		} else {
			addresses = true
		}
	}
	return agents, addresses
}

// nameInState is the name by which state may hold a host.
func (c *change) nameInState(host fleet.Host) fleet.HostID {
	if before, renamed := c.renamed[host.WithoutSupplier()]; renamed {
		return before
	}
	return host.WithoutSupplier()
}

// retries reports whether any host is due because the last run failed on it.
func (c *change) retries() bool {
	for _, host := range c.next.Hosts() {
		if _, failed := c.failed[c.nameInState(host)]; failed {
			return true
		}
	}
	return false
}

// due are the hosts on which the operation has to run: all, or those that were added and
// those on which the last run failed. unsure holds those on which it may have worked.
func (c *change) due() (hosts []fleet.Host, unsure map[fleet.Host]bool) {
	held := make(map[fleet.HostID]bool, c.prior.Len())
	for _, host := range c.prior.Hosts() {
		held[host.WithoutSupplier()] = true
	}
	unsure = make(map[fleet.Host]bool)
	for _, host := range c.next.Hosts() {
		name := c.nameInState(host)
		status, failed := c.failed[name]
		if c.everywhere || failed || !held[name] {
			hosts = append(hosts, host)
		}
		// Another operation than the one in doubt has not run yet.
		unsure[host] = !c.everywhere && failed && status.Code.InDoubt()
	}
	return hosts, unsure
}
