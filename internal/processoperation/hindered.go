package processoperation

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// meaningHindered is the reason on a host where an earlier operation may still run. It would take effect after
// this operation.
const meaningHindered = "not tried, because the platform has not reported the end of an earlier %[1]s here, which would take effect after this operation. " +
	"Try again once it has. If it never does, apply operation = %[1]q with other triggers, which runs it anew, and then this one"

// meaningOtherProcess is the reason for the other processes of the operation on such a host.
const meaningOtherProcess = "not tried, because an earlier operation may still run on this host for another of the processes"

// run runs the operation on the hosts of duties. It runs nothing on a machine where another operation of an
// earlier run may still run, which would take effect after this one.
func (o operation) run(ctx context.Context, duties []duty) outcome {
	var (
		results  = make(outcome, len(o.members))
		machines = make(map[fleet.HostID]bool)
		asked    sync.WaitGroup
	)
	for i, m := range o.members {
		asked.Go(func() { results[i] = m.hindered(ctx, duties[i].others) })
	}
	asked.Wait()
	for _, hindered := range results {
		for host := range hindered {
			machines[host.WithoutSupplier()] = true
		}
	}
	if len(machines) == 0 {
		return o.runOn(ctx, duties)
	}
	free := slices.Clone(duties)
	for i := range free {
		free[i].hosts = nil
		for _, host := range duties[i].hosts {
			if !machines[host.WithoutSupplier()] {
				free[i].hosts = append(free[i].hosts, host)
			} else if _, said := results[i][host]; !said {
				results[i][host] = fleet.Outcome{Verdict: fleet.NotTried, Blocked: true, Meaning: meaningOtherProcess, Underway: duties[i].others[host].Task}
			}
		}
	}
	for i, ran := range o.runOn(ctx, free) {
		results[i].Merge(ran)
	}
	return results
}

// hindered returns the outcomes of the hosts on which these operations may still run, according to their tasks.
func (m member) hindered(ctx context.Context, others map[fleet.Host]inDoubt) fleet.Results {
	tasks := make(map[fleet.Host]fleet.Task)
	for host, other := range others {
		if other.ID != "" {
			tasks[host] = other.Task
		}
	}
	results := make(fleet.Results)
	for host, still := range fleet.StillUnderWay(ctx, m.Process, m.Process, m.Desired, tasks, nil) {
		hindered := diagnose.Hindered(ctx, still, fmt.Sprintf(meaningHindered, tasks[host].Operation))
		hindered.Underway = tasks[host]
		results[host] = hindered
	}
	return results
}
