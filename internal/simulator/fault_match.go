package simulator

import (
	"path"
	"slices"
)

// fault is an injected Fault and how often it matched so far, per kind of
// effect: a fault that has two kinds counts them apart.
type fault struct {
	Fault
	id       int
	hosts    map[hostKey]bool // nil for every host
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

func (f *fault) matchesItem(it *item) bool {
	return (f.Op == nil || *f.Op == it.op) &&
		(f.Namespace == "" || f.Namespace == it.namespace) &&
		(f.Name == "" || f.Name == it.name)
}

func (f *fault) matchesHost(key hostKey) bool {
	return f.hosts == nil || f.hosts[key]
}

// matchesRequest looks for an item and a host that the fault means. A fault
// that names neither matches requests without any, such as a poll of a task
// that is gone.
func (f *fault) matchesRequest(api string, items []*item) bool {
	if !f.matchesAPI(api) {
		return false
	}
	if len(items) == 0 {
		return f.Op == nil && f.Namespace == "" && f.Name == "" && f.hosts == nil
	}
	return slices.ContainsFunc(items, func(it *item) bool {
		if !f.matchesItem(it) {
			return false
		}
		return f.hosts == nil || slices.ContainsFunc(it.targets, func(t target) bool { return f.hosts[t.key] })
	})
}

// requestFaultsLocked takes the faults that apply to one exchange.
func (s *Server) requestFaultsLocked(api string, items []*item) []*fault {
	var out []*fault
	for _, f := range s.faults {
		if f.perRequest() && f.matchesRequest(api, items) && f.requests.take(f) {
			out = append(out, f)
		}
	}
	return out
}

// handFaultsLocked hands an operation on a host the faults that it meets at
// api, each once in its life: a fault that let it through when it was accepted
// must not catch it at a poll.
func (s *Server) handFaultsLocked(e *entry, api string, poll bool) {
	for _, f := range s.faults {
		if !f.perHost() || slices.Contains(e.met, f.id) {
			continue
		}
		// A poll belongs to the operation it asks for, so a fault may name
		// either.
		named := f.matchesAPI(api) || (poll && f.matchesAPI(e.api))
		if !named || !f.matchesItem(e.item) || !f.matchesHost(e.target.key) {
			continue
		}
		e.met = append(e.met, f.id)
		if f.perHosts.take(f) {
			e.suffer(f)
		}
	}
}

// suffer gives an operation what a fault does to it. Counts add up, with -1,
// for ever, winning; where only one can be, the first one is.
func (e *entry) suffer(f *fault) {
	e.missing = addPolls(e.missing, f.Missing)
	e.pending = addPolls(e.pending, f.Pending)
	if f.Takes > 0 && e.state == entryAccepted {
		e.due = e.accepted.Add(f.Takes)
	}
	if e.unreachable == "" {
		e.unreachable = f.Unreachable
	}
	if e.code == nil && f.Code != nil {
		e.code, e.fault = f.Code, f
	}
	e.apply = e.apply || f.Apply
	e.stillHosts = e.stillHosts || f.StillHosts
	if e.shape == "" {
		e.shape = f.ContentShape
	}
}

func addPolls(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// countdown reports whether one of n polls was left and takes it.
func countdown(n *int) bool {
	if *n == 0 {
		return false
	}
	if *n > 0 {
		*n--
	}
	return true
}

// hiddenLocked reports whether a fault that names a status API leaves a row
// out.
func (s *Server) hiddenLocked(api string, key procKey) bool {
	for _, f := range s.faults {
		if f.Missing == 0 || f.API == "" || !f.matchesAPI(api) || !f.matchesHost(key.host) {
			continue
		}
		if f.Op != nil || (f.Namespace != "" && f.Namespace != key.namespace) || (f.Name != "" && f.Name != key.name) {
			continue
		}
		if f.perHosts.take(f) {
			return true
		}
	}
	return false
}
