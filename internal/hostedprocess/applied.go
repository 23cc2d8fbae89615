package hostedprocess

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/ownership"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// applied is what was last registered. It is kept beside state, because a
// registration also depends on the provider block (default_labels, bk_supplier_id),
// whose earlier values are nowhere else.
type applied struct {
	FingerprintLabel string            `json:"fingerprint_label"`
	Fingerprint      string            `json:"fingerprint"`
	Labels           map[string]string `json:"labels"`
	// Earlier are fingerprints that this object sent before, kept until the platform's file
	// shows Fingerprint on every host. One that is Fingerprint again is among them.
	Earlier []string `json:"earlier,omitempty"`
	// Owner is the id of this resource object, which its registrations carry. It is what the
	// attribute says.
	Owner string `json:"-"`
	// Supplier is the bk_supplier_id that hosts are registered with whose addresses name none,
	// but for those of Suppliers, which have another one.
	Supplier  int              `json:"supplier"`
	Suppliers map[int][]string `json:"suppliers,omitempty"`
	// Uncounted is what registering sent beyond the fingerprint.
	Uncounted string `json:"uncounted,omitempty"`
	// Due are hosts on which the operation of on_update is still due, by address. Behind are
	// those that were not told of the declaration, by the fingerprint of the spec that they
	// run.
	Due    map[string]fleet.Due `json:"due,omitempty"`
	Behind map[string][]string  `json:"behind,omitempty"`
	// Underway are hostings and starts whose end was not seen, by address.
	Underway map[string]fleet.Task `json:"starts,omitempty"`
	// Registered are hosts by the agent's time of the registration that this object made
	// there. It is proof of whose a registration is while the platform's file lags.
	Registered map[int64][]string `json:"registered,omitempty"`
	// PIDs are those of the process at the end of the last apply, by address, kept where
	// on_update is an operation: another one shows that the process was started since.
	PIDs map[string]int64 `json:"pids,omitempty"`
	// Overtaken are hosts on which another object has registered since this one did, by
	// address, with the time of that registration. When it is gone, nothing of this object's
	// is left.
	Overtaken map[string]int64 `json:"overtaken,omitempty"`
	// TwoNames: the platform has named machines of this object by a second name as well, by which
	// another object may register them.
	TwoNames bool `json:"two_names,omitempty"`
}

const appliedKey = "applied"

func appliedAs(d fleet.Desired, supplier int) applied {
	return applied{
		FingerprintLabel: d.FingerprintLabel, Fingerprint: d.Fingerprint, Labels: d.Labels,
		Owner: d.Owner, Supplier: supplier, Uncounted: d.Uncounted,
		Due: make(map[string]fleet.Due), Behind: make(map[string][]string), Underway: make(map[string]fleet.Task),
	}
}

// orElse is what state and today's provider block say where nothing was kept.
func (a applied) orElse(kept bool, h hostedProcess, state *lifecycleModel) applied {
	if kept {
		return a
	}
	a = appliedAs(h.Desired, a.Supplier)
	a.Fingerprint = cmp.Or(state.Fingerprint.ValueString(), a.Fingerprint)
	return a
}

// newOwner is the id of a resource object that has none yet.
func newOwner() string { return rand.Text()[:16] }

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

func saveApplied(ctx context.Context, to privateWriter, a applied) diag.Diagnostics {
	raw, err := json.Marshal(a)
	if err != nil {
		return diag.Diagnostics{diagnose.Bug(err)}
	}
	return to.SetKey(ctx, appliedKey, raw)
}

// loadApplied gives false where nothing was kept: after an import, when state has no
// spec either, after a provider died in an update, of which Terraform (1.11.4) keeps the
// attributes of before and nothing else, and in the destroy of a tainted object that is
// replaced. The owner is an attribute for that reason.
//
// What is lost of the supplier ids the provider's setting has to say.
func (r *hostedResource) loadApplied(ctx context.Context, from privateReader, state *lifecycleModel) (applied, bool, diag.Diagnostics) {
	var a applied
	raw, diags := from.GetKey(ctx, appliedKey)
	kept := len(raw) > 0 && json.Unmarshal(raw, &a) == nil
	if !kept {
		a = applied{} // what cannot be read is as good as nothing kept: hosts are looked at anew
		if r.platform != nil {
			a.Supplier = r.platform.Supplier
		}
	}
	a.Owner = state.Owner.ValueString()
	return a, kept, diags
}

// silentKey is where the hosts are kept whose agents did not answer the last refresh, by
// address. They are no drift, and no reason for a plan; only waves take them into account.
const silentKey = "silent"

