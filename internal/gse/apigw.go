package gse

import (
	"context"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// apigw is the face behind the bk-gse API gateway of GSE 2.0. No client is known
// to register a process there; they host it (operation 3 of operate_proc_multi),
// which is what registering means on this face.
type apigw struct{}

func (apigw) endpoint(name string, repeatable bool) bkapi.API {
	return bkapi.API{Name: name, Path: "api/v2/proc/" + name, Repeatable: repeatable}
}

func (apigw) renames() bool { return true }

func (apigw) hostingRegisters() bool { return true }

// place prefers the agent id: a process that was registered by it is another than
// the one of the same machine's address, although its row may carry both.
func (apigw) place(row procRow, supplier int) (fleet.Host, bool) {
	if h, ok := row.agent(); ok {
		return h, true
	}
	return row.host(supplier)
}

// multiRequest is the body of operate_proc_multi. The whole list is one task.
type multiRequest struct {
	Requests []operateRequest `json:"proc_operate_req"`
}

// register asks first: hosting a process that somebody else hosts replaces theirs
// without a word, where the ESB face would answer 850. An agent that does not say whether
// it hosts the process may host anybody's.
func (f apigw) register(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	if p.spec == nil || len(hosts) == 0 {
		return f.multi(ctx, p, fleet.Supervise, hosts)
	}
	free, results := p.askAgents(ctx, hosts, func(now fleet.Status) (taken bool, meaning string) {
		if !now.Hosted && now.RegisterTime == 0 && !now.HostedKnown {
			return true, "the process may be registered already: its agent does not say whether it hosts it"
		}
		return now.Hosted || now.RegisterTime > 0, meaningRegistered
	})
	for h, o := range procapi.Unconfirmed(f.multi(ctx, p, fleet.Supervise, free), false) {
		if refused(o) { // somebody hosted it since we asked
			o.Verdict = fleet.Failed
		}
		results[h] = o
	}
	return results
}

// reregister replaces by hosting again, except where the platform says that it is
// hosted already: there it is unhosted first.
func (f apigw) reregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	results := f.multi(ctx, p, fleet.Supervise, hosts)
	kept := slices.DeleteFunc(slices.Clone(hosts), func(h fleet.Host) bool { return !refused(results[h]) })
	if len(kept) > 0 {
		results.Merge(f.multi(ctx, p, fleet.Unsupervise, kept))
		results.Merge(f.multi(ctx, p, fleet.Supervise, results.Succeeded(kept)))
	}
	return results
}

// refused reports whether the platform left a hosting as it was (850). Where our own
// request went out twice, the first one may have made it so.
func refused(o fleet.Outcome) bool { return o.OK() && o.AlreadyDone && !o.Repeated }

// unregister learns the other names of hosts first, because results may come under
// those: once a host is unhosted, no row tells them any more.
func (f apigw) unregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	if unnamed := p.client.unnamed(hosts); len(unnamed) > 0 && p.spec != nil {
		_, _ = p.file(ctx, unnamed) // results may still come under the names that were asked for
	}
	return f.multi(ctx, p, fleet.Unsupervise, hosts)
}

func (f apigw) multi(ctx context.Context, p *Process, op fleet.Operation, hosts []fleet.Host) fleet.Results {
	if p.spec == nil && len(hosts) > 0 {
		return fleet.Same(hosts, fleet.Outcome{Verdict: fleet.NotTried, Meaning: "not tried: this gateway wants the spec, which is not known before the first apply after an import"})
	}
	api := f.endpoint(apiMulti, procapi.Repeatable(op))
	return procapi.InBatches(ctx, p.client.batches(hosts), func(ctx context.Context, batch []fleet.Host) fleet.Results {
		return p.submit(ctx, api, op, multiRequest{Requests: []operateRequest{p.request(op, batch)}}, batch, procapi.Request{})
	})
}
