package job

import (
	"context"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// CachedStatus implements fleet.Process. JOB has no cache, so the agents are asked. A process that is not
// hosted counts as not registered (see the package documentation).
//
// A caller that reads the cached status has more to do afterwards. So patience bounds the wait for agents that
// do not answer.
func (p *Process) CachedStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	statuses, err := fleet.LiveStatusWithin(ctx, p, patience, hosts)
	return hostedOnly(statuses), err
}

// patience bounds how long agents are asked in place of a cached status.
const patience = 2 * time.Minute

// hostedOnly returns statuses in which a process that is not hosted is not registered.
func hostedOnly(statuses map[fleet.Host]fleet.Status) map[fleet.Host]fleet.Status {
	for h, s := range statuses {
		if s.State != fleet.Unknown && s.HostedKnown && !s.Hosted {
			s.State = fleet.Unregistered
			statuses[h] = s
		}
	}
	return statuses
}

// SharedStatus implements fleet.Process. It shares nothing, because a query to the agents is about one process
// only.
func (p *Process) SharedStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return p.CachedStatus(ctx, hosts)
}

// LiveStatus implements fleet.Process by means of operation 2 and its result. It returns an error only if the
// call itself failed and no host got an answer.
func (p *Process) LiveStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	var (
		kept             = procapi.Contents{Name: p.info.ProcName}
		addressed, other = split(hosts)
		results          = p.operate(ctx, procapi.Query, addressed, procapi.Request{Contents: &kept})
	)
	statuses, err := kept.Statuses(addressed, results)
	if err != nil {
		return nil, err
	}
	for h, s := range statuses {
		// Elsewhere, the registration time shows that there is a registration, and whether the cached status is
		// outdated. JOB has no cached status, and only hosting is a registration.
		s.RegisterTime = 0
		statuses[h] = s
	}
	for _, h := range other {
		statuses[h] = fleet.Status{State: fleet.Unknown, Message: meaningNoAgent}
	}
	return statuses, nil
}

// KnownNames implements fleet.Process.
func (p *Process) KnownNames([]fleet.Host) map[fleet.Host]fleet.HostID { return nil }

// OtherNames implements fleet.Process. JOB names hosts only by address.
func (p *Process) OtherNames(context.Context, []fleet.Host) (map[fleet.Host]fleet.HostID, error) {
	return nil, nil //nolint:nilnil // no host has another name here
}
