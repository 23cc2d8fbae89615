package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/job"
)

// onJOB checks with a scratch process of JOB whether manage_proc registers.
func (r *probe) onJOB(ctx context.Context) (err error) {
	host := r.host
	if host.AgentID() != "" && r.trial.Other != nil {
		host = *r.trial.Other
	}
	switch {
	case r.p.JOB == nil:
		r.cannot("BK_JOB_ENDPOINT is not set", "manage-proc-bug")
	case r.answers["job-removed"] != belief.No:
		r.cannot("this platform's JOB has no process APIs", "manage-proc-bug")
	case r.trial.Business == 0:
		r.cannot("JOB requires the business of the host; give it with -biz", "manage-proc-bug")
	case host.AgentID() != "":
		r.cannot("JOB knows hosts by address; give it with -also", "manage-proc-bug")
	}
	if _, answered := r.answers["manage-proc-bug"]; answered {
		return nil
	}
	name, c := r.spec.Identity.PIDPath, r.spec.Control
	info := job.Info{
		ProcName: "sleep", ProcOwner: new(r.trial.User), SetupPath: r.spec.Identity.SetupPath, PIDPath: name, Account: new(r.trial.User), ValueKey: new(r.meta.Name),
		StartCmd: c.StartCmd, StopCmd: c.StopCmd, RestartCmd: c.RestartCmd, KillCmd: c.KillCmd, Type: new(int64(job.TypeResident)),
	}
	client := job.NewClient(r.p.JOB, job.Options{API: job.API(r.p.JOBAPI), Backoff: r.p.Backoff})
	scope, hosts := job.Scope{BizID: new(r.trial.Business)}, []fleet.Host{host}
	by := func(way job.Registration) *job.Process { return client.Process(scope, way, info) }
	var o fleet.Outcome
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		if unseen(o) {
			_ = r.p.pause(bounded, late)
		}
		if left := r.offJOB(bounded, by(job.RegisterByOperate), host); left != nil {
			err = errors.Join(err, fmt.Errorf("%w: %s of JOB on %s: %w; unhost and stop it there", errLeft, r.meta.Name, host.Address(), left))
		}
	}()
	limited, cancel := context.WithTimeout(ctx, taskPatience)
	defer cancel()
	o = by(job.RegisterByManage).Register(limited, hosts)[host]
	statuses, err := by(job.RegisterByManage).LiveStatus(limited, hosts)
	switch status := statuses[host]; {
	case err != nil:
		r.cannot(err.Error(), "manage-proc-bug")
	case !status.HostedKnown:
		r.cannot(hostingUnknown, "manage-proc-bug")
	case status.Hosted:
		r.settle("manage-proc-bug", belief.No, "hosted after manage_proc")
	case o.Err != nil || unseen(o):
		r.cannot(outcomeError(o).Error(), "manage-proc-bug")
	default:
		r.settle("manage-proc-bug", belief.Yes, "not hosted after manage_proc: "+outcomeError(o).Error())
	}
	return nil
}

// offJOB removes what manage_proc may have registered, and checks that nothing is left.
func (r *probe) offJOB(ctx context.Context, process *job.Process, host fleet.Host) error {
	hosts := []fleet.Host{host}
	results := process.Unregister(ctx, hosts)
	results.Merge(process.Operate(ctx, fleet.Stop, results.Succeeded(hosts), nil))
	if o := results[host]; !o.OK() {
		return outcomeError(o)
	}
	statuses, err := process.LiveStatus(ctx, hosts)
	switch status := statuses[host]; {
	case err != nil:
		return err
	case status.State == fleet.Unknown:
		return fmt.Errorf("the agent reports no status: code %d: %s", status.Code, status.Message)
	case !gone(status):
		return errors.New("the agent still has it")
	}
	return nil
}

// unseen reports whether an operation may have an effect later.
func unseen(o fleet.Outcome) bool { return o.Verdict == fleet.Lost || o.Verdict == fleet.Pending }

// outcomeError returns an outcome as an error.
func outcomeError(o fleet.Outcome) error {
	if o.Err != nil {
		return o.Err
	}
	return errors.New(strings.TrimRight(fmt.Sprintf("code %d: %s: %s", o.Code, o.Meaning, o.Message), ": "))
}
