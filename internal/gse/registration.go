package gse

import (
	"context"
	"iter"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// registrationRequest is the body of register_proc_info, update_proc_info and unregister_proc_info. Their
// answers contain the result of each host, and name no task. 115 means that the call has to be repeated for
// that host.
type registrationRequest struct {
	Meta  Meta     `json:"meta"`
	Hosts []hostV1 `json:"hosts"`
	Spec  *Spec    `json:"spec,omitempty"`
}

// What the per-host codes mean for each call.
var (
	callRegister   = procapi.Call{Name: apiRegister, MustTrack: true, ConflictCodes: []int64{procapi.CodeRegistered}}
	callUpdate     = procapi.Call{Name: apiUpdate}
	callUnregister = procapi.Call{Name: apiUnregister, SuccessCodes: []int64{procapi.CodeNotRunning}}
)

// keepUnconfirmed fails the hosts for which the platform knew no registration, so that they remain in state.
// unregister_proc_info does not see a process that was only hosted, and asking its agent or unhosting it
// requires a spec. The cached status may be outdated. So a missing row is sufficient only if the call was
// repeated, because the first call may have removed the registration.
func (p *Process) keepUnconfirmed(ctx context.Context, results fleet.Results) {
	var absent []fleet.Host
	for h, o := range results {
		if o.OK() && o.AlreadyDone {
			absent = append(absent, h)
		}
	}
	if len(absent) == 0 {
		return
	}
	cached, err := p.CachedStatus(ctx, absent)
	for _, h := range absent {
		o, row := results[h], cached[h]
		if o.Repeated && row.State == fleet.Unregistered {
			continue
		}
		o.Verdict, o.AlreadyDone, o.Err = fleet.Failed, false, err
		o.Meaning = "there was no registration to remove, but the agent may still host the process, which cannot be checked or ended without a spec; " +
			"apply first, or remove it from state (terraform state rm) if nothing is hosted there"
		results[h] = o
	}
}

func (p *Process) registration(ctx context.Context, call procapi.Call, spec *Spec, hosts []fleet.Host) fleet.Results {
	return procapi.InBatches(ctx, p.client.batches(hosts), func(ctx context.Context, batch []fleet.Host) fleet.Results {
		r := &registration{
			Process: p, call: call, spec: spec, api: p.client.face.endpoint(call.Name, true),
			verdicts: procapi.NewVerdicts(call, p.registrationKeys, p.client.opts.Redact, batch),
		}
		return r.run(ctx)
	})
}

func (p *Process) registrationKeys(h fleet.Host) iter.Seq[string] {
	return func(yield func(string) bool) {
		// Platforms differ in whether a key contains the supplier id. With IPv6, the first form for one host
		// may equal the second form for another. So only the documented form is used there.
		_ = yield(keyV1(h, p.meta)) && h.IP().Is4() && yield(keyV2(h.WithoutSupplier(), p.meta))
	}
}

// registration is one call for the hosts of one batch. It is repeated until each host has a result.
type registration struct {
	*Process
	call     procapi.Call
	spec     *Spec
	api      bkapi.API
	verdicts *procapi.Verdicts
	answered int // number of calls that were answered
}

func (r *registration) run(ctx context.Context) fleet.Results {
	err := poll.Until(ctx, r.client.opts.Backoff, r.round)
	accepted := r.answered > 0
	results := r.verdicts.End(err, accepted || procapi.WasSent(err))
	if r.call.MustTrack {
		results = procapi.Unconfirmed(results, accepted)
	}
	return results
}

func (r *registration) round(ctx context.Context) (done bool, err error) {
	var answers procapi.ResultMap
	request := registrationRequest{Meta: r.meta, Hosts: hostsV1(r.verdicts.Pending), Spec: r.spec}
	reply, err := r.client.api.Call(ctx, r.api, request, &answers)
	if err != nil {
		return false, err
	}
	r.answered++
	r.verdicts.Take(answers, procapi.Source{RequestID: reply.RequestID, Repeated: r.answered > 1 || reply.Resent})
	return len(r.verdicts.Pending) == 0, nil
}