// saveSilent keeps them. Where there are none and before kept none, nothing is written.
func saveSilent(ctx context.Context, before privateReader, to privateWriter, unreachable map[fleet.Host]fleet.Status) diag.Diagnostics {
	addresses := make([]string, 0, len(unreachable))
	for host := range unreachable {
		addresses = append(addresses, host.Address())
	}
	slices.Sort(addresses)
	kept, diags := before.GetKey(ctx, silentKey)
	if len(addresses) == 0 && len(kept) == 0 {
		return diags
	}
	raw, err := json.Marshal(addresses)
	if err != nil {
		return append(diags, diagnose.Bug(err))
	}
	return append(diags, to.SetKey(ctx, silentKey, raw)...)
}

// loadSilent gives those of the hosts that are kept.
func loadSilent(ctx context.Context, from privateReader, hosts ...[]fleet.Host) map[fleet.HostID]bool {
	raw, _ := from.GetKey(ctx, silentKey)
	var addresses []string
	if len(raw) == 0 || json.Unmarshal(raw, &addresses) != nil {
		return nil // nobody is known to be silent
	}
	silent := make(map[fleet.HostID]bool)
	for _, host := range slices.Concat(hosts...) {
		if _, found := slices.BinarySearch(addresses, host.Address()); found {
			silent[host.WithoutSupplier()] = true
		}
	}
	return silent
}

// soleOwner is the one owner whom all registrations name, "" where there is none or more
// than one. Whoever imports goes on as the object that registered.
func soleOwner(d fleet.Desired, onFile map[fleet.Host]fleet.Status) string {
	sole := ""
	for _, status := range onFile {
		switch owner := status.Labels[d.OwnerLabel]; {
		case d.OwnerLabel == "" || owner == "" || owner == sole:
		case sole != "":
			return ""
		default:
			sole = owner
		}
	}
	return sole
}

// runs is the fingerprint of the spec that hosts run which are behind, by address.
func (a applied) runs() map[string]string {
	runs := make(map[string]string)
	for spec, hosts := range a.Behind {
		for _, host := range hosts {
			runs[host] = spec
		}
	}
	return runs
}

func (a applied) setBehind(host, spec string) { a.Behind[spec] = append(a.Behind[spec], host) }

// underwayOn are those of the hostings and starts whose end was not seen that were sent to some
// hosts.
func (a applied) underwayOn(hosts []fleet.Host) map[fleet.Host]fleet.Task {
	underway := make(map[fleet.Host]fleet.Task)
	for _, host := range hosts {
		if task, sent := a.Underway[host.Address()]; sent {
			underway[host] = task
		}
	}
	return underway
}

// allUnderway are those, and the operations of on_update of which the same is true.
func (a applied) allUnderway(hosts []fleet.Host) map[fleet.Host]fleet.Task {
	underway := a.underwayOn(hosts)
	for _, host := range hosts {
		if due := a.Due[host.Address()]; due.InDoubt && due.Task.ID != "" {
			underway[host] = due.Task
		}
	}
	return underway
}

// keepUnderway notes what is under way on hosts that are in state: what was before, unless it has
// ended, and what has come since.
func (a applied) keepUnderway(before applied, hosts []fleet.Host, failures fleet.Results, ended map[fleet.Host]bool) {
	times := before.registeredAt()
	for _, host := range hosts {
		at := host.Address()
		earlier, sent := before.Underway[at]
		if sent && !ended[host] {
			a.Underway[at] = earlier
		}
		o := failures[host]
		task := o.Underway
		if task.ID == "" || o.Left == fleet.OperationUnconfirmed { // Due has those
			continue
		}
		if task.Operation == fleet.Supervise && !task.Fresh && task.Over == 0 && task.ID != earlier.ID && !before.isOvertaken(host) {
			task.Over = times[at]
		}
		a.Underway[at] = task
	}
}

// registeredAt is when hosts were registered by this object, by address.
func (a applied) registeredAt() map[string]int64 {
	times := make(map[string]int64)
	for at, hosts := range a.Registered {
		for _, host := range hosts {
			times[host] = at
		}
	}
	return times
}

// registeredOn is when hosts were registered by this object, of those of which it is known.
func (a applied) registeredOn(hosts []fleet.Host) map[fleet.Host]int64 {
	if len(a.Earlier) == 0 {
		return nil // nothing of it is needed
	}
	times, on := a.registeredAt(), make(map[fleet.Host]int64)
	for _, host := range hosts {
		if at := times[host.Address()]; at != 0 {
			on[host] = at
		}
	}
	return on
}

// pidsOf are applied.PIDs of hosts after an apply: what was seen at its end, and what was before
// of hosts to which it did nothing.
func pidsOf(operation fleet.Operation, hosts []fleet.Host, before map[string]int64, running map[fleet.Host]int64) map[string]int64 {
	if operation == "" {
		return nil
	}
	pids := make(map[string]int64)
	for _, host := range hosts {
		pid, seen := running[host]
		if !seen {
			pid = before[host.Address()]
		}
		if pid != 0 {
			pids[host.Address()] = pid
		}
	}
	return pids
}

