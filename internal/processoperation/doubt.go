package processoperation

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// doubtKey holds in private state what failed_hosts does not say of operations that may
// have worked.
const doubtKey = "doubt"

// doubt are the operations whose end was not seen, by process and address, with their tasks
// where these are known.
type doubt map[string]map[string]fleet.Task

// at is what is known of a process on a host.
func (d doubt) at(p place) (fleet.Task, bool) {
	task, found := d[p.process][p.host.Address()]
	return task, found
}

// without is the doubt of hosts that there are no results of.
func (d doubt) without(members []member, results outcome) doubt {
	rest := make(doubt)
	for process, tasks := range d {
		rest[process] = maps.Clone(tasks)
	}
	for i, m := range members {
		for host := range results[i] {
			delete(rest[m.ID], host.WithoutSupplier().Address())
		}
	}
	return rest
}

// doubtOf is what a run leaves in doubt. Where its turn did not come, what was in doubt
// before still is.
func doubtOf(members []member, duties []duty, results outcome) doubt {
	d := make(doubt)
	for i, m := range members {
		for host, o := range results[i] {
			task := o.Underway
			if o.Verdict == fleet.NotTried {
				earlier, was := duties[i].unsure[host]
				if !was {
					continue
				}
				task = earlier
			} else if task.ID == "" {
				continue // failed_hosts says it all
			}
			if d[m.ID] == nil {
				d[m.ID] = make(map[string]fleet.Task)
			}
			d[m.ID][host.WithoutSupplier().Address()] = task
		}
	}
	return d
}

// loadDoubt gives nothing where nothing was kept, as by an older release.
func loadDoubt(ctx context.Context, from privateReader) (doubt, diag.Diagnostics) {
	raw, diags := from.GetKey(ctx, doubtKey)
	var d doubt
	if len(raw) > 0 && json.Unmarshal(raw, &d) != nil {
		d = nil
	}
	return d, diags
}

// saveDoubt writes nothing where there is none and was none.
func saveDoubt(ctx context.Context, to privateWriter, before, now doubt) diag.Diagnostics {
	if len(before) == 0 && len(now) == 0 {
		return nil
	}
	raw, err := json.Marshal(now)
	if err != nil {
		return diag.Diagnostics{diagnose.Bug(err)}
	}
	return to.SetKey(ctx, doubtKey, raw)
}
