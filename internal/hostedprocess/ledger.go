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

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/ownership"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// ledger records what an object did on its machines. It is kept in private state; DESIGN.md says why. The zero
// value knows nothing.
type ledger struct {
	declared

	// owner is the id that the object's registrations carry as a label (the attribute owner). object is the
	// object's own id, "" if that is owner. An import takes over the owner of what it finds, which another
	// object may have as well.
	owner, object string
	// kept is false if private state has no ledger. That is so after an import, after the provider was killed in an
	// update, and in the destroy of a tainted object that is replaced. After an import, state has a spec only if
	// the agents were asked for it.
	kept  bool
	hosts map[fleet.HostID]entry
}

// declared is what was last registered. It also depends on the provider block (default_labels), whose earlier
// values are stored nowhere else.
type declared struct {
	FingerprintLabel string            `json:"fingerprint_label"`
	Fingerprint      string            `json:"fingerprint"`
	Labels           map[string]string `json:"labels"`
	// Uncounted is what registering sent beyond what the fingerprint covers.
	Uncounted string `json:"uncounted,omitempty"`
	// Earlier are fingerprints that this object registered before. They are kept until the cached status shows
	// Fingerprint on every host, or longer if a declaration came back and Fingerprint is among them.
	Earlier []string `json:"earlier,omitempty"`
}

// entry is what an object did on one machine, and what it learned there.
type entry struct {
	// At is the agent's registration time after this object's last call, 0 if it is unknown. It shows who owns
	// a registration while the cached status is out of date.
	At int64 `json:"at,omitempty"`
	// Started is when the process that then ran was started, by the agent's clock. It is kept if that was after At
	// and no pid is kept, so that most machines of a fleet have the same.
	Started int64 `json:"started,omitempty"`
	// Overtaken is the time of a later registration by another object, 0 if there is none. Once that
	// registration is gone, nothing of this object is left on the machine.
	Overtaken int64 `json:"overtaken,omitempty"`
	// Last is the fingerprint that this object last registered there, as far as is known.
	Last string `json:"last,omitempty"`
	// Task is a hosting or a start whose end was not seen.
	Task fleet.Task `json:"task,omitzero"`
	// Runs is what the process runs. It is kept only if on_update is an operation.
	Runs fleet.Runs `json:"runs,omitzero"`
	// Leaving is set if unregistering the host was begun and did not succeed. The process may have been stopped or
	// unhosted, whatever the cached status shows.
	Leaving bool `json:"leaving,omitempty"`
	// Before is set if the answer to registering the host again was lost: it was this object's before that.
	Before bool `json:"before,omitempty"`
}

const ledgerKey = "ledger"

// group is the machines that share an entry: most machines of a fleet do.
type group struct {
	entry

	On []fleet.HostID `json:"on"` // "" stands for the address after the one before it
}

type encodedLedger struct {
	declared

	Object string  `json:"object,omitempty"`
	Hosts  []group `json:"hosts"`
}

// MarshalJSON implements json.Marshaler. The text is compressed: the addresses of a large fleet, which are in
// state already, then take a fifth of their length, and next to nothing if they are consecutive.
func (l ledger) MarshalJSON() ([]byte, error) {
	on := make(map[entry][]fleet.HostID)
	for id, e := range l.hosts {
		on[e] = append(on[e], id)
	}
	encoded := encodedLedger{declared: l.declared, Object: l.object}
	for e, ids := range on {
		slices.SortFunc(ids, fleet.HostID.Compare)
		for i := len(ids) - 1; i > 0; i-- {
			if ids[i] == ids[i-1].Next() {
				ids[i] = fleet.HostID{}
			}
		}
		encoded.Hosts = append(encoded.Hosts, group{e, ids})
	}
	slices.SortFunc(encoded.Hosts, func(a, b group) int { return a.On[0].Compare(b.On[0]) })
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
		var before fleet.HostID
		for _, id := range g.On {
			if id == (fleet.HostID{}) {
				id = before.Next()
			}
			before, l.hosts[id] = id, g.entry
		}
	}
	return nil
}

// declaredAs returns what registering d sends.
func declaredAs(d fleet.Desired) declared {
	return declared{FingerprintLabel: d.FingerprintLabel, Fingerprint: d.Fingerprint, Labels: d.Labels, Uncounted: d.Uncounted}
}

// orElse returns l. If l was not kept, what was last registered is taken from d and from the fingerprint in
// state.
func (l ledger) orElse(d fleet.Desired, fingerprint string) ledger {
	if !l.kept {
		l.declared = declaredAs(d)
		l.Fingerprint = cmp.Or(fingerprint, l.Fingerprint)
	}
	return l
}

// newOwner returns a new random id for a resource object.
func newOwner() string { return rand.Text()[:16] }

func (l ledger) save(ctx context.Context, to reference.PrivateWriter) diag.Diagnostics {
	return reference.SavePrivate(ctx, to, ledgerKey, l)
}

// loadLedger returns the ledger of an object. If it cannot be read, the ledger is empty, and the apply looks at
// the hosts again.
func loadLedger(ctx context.Context, from reference.PrivateReader, state *lifecycleModel) ledger {
	l, _ := reference.LoadPrivate[ledger](ctx, from, ledgerKey) // fails only for the framework's own keys
	l.owner = state.Owner.ValueString()
	return l
}

// on returns the entry of a host.
func (l ledger) on(host fleet.Host) entry { return l.hosts[host.WithoutSupplier()] }

// hostings returns the tasks of hostings and starts whose end was not seen.
func (l ledger) hostings(hosts []fleet.Host) map[fleet.Host]fleet.Task {
	return inEntries(l, hosts, func(e entry) fleet.Task { return e.Task })
}

