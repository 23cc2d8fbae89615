package platform

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// maxWaveLines limits the waves of a run that are logged. Of more waves, only every n-th is logged. Counts are
// totals, so nothing is lost.
const maxWaveLines = 50

// Run describes a rollout for the log: its process, and its operation.
type Run struct {
	Process, Operation string
	Keys               fleet.Inventory // names of hosts
	Rollout            fleet.Rollout
}

// Logged runs a rollout and logs when it begins, when a wave begins, and when it ends. Calls are logged with
// their process. If there are no hosts, nothing is logged.
func (p *Platform) Logged(ctx context.Context, r Run, hosts []fleet.Host, act func(context.Context, fleet.Rollout) fleet.Results) fleet.Results {
	parts := []Part{{Keys: r.Keys, Hosts: hosts}}
	return p.LoggedParts(ctx, r, parts, func(ctx context.Context, rollout fleet.Rollout) []fleet.Results {
		return []fleet.Results{act(ctx, rollout)}
	})[0]
}

// Part is one of the processes of a run.
type Part struct {
	Name  string          // "" for the only one
	Keys  fleet.Inventory // names of hosts
	Hosts []fleet.Host
}

// LoggedParts is Logged for a run on several processes. The results are in the order of parts.
func (p *Platform) LoggedParts(ctx context.Context, r Run, parts []Part, act func(context.Context, fleet.Rollout) []fleet.Results) []fleet.Results {
	hosts := 0
	for _, part := range parts {
		hosts += len(part.Hosts)
	}
	if p == nil || p.Log == nil || hosts == 0 {
		return act(ctx, r.Rollout)
	}
	w := &watch{log: p.Log.With("process", r.Process, "operation", r.Operation), now: p.Pace.Now, began: p.Pace.Now(), next: r.Rollout.Watch, healthy: r.Rollout.Healthy}
	w.log.InfoContext(ctx, "operation begins", "hosts", hosts, "which", each(parts, func(i int) string { return parts[i].which() }))
	r.Rollout.Watch = func(progress fleet.Progress) { w.watch(ctx, progress) }

	results := act(bkapi.WithLogFields(ctx, slog.String("process", r.Process)), r.Rollout)

	log := w.log.With("took", w.took(), "outcome", each(parts, func(i int) string {
		return diagnose.CountOutcomes(results[i].Failures(), len(results[i]))
	}))
	if tasks := each(parts, func(i int) string { return diagnose.TasksInLine(results[i]) }); tasks != "" {
		log = log.With("tasks", tasks)
	}
	if reasons := each(parts, func(i int) string { return diagnose.RowsInLine(parts[i].Keys, results[i].Failures()) }); reasons != "" {
		log = log.With("reasons", reasons)
	}
	log.InfoContext(ctx, "operation over")
	return results
}

// each joins on one line what say returns for each part.
func each(parts []Part, say func(int) string) string {
	var texts []string
	for i, part := range parts {
		switch said := say(i); {
		case said == "":
		case part.Name == "":
			texts = append(texts, said)
		default:
			texts = append(texts, part.Name+": "+said)
		}
	}
	return strings.Join(texts, "; ")
}

// which names the hosts of a part.
func (p Part) which() string {
	keys := make([]string, 0, len(p.Hosts))
	for _, h := range p.Hosts {
		keys = append(keys, p.Keys.Key(h))
	}
	return diagnose.Keys(keys)
}

// watch logs the waves of a run.
type watch struct {
	log   *slog.Logger
	now   func() time.Time
	began time.Time
	wave  int // the latest
	gate  int // the latest wave whose gate was logged
	next  func(fleet.Progress)

	healthy *fleet.Gate
}

func (w *watch) watch(ctx context.Context, p fleet.Progress) {
	if p.Wave > w.wave && p.Waves > 1 && hasLine(p) {
		w.wave = p.Wave
		w.log.InfoContext(ctx, "wave begins", w.counts(p)...)
	}
	if p.Watched > 0 && p.Wave > w.gate && hasLine(p) {
		w.gate = p.Wave
		w.log.InfoContext(ctx, "waiting for hosts to be stable",
			append(w.counts(p), "watched", p.Watched, "stable_for", w.healthy.StableFor.String(), "within", w.healthy.Within.String())...)
	}
	if w.next != nil {
		w.next(p)
	}
}

// hasLine reports whether a wave is logged: if there are too many, not all are.
func hasLine(p fleet.Progress) bool {
	every := 1 + (p.Waves-1)/maxWaveLines
	return (p.Wave-1)%every == 0 || p.Wave == p.Waves
}

// counts returns the counts of hosts so far, as arguments of the log.
func (w *watch) counts(p fleet.Progress) []any {
	return []any{
		"wave", fmt.Sprintf("%d/%d", p.Wave, p.Waves), "after", w.took(),
		"done", fmt.Sprintf("%d/%d", p.Done, p.Hosts), "failed", p.Failed, "unknown", p.Unknown,
	}
}

func (w *watch) took() string { return w.now().Sub(w.began).Round(time.Millisecond).String() }
