package cmdb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// UnknownError says that something is not there, and what is.
type UnknownError struct {
	// What is the kind of thing: "business", "dynamic group".
	What string
	Name string
	// Business has none by that name; 0 where it is itself unknown.
	Business int64
	// Nearby are those that exist.
	Nearby []string
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("there is no %s %s", e.What, e.Name)
	if e.Business != 0 {
		text = fmt.Sprintf("business %d has no %s %s", e.Business, e.What, e.Name)
	}
	if len(e.Nearby) == 0 {
		return text
	}
	return text + "; there are " + strings.Join(firstFew(nearest(e.Name, e.Nearby)), ", ")
}

// few is how many of what exists a message names.
const few = 10

func firstFew(names []string) []string {
	if len(names) <= few {
		return names
	}
	return append(slices.Clone(names[:few]), fmt.Sprintf("and %d more", len(names)-few))
}

// nearest sorts names by how much of their beginning they share with the one that was
// looked for.
func nearest(wanted string, names []string) []string {
	wanted = strings.Trim(wanted, `"`)
	shared := func(name string) int {
		n := 0
		for n < min(len(name), len(wanted)) && name[n] == wanted[n] {
			n++
		}
		return n
	}
	return slices.SortedStableFunc(slices.Values(names), func(a, b string) int { return cmp.Compare(shared(b), shared(a)) })
}
