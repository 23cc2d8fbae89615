package gse

import (
	"context"
	"iter"
	"log/slog"
	"strings"

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

// task is `data` of operate_proc_v2 and the body of get_proc_operate_result_v2. The id is sent as a string, as
// documented, even if the platform returned a number.
type task struct {
	ID procapi.TaskID `json:"task_id"`
}

// LogValue returns what is logged of a task.
func (t *task) LogValue() slog.Value { return slog.GroupValue(slog.String("task_id", string(t.ID))) }

// Operate implements fleet.Process.
func (p *Process) Operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host, observe fleet.Observer) fleet.Results {
	defer p.changed()
	return p.operate(ctx, op, hosts, procapi.Request{Observe: observe})
}

func (p *Process) operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host, r procapi.Request) fleet.Results {
	api := p.client.face.endpoint(apiOperate, procapi.Repeatable(op))
	return procapi.InBatches(ctx, p.client.batches(hosts), func(ctx context.Context, batch []fleet.Host) fleet.Results {
		return p.submit(ctx, api, op, p.request(op, batch), batch, r)
	})
}

// Resume implements fleet.Process.
func (p *Process) Resume(ctx context.Context, tasks map[fleet.Host]fleet.Task, wait bool, observe fleet.Observer) fleet.Results {
	defer p.changed()
	return procapi.InBatches(ctx, procapi.ByTask(tasks), func(ctx context.Context, hosts []fleet.Host) fleet.Results {
		task := tasks[hosts[0]]
		results := &taskResults{Process: p, hosts: hosts, as: task.As}
		return procapi.Tasks{Options: p.client.opts, Keys: results.keys, Result: results.ask}.Resume(ctx, procapi.Resumption{
			Task: task.ID, Call: procapi.CallOf(task.Operation, p.OneShot()), Hosts: hosts, Wait: wait, Observe: observe,
		})
	})
}

func (p *Process) request(op fleet.Operation, hosts []fleet.Host) operateRequest {
	request := operateRequest{Meta: p.meta, target: targetOf(hosts), OpType: procapi.OpType(op), Spec: p.spec.forOperate()}
	if op.Starts() && p.spec.Resource != nil && p.startLabels != nil && !p.client.face.limitsOperations() {
		request.Meta.Labels = p.startLabels
	}
	if op == fleet.Supervise || op.LeavesRunning() && p.client.face.limitsOperations() {
		// The documents list no limits here, but clients send them. Hosting makes the agent enforce limits, so
		// it must carry them.
		request.Spec.Resource = p.spec.Resource
	}
	return request
}

func (p *Process) submit(ctx context.Context, api bkapi.API, op fleet.Operation, body any, hosts []fleet.Host, r procapi.Request) fleet.Results {
	r.Call, r.Repeatable, r.StartCheck = procapi.CallOf(op, p.spec.oneShot()), api.Repeatable, fleet.StartCheck(p, op)
	r.Send = p.client.send(api, body)
	results := &taskResults{Process: p, hosts: hosts, query: op == procapi.Query}
	return procapi.Tasks{Options: p.client.opts, Keys: results.keys, Result: results.ask}.Submit(ctx, r, hosts)
}

// send returns a function that sends a request which becomes a task.
func (c *Client) send(api bkapi.API, body any) func(context.Context) (string, bkapi.Reply, error) {
	return func(ctx context.Context) (string, bkapi.Reply, error) {
		var accepted task
		reply, err := c.api.Call(ctx, api, body, &accepted)
		return string(accepted.ID), reply, err
	}
}

func (c *Client) taskResult(ctx context.Context, id string) (answers procapi.ResultMap, reply bkapi.Reply, err error) {
	reply, err = c.api.Call(ctx, c.face.endpoint(apiResult, true), task{ID: procapi.TaskID(id)}, &answers)
	return answers, reply, err
}

// taskResults reads the results of one task.
type taskResults struct {
	*Process
	hosts   []fleet.Host
	as      string // fleet.Task.As
	query   bool
	learned bool // the other names were already looked up
	claims  map[fleet.HostID]int
}

func (t *taskResults) ask(ctx context.Context, id string) (procapi.ResultMap, bkapi.Reply, error) {
	answers, reply, err := t.client.taskResult(ctx, id)
	t.look(ctx, answers)
	return answers, reply, err
}

// keys returns the keys under which an answer may contain the result of a host.
func (t *taskResults) keys(h fleet.Host) iter.Seq[string] {
	return func(yield func(string) bool) {
		id := h.WithoutSupplier()
		if !yield(keyV2(id, t.meta)) {
			return
		}
		if t.as != "" && !yield(strings.Join([]string{t.as, t.meta.Namespace, t.meta.Name}, ":")) {
			return
		}
		// For an agent id, the gateway sometimes returns a result under the address.
		for _, other := range t.client.names.of(id) {
			if t.claims[other] == 1 && !yield(keyV2(other, t.meta)) {
				return
			}
		}
		_ = h.IP().Is4() && yield(keyV1(h, t.meta)) // as in registrationKeys
	}
}

// look learns other names of hosts. The first time that an answer seems to use unknown names, it reads them
// from the cached status.
func (t *taskResults) look(ctx context.Context, answers procapi.ResultMap) {
	defer func() { t.claims = t.client.claims(t.hosts) }()
	if t.query && t.client.face.renames() {
		t.learnFrom(answers, t.hosts)
	}
	if t.learned {
		return
	}
	if unnamed := t.unnamed(answers); len(unnamed) > 0 {
		t.learned = true
		t.learnFromCache(ctx, unnamed)
	}
}

// unnamed returns the hosts whose result an answer may have under an unknown name. That may be so if the answer
// has no result for them, but has results that match no host.
func (t *taskResults) unnamed(answers procapi.ResultMap) []fleet.Host {
	if !t.client.face.renames() || len(answers) == 0 {
		return nil
	}
	var unnamed []fleet.Host
	for _, h := range t.hosts {
		_, found := answers[keyV2(h.WithoutSupplier(), t.meta)]
		if !found && len(t.client.names.of(h.WithoutSupplier())) == 0 {
			unnamed = append(unnamed, h)
		}
	}
	if len(answers) <= len(t.hosts)-len(unnamed) {
		return nil
	}
	return unnamed
}
