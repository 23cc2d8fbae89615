package job

import (
	"context"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// resultRequest is the body of get_proc_result.
type resultRequest struct {
	Scope
	TaskID string `json:"bk_gse_taskid"`
}

// resultAnswer is `data` of get_proc_result. The document says that Status is reserved. In its sample, Status
// is 115 (in progress) although a host has finished.
type resultAnswer struct {
	Status procapi.Number    `json:"status"`
	Result procapi.ResultMap `json:"result"`
}

// Plain implements [bkapi.Plain].
func (a *resultAnswer) Plain() (form any, take func() bool) {
	results, takeResults := a.Result.Plain()
	wire := struct {
		Status procapi.Number `json:"status"`
		Result any            `json:"result"`
	}{Result: results}
	return &wire, func() bool {
		a.Status = wire.Status
		return wire.Result == results && takeResults()
	}
}

// queued reports whether the task has not begun. Status is used only for this, because JOB turns GSE's 1000115
// into a success with this status and no result.
func (a *resultAnswer) queued() bool {
	return a.Status.Int() == procapi.CodeInProgress && len(a.Result) == 0
}

func (p *Process) tasks() procapi.Tasks {
	api := p.client.endpoint(apiResult, true)
	return procapi.Tasks{
		Options: p.client.opts,
		Keys:    keysOf(p.info),
		Result: func(ctx context.Context, task string) (procapi.ResultMap, bkapi.Reply, error) {
			var answer resultAnswer
			reply, err := p.client.api.Call(ctx, api, resultRequest{Scope: p.scope, TaskID: task}, &answer)
			if err == nil && answer.queued() {
				err = procapi.ErrQueued
			}
			return answer.Result, reply, err
		},
		// For a result, JOB returns this code if GSE gave no answer at all.
		Passing: func(err error) bool { return bkapi.HasCode(err, codeGSEError) },
	}
}
