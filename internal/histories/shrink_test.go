package histories

import (
	"slices"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

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

// size is the length of what is printed, and smaller for fewer machines and an earlier cut.
func (h History) size() int {
	size := 10*h.Machines + len(h.String())
	for _, s := range h.Steps {
		size += s.Cut
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

func simplify(h History, fails func(History) bool) History {
	try := func(change func(*History)) {
		simpler := h.copied()
		change(&simpler)
		if simpler.size() < h.size() && fails(simpler) {
			h = simpler
		}
	}
	for i := range traitsOf(&h) {
		try(func(h *History) { *traitsOf(h)[i].has = false })
	}
	for i := range h.Steps {
		for host := len(h.Steps[i].Hosts) - 1; host >= 0; host-- {
			try(func(h *History) {
				if hosts := h.Steps[i].Hosts; len(hosts) > 1 && host < len(hosts) {
					h.Steps[i].Hosts = slices.Delete(hosts, host, host+1)
				}
			})
		}
		for _, simpler := range []func(*Step){
			func(s *Step) { s.Hosts = nil }, func(s *Step) { s.Cut, s.Late = 0, false }, func(s *Step) { s.Cut = max(s.Cut-1, min(s.Cut, 1)) },
			func(s *Step) { s.Blind = false }, func(s *Step) { s.Times = 0 }, func(s *Step) { s.Planned = false },
		} {
			try(func(h *History) { simpler(&h.Steps[i]) })
		}
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

// What fails for a reason is shrunk to that reason, in few replays.
func TestShrink(t *testing.T) {
	t.Parallel()
	long := History{Machines: 3, EntryPerName: true}
	for i := range 20 { // told apart by their values
		long.Steps = append(long.Steps, Step{Do: Apply, On: A, To: string(rune('a' + i)), Hosts: []int{1, 3}, Times: 3, Cut: 4, Late: true, Blind: true, Planned: true})
	}
	at := func(h History, to string) int {
		return slices.IndexFunc(h.Steps, func(s Step) bool { return s.To == to })
	}
	has := func(h History, is func(Step) bool) bool { return slices.ContainsFunc(h.Steps, is) }
	for name, c := range map[string]struct {
		fails func(History) bool
		want  string
	}{
		"always":         {func(History) bool { return true }, "machines: 1"},
		"first-and-last": {func(h History) bool { return at(h, "a") >= 0 && at(h, "t") > 0 }, "machines: 1\napply a a\napply a t"},
		"two-of-three-machines": {
			func(h History) bool {
				return h.Machines >= 2 && has(h, func(s Step) bool { return s.To == "b" && len(s.Hosts) > 0 && s.Hosts[0] != 1 })
			},
			"machines: 2\napply a b on [2]",
		},
		"cut-late-at-the-second-call": {
			func(h History) bool { return has(h, func(s Step) bool { return s.To == "b" && s.Cut >= 2 && s.Late }) }, "machines: 1\napply a b cut off after call 2",
		},
		"a-planned-apply-with-two-entries": {
			func(h History) bool {
				return h.EntryPerName && has(h, func(s Step) bool { return s.To == "b" && s.Planned && s.Times > 0 })
			},
			"machines: 1, an entry per name\napply a b 3 times after a plan",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, replays := long.String(), 0
			got := shrink(long, func(h History) bool {
				replays++
				return c.fails(h)
			})
			providertest.Same(t, "shrunk", c.want+"\n", got.String())
			providertest.Same(t, "the history itself", before, long.String())
			if replays > 300 {
				t.Errorf("%d replays", replays)
			}
		})
	}
}
