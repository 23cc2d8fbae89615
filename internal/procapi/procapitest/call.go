package procapitest

import (
	"context"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Call makes a call to a process. It returns the outcomes or statuses by address, or the error.
type Call func(context.Context, fleet.Process, []fleet.Host) any

// Act is a call that changes something.
func Act(act func(fleet.Process, context.Context, []fleet.Host) fleet.Results) Call {
	return func(ctx context.Context, p fleet.Process, hosts []fleet.Host) any {
		return ByAddress(act(p, ctx, hosts))
	}
}

// Operate is an operation.
func Operate(op fleet.Operation) Call {
	return Act(func(p fleet.Process, ctx context.Context, hosts []fleet.Host) fleet.Results {
		return p.Operate(ctx, op, hosts, nil)
	})
}

// Ask is a call that reads statuses.
func Ask(ask func(fleet.Process, context.Context, []fleet.Host) (map[fleet.Host]fleet.Status, error)) Call {
	return func(ctx context.Context, p fleet.Process, hosts []fleet.Host) any {
		return OrError(ask(p, ctx, hosts))
	}
}

// OrError is the result for each host, or the error.
func OrError[V any](byHost map[fleet.Host]V, err error) any {
	if err != nil {
		return err
	}
	return ByAddress(byHost)
}

// The calls that every process has.
var (
	Register     = Act(fleet.Process.Register)
	Reregister   = Act(fleet.Process.Reregister)
	Unregister   = Act(fleet.Process.Unregister)
	LiveStatus   = Ask(fleet.Process.LiveStatus)
	CachedStatus = Ask(fleet.Process.CachedStatus)
)

// Each has the same value for every address.
func Each[V any](addresses []string, v V) map[string]V {
	all := make(map[string]V, len(addresses))
	for _, a := range addresses {
		all[a] = v
	}
	return all
}
