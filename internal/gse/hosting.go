package gse

import (
	"context"
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// In this file, registering means only hosting. That is so at the API gateway, and on the ESB for a process
// without limits, which register_proc_info does not accept.

// hostAnew registers by hosting. It asks the agents first, because hosting silently replaces a process that
// another object hosts, while register_proc_info would return 850. If an agent does not say whether it hosts
// the process, it may host one of another owner, so the host is left alone.
func (p *Process) hostAnew(ctx context.Context, hosts []fleet.Host) fleet.Results {
	if p.spec == nil || len(hosts) == 0 {
		return p.client.face.supervise(ctx, p, fleet.Supervise, hosts)
	}
	free, live, results := p.askAgents(ctx, hosts, func(now fleet.Status) (taken bool, meaning string) {
		if !now.Hosted && now.RegisterTime == 0 && !now.HostedKnown {
			return true, "the process may be registered already: its agent does not say whether it hosts it"
		}
		return now.Hosted || now.RegisterTime > 0, meaningRegistered
	})
	for h, o := range procapi.Unconfirmed(p.client.face.supervise(ctx, p, fleet.Supervise, free), false) {
		if alreadyHosted(o) { // another owner has hosted it meanwhile
			o.Verdict = fleet.Failed
		}
		results[h] = o
	}
	noteIdle(results, live)
	return results
}

// hostAgain replaces a registration by hosting again. If the platform reports that the process is hosted
// already, it is unhosted first.
func (p *Process) hostAgain(ctx context.Context, hosts []fleet.Host) fleet.Results {
	results := procapi.InState(hostBefore(ctx, p, fleet.Supervise, hosts, fleet.Quick))
	kept := slices.DeleteFunc(slices.Clone(hosts), func(h fleet.Host) bool { return !alreadyHosted(results[h]) })
	results.Merge(hostBefore(ctx, p, fleet.Unsupervise, kept, fleet.Quick))
	for h, o := range procapi.AfterRemoval(p.client.face.supervise(ctx, p, fleet.Supervise, results.Succeeded(kept))) {
		if alreadyHosted(o) && !o.Repeated {
			o.Verdict, o.AlreadyDone, o.Meaning = fleet.Failed, false, "hosted already, although it was just unhosted, so the hosted spec is unknown"
		}
		results[h] = o
	}
	return results
}

// hostBefore hosts or unhosts. It reserves the duration later for the next step, on the hosts where that succeeds.
func hostBefore(ctx context.Context, p *Process, op fleet.Operation, hosts []fleet.Host, later time.Duration) fleet.Results {
	ctx, cancel := fleet.Share(ctx, 2*fleet.Quick, later)
	defer cancel()
	return p.client.face.supervise(ctx, p, op, hosts)
}

// alreadyHosted reports whether the platform returned that the process was hosted already (850), and left it as
// it was. If the request was sent twice, the first one may have caused the 850, or may never have arrived.
func alreadyHosted(o fleet.Outcome) bool { return o.OK() && o.AlreadyDone }
