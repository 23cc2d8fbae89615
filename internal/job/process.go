package job

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// Registration is the endpoint that registers a process.
type Registration string

const (
	// RegisterByOperate is operate_process with operations 3 and 4.
	RegisterByOperate Registration = apiOperate
	// RegisterByManage is manage_proc with operations 1 and 2. The servers whose code is public (3.4 to 3.6)
	// pass these numbers on to GSE. GSE stops the process for 1 and queries its status for 2, and the answer
	// looks like a success.
	RegisterByManage Registration = apiManage
)

// Registrations returns every Registration, the default one first.
func Registrations() []Registration { return []Registration{RegisterByOperate, RegisterByManage} }

// Process returns one process on the hosts of a scope.
func (c *Client) Process(scope Scope, registration Registration, info Info) *Process {
	return &Process{client: c, scope: scope, registration: registration, info: info}
}

// Process implements fleet.Process.
type Process struct {
	client       *Client
	scope        Scope
	registration Registration
	info         Info
}

var _ fleet.Process = (*Process)(nil)

// What the per-host codes mean for each call.
var (
	callRegister   = procapi.Call{Name: "register", MustTrack: true, ConflictCodes: []int64{procapi.CodeRegistered}}
	callUnregister = procapi.Call{Name: "unregister", SuccessCodes: []int64{procapi.CodeNotRunning}}
)

// Register implements fleet.Process. Only the server can report that another owner hosts the process already,
// because JOB has no cached status.
func (p *Process) Register(ctx context.Context, hosts []fleet.Host) fleet.Results {
	results := p.register(ctx, hosts)
	for h, o := range results {
		// The ESB reports a missing backend like a failed one, which may have acted.
		if IsRemoved(o.Err) && (bkapi.HasCode(o.Err, esbBackendError) || !bkapi.MayHaveActed(o.Err)) {
			continue
		}
		// JOB does not report how GSE failed, so the operation may have begun.
		inTrouble := bkapi.HasCode(o.Err, codeGSEError)
		results.Merge(procapi.Unconfirmed(fleet.Results{h: o}, inTrouble))
	}
	return results
}

func (p *Process) register(ctx context.Context, hosts []fleet.Host) fleet.Results {
	if p.registration == RegisterByManage {
		return p.readBack(ctx, p.runBefore(ctx, step{apiManage, 1, callRegister, false}, hosts), hosts, true)
	}
	return p.run(ctx, step{apiOperate, procapi.OpType(fleet.Supervise), callRegister, true}, hosts, procapi.Request{})
}

const meaningStillRegistered = "registered already, although it was just unregistered, so the registered spec is unknown"

// Reregister implements fleet.Process. JOB has no update. Registering again replaces the registration, unless
// the server reports that the process exists. In that case it is unregistered first.
func (p *Process) Reregister(ctx context.Context, hosts []fleet.Host) fleet.Results {
	registering, cancel := fleet.Share(ctx, 2*fleet.Quick, fleet.Quick)
	defer cancel()
	results := procapi.InState(p.register(registering, hosts))
	taken := slices.DeleteFunc(slices.Clone(hosts), func(h fleet.Host) bool {
		return results[h].OK() || !results[h].AlreadyDone
	})
	unregistering, cancelUnregister := fleet.Share(ctx, fleet.Quick, fleet.Quick)
	defer cancelUnregister()
	results.Merge(p.Unregister(unregistering, taken))
	for h, o := range procapi.AfterRemoval(p.register(ctx, results.Succeeded(taken))) {
		switch {
		case o.AlreadyDone && o.Repeated: // by the first request
			o.Verdict = fleet.Done
		case o.AlreadyDone:
			o.AlreadyDone, o.Meaning = false, meaningStillRegistered
		}
		results[h] = o
	}
	return results
}

// Unregister implements fleet.Process.
func (p *Process) Unregister(ctx context.Context, hosts []fleet.Host) fleet.Results {
	if p.registration == RegisterByManage {
		return p.readBack(ctx, p.runBefore(ctx, step{apiManage, 2, callUnregister, false}, hosts), hosts, false)
	}
	return p.run(ctx, step{apiOperate, procapi.OpType(fleet.Unsupervise), callUnregister, true}, hosts, procapi.Request{})
}

// OneShot implements fleet.Process.
func (p *Process) OneShot() bool { return p.info.oneShot() }

// Settles implements fleet.Process.
func (p *Process) Settles() (command, startCheck, stopCheck time.Duration) { return p.info.Settles() }

// HostingRegisters implements fleet.Process.
func (p *Process) HostingRegisters() bool { return true }

