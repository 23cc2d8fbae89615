package fault

import (
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
)

// List holds the faults of a server. It implements [core.Faults].
type List struct {
	names Names
	dice  *dice

	mu     sync.Mutex
	faults []*fault
	seq    int
}

// Names resolves the name of a host in a fault.
type Names interface {
	HostKey(addr string) (core.HostKey, error)
}

// NewList returns an empty list. If seed is not zero, chance has the same results in every run with
// the same calls in the same order.
func NewList(seed uint64, names Names) *List {
	return &List{names: names, dice: newDice(seed)}
}

// Inject adds a fault and returns its number.
func (l *List) Inject(f Fault) (int, error) {
	if err := f.Validate(); err != nil {
		return 0, err
	}
	added := &fault{Fault: f, dice: l.dice}
	if len(f.Hosts) > 0 {
		added.hosts = make(map[core.HostKey]bool, len(f.Hosts))
	}
	for _, addr := range f.Hosts {
		key, err := l.names.HostKey(addr)
		if err != nil {
			return 0, err
		}
		added.hosts[key] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	added.id = l.seq
	l.faults = append(l.faults, added)
	return added.id, nil
}

// Clear removes every fault. Operations keep the effects that they already have.
func (l *List) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = nil
}

// Remove removes one fault by its number, if it is still there.
func (l *List) Remove(id int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = slices.DeleteFunc(l.faults, func(f *fault) bool { return f.id == id })
}

// Active is an active fault.
type Active struct {
	ID    int   `json:"id"`
	Fault Fault `json:"fault"`
	// Machines are the machines of Hosts, by the platform's name for each.
	Machines []core.HostKey `json:"machines,omitempty"`
	// Struck is how often the fault has applied.
	Struck int `json:"struck"`
}

// Active lists the active faults, in the order they were injected.
func (l *List) Active() []Active {
	l.mu.Lock()
	defer l.mu.Unlock()
	active := make([]Active, 0, len(l.faults))
	for _, f := range l.faults {
		active = append(active, Active{
			ID: f.id, Fault: f.Fault, Machines: slices.Sorted(maps.Keys(f.hosts)),
			Struck: f.requests.used + f.tasks.used + f.perHosts.used,
		})
	}
	return active
}

// fault is an injected Fault, and how often it matched. Each kind of effect is counted separately.
type fault struct {
	Fault
	id       int
	hosts    map[core.HostKey]bool // nil for every host
	dice     *dice
	requests tally
	tasks    tally
	perHosts tally
}

type tally struct{ seen, used int }

// take counts a match and reports whether the fault applies to it.
func (t *tally) take(f *fault) bool {
	if !f.strikes() {
		return false
	}
	t.seen++
	if t.seen <= f.Skip || (f.Times > 0 && t.used >= f.Times) {
		return false
	}
	t.used++
	return true
}

func (f *fault) matchesAPI(api string) bool {
	if f.API == "" {
		return true
	}
	ok, err := path.Match(f.API, api)
	return ok && err == nil
}

func (f *fault) matchesItem(it *core.Item) bool {
	return (f.Op == nil || *f.Op == it.Op) &&
		(f.Namespace == "" || f.Namespace == it.Namespace) &&
		(f.Name == "" || f.Name == it.Name) &&
		(f.Command == "" || it.Spec.Runs(f.Command))
}

func (f *fault) matchesHost(key core.HostKey) bool {
	return f.hosts == nil || f.hosts[key]
}

// matchesRequest reports whether a request has an item and a host that the fault matches. A fault that
// names neither also matches requests without any, such as a poll of a forgotten task.
func (f *fault) matchesRequest(api string, items []*core.Item) bool {
	if !f.matchesAPI(api) {
		return false
	}
	if len(items) == 0 {
		return f.Op == nil && f.Namespace == "" && f.Name == "" && f.Command == "" && f.hosts == nil
	}
	return slices.ContainsFunc(items, func(it *core.Item) bool {
		if !f.matchesItem(it) {
			return false
		}
		return f.hosts == nil || slices.ContainsFunc(it.Targets, func(t core.Target) bool { return f.hosts[t.Machine] })
	})
}

// OnRequest combines the faults that apply to one exchange. start is the start of the requested page, nil
// for none.
func (l *List) OnRequest(api string, items []*core.Item, start *int) Effects {
	l.mu.Lock()
	defer l.mu.Unlock()
	var struck []*fault
	for _, f := range l.faults {
		if f.Start != nil && (start == nil || *start != *f.Start) {
			continue
		}
		if f.perRequest() && f.matchesRequest(api, items) && f.requests.take(f) {
			struck = append(struck, f)
		}
	}
	return combine(struck)
}

// OnHost implements [core.Faults].
func (l *List) OnHost(met *core.Met, api string, op core.Affected) []core.Trouble {
	l.mu.Lock()
	defer l.mu.Unlock()
	var troubles []core.Trouble
	for _, f := range l.faults {
		if !f.perHost() || slices.Contains(*met, f.id) {
			continue
		}
		// A poll belongs to an operation, so a fault may name the API of either.
		named := f.matchesAPI(api) || (op.Poll && f.matchesAPI(op.API))
		if !named || !f.matchesItem(op.Item) || !f.matchesHost(op.Host) {
			continue
		}
		*met = append(*met, f.id)
		if f.perHosts.take(f) {
			troubles = append(troubles, f.trouble())
		}
	}
	return troubles
}

func (f *fault) trouble() core.Trouble {
	return core.Trouble{
		Missing: f.Missing, Pending: f.Pending, Unreachable: f.Unreachable,
		Code: f.Code, Message: f.Message, Content: f.Content,
		Apply: f.Apply, StillHosts: f.StillHosts, Shape: f.ContentShape, Takes: f.Takes, ScriptStatus: f.ScriptStatus,
		Ailment: core.Ailment{Dies: f.Dies, Revived: f.Revived, Health: f.Health},
	}
}

// OnTask implements [core.Faults].
func (l *List) OnTask(met *core.Met, api string, items []*core.Item) []core.Queue {
	l.mu.Lock()
	defer l.mu.Unlock()
	var queues []core.Queue
	for _, f := range l.faults {
		if f.Queued == 0 || slices.Contains(*met, f.id) || !f.matchesRequest(api, items) {
			continue
		}
		*met = append(*met, f.id)
		if f.tasks.take(f) {
			queues = append(queues, core.Queue{Polls: f.Queued, Data: f.QueuedData})
		}
	}
	return queues
}

// HidesRow implements [core.Faults]: only a fault that matches a status API hides rows.
func (l *List) HidesRow(api string, key core.ProcKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.faults {
		if f.Missing == 0 || f.API == "" || !f.matchesAPI(api) || !f.matchesHost(key.Host) {
			continue
		}
		if f.Op != nil || (f.Namespace != "" && f.Namespace != key.Namespace) || (f.Name != "" && f.Name != key.Name) {
			continue
		}
		if f.perHosts.take(f) {
			return true
		}
	}
	return false
}
