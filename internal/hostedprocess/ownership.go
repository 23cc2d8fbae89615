package hostedprocess

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// reasonUnconfirmed begins the reason of a host that may be registered: nobody
// heard the platform's answer.
const reasonUnconfirmed = "registration not confirmed"

func unconfirmed(reason string) bool { return strings.HasPrefix(reason, reasonUnconfirmed) }

// meaningUnread: whether a registration is ours could not be found out.
const meaningUnread = "whose the registration is could not be read"

// doubt is what the file says of hosts of which nobody knows whether we registered
// them. Hosts that are in neither are ours, or free.
type doubt struct {
	strangers map[fleet.Host]bool // registered by somebody else
	unread    map[fleet.Host]bool // the file does not tell
}

// doubts looks hosts up. Without a fingerprint there is no telling, and they count
// as ours.
func (h hostedProcess) doubts(ctx context.Context, hosts []fleet.Host, last applied) (doubt, error) {
	found := doubt{strangers: make(map[fleet.Host]bool), unread: make(map[fleet.Host]bool)}
	if len(hosts) == 0 || last.FingerprintLabel == "" {
		return found, nil
	}
	onFile, err := h.Process.CachedStatus(ctx, hosts)
	if err != nil {
		return found, fmt.Errorf("reading the cached status: %w", err)
	}
	for _, host := range hosts {
		switch status := onFile[host]; {
		case status.State == fleet.Unregistered, last.ours(h.Desired, status):
		case status.State == fleet.Unknown, status.Labels == nil:
			found.unread[host] = true
		default:
			found.strangers[host] = true
		}
	}
	return found, nil
}

// ours tells whether a registration is one that this resource sent.
func (a applied) ours(d fleet.Desired, s fleet.Status) bool {
	held := a.held(d)
	if held.Ours(s) || d.Ours(s) {
		return true
	}
	return slices.ContainsFunc(a.Earlier, func(fingerprint string) bool {
		held.Fingerprint = fingerprint
		return held.Ours(s)
	})
}

// earlier are the fingerprints that hosts in doubt may carry once d was sent as
// well; none where no host is in doubt.
func (a applied) earlier(d fleet.Desired, reasons map[fleet.Host]string) []string {
	for _, reason := range reasons {
		if unconfirmed(reason) {
			sent := append(slices.Clone(a.Earlier), a.Fingerprint)
			slices.Sort(sent)
			return slices.DeleteFunc(slices.Compact(sent), func(f string) bool { return f == "" || f == d.Fingerprint })
		}
	}
	return nil
}

// updateReasons is stateReasons of an update: a host that was in doubt and did not
// come to be registered still is.
func updateReasons(failures fleet.Results, was map[fleet.HostID]string) map[fleet.Host]string {
	reasons := diagnose.ReasonsBy(stateReason, failures)
	for host, o := range failures {
		if unconfirmed(was[host.WithoutSupplier()]) && o.Left == fleet.NotRegistered {
			reasons[host] = reasonUnconfirmed + ": " + diagnose.Reason(o)
		}
	}
	return reasons
}
