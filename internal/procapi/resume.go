package procapi

import (
	"context"
	"iter"
	"log/slog"
	"maps"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// enoughLooks limits the wait for an earlier run's task, which the platform may have forgotten. Such a task
// looks like one that is queued for ever. The wait ends after so many looks in all, unless a host is in
// progress. Hosts without a result are then forgotten if that many answers in a row lacked them. So are
// those of a task of which the platform has refused to say anything as often. At the default interval this
// takes half a minute.
const enoughLooks = 30

// Resumption reads the result of an operation that was sent before.
type Resumption struct {
	Task  string
	Call  Call
	Hosts []fleet.Host
	// Wait waits for a verdict on each host; otherwise Resume looks once.
	Wait    bool
	Observe fleet.Observer
}

// Resume sends nothing. A host that the task does not mention is Lost, as is one whose agent is unreachable
// and may have run it. A host that is, or may be, in
// progress when the wait ends is Pending.
func (t Tasks) Resume(ctx context.Context, r Resumption) fleet.Results {
	w := t.newWait(r.Task)
	w.request, w.resumed, w.once = Request{Call: r.Call}, true, !r.Wait
	verdicts := NewVerdicts(r.Call, t.Keys, t.Options.Redact, r.Hosts)
	verdicts.begun = true
	w.parts = []waitingPart{{r.Hosts, r.Observe, verdicts}}
	ctx = bkapi.WithLogFields(ctx, slog.String("operation", r.Call.Name), slog.Bool("resumed", true))
	return w.run(ctx)[0]
}

// ByTask gives the hosts of each task.
func ByTask(tasks map[fleet.Host]fleet.Task) iter.Seq[[]fleet.Host] {
	hosts := make(map[fleet.Task][]fleet.Host)
	for host, task := range tasks {
		task.Fresh, task.RegisteredBefore, task.Was = false, 0, 0 // these are the host's, not the task's
		hosts[task] = append(hosts[task], host)
	}
	return maps.Values(hosts)
}
