package diagnose

import (
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Reasons converts reasons by host key, as state keeps them (out_of_sync, failed_hosts),
// to reasons by host. Keys that no host has are left out.
func Reasons(byKey map[string]string, hosts fleet.Inventory) map[fleet.Host]string {
	reasons := make(map[fleet.Host]string, len(byKey))
	for key, host := range hosts.All {
		if reason, ok := byKey[key]; ok {
			reasons[host] = reason
		}
	}
	return reasons
}

// ReasonsBy returns the reason that say gives for each failure.
func ReasonsBy(say func(fleet.Outcome) string, failures fleet.Results) map[fleet.Host]string {
	reasons := make(map[fleet.Host]string, len(failures))
	for host, o := range failures {
		reasons[host] = say(o)
	}
	return reasons
}

// ReasonsByKey converts reasons back to reasons by host key. Hosts that are not in the
// inventory are left out.
func ReasonsByKey(hosts fleet.Inventory, reasons map[fleet.Host]string) map[string]string {
	byKey := make(map[string]string, len(reasons))
	for host, reason := range reasons {
		if hosts.Has(host) {
			byKey[hosts.Key(host)] = reason
		}
	}
	return byKey
}

// WithoutSupplier returns reasons by host without its supplier id, for hosts whose
// supplier id may have changed.
func WithoutSupplier(reasons map[fleet.Host]string) map[fleet.HostID]string {
	byID := make(map[fleet.HostID]string, len(reasons))
	for host, reason := range reasons {
		byID[host.WithoutSupplier()] = reason
	}
	return byID
}
