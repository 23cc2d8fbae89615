package gse

import (
	"context"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// esb is the face behind the enterprise service bus. Source: gse.yaml of the ESB and the ESB API documents.
type esb struct{}

func (esb) endpoint(name string, repeatable bool) bkapi.API {
	return bkapi.API{Name: name, Path: "api/c/compapi/v2/gse/" + name + "/", Repeatable: repeatable}
}

func (esb) place(row procRow, supplier int) (fleet.Host, bool) { return row.byAddress(supplier) }

func (esb) renames() bool { return false }

func (esb) hostingRegisters() bool { return false }

func (esb) limitsOperations() bool { return false }

// register asks the agents first. A process that is hosted without being registered is not in the cached
// status, and the platform would silently replace it. For a registered one, the platform returns 850. If an
// agent does not say whether it hosts the process, a registration time shows that the process is registered.
func (esb) register(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	if p.unlimited() {
		return p.hostAnew(ctx, hosts)
	}
	free, live, results := p.askAgents(ctx, hosts, func(now fleet.Status) (taken bool, meaning string) {
		return now.Hosted || !now.HostedKnown && now.RegisterTime > 0, meaningRegistered
	})
	for h, o := range p.registration(ctx, callRegister, p.spec, free) {
		if o.AlreadyDone {
			o.RegisterTime = live[h].RegisterTime
		}
		results[h] = o
	}
	noteIdle(results, live)
	return results
}

// reregister updates the registration. Where the platform refuses that, it registers: some platforms may refuse to
// update what was only hosted, as a process without limits is. A host that is registered after all keeps the
// reason for the refusal.
func (esb) reregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	if p.unlimited() {
		return p.hostAgain(ctx, hosts)
	}
	results := p.registration(ctx, callUpdate, p.spec, hosts)
	refused := slices.DeleteFunc(slices.Clone(hosts), func(h fleet.Host) bool {
		o := results[h]
		return o.Verdict != fleet.Failed || o.Err != nil || o.Away
	})
	for h, o := range p.registration(ctx, callRegister, p.spec, refused) {
		if o.Verdict != fleet.Failed && o.Verdict != fleet.NotTried {
			results[h] = o
		}
	}
	return results
}

// unregister also unhosts a process without limits, because hosting registered it, and no document says that
// unregister_proc_info unhosts. It calls unregister_proc_info as well, because the process may have had limits
// before.
func (f esb) unregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	switch {
	case p.spec == nil:
		unregistering, cancel := fleet.Share(ctx, 2*fleet.Quick, fleet.Quick)
		defer cancel()
		results := p.registration(unregistering, callUnregister, nil, hosts)
		p.keepUnconfirmed(ctx, results)
		return results
	case !p.unlimited():
		return p.registration(ctx, callUnregister, nil, hosts)
	}
	results := hostBefore(ctx, p, fleet.Unsupervise, hosts, fleet.Quick)
	if unhosted := results.Succeeded(hosts); len(unhosted) > 0 {
		results.Merge(p.registration(ctx, callUnregister, nil, unhosted))
	}
	return results
}

func (esb) supervise(ctx context.Context, p *Process, op fleet.Operation, hosts []fleet.Host) fleet.Results {
	return p.operate(ctx, op, hosts, procapi.Request{})
}
