package procapi

import (
	"context"
	"iter"
	"log/slog"
	"maps"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// enoughLooks limits how often Resume asks for an earlier run's task. The platform may have forgotten the task,
// and a forgotten task looks like one that stays queued. After this many queries, Resume waits only for hosts
// that are reported as in progress. A host without a result counts as forgotten if this many answers in a row
// lacked it. The same applies if the platform refused this many queries in a row. At the default interval, 30
// queries take half a minute.
const enoughLooks = 30

// Resumption describes an operation that was sent before and whose result is to be read.
type Resumption struct {
	Task  string
	Call  Call
	Hosts []fleet.Host
	// Wait waits for a verdict on each host. Otherwise Resume asks once.
	Wait    bool
	Observe fleet.Observer
}

// Resume reads the result of an operation that was sent before, and sends no operation. A host that is, or may
// be, in progress when the wait ends is Pending. A host that the task does not mention is Lost, as is one whose
// agent is unreachable and may have run the operation.
func (t Tasks) Resume(ctx context.Context, r Resumption) fleet.Results {
	w := t.newWait(r.Task)
	w.request, w.resumed, w.once = Request{Call: r.Call}, true, !r.Wait
	verdicts := NewVerdicts(r.Call, t.Keys, t.Options.Redact, r.Hosts)
	verdicts.begun = true
	w.parts = []waitingPart{{r.Hosts, r.Observe, verdicts}}
	ctx = bkapi.WithLogFields(ctx, slog.String("operation", r.Call.Name), slog.Bool("resumed", true))
	return w.run(ctx)[0]
}

// ByTask groups hosts by their task.
func ByTask(tasks map[fleet.Host]fleet.Task) iter.Seq[[]fleet.Host] {
	hosts := make(map[fleet.Task][]fleet.Host)
	for host, task := range tasks {
		task.Fresh, task.RegisterTime, task.Was = false, 0, 0 // these belong to the host, not to the task
		hosts[task] = append(hosts[task], host)
	}
	return maps.Values(hosts)
}