// meaningManageBug is for a manage_proc that succeeded without its documented effect, meaningManageUnseen for
// one whose effect was not confirmed.
const (
	meaningManageBug = "JOB answered as if manage_proc had worked, but it had not: this release runs its operations 1 and 2 as stop and query; " +
		"set registration_api to operate_process"
	meaningManageUnseen = "JOB answered as if manage_proc had worked, but the agent has not confirmed it: some releases run its operations 1 and 2 as stop and query; " +
		"set registration_api to operate_process"
)

// readBack asks the agents whether manage_proc had its documented effect. According to the public code of the
// server it has not, so JOB's answer is not sufficient.
func (p *Process) readBack(ctx context.Context, results fleet.Results, hosts []fleet.Host, hosted bool) fleet.Results {
	for _, h := range hosts {
		if o := results[h]; hosted && o.Code == procapi.CodeNotRunning && !o.OK() {
			// A registration that reports "not running" was run as a stop.
			o.Meaning = meaningManageBug
			results[h] = o
		}
	}
	claimed := slices.DeleteFunc(slices.Clone(hosts), func(h fleet.Host) bool { return !results[h].OK() })
	if len(claimed) == 0 {
		return results
	}
	unseen := fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningManageUnseen}
	if hosted {
		unseen.Verdict = fleet.Lost // a possible registration must not be forgotten
	}
	live, err := p.LiveStatus(ctx, claimed)
	for _, h := range claimed {
		o := fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningManageBug}
		switch now := live[h]; {
		case !now.HostedKnown: // the agent did not answer, or did not report it
			o = unseen
			o.Message, o.Err = now.Message, err
		case now.Hosted == hosted:
			continue
		}
		o.TaskID = results[h].TaskID
		results[h] = o
	}
	return results
}

// Operate implements fleet.Process.
func (p *Process) Operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host, observe fleet.Observer) fleet.Results {
	return p.operate(ctx, op, hosts, procapi.Request{Observe: observe})
}

// Resume implements fleet.Process.
func (p *Process) Resume(ctx context.Context, tasks map[fleet.Host]fleet.Task, wait bool, observe fleet.Observer) fleet.Results {
	return procapi.InBatches(ctx, procapi.ByTask(tasks), func(ctx context.Context, hosts []fleet.Host) fleet.Results {
		task := tasks[hosts[0]]
		return p.tasks().Resume(ctx, procapi.Resumption{
			Task: task.ID, Call: procapi.CallOf(task.Operation, p.OneShot()), Hosts: hosts, Wait: wait, Observe: observe,
		})
	})
}

func (p *Process) operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host, r procapi.Request) fleet.Results {
	call := procapi.CallOf(op, p.info.oneShot())
	r.StartCheck = fleet.StartCheck(p, op)
	return p.run(ctx, step{apiOperate, procapi.OpType(op), call, procapi.Repeatable(op)}, hosts, r)
}

type step struct {
	api        string
	opType     int
	call       procapi.Call
	repeatable bool
}

// task is `data` of manage_proc and operate_process.
type task struct {
	ID procapi.TaskID `json:"bk_gse_taskid"`
}

// LogValue returns what is logged of a task.
func (t *task) LogValue() slog.Value { return slog.GroupValue(slog.String("task_id", string(t.ID))) }

// run runs a step on the hosts that JOB can name, with one request for each batch.
func (p *Process) run(ctx context.Context, s step, hosts []fleet.Host, r procapi.Request) fleet.Results {
	var (
		api              = p.client.endpoint(s.api, s.repeatable)
		tasks            = p.tasks()
		addressed, other = split(hosts)
	)
	results := procapi.InBatches(ctx, slices.Chunk(addressed, p.client.opts.MaxHosts), func(ctx context.Context, batch []fleet.Host) fleet.Results {
		r := r // each batch has its own
		r.Call, r.Repeatable = s.call, s.repeatable
		r.Send = func(ctx context.Context) (string, bkapi.Reply, error) {
			var accepted task
			reply, err := p.client.api.Call(ctx, api, requestOf(s.api, p.scope, s.opType, p.info, batch), &accepted)
			return string(accepted.ID), reply, err
		}
		return tasks.Submit(ctx, r, batch)
	})
	for h, o := range results {
		results[h] = correctVerdict(o, s.repeatable)
	}
	results.Merge(fleet.Same(other, fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningNoAgent}))
	return results
}

// runBefore is like run, but leaves time to read back the effect.
func (p *Process) runBefore(ctx context.Context, s step, hosts []fleet.Host) fleet.Results {
	ctx, cancel := fleet.Share(ctx, 2*fleet.Quick, fleet.Quick)
	defer cancel()
	return p.run(ctx, s, hosts, procapi.Request{})
}

// split separates hosts with an address from those with an agent id.
func split(hosts []fleet.Host) (addressed, other []fleet.Host) {
	for _, h := range hosts {
		if h.AgentID() == "" {
			addressed = append(addressed, h)
		} else {
			other = append(other, h)
		}
	}
	return addressed, other
}
