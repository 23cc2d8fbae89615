package core

// repeatKey identifies a first generation call about one process. The server has no task for it, so
// after a 115 a client can only repeat the call. The repeated call is the same operation.
type repeatKey struct {
	api string
	ProcKey
}

// Answer carries out a first generation call and returns the result of each host.
func (g *GSE) Answer(api string, it *Item) []Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	results := make([]Result, 0, len(it.Targets))
	for _, t := range it.Targets {
		key := repeatKey{api, ProcKey{t.Key, it.Namespace, it.Name}}
		o := g.repeats[key]
		if o == nil {
			o = &operation{api: api, accepted: g.now()}
			o.item, o.target = it, t
			g.applyFaultsLocked(o, api, false)
			if o.apply && o.code == nil && g.answersLocked(t) {
				// The operation is done before the client gets the result, so its repeated call gets 850
				// or the like.
				g.applyLocked(it, t)
			}
		}
		o.item, o.target = it, t // for a repeated call, the last body counts
		if g.heldBackLocked(o) {
			g.repeats[key] = o
		} else {
			delete(g.repeats, key)
			g.carryOutLocked(o, g.now())
		}
		if r, ok := g.reportLocked(o); ok {
			results = append(results, r)
		}
	}
	return results
}

// heldBackLocked reports whether this call is too early for a verdict.
func (g *GSE) heldBackLocked(o *operation) bool {
	return o.missing != 0 || o.pending != 0 || o.unreachable == "pending" || o.due.After(g.now())
}

// ForgetRepeats makes every further first generation call a new operation.
func (g *GSE) ForgetRepeats() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.repeats)
}
