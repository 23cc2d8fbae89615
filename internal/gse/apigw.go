package gse

import (
	"context"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// apigw is the face behind the bk-gse API gateway of GSE 2.0. No known client registers a process there. They
// host it (operation 3 of operate_proc_multi), so on this face registering means hosting.
type apigw struct{}

func (apigw) endpoint(name string, repeatable bool) bkapi.API {
	return bkapi.API{Name: name, Path: "api/v2/proc/" + name, Repeatable: repeatable}
}

func (apigw) renames() bool { return true }

func (apigw) hostingRegisters() bool { return true }

func (apigw) limitsOperations() bool { return true }

// place prefers the agent id. A process registered by agent id is distinct from one registered by the address
// of the same machine, although its row may contain both.
func (apigw) place(row procRow, supplier int) (fleet.Host, bool) {
	if h, ok := row.byAgent(); ok {
		return h, true
	}
	return row.byAddress(supplier)
}

func (apigw) register(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	return p.hostAnew(ctx, hosts)
}

func (apigw) reregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	return p.hostAgain(ctx, hosts)
}

// unregister first learns the other names of hosts, because results may use those. Once a host is unhosted, it
// has no row from which to learn them. The result of any operation has the same key as that of a query. So a
// host whose agent has answered a query under its own name is not looked up.
func (f apigw) unregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	if p.spec != nil {
		p.learnFromCache(ctx, p.client.unanswered(hosts))
	}
	return f.supervise(ctx, p, fleet.Unsupervise, hosts)
}

func (f apigw) supervise(ctx context.Context, p *Process, op fleet.Operation, hosts []fleet.Host) fleet.Results {
	if p.spec == nil {
		return fleet.Same(hosts, fleet.Outcome{Verdict: fleet.NotTried, Meaning: "not tried: this gateway wants the spec, which is not known before the first apply after an import"})
	}
	api := f.endpoint(apiMulti, procapi.Repeatable(op))
	return procapi.InBatches(ctx, p.client.batches(hosts), func(ctx context.Context, batch []fleet.Host) fleet.Results {
		return p.submit(ctx, api, op, multiRequest{Requests: []operateRequest{p.request(op, batch)}}, batch, procapi.Request{})
	})
}
