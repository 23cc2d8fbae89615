package diagnose

import (
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Reasons reads a map of host key to reason (out_of_sync, failed_hosts), by
// host.
func Reasons(byKey map[string]string, hosts fleet.Inventory) map[fleet.Host]string {
	reasons := make(map[fleet.Host]string, len(byKey))
	for key, host := range hosts.All {
		if reason, ok := byKey[key]; ok {
			reasons[host] = reason
		}
	}
	return reasons
}

// ReasonsBy makes a reason of each failure.
func ReasonsBy(say func(fleet.Outcome) string, failures fleet.Results) map[fleet.Host]string {
	reasons := make(map[fleet.Host]string, len(failures))
	for host, o := range failures {
		reasons[host] = say(o)
	}
	return reasons
}

// ReasonsByKey writes reasons by host key, for the hosts that the inventory holds.
func ReasonsByKey(hosts fleet.Inventory, reasons map[fleet.Host]string) map[string]string {
	byKey := make(map[string]string, len(reasons))
	for host, reason := range reasons {
		if hosts.Has(host) {
			byKey[hosts.Key(host)] = reason
		}
	}
	return byKey
}

// WithoutSupplier finds the reason of a host whose supplier id changed as well.
func WithoutSupplier(reasons map[fleet.Host]string) map[fleet.HostID]string {
	byID := make(map[fleet.HostID]string, len(reasons))
	for host, reason := range reasons {
		byID[host.WithoutSupplier()] = reason
	}
	return byID
}
