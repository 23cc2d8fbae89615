package hostedprocess

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/ownership"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// ledger is what an object did on its machines. It is kept in private state; DESIGN.md says why.
// The zero value is an object of which nothing is known.
type ledger struct {
	declared

	// owner is the id that the object's registrations carry: the attribute. object is the id of the object
	// itself, "" if that is the owner. An import has the owner of what it found, and another object may
	// have it as well.
	owner, object string
	// kept is false if nothing was kept. That is so after an import (state then has no spec
	// either), and after a provider was killed in an update. It is so in the destroy of a tainted
	// object that is replaced.
	kept  bool
	hosts map[fleet.HostID]entry
}

// declared is what was last registered. A registration also depends on the provider block
// (default_labels), whose earlier values are nowhere else.
type declared struct {
	FingerprintLabel string            `json:"fingerprint_label"`
	Fingerprint      string            `json:"fingerprint"`
	Labels           map[string]string `json:"labels"`
	// Uncounted is what registering sent beyond the fingerprint.
	Uncounted string `json:"uncounted,omitempty"`
	// Earlier are fingerprints that this object sent before. They are kept until the cached status
	// shows Fingerprint on every host. They may include Fingerprint itself.
	Earlier []string `json:"earlier,omitempty"`
}

// entry is what an object did on one machine, and knows of it.
type entry struct {
	// Supplier is the bk_supplier_id that it is registered with.
	Supplier int `json:"supplier,omitempty"`
	// At is the agent's time of the registration after this object's last call, 0 if it is not
	// known. It shows who owns a registration while the cached status is old.
	At int64 `json:"at,omitempty"`
	// Overtaken is the time of a later registration by another object, 0 for none. When that is
	// gone, nothing of this object is left.
	Overtaken int64 `json:"overtaken,omitempty"`
	// Task is a hosting or a start whose end was not seen.
	Task fleet.Task `json:"task,omitzero"`
	// Runs is what the process runs. It is kept if on_update is an operation.
	Runs fleet.Runs `json:"runs,omitzero"`
}

const ledgerKey = "ledger"

// group is machines with the same entry: most of a fleet are alike.
type group struct {
	entry

	On []string `json:"on"` // spans of hosts
}

type encodedLedger struct {
	declared

	Object string  `json:"object,omitempty"`
	Hosts  []group `json:"hosts"`
}

// MarshalJSON writes a text that is compressed: the addresses of a large fleet, which are in state
// already, take a fifth of their length then, and nearly nothing where they follow each other. An
// older release cannot read spans, and takes the ledger for lost.
func (l ledger) MarshalJSON() ([]byte, error) {
	on := make(map[entry][]fleet.HostID)
	for id, e := range l.hosts {
		on[e] = append(on[e], id)
	}
	encoded := encodedLedger{declared: l.declared, Object: l.object}
	for e, ids := range on {
		encoded.Hosts = append(encoded.Hosts, group{e, fleet.Spans(ids)})
	}
	slices.SortFunc(encoded.Hosts, func(a, b group) int { return cmp.Compare(a.On[0], b.On[0]) })
	var compressed bytes.Buffer
	to := zlib.NewWriter(&compressed)
	if err := errors.Join(json.NewEncoder(to).Encode(encoded), to.Close()); err != nil {
		return nil, err
	}
	return json.Marshal(compressed.Bytes())
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *ledger) UnmarshalJSON(raw []byte) error {
	var compressed []byte
	if err := json.Unmarshal(raw, &compressed); err != nil {
		return err
	}
	from, err := zlib.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return err
	}
	var encoded encodedLedger
	if err := json.NewDecoder(from).Decode(&encoded); err != nil {
		return err
	}
	*l = ledger{declared: encoded.declared, object: encoded.Object, kept: true, hosts: make(map[fleet.HostID]entry)}
	for _, g := range encoded.Hosts {
		for _, span := range g.On {
			ids, err := fleet.ParseSpan(span)
			if err != nil {
				return err
			}
			for _, id := range ids {
				l.hosts[id] = g.entry
			}
		}
	}
	return nil
}

