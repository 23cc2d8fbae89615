package gse

import (
	"context"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// esb is the face behind the enterprise service bus. Source: gse.yaml of the ESB
// and the ESB API documents.
type esb struct{}

func (esb) endpoint(name string, repeatable bool) bkapi.API {
	return bkapi.API{Name: name, Path: "api/c/compapi/v2/gse/" + name + "/", Repeatable: repeatable}
}

// Source: register_proc_info, update_proc_info, unregister_proc_info. They
// answer per host at once; 115 means that the call is to be repeated for that
// host, since there is no task to ask for.
type registrationRequest struct {
	Meta  Meta     `json:"meta"`
	Hosts []hostV1 `json:"hosts"`
	Spec  *Spec    `json:"spec,omitempty"`
}

// What a per-host code means for a registration.
var (
	callRegister   = procapi.Call{Name: apiRegister, MustTrack: true, ConflictCodes: []int64{procapi.CodeRegistered}}
	callUpdate     = procapi.Call{Name: apiUpdate}
	callUnregister = procapi.Call{Name: apiUnregister, SuccessCodes: []int64{procapi.CodeNotRunning}}
)

func (esb) place(row procRow, supplier int) (fleet.Host, bool) { return row.host(supplier) }

func (esb) renames() bool { return false }

func (esb) register(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	return p.registration(ctx, callRegister, p.spec, hosts)
}

func (esb) reregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	return p.registration(ctx, callUpdate, p.spec, hosts)
}

func (esb) unregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	return p.registration(ctx, callUnregister, nil, hosts)
}

func (p *Process) registration(ctx context.Context, c procapi.Call, spec *Spec, hosts []fleet.Host) fleet.Results {
	api := p.client.face.endpoint(c.Name, true)
	keys := func(h fleet.Host) []string {
		return append([]string{keyV1(h, p.meta)}, otherKey(h, keyV2(h.WithoutSupplier(), p.meta))...)
	}
	return procapi.InBatches(ctx, p.client.batches(hosts), func(ctx context.Context, batch []fleet.Host) fleet.Results {
		var (
			results = make(fleet.Results, len(batch))
			last    = make(fleet.Results)
			pending = batch
			rounds  int
		)
		err := poll.Until(ctx, p.client.opts.Backoff, func(ctx context.Context) (bool, error) {
			var answers procapi.ResultMap
			reply, err := p.client.api.Call(ctx, api, registrationRequest{Meta: p.meta, Hosts: hostsV1(pending), Spec: spec}, &answers)
			if err != nil {
				return false, err
			}
			rounds++
			stamp := func(o fleet.Outcome) fleet.Outcome {
				o.RequestID, o.Repeated = reply.RequestID, rounds > 1 || reply.Resent
				o.Message = p.client.opts.Redact(o.Message)
				return o
			}
			pending = c.Settle(answers, pending, keys, stamp, results, last)
			return len(pending) == 0, nil
		})
		for _, h := range pending {
			results[h] = procapi.Unfinished(err, rounds > 0 || procapi.WasSent(err), last[h])
		}
		if c.Name == callRegister.Name {
			results = procapi.Unconfirmed(results, rounds > 0)
		}
		return results
	})
}
