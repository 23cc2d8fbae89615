package fleet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// span are keys that differ in one number, from first to last.
func span(format string, first, last int) []string {
	var keys []string
	for n := first; n <= last; n++ {
		keys = append(keys, fmt.Sprintf(format, n))
	}
	return keys
}

func TestRanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys []string
		want []string
	}{
		"none":                    {nil, nil},
		"one":                     {[]string{"web"}, []string{"web"}},
		"two-are-named":           {span("web-%d", 9, 10), []string{"web-9", "web-10"}},
		"padded":                  {span("web-%03d", 21, 50), []string{"web-021…web-050"}},
		"across-digits":           {span("web-%d", 8, 101), []string{"web-8…web-101"}},
		"a-gap":                   {append(span("w%d", 1, 3), span("w%d", 5, 9)...), []string{"w1…w3", "w5…w9"}},
		"order-is-natural":        {[]string{"w10", "w9", "w2", "db"}, []string{"db", "w2", "w9", "w10"}},
		"number-in-the-middle":    {span("web-%02d.gz.example", 1, 4), []string{"web-01.gz.example…web-04.gz.example"}},
		"addresses":               {span("0:10.0.0.%d", 254, 256), []string{"0:10.0.0.254…0:10.0.0.256"}},
		"one-place-at-a-time":     {[]string{"a1b1", "a1b2", "a2b2", "a3b2"}, []string{"a1b1", "a1b2", "a2b2", "a3b2"}},
		"padding-is-part-of-it":   {[]string{"w1", "w02", "w3", "w4", "w5"}, []string{"w1", "w02", "w3…w5"}},
		"longer-than-any-number":  {[]string{"a" + strings.Repeat("9", 30), "a1"}, []string{"a1", "a" + strings.Repeat("9", 30)}},
		"text-beside-numbers":     {append(span("w%d", 1, 3), "w", "w-a", "wx"), []string{"w", "w1…w3", "w-a", "wx"}},
		"the-same-but-for-zeros":  {[]string{"w2", "w02", "w002"}, []string{"w002", "w02", "w2"}},
		"text-behind-differs":     {[]string{"w1a", "w2b", "w3c"}, []string{"w1a", "w2b", "w3c"}},
		"no-number-where-it-ends": {[]string{"web-", "web-1"}, []string{"web-", "web-1"}},
	} {
		fleettest.Same(t, name, c.want, fleet.Ranges(c.keys))
	}
}

// However keys are made, the order is one, and a range has no end that was not given.
func FuzzRanges(f *testing.F) {
	f.Add("web-9", "web-10", "web-011")
	f.Add("a1b1", "a1b2", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		keys := []string{a, b, c}
		for _, x := range keys {
			for _, y := range keys {
				if there, back := fleet.CompareKeys(x, y), fleet.CompareKeys(y, x); there != -back || (there == 0) != (x == y) {
					t.Errorf("%q against %q is %d, and %d the other way round", x, y, there, back)
				}
			}
		}
		sorted := slices.SortedFunc(slices.Values(keys), fleet.CompareKeys)
		slices.Reverse(keys)
		again := slices.SortedFunc(slices.Values(keys), fleet.CompareKeys)
		fleettest.Check(t, slices.Equal(sorted, again), "%q, and from the other end %q", sorted, again)
		for _, r := range fleet.Ranges(keys) {
			if first, last, _ := strings.Cut(r, "…"); !slices.Contains(keys, r) && (!slices.Contains(keys, first) || !slices.Contains(keys, last)) {
				t.Errorf("%q of %q", r, keys)
			}
		}
	})
}
