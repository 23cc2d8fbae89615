package histories

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// Whatever happens to a few machines, six things hold; see [Invariant]. What fails is
// shrunk and printed, to be read and to be put into testdata/found.txt.
//
// BK_TEST_WITH plays what is known to be broken as well: a list of what is in
// knownBroken, or all.
func TestHistories(t *testing.T) {
	t.Parallel()
	without := make(switches)
	for name := range knownBroken {
		without[name] = true
	}
	for name := range strings.SplitSeq(os.Getenv("BK_TEST_WITH"), ",") {
		delete(without, name)
		if name == "all" {
			clear(without)
		}
	}
	providertest.InRounds(t, 150, func(t *testing.T, chance *rand.Rand) {
		t.Helper()
		history := generate(chance, without)
		breach := play(history, nil)
		if breach == nil {
			return
		}
		shortest := shrink(history, func(h History) bool {
			b := play(h, nil)
			return b != nil && b.Invariant == breach.Invariant && b.Kind == breach.Kind
		})
		if b := play(shortest, nil); b != nil {
			breach = b
		}
		t.Errorf("%s\n\n%s", breach, shortest)
	})
}

// What histories have found is repaired and stays so; what is known to be broken and is
// left out elsewhere is broken still.
func TestFound(t *testing.T) {
	t.Parallel()
	for name, f := range found {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			breach := play(f.history, nil)
			switch {
			case f.open == "" && breach != nil:
				t.Error(breach)
			case f.open == "":
			case knownBroken[f.open] == "":
				t.Errorf("%q is not known to be broken", f.open)
			case breach == nil:
				t.Errorf("it is fixed: take %q from knownBroken, and what it breaks from testdata/found.txt", f.open)
			case breach.Invariant != f.invariant || breach.Kind != f.kind:
				t.Errorf("it fails in another way: %s", breach)
			}
		})
	}
}

// What is printed of a history that fails can be put into testdata/found.txt as it is.
func TestHistory_printed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		history := generate(rand.New(rand.NewPCG(seed, 1)), nil)
		read, err := historyOf(strings.Split(strings.TrimSpace(history.String()), "\n"))
		if diff := cmp.Diff(history, read, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v\n%s", err, diff)
		}
	}
}