// tries returns the tasks of operations of on_update whose end was not seen.
func (l ledger) tries(hosts []fleet.Host) map[fleet.Host]fleet.Task {
	return inEntries(l, hosts, func(e entry) fleet.Task { return e.Runs.Task })
}

// times returns when this object registered the hosts, for those whose time is known.
func (l ledger) times(hosts []fleet.Host) map[fleet.Host]int64 {
	return inEntries(l, hosts, func(e entry) int64 { return e.At })
}

// inEntries returns a field of the entries of hosts, for those in whose entry it is set.
func inEntries[V comparable](l ledger, hosts []fleet.Host, field func(entry) V) map[fleet.Host]V {
	set := make(map[fleet.Host]V)
	var none V
	for _, host := range hosts {
		if value := field(l.on(host)); value != none {
			set[host] = value
		}
	}
	return set
}

// otherInFlight reports whether a hosting whose end was not seen may put a registration on the host that
// differs from the one that was sent last.
func (l ledger) otherInFlight(host fleet.Host) bool {
	task := l.on(host).Task
	return task.Operation == fleet.Supervise && task.Fingerprint != l.Fingerprint
}

// registering reports whether a hosting whose end was not seen has registered the host as d, or may do so.
func (l ledger) registering(host fleet.Host, d fleet.Desired) bool {
	task := l.on(host).Task
	return task.Operation == fleet.Supervise && task.Fingerprint == d.Fingerprint
}

// isOvertaken reports whether another object has registered the host since this one did.
func (l ledger) isOvertaken(host fleet.Host) bool { return l.on(host).Overtaken != 0 }

// afterApply returns the entry of a host after an apply that ended with the outcome o and learned found.
func (e entry) afterApply(host fleet.Host, o fleet.Outcome, found fleet.Found) entry {
	before := e
	if at, seen := found.Registered[host]; seen {
		e.At = at
	}
	if started, seen := found.Started[host]; seen {
		e.Started = started
	}
	if e.At == 0 || e.Started < e.At {
		e.Started = 0
	}
	if found.Ended[host] {
		e.Task = fleet.Task{}
	}
	task := o.Underway
	ofOnUpdate := o.Left == fleet.OperationUnconfirmed || task == before.Runs.Task // kept in Runs instead
	if task.ID == "" || ofOnUpdate {
		return e
	}
	// A hosting that replaces a registration of this object has taken effect once the agent reports another
	// time.
	if over := task.Operation == fleet.Supervise && !task.Fresh && before.Overtaken == 0; over && task.RegisterTime == 0 && task.ID != before.Task.ID {
		task.RegisterTime = before.At
	}
	e.Task = task
	return e
}

// made reports whether a row shows that this object has registered what is declared on a host. If it last registered
// something else there, the row must not show an earlier registration.
func (e entry) made(held fleet.Desired, row, live fleet.Status) bool {
	if e.Last != "" && e.Last != held.Fingerprint {
		return held.MadeNow(row, live.RegisterTime, e.At)
	}
	return held.Made(row)
}

// leaving returns the ledger after a destroy that has begun on these hosts and did not succeed there.
func (l ledger) leaving(begun map[fleet.Host]bool) ledger {
	entries := maps.Clone(l.hosts)
	for host := range begun {
		e := l.on(host)
		e.Leaving = true
		entries[host.WithoutSupplier()] = e
	}
	l.hosts = entries
	return l
}

// seen returns the ledger after a refresh, and whether a change in it affects what is done next. The cached
// status in rows may be older than this object's own registrations, whose times the agents know.
func (l ledger) seen(d fleet.Desired, hosts []fleet.Host, rows, live map[fleet.Host]fleet.Status) (ledger, bool) {
	before, held := l.declared, l.lastSent(d)
	if !slices.Contains(l.Earlier, l.Fingerprint) && !slices.ContainsFunc(hosts, func(host fleet.Host) bool { return !held.Made(rows[host]) }) {
		l.Earlier = nil
	}
	changed := len(l.Earlier) != len(before.Earlier)
	if l.owner == "" {
		return l, changed
	}
	entries := make(map[fleet.HostID]entry, len(l.hosts)) // l.hosts is nil if the ledger is lost
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

// registeredAs reports whether d is what was last registered. It compares what registering sends, not
// attributes, so that changing anything else makes no call.
func (a declared) registeredAs(d fleet.Desired) bool {
	return a.FingerprintLabel == d.FingerprintLabel && a.Fingerprint == d.Fingerprint && maps.Equal(a.Labels, d.Labels) && a.Uncounted == d.Uncounted
}

// after returns what is declared once d was registered in place of a. The fingerprint of a becomes an earlier
// one, which an old row may still show. A declaration that comes back stays among them for the same reason.
// Without a fingerprint label no row shows any.
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

// lastSent returns d with what was last registered. Drift is a difference from what was applied; the plan shows
// what differs from the configuration.
func (l ledger) lastSent(d fleet.Desired) fleet.Desired {
	d.FingerprintLabel, d.Fingerprint, d.Labels, d.Owner, d.Earlier = l.FingerprintLabel, l.Fingerprint, l.Labels, l.owner, l.Earlier
	return d
}

// namesAnother reports whether a registration names another object as its owner, under the label name of the
// last apply or today's.
func (l ledger) namesAnother(d fleet.Desired, s fleet.Status) bool {
	held := l.lastSent(d)
	d.Owner = l.owner
	return held.OwnedByOther(s) || d.OwnedByOther(s)
}

// ours reports whether this object made a registration, with the last declaration or an earlier one. An object
// that does not know its own id, as after an import, goes by the fingerprint.
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
