package gse

import (
	"context"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// operateRequest is the body of operate_proc_v2.
type operateRequest struct {
	Meta Meta `json:"meta"`
	target
	OpType int         `json:"op_type"`
	Spec   operateSpec `json:"spec"`
}

// task is `data` of operate_proc_v2 and the body of get_proc_operate_result_v2.
type task struct {
	ID string `json:"task_id"`
}

// Operate implements fleet.Process.
func (p *Process) Operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host) fleet.Results {
	defer p.changed()
	return p.operate(ctx, op, hosts, nil)
}

func (p *Process) operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host, kept *procapi.Contents) fleet.Results {
	api := p.client.face.endpoint(apiOperate, procapi.Repeatable(op))
	return procapi.InBatches(ctx, p.client.batches(hosts), func(ctx context.Context, batch []fleet.Host) fleet.Results {
		return p.submit(ctx, api, op, p.request(op, batch), batch, kept)
	})
}

func (p *Process) request(op fleet.Operation, hosts []fleet.Host) operateRequest {
	request := operateRequest{Meta: p.meta, target: targetOf(hosts), OpType: procapi.OpType(op), Spec: p.spec.forOperate()}
	if op == fleet.Supervise {
		// The document has no limits here, and clients send them. Hosting makes the
		// agent enforce them, so it must not do without.
		request.Spec.Resource = p.spec.Resource
	}
	return request
}

// submit sends an operation once and waits for its result.
func (p *Process) submit(ctx context.Context, api bkapi.API, op fleet.Operation, request any, hosts []fleet.Host, kept *procapi.Contents) fleet.Results {
	return p.tasks(hosts).Submit(ctx, procapi.Request{
		Call:       procapi.CallOf(op, p.spec.oneShot()),
		Repeatable: api.Repeatable,
		Send: func(ctx context.Context) (string, bkapi.Reply, error) {
			var accepted task
			reply, err := p.client.api.Call(ctx, api, request, &accepted)
			return accepted.ID, reply, err
		},
	}, hosts, kept)
}

func (p *Process) tasks(hosts []fleet.Host) procapi.Tasks {
	var (
		api   = p.client.face.endpoint(apiResult, true)
		asked bool
	)
	return procapi.Tasks{
		Options: p.client.opts,
		Keys: func(h fleet.Host) []string {
			keys := []string{keyV2(h.WithoutSupplier(), p.meta)}
			// The gateway falls back to the address for an agent id at times.
			if other, known := p.client.alias(h); known {
				keys = append(keys, keyV2(other, p.meta))
			}
			return append(keys, otherKey(h, keyV1(h, p.meta))...)
		},
		Result: func(ctx context.Context, id string) (procapi.ResultMap, bkapi.Reply, error) {
			var answers procapi.ResultMap
			reply, err := p.client.api.Call(ctx, api, task{ID: id}, &answers)
			if asked {
				return answers, reply, err
			}
			if other := p.unnamed(answers, hosts); len(other) > 0 {
				// A row has both names of a host, and reading one teaches them. Where
				// there is none, all that is lost is a question.
				_, _ = p.CachedStatus(ctx, other)
				asked = true
			}
			return answers, reply, err
		},
	}
}

// unnamed are the hosts that an answer may speak of by a name that is not known yet:
// it has results that are nobody's, and none for them.
func (p *Process) unnamed(answers procapi.ResultMap, hosts []fleet.Host) []fleet.Host {
	if !p.client.face.renames() || len(answers) == 0 {
		return nil
	}
	var unnamed []fleet.Host
	for _, h := range hosts {
		_, other := p.client.alias(h)
		if _, found := answers[keyV2(h.WithoutSupplier(), p.meta)]; !found && !other {
			unnamed = append(unnamed, h)
		}
	}
	if len(answers) <= len(hosts)-len(unnamed) {
		return nil
	}
	return unnamed
}
