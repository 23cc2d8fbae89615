package histories

import "maps"

// knownBroken is what is not mended, and why. Histories leave out what the generator has by
// one of these names; what it has no name for is so rare that they need not. Each has a
// history in TestFound that fails: when it does not fail any more, it is to be taken from
// here.
var knownBroken = map[string]string{
	"times-kept-by-others": "an agent whose registration time stays when another object registers: where the file names that object, nothing can be destroyed, " +
		"and where the file is old, the other's registration goes",
}

// found are histories that something was found with, in their shortest form, by what
// they were found for.
var found = joined(foundWithNames, foundWithSuppliers, foundOvertaken, foundWithTimes)

// finding is a history that something was found with.
type finding struct {
	open      string // the switch that leaves out what is broken, nothing if it is mended
	invariant Invariant
	kind      string
	history   History
}

func joined(tables ...map[string]finding) map[string]finding {
	all := make(map[string]finding)
	for _, table := range tables {
		maps.Copy(all, table)
	}
	return all
}
