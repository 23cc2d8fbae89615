package procapitest

import (
	"context"
	"net/netip"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Host returns 0:10.0.0.n, up to 0:10.0.255.255. Tests name hosts by that number.
func Host(n int) fleet.Host {
	return fleet.NewHost(0, 0, netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}))
}

// Hosts returns the hosts from 1 to n.
func Hosts(n int) []fleet.Host {
	list := make([]fleet.Host, n)
	for i := range list {
		list[i] = Host(i + 1)
	}
	return list
}

// NumberOf is the inverse of Host.
func NumberOf(h fleet.Host) int {
	ip := h.IP().As4()
	return int(ip[2])<<8 | int(ip[3])
}

// ByAddress replaces each host by its address.
func ByAddress[V any](byHost map[fleet.Host]V) map[string]V {
	named := make(map[string]V, len(byHost))
	for h, v := range byHost {
		named[h.Address()] = v
	}
	return named
}

// Parse parses hosts from the form in which a user writes them.
func Parse(tb testing.TB, addresses ...string) []fleet.Host {
	tb.Helper()
	list := make([]fleet.Host, len(addresses))
	for i, address := range addresses {
		h, err := fleet.ParseHost(address, 0)
		if err != nil {
			tb.Fatal(err)
		}
		list[i] = h
	}
	return list
}

// Call is a call of a method of a process. It returns the outcomes or statuses by address, or the error.
type Call func(context.Context, fleet.Process, []fleet.Host) any

// Act returns a Call of a method that changes something.
func Act(act func(fleet.Process, context.Context, []fleet.Host) fleet.Results) Call {
	return func(ctx context.Context, p fleet.Process, hosts []fleet.Host) any {
		return ByAddress(act(p, ctx, hosts))
	}
}

// Operate returns a Call of an operation.
func Operate(op fleet.Operation) Call {
	return Act(func(p fleet.Process, ctx context.Context, hosts []fleet.Host) fleet.Results {
		return p.Operate(ctx, op, hosts, nil)
	})
}

// Ask returns a Call of a method that reads statuses.
func Ask(ask func(fleet.Process, context.Context, []fleet.Host) (map[fleet.Host]fleet.Status, error)) Call {
	return func(ctx context.Context, p fleet.Process, hosts []fleet.Host) any {
		return OrError(ask(p, ctx, hosts))
	}
}

// OrError returns byHost by address, or the error if there is one.
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

// Each maps every address to the same value.
func Each[V any](addresses []string, v V) map[string]V {
	all := make(map[string]V, len(addresses))
	for _, a := range addresses {
		all[a] = v
	}
	return all
}