// declaredAs is what registering sends.
func declaredAs(d fleet.Desired) declared {
	return declared{FingerprintLabel: d.FingerprintLabel, Fingerprint: d.Fingerprint, Labels: d.Labels, Uncounted: d.Uncounted}
}

// orElse is the ledger. If nothing was kept, it is what state and today's provider block say.
func (l ledger) orElse(d fleet.Desired, fingerprint string) ledger {
	if !l.kept {
		l.declared = declaredAs(d)
		l.Fingerprint = cmp.Or(fingerprint, l.Fingerprint)
	}
	return l
}

// newOwner is the id of a resource object that has none yet.
func newOwner() string { return rand.Text()[:16] }

type privateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

type privateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

func (l ledger) save(ctx context.Context, to privateWriter) diag.Diagnostics {
	raw, err := json.Marshal(l)
	if err != nil {
		return diag.Diagnostics{diagnose.Bug(err)}
	}
	return to.SetKey(ctx, ledgerKey, raw)
}

// loadLedger returns the ledger of an object. If it cannot be read, it is empty, and hosts are
// looked at again.
func loadLedger(ctx context.Context, from privateReader, state *lifecycleModel) ledger {
	var l ledger
	raw, _ := from.GetKey(ctx, ledgerKey) // which fails for keys of the framework alone
	if json.Unmarshal(raw, &l) != nil {
		l = ledger{}
	}
	l.owner = state.Owner.ValueString()
	return l
}

// on is the entry of a host.
func (l ledger) on(host fleet.Host) entry { return l.hosts[host.WithoutSupplier()] }

// inventory is the hosts of state with the supplier ids that they are registered with. Hosts
// without an entry have the provider's.
func (l ledger) inventory(hosts reference.HostMap, supplier int) fleet.Inventory {
	inventory, _ := reference.InventoryOf(hosts, supplier) // what cannot be read is reported elsewhere
	ids := make(map[fleet.HostID]int, len(l.hosts))
	for id, e := range l.hosts {
		ids[id] = e.Supplier
	}
	return inventory.WithSuppliers(ids)
}

// hostings are the hostings and starts on hosts whose end was not seen.
func (l ledger) hostings(hosts []fleet.Host) map[fleet.Host]fleet.Task {
	tasks := make(map[fleet.Host]fleet.Task)
	for _, host := range hosts {
		if task := l.on(host).Task; task.ID != "" {
			tasks[host] = task
		}
	}
	return tasks
}

// tries are the operations of on_update of which the same is true.
func (l ledger) tries(hosts []fleet.Host) map[fleet.Host]fleet.Task {
	tasks := make(map[fleet.Host]fleet.Task)
	for _, host := range hosts {
		if task := l.on(host).Runs.Task; task.ID != "" {
			tasks[host] = task
		}
	}
	return tasks
}

// times are when hosts were registered by this object, of those of which it is known.
func (l ledger) times(hosts []fleet.Host) map[fleet.Host]int64 {
	times := make(map[fleet.Host]int64)
	for _, host := range hosts {
		if at := l.on(host).At; at != 0 {
			times[host] = at
		}
	}
	return times
}

// mayGetAnother reports whether a hosting whose end was not seen may register something else on a host than was sent last.
func (l ledger) mayGetAnother(host fleet.Host) bool {
	task := l.on(host).Task
	return task.Operation == fleet.Supervise && task.Fingerprint != l.Fingerprint
}

func (l ledger) isOvertaken(host fleet.Host) bool { return l.on(host).Overtaken != 0 }

// afterApply is the entry of a host after an apply with the outcome o, and with what was found.
func (e entry) afterApply(host fleet.Host, o fleet.Outcome, found fleet.Found) entry {
	before := e
	if at, seen := found.Registered[host]; seen {
		e.At = at
	}
	if found.Ended[host] {
		e.Task = fleet.Task{}
	}
	task := o.Underway
	ofOnUpdate := o.Left == fleet.OperationUnconfirmed || task == before.Runs.Task // Runs has that
	if task.ID == "" || ofOnUpdate {
		return e
	}
	// A hosting that was sent over this object's registration has taken effect once the agent tells another time.
	if over := task.Operation == fleet.Supervise && !task.Fresh && before.Overtaken == 0; over && task.RegisteredBefore == 0 && task.ID != before.Task.ID {
		task.RegisteredBefore = before.At
	}
	e.Task = task
	return e
}

