package cmdb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// UnknownError reports that something does not exist, and names what does.
type UnknownError struct {
	// What is the kind of thing: "business", "dynamic group".
	What string
	Name string
	// Business was searched, 0 if it is itself what does not exist.
	Business int64
	// Nearby names things of that kind that exist.
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

// few is the number of names in a message.
const few = 10

func firstFew(names []string) []string {
	if len(names) <= few {
		return names
	}
	return append(slices.Clone(names[:few]), fmt.Sprintf("and %d more", len(names)-few))
}

// nearest sorts names by the length of the prefix that they share with the wanted one, longest first.
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
