package gse

import (
	"context"
	"iter"

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

// Source: register_proc_info, update_proc_info, unregister_proc_info. They answer per host at once. There
// is no task to ask for: 115 means that the call is to be repeated for that host.
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

func (esb) hostingRegisters() bool { return false }

func (esb) limitsOperations() bool { return false }

// register asks the agents first. A process that was hosted without being registered is in no cached
// status, so the platform would silently replace it. For a registered one it answers 850. If an agent does not
// say whether it hosts the process, the time of a registration tells.
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

func (esb) reregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	if p.unlimited() {
		return p.hostAgain(ctx, hosts)
	}
	return p.registration(ctx, callUpdate, p.spec, hosts)
}

// unregister also unhosts where hosting registers, because no document says that unregister_proc_info
// does. The process may have had limits before.
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
	if let := results.Succeeded(hosts); len(let) > 0 {
		results.Merge(p.registration(ctx, callUnregister, nil, let))
	}
	return results
}

// keepUnconfirmed keeps hosts for which the platform knew no registration. unregister_proc_info does not count a
// process that was only hosted. Asking its agent, or unhosting it, needs a spec. A missing row may be
// outdated. It is sufficient only if the call was repeated, because the first one may have removed the
// registration.
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
		o.Meaning = "there was no registration to take away, and its agent may host the process, which takes a spec to ask and to end; " +
			"apply first, or remove it from state (terraform state rm) if nothing is hosted there"
		results[h] = o
	}
}

func (esb) host(ctx context.Context, p *Process, op fleet.Operation, hosts []fleet.Host) fleet.Results {
	return p.operate(ctx, op, hosts, procapi.Request{})
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
		// Platforms differ in whether a key contains the supplier's id. With IPv6, one text may be the
		// first form of one host and the second form of another, so there the documented form is used.
		_ = yield(keyV1(h, p.meta)) && h.IP().Is4() && yield(keyV2(h.WithoutSupplier(), p.meta))
	}
}

// registration is one call for the hosts of one batch, repeated until each has a result.
type registration struct {
	*Process
	call     procapi.Call
	spec     *Spec
	api      bkapi.API
	verdicts *procapi.Verdicts
	answered int // rounds
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

// round makes the call for the hosts that have no verdict yet.
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