func byAddress(times map[fleet.Host]int64) map[string]int64 {
	by := make(map[string]int64, len(times))
	for host, at := range times {
		by[host.Address()] = at
	}
	return by
}

// byTime are those of the hosts of which the time is known, as applied.Registered has them.
func byTime(hosts []fleet.Host, times map[string]int64) map[int64][]string {
	by := make(map[int64][]string)
	for _, host := range hosts {
		if at := times[host.Address()]; at > 0 {
			by[at] = append(by[at], host.Address())
		}
	}
	return by
}

// overtaken are the hosts of Overtaken after a look at the platform's file, which may be
// older than our own registration: the agents tell, by their own clocks. What is missing
// there has no owner, and changes nothing.
func (a applied) overtaken(d fleet.Desired, onFile, live map[fleet.Host]fleet.Status) map[string]int64 {
	held := a.held(d)
	if a.Owner == "" {
		return a.Overtaken
	}
	var suspects []fleet.Host
	for host, file := range onFile {
		if a.namesAnother(d, file) || len(a.Overtaken) > 0 && a.isOvertaken(host) {
			suspects = append(suspects, host)
		}
	}
	if len(suspects) == 0 {
		return a.Overtaken
	}
	overtaken, ours := make(map[string]int64), a.registeredAt()
	maps.Copy(overtaken, a.Overtaken)
	for _, host := range suspects {
		at, file, row := host.Address(), onFile[host], ownership.Unlabelled
		switch {
		case a.namesAnother(d, file):
			row = ownership.Others
		case held.Owns(file):
			row = ownership.Own
		}
		known := ownership.Known{At: ours[at], Overtaken: overtaken[at]}
		if overtaken[at] = known.OvertakenAfter(row, file.RegisterTime, live[host].RegisterTime); overtaken[at] == 0 {
			delete(overtaken, at)
		}
	}
	return overtaken
}

func (a applied) isOvertaken(host fleet.Host) bool {
	_, found := a.Overtaken[host.Address()]
	return found
}

// registeredAs reports whether a declaration is what was last registered. It goes
// by what registering sends and not by attributes, so that a change of anything else
// makes no call.
func (a applied) registeredAs(d fleet.Desired) bool {
	return a.FingerprintLabel == d.FingerprintLabel && a.Fingerprint == d.Fingerprint && maps.Equal(a.Labels, d.Labels) && a.Uncounted == d.Uncounted
}

// held puts what was last registered in the place of what is declared now: drift
// is a difference from what was applied, a plan shows the rest.
func (a applied) held(d fleet.Desired) fleet.Desired {
	d.FingerprintLabel, d.Fingerprint, d.Labels, d.Owner, d.Earlier = a.FingerprintLabel, a.Fingerprint, a.Labels, a.Owner, a.Earlier
	d.OwnerLabel = platform.OwnerLabel(a.FingerprintLabel)
	return d
}

// namesAnother reports whether a registration names another object as its owner, by the label
// of before or by that of today.
func (a applied) namesAnother(d fleet.Desired, s fleet.Status) bool {
	held := a.held(d)
	d.Owner = a.Owner
	return held.OwnedByOther(s) || held.OwnerLabel != "" && d.OwnedByOther(s)
}

// ownedByOther reports whether a registration is another object's. An object that does
// not know its own id any more, as after a provider died, goes by the fingerprint.
func (a applied) ownedByOther(d fleet.Desired, s fleet.Status) bool {
	return a.namesAnother(d, s) && (a.Owner != "" || !a.held(d).Ours(s))
}

// ours reports whether a registration is one that this object sent.
func (a applied) ours(d fleet.Desired, s fleet.Status) bool {
	held := a.held(d)
	if a.ownedByOther(d, s) {
		return false
	}
	if held.Owns(s) || held.Ours(s) || d.Ours(s) {
		return true
	}
	return slices.ContainsFunc(a.Earlier, func(fingerprint string) bool {
		held.Fingerprint = fingerprint
		return held.Ours(s)
	})
}

// earlier is Earlier once d was sent as well. A declaration that comes back stays in it: an old
// picture may show it too.
func (a applied) earlier(d fleet.Desired) []string {
	if a.Fingerprint == "" || a.Fingerprint == d.Fingerprint {
		return a.Earlier
	}
	sent := append(slices.Clone(a.Earlier), a.Fingerprint)
	slices.Sort(sent)
	return slices.Compact(sent)
}

// shown is Earlier after a look at the platform's file: empty where that shows what was
// registered last on every host.
func (a applied) shown(d fleet.Desired, hosts []fleet.Host, onFile map[fleet.Host]fleet.Status) []string {
	held := a.held(d)
	if slices.Contains(a.Earlier, a.Fingerprint) || slices.ContainsFunc(hosts, func(host fleet.Host) bool { return !held.Made(onFile[host]) }) {
		return a.Earlier
	}
	return nil
}
