package simulator

// repeatKey names a first generation call about one process. The server has no
// task for it, so a client that was told 115 can only repeat the call, and the
// repeated call is the same operation.
type repeatKey struct {
	api string
	procKey
}

// answerLocked carries out a first generation call and answers per host.
func (s *Server) answerLocked(api string, it *item) []result {
	results := make([]result, 0, len(it.targets))
	for _, t := range it.targets {
		key := repeatKey{api, procKey{t.key, it.namespace, it.name}}
		e := s.repeats[key]
		if e == nil {
			e = &entry{api: api, accepted: s.now()}
			e.item, e.target = it, t
			s.handFaultsLocked(e, api, false)
			if e.apply && e.code == nil && s.answersLocked(t) {
				// The work is done before the client hears of it, so its
				// repeated call will be told 850 or the like.
				s.applyLocked(it, t)
			}
		}
		e.item, e.target = it, t // of a repeated call, the last body counts
		if s.heldBackLocked(e) {
			s.repeats[key] = e
		} else {
			delete(s.repeats, key)
			s.carryOutCallLocked(e)
		}
		if r, ok := s.reportLocked(e); ok {
			results = append(results, r)
		}
	}
	return results
}

// heldBackLocked reports whether this call is too early for a verdict.
func (s *Server) heldBackLocked(e *entry) bool {
	return e.missing != 0 || e.pending != 0 || e.unreachable == "pending" || e.due.After(s.now())
}

func (s *Server) carryOutCallLocked(e *entry) {
	if e.item.ipv4 && !e.target.ip.Is4() {
		// The first generation's keys cannot hold an IPv6 address, and clients
		// keep to IPv4 there.
		v := newVerdict(CodeFailed).because("ip %s is not an IPv4 address", e.target.spelling)
		s.settleEntryLocked(e, v, s.now())
		return
	}
	s.carryOutLocked(e, s.now())
}
