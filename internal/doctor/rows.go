package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// keeps settles a belief by whether the hosting stays as it was. hosted is what the belief presumes: that the
// process was hosted before, or that it was not.
func (r *probe) keeps(id string, hosted bool, done string, before, after fleet.Status) {
	switch {
	case !before.HostedKnown || !after.HostedKnown:
		r.cannot(hostingUnknown, id)
	case before.Hosted == hosted:
		r.settle(id, yesNo(after.Hosted == hosted), fmt.Sprintf("hosted after %s: %t", done, after.Hosted))
	}
}

// freshRow waits until the cached status has the pid with which the process runs now.
func (r *probe) freshRow(ctx context.Context, began time.Time) (*rawRow, error) {
	for {
		status, err := r.live(ctx)
		if err != nil {
			return nil, err
		}
		row, err := r.row(ctx, r.host)
		took := r.p.Clock.Now().Sub(began)
		switch {
		case err != nil:
			return nil, fmt.Errorf("get_proc_status_v2: %w", err)
		case row != nil && row.PID.Known && row.PID.Int() == status.PID:
			r.settle("status-lag", took.Round(time.Second).String(), fmt.Sprintf("it showed a start after %s", took.Round(time.Second)))
			return row, nil
		case took > r.trial.Patience:
			r.cannot(fmt.Sprintf("the cached status did not show a start within %s", r.trial.Patience),
				"status-lag", "start-replaces", "labels-added", "rows-without-labels", "rows-without-host", "rows-without-agent-id", "entry-per-name")
			return nil, nil //nolint:nilnil // there is none
		}
		if err := r.p.pause(ctx, 5*time.Second); err != nil {
			return nil, err
		}
	}
}

// labels checks the labels in a row after a start with labels other than the registration's.
func (r *probe) labels(row rawRow, registered bool) {
	added := slices.DeleteFunc(slices.Collect(maps.Keys(row.Meta.Labels)), func(name string) bool { return name == ownLabel })
	r.settle("labels-added", yesNo(len(added) > 0), fmt.Sprintf("a row has %d labels that were not declared", len(added)))
	value, there := row.Meta.Labels[ownLabel]
	r.settle("rows-without-labels", yesNo(!there), fmt.Sprintf("a row has the label that was registered: %t", there))
	switch {
	case !registered:
		r.cannot("the process was not seen to be registered when it was started", "start-replaces")
	case len(row.Meta.Labels) == 0 && !there:
		r.cannot("the row has no labels", "start-replaces")
	default:
		r.settle("start-replaces", yesNo(value != "registered"), fmt.Sprintf("after a start with other labels, the row has those of the registration: %t", there && value == "registered"))
	}
}

// names checks how a row of the gateway names its host.
func (r *probe) names(row rawRow) {
	switch {
	case row.Host == nil:
		r.settle("rows-without-host", belief.Yes, "it has no host")
	case row.Host.IP != "":
		r.settle("rows-without-host", belief.No, "it has host.ip")
	default:
		r.cannot("its host.ip is empty, which may be because the host has no address there", "rows-without-host")
	}
	switch {
	case row.AgentID == nil:
		r.settle("rows-without-agent-id", belief.Yes, "it has no bk_agent_id")
	case *row.AgentID != "":
		r.settle("rows-without-agent-id", belief.No, "it has bk_agent_id")
	default:
		r.cannot("its bk_agent_id is empty, which may be because the host has none", "rows-without-agent-id")
	}
}

// otherName looks for the registration under the other name of the machine.
func (r *probe) otherName(ctx context.Context) error {
	other := r.trial.Other
	if other == nil {
		named, err := r.p.GSE.Process(r.meta, r.spec).OtherNames(ctx, []fleet.Host{r.host})
		if err != nil {
			return fmt.Errorf("the other name of %s: %w", r.host.Address(), err)
		}
		if id, known := named[r.host]; known {
			host := r.host.Named(id)
			other = &host
		}
	}
	if other == nil {
		r.cannot("the platform returns no other name of the host; give it with -also", "entry-per-name")
		return nil
	}
	row, err := r.row(ctx, *other)
	if err != nil {
		return fmt.Errorf("get_proc_status_v2 by the other name: %w", err)
	}
	r.settle("entry-per-name", yesNo(row == nil), fmt.Sprintf("there is a row by the other name: %t", row != nil))
	return nil
}
