package histories

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // plans are short-lived: a fifth of the time went into collecting them
	providertest.Main(m)
}

// Whatever happens to a few machines, six things hold; see [Invariant]. What fails is
// shrunk and printed, to be read and to be put into testdata/found.txt.
//
// BK_TEST_WITH plays what is known to be broken as well: a list of what is in knownBroken, or all.
func TestHistories(t *testing.T) {
	t.Parallel()
	without := make(map[string]bool)
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

// knownBroken is what is not repaired, and why. Histories leave out what the generator has by one of these names; what
// it has no name for is so rare that they need not. Each has a history in TestFound that fails: when it does not fail
// any more, it is to be taken from here.
var knownBroken = map[string]string{
	"times-kept-by-others": "an agent whose registration time stays when another object registers: where the file names that object, nothing can be destroyed, " +
		"and where the file is old, the other's registration goes",
}

type finding struct {
	history   History
	open      string // what of knownBroken it shows, nothing if that is fixed
	invariant Invariant
	kind      string
}

//go:embed testdata/found.txt
var foundText string

// found are histories that something was found with, in their shortest form, by what they were found for.
var found = findings(foundText)

// findings reads testdata/found.txt, where a line before a history says what it breaks still.
func findings(text string) map[string]finding {
	all := make(map[string]finding)
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		name, rest, _ := strings.Cut(block, "\n")
		if strings.HasPrefix(name, "#") {
			continue
		}
		var f finding
		if breaks, after, _ := strings.Cut(rest, "\n"); strings.HasPrefix(breaks, "breaks") {
			if _, err := fmt.Sscanf(breaks, "breaks invariant %d by %s known as %s", &f.invariant, &f.kind, &f.open); err != nil {
				panic(fmt.Sprintf("%s: %v", name, err))
			}
			rest = after
		}
		history, err := historyOf(strings.Split(rest, "\n"))
		if _, twice := all[name]; twice || err != nil {
			panic(fmt.Sprintf("%s: twice: %t, %v", name, twice, err))
		}
		f.history = history
		all[name] = f
	}
	return all
}