// seen is the ledger after a look at the cached status. That may be older than this object's own
// registrations, whose times the agents know. It reports whether anything changed that decides
// something.
func (l ledger) seen(d fleet.Desired, hosts []fleet.Host, rows, live map[fleet.Host]fleet.Status) (ledger, bool) {
	before, held := l.declared, l.lastSent(d)
	if !slices.Contains(l.Earlier, l.Fingerprint) && !slices.ContainsFunc(hosts, func(host fleet.Host) bool { return !held.Made(rows[host]) }) {
		l.Earlier = nil
	}
	changed := len(l.Earlier) != len(before.Earlier)
	if l.owner == "" {
		return l, changed
	}
	entries := make(map[fleet.HostID]entry, len(l.hosts)) // a ledger that is lost has none
	maps.Copy(entries, l.hosts)
	l.hosts = entries
	for host, row := range rows {
		e, kind := l.on(host), ownership.Unlabelled
		switch {
		case l.namesAnother(d, row):
			kind = ownership.Others
		case held.Owns(row):
			kind = ownership.Own
		}
		known := ownership.Known{At: e.At, Overtaken: e.Overtaken}
		if after := known.OvertakenAfter(kind, row.RegisterTime, live[host].RegisterTime); after != e.Overtaken {
			e.Overtaken, changed = after, true
			l.hosts[host.WithoutSupplier()] = e
		}
	}
	return l, changed
}

// registeredAs reports whether a declaration is what was last registered. It compares what
// registering sends and not attributes, so that a change of anything else makes no call.
func (a declared) registeredAs(d fleet.Desired) bool {
	return a.FingerprintLabel == d.FingerprintLabel && a.Fingerprint == d.Fingerprint && maps.Equal(a.Labels, d.Labels) && a.Uncounted == d.Uncounted
}

// after is what is declared now, once that was sent after a. A declaration that comes back stays
// among the earlier ones, because an old row may show it too. Without labels no row shows any.
func (a declared) after(d fleet.Desired) declared {
	now := declaredAs(d)
	if d.FingerprintLabel == "" {
		return now
	}
	now.Earlier = a.Earlier
	if a.Fingerprint != "" && a.Fingerprint != d.Fingerprint {
		now.Earlier = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(a.Earlier), a.Fingerprint))))
	}
	return now
}

// lastSent is d with what was last registered. Drift is a difference from what was applied, and a plan
// shows the rest.
func (l ledger) lastSent(d fleet.Desired) fleet.Desired {
	d.FingerprintLabel, d.Fingerprint, d.Labels, d.Owner, d.Earlier = l.FingerprintLabel, l.Fingerprint, l.Labels, l.owner, l.Earlier
	return d
}

// namesAnother reports whether a registration names another object as its owner, by the label
// of before or by that of today.
func (l ledger) namesAnother(d fleet.Desired, s fleet.Status) bool {
	held := l.lastSent(d)
	d.Owner = l.owner
	return held.OwnedByOther(s) || d.OwnedByOther(s)
}

// ours reports whether this object sent a registration. An object that does not know its own id, as
// after an import, compares the fingerprint.
func (l ledger) ours(d fleet.Desired, s fleet.Status) bool {
	held := l.lastSent(d)
	if l.namesAnother(d, s) && (l.owner != "" || !held.Ours(s)) {
		return false
	}
	if held.Owns(s) || held.Ours(s) || d.Ours(s) {
		return true
	}
	return slices.ContainsFunc(l.Earlier, func(fingerprint string) bool {
		held.Fingerprint = fingerprint
		return held.Ours(s)
	})
}
