package histories

import "slices"

// shrink returns the shortest history for which fails is still true. It drops steps in ever smaller
// pieces, and then simplifies the rest.
func shrink(h History, fails func(History) bool) History {
	for {
		before := h.size()
		h = dropSteps(h, fails)
		h = simplify(h, fails)
		if h.size() == before {
			return h
		}
	}
}

// size is what shrinking makes less.
func (h History) size() int {
	size := h.Machines * 10
	for _, trait := range traitsOf(&h) {
		if *trait.has {
			size++
		}
	}
	for _, s := range h.Steps {
		size += 100 + 5*len(s.Hosts) + s.Cut
		if s.Times != 0 {
			size++
		}
		if s.Late {
			size++
		}
		if s.Blind {
			size++
		}
		if s.Planned {
			size++
		}
	}
	return size
}

// dropSteps is delta debugging: halves, quarters and so on, down to single steps.
func dropSteps(h History, fails func(History) bool) History {
	for piece := max(1, len(h.Steps)/2); piece >= 1; {
		dropped := false
		for at := len(h.Steps) - piece; at >= 0; at -= piece {
			less := h
			less.Steps = slices.Concat(h.Steps[:at], h.Steps[at+piece:])
			if fails(less) {
				h, dropped = less, true
			}
			at = min(at, len(h.Steps))
		}
		if !dropped || piece > len(h.Steps) {
			piece /= 2
		}
	}
	return h
}

// simplify tries what is simpler, one thing at a time.
func simplify(h History, fails func(History) bool) History {
	try := func(change func(*History)) {
		simpler := h.copied()
		change(&simpler)
		if simpler.size() < h.size() && fails(simpler) {
			h = simpler
		}
	}
	try(func(h *History) { h.EntryPerName = false })
	try(func(h *History) { h.SuppliersApart = false })
	try(func(h *History) { h.Verify = false })
	try(func(h *History) { h.KeepsTime.Reregistering = false })
	try(func(h *History) { h.KeepsTime.Starting = false })
	try(func(h *History) { h.KeepsTime.Hosting = false })
	for i := range h.Steps {
		for host := len(h.Steps[i].Hosts) - 1; host >= 0; host-- {
			try(func(h *History) {
				if hosts := h.Steps[i].Hosts; len(hosts) > 1 && host < len(hosts) {
					h.Steps[i].Hosts = slices.Delete(hosts, host, host+1)
				}
			})
		}
		try(func(h *History) { h.Steps[i].Hosts = nil })
		try(func(h *History) { h.Steps[i].Cut, h.Steps[i].Late = 0, false })
		try(func(h *History) { h.Steps[i].Cut = max(h.Steps[i].Cut-1, min(h.Steps[i].Cut, 1)) })
		try(func(h *History) { h.Steps[i].Late = false })
		try(func(h *History) { h.Steps[i].Blind = false })
		try(func(h *History) { h.Steps[i].Times = 0 })
		try(func(h *History) { h.Steps[i].Planned = false })
	}
	for machine := h.Machines; machine > 1; machine-- {
		try(func(h *History) { *h = h.without(machine) })
	}
	return h
}

// without takes a machine out. Those after it move up.
func (h History) without(machine int) History {
	h = h.copied()
	h.Machines--
	for i := range h.Steps {
		hosts := slices.DeleteFunc(h.Steps[i].Hosts, func(n int) bool { return n == machine })
		for j := range hosts {
			if hosts[j] > machine {
				hosts[j]--
			}
		}
		h.Steps[i].Hosts = hosts
	}
	return h
}

func (h History) copied() History {
	h.Steps = slices.Clone(h.Steps)
	for i := range h.Steps {
		h.Steps[i].Hosts = slices.Clone(h.Steps[i].Hosts)
	}
	return h
}
