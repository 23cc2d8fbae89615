package processstatus

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// halfSilent is a process on hosts of which the first has an agent that never answers. It runs nowhere, and nothing is
// registered.
type halfSilent struct{ fleet.Process }

func (halfSilent) LiveStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	<-ctx.Done()
	statuses := map[fleet.Host]fleet.Status{hosts[0]: {State: fleet.Unknown, Away: true, Late: true}}
	for _, h := range hosts[1:] {
		statuses[h] = fleet.Status{State: fleet.Stopped, HostedKnown: true}
	}
	return statuses, nil
}

func (halfSilent) CachedStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	rows := make(map[fleet.Host]fleet.Status)
	for _, h := range hosts {
		rows[h] = fleet.Status{State: fleet.Unregistered}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return rows, nil
}

// A silent agent takes all the time that there is, but does not change what is read of other hosts.
func TestLiveStatus_silentAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		_, hosts := fleettest.Inventory(t, 3)
		statuses, err := liveStatus(halfSilent{}, ctx, hosts)
		fleettest.NoError(t, err)
		for i, want := range []fleet.State{fleet.Unknown, fleet.Unregistered, fleet.Unregistered} {
			fleettest.Same(t, hosts[i].Address(), want, statuses[hosts[i]].State)
		}
	})
}
