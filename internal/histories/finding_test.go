package histories

import (
	_ "embed"
	"fmt"
	"strings"
)

// knownBroken is what is not repaired, and why. Histories leave out what the generator has by
// one of these names; what it has no name for is so rare that they need not. Each has a
// history in TestFound that fails: when it does not fail any more, it is to be taken from
// here.
var knownBroken = map[string]string{
	"times-kept-by-others": "an agent whose registration time stays when another object registers: where the file names that object, nothing can be destroyed, " +
		"and where the file is old, the other's registration goes",
}

// finding is a history that something was found with.
type finding struct {
	history   History
	open      string // what of knownBroken it shows, nothing if that is fixed
	invariant Invariant
	kind      string
}

//go:embed testdata/found.txt
var foundText string

// found are histories that something was found with, in their shortest form, by what they were
// found for.
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
