package histories

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// numbered is a history of so many applies, told apart by the call that cuts them off.
func numbered(n int) History {
	h := History{Machines: 3, EntryPerName: true}
	for i := range n {
		h.Steps = append(h.Steps, Step{Do: Apply, On: A, To: string(rune('a' + i)), Hosts: []int{1, 3}, Times: 3, Cut: 4, Late: true, Blind: true, Planned: true})
	}
	return h
}

func hasAll(h History, values ...string) bool {
	for _, value := range values {
		if !slices.ContainsFunc(h.Steps, func(s Step) bool { return s.To == value }) {
			return false
		}
	}
	return true
}

func TestShrink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails func(History) bool
		want  History
	}{
		"always": {func(History) bool { return true }, History{Machines: 1}},
		"one-step": {
			func(h History) bool { return hasAll(h, "h") },
			History{Machines: 1, Steps: []Step{{Do: Apply, On: A, To: "h"}}},
		},
		"first-and-last": {
			func(h History) bool { return hasAll(h, "a", "t") },
			History{Machines: 1, Steps: []Step{{Do: Apply, On: A, To: "a"}, {Do: Apply, On: A, To: "t"}}},
		},
		"two-of-three-machines": {
			func(h History) bool {
				return h.Machines >= 2 && slices.ContainsFunc(h.Steps, func(s Step) bool { return slices.Contains(s.Hosts, 2) || slices.Contains(s.Hosts, 3) })
			},
			History{Machines: 2, Steps: []Step{{Do: Apply, On: A, Hosts: []int{2}}}},
		},
		"cut-late-at-the-second-call": {
			func(h History) bool {
				return slices.ContainsFunc(h.Steps, func(s Step) bool { return s.Cut >= 2 && s.Late })
			},
			History{Machines: 1, Steps: []Step{{Do: Apply, On: A, Cut: 2, Late: true}}},
		},
		"a-planned-apply-with-two-entries": {
			func(h History) bool {
				return h.EntryPerName && slices.ContainsFunc(h.Steps, func(s Step) bool { return s.Planned && s.Times > 0 })
			},
			History{Machines: 1, EntryPerName: true, Steps: []Step{{Do: Apply, On: A, Times: 3, Planned: true}}},
		},
		"in-their-order": {
			func(h History) bool {
				at := func(to string) int { return slices.IndexFunc(h.Steps, func(s Step) bool { return s.To == to }) }
				return at("c") >= 0 && at("c") < at("e") && at("e") < at("m")
			},
			History{Machines: 1, Steps: []Step{{Do: Apply, On: A, To: "c"}, {Do: Apply, On: A, To: "e"}, {Do: Apply, On: A, To: "m"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := numbered(20)
			replays := 0
			got := shrink(history, func(h History) bool {
				replays++
				return c.fails(h)
			})
			for i := range got.Steps { // which of twenty is left does not matter
				if len(c.want.Steps) == 1 && c.want.Steps[0].To == "" {
					got.Steps[i].To = ""
				}
				if len(got.Steps[i].Hosts) == 0 {
					got.Steps[i].Hosts = nil
				}
			}
			if len(got.Steps) == 0 {
				got.Steps = nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if replays > 300 {
				t.Errorf("%d replays", replays)
			}
			if diff := cmp.Diff(numbered(20), history); diff != "" {
				t.Errorf("the history itself was changed:\n%s", diff)
			}
		})
	}
}

// A defect that only shows between other steps is found and shrunk to what it takes.
func TestShrink_ofWhatIsPlayed(t *testing.T) {
	t.Parallel()
	forgets := map[Action]func(*world, *object){Apply: func(w *world, _ *object) {
		if w.configs[A].want.Label == "two" {
			_ = w.sim.StopProcess(address(2), namespace, process)
		}
	}}
	long := History{Machines: 3, EntryPerName: true, Steps: []Step{
		{Do: SetSpec, On: A, To: "./b.sh"},
		{Do: Join, On: A, Hosts: []int{1, 2, 3}, To: ByAddress},
		{Do: SetEnsure, On: A, To: "running"},
		{Do: Apply, On: A},
		{Do: Rekey, On: A, Hosts: []int{1}},
		{Do: SetWaves, On: A, Times: 2},
		{Do: SetLabel, On: A, To: "two"},
		{Do: Apply, On: A, Planned: true},
		{Do: Leave, On: A, Hosts: []int{3}},
		{Do: Apply, On: A},
	}}
	got := shrink(long, func(h History) bool {
		b := play(h, forgets)
		return b != nil && b.Invariant == DoesNoMore && b.Kind == "stopped"
	})
	if len(got.Steps) > 4 || got.Machines > 2 {
		t.Errorf("shrunk to\n%s", got)
	}
}
