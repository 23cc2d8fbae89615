package diagnose

import (
	"slices"
	"testing"
)

func TestInWaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sizes []int
		want  string
	}{
		"none":       {nil, ""},
		"one":        {[]int{5}, ""},
		"equal":      {[]int{5, 5}, " in 2 waves of 5"},
		"the-rest":   {[]int{5, 5, 2}, " in 3 waves of 5"},
		"last-grows": {[]int{5, 6}, " in 2 waves of 5, 6"},
		"growing":    {[]int{1, 2, 4}, " in 3 waves of 1, 2, 4"},
		"all-listed": {append(slices.Repeat([]int{1}, 12), 2), " in 13 waves of 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2"},
		"too-many":   {append(slices.Repeat([]int{1}, 13), 2), " in 14 waves of 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, …, 2"},
	} {
		if got := InWaves(c.sizes); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A plan that equals the one before says so, and how often.
func TestAgain(t *testing.T) {
	t.Parallel()
	for text, want := range map[[2]string]string{
		{"a", ""}: "a", {"a", "b"}: "a", {"a", "a"}: "again: a", {"a", "again: a"}: "again (2): a", {"a", "again (2): a"}: "again (3): a", {"a\nin 2 waves", "a\nin 2 waves"}: "again: a\nin 2 waves",
	} {
		if got := Again(text[0], text[1]); got != want || IsAgain(got) != (want != text[0]) {
			t.Errorf("%q after %q: %q, want %q", text[0], text[1], got, want)
		}
	}
}
