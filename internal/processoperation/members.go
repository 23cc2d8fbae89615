package processoperation

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// member is one of the processes of an operation.
type member struct {
	reference.Target
	name     string // its key in processes, "" for the only process of an object without processes
	priority int64
}

// duty is what an operation does for a member.
type duty struct {
	hosts  []fleet.Host           // on which it runs
	unsure map[fleet.Host]inDoubt // those of hosts on which it may have worked before
	silent []fleet.HostID         // those without a result in the last run
	// others has other operations that earlier runs sent and whose end was not seen.
	others map[fleet.Host]inDoubt
}

// dutyOn returns a duty on hosts without any doubt.
func dutyOn(hosts []fleet.Host) duty {
	return duty{hosts: hosts, unsure: make(map[fleet.Host]inDoubt), others: make(map[fleet.Host]inDoubt)}
}

// addDoubt adds known, which earlier runs have left on a host where operation runs now. unsure says that this
// operation may have worked there. If it runs anew, it also unhosts what was left hosted.
func (d duty) addDoubt(host fleet.Host, known inDoubt, operation fleet.Operation, destroys, unsure bool) {
	switch {
	case !unsure && known.Operation == operation: // it runs anew, whatever became of it
	case known.isOther(operation, destroys): // the operation itself has not run yet
		if !known.Worked { // an operation that worked is over
			d.others[host] = known
		}
	case unsure:
		d.unsure[host] = known
		return
	}
	if known.Bare {
		d.unsure[host] = inDoubt{Task: fleet.Task{Operation: operation, Bare: true, Anew: true, RegisterTime: known.RegisterTime}}
	}
}

// tasks returns the tasks of operations that may have worked.
func (d duty) tasks() map[fleet.Host]fleet.Task {
	tasks := make(map[fleet.Host]fleet.Task, len(d.unsure))
	for host, known := range d.unsure {
		tasks[host] = known.Task
	}
	return tasks
}

// everyHost returns the duty of each member if the operation runs on every host.
func everyHost(members []member) []duty {
	duties := make([]duty, len(members))
	for i, m := range members {
		duties[i].hosts = m.Hosts.Hosts()
	}
	return duties
}

// membersOf returns the processes of a model in a plan. Unknown ids are "", and unknown hosts are left out.
// supplier is the supplier id of addresses without one. Callers that only describe hosts may pass 0, since
// hosts are named by their keys.
func membersOf(ctx context.Context, m reference.Processes, supplier int) []member {
	var members []member
	entries, _ := m.Entries(ctx)
	for _, entry := range entries {
		// The plan reports addresses that cannot be read. They are left out here.
		inventory, _ := reference.InventoryOf(entry.HostsMap(ctx), supplier)
		target := reference.Target{ID: entry.Identifier(ctx).ValueString(), Hosts: inventory}
		members = append(members, member{Target: target, name: entry.Name, priority: entry.Priority})
	}
	return members
}

// identifier returns the id of an object, unknown while any part of it is unknown.
func identifier(ctx context.Context, m reference.Processes) types.String {
	entries, known := m.Entries(ctx)
	var ids []string
	for _, entry := range entries {
		id := entry.Identifier(ctx)
		known = known && !id.IsUnknown()
		ids = append(ids, id.ValueString())
	}
	if !known {
		return types.StringUnknown()
	}
	return types.StringValue(joinedIDs(ids))
}

// joinedIDs returns the id of an object whose processes have these ids.
func joinedIDs(ids []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(ids))), ",")
}

// machine is a host of one or more members, with the first of its keys in the order of CompareKeys.
type machine struct {
	key  string
	host fleet.Host
}

// machinesOf returns the machines in the duties of members, each once, sorted by key.
func machinesOf(members []member, duties []duty) []machine {
	var machines []machine
	for i, m := range members {
		for _, host := range duties[i].hosts {
			machines = append(machines, machine{m.Hosts.Key(host), host})
		}
	}
	slices.SortStableFunc(machines, func(a, b machine) int { return fleet.CompareKeys(a.key, b.key) })
	seen := make(map[fleet.HostID]bool, len(machines))
	return slices.DeleteFunc(machines, func(m machine) bool {
		twice := seen[m.host.WithoutSupplier()]
		seen[m.host.WithoutSupplier()] = true
		return twice
	})
}

func hostsOf(machines []machine) []fleet.Host {
	hosts := make([]fleet.Host, len(machines))
	for i, m := range machines {
		hosts[i] = m.host
	}
	return hosts
}

// rolloutOf converts rollout for an operation on members. The canary consists of machines, and a wave may take
// as long as the slowest member.
func rolloutOf(ctx context.Context, members []member, name fleet.Operation, value types.Object) (fleet.Rollout, diag.Diagnostics) {
	var (
		diags   diag.Diagnostics
		rollout fleet.Rollout
		canary  = make(map[fleet.HostID]bool)
		longest time.Duration
	)
	for _, m := range members {
		target := reference.Target{Hosts: m.Hosts, Process: m.Process, Runs: []fleet.Operation{name}}
		var d diag.Diagnostics
		rollout, d = target.Rollout(ctx, value)
		diags = append(diags, d...)
		longest = max(longest, rollout.WaveTimeout)
		for host := range rollout.Canary {
			canary[host.WithoutSupplier()] = true
		}
	}
	rollout.WaveTimeout = longest
	rollout.Canary = make(map[fleet.Host]bool)
	for _, m := range members { // a machine goes by the address of any of them, which may have a supplier id of its own
		for _, host := range m.Hosts.Hosts() {
			if canary[host.WithoutSupplier()] {
				rollout.Canary[host] = true
			}
		}
	}
	return rollout, diags
}
