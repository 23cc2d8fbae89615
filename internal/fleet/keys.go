package fleet

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// CompareKeys compares keys in natural order: web-9 comes before web-10.
func CompareKeys(a, b string) int {
	same := sameChunks(a, b)
	x, y := a[same:], b[same:]
	for x != "" && y != "" {
		p, q := chunk(x), chunk(y)
		order := cmp.Compare(p, q)
		if isDigit(p[0]) && isDigit(q[0]) {
			order = compareNumbers(p, q)
		}
		if order != 0 {
			return order
		}
		x, y = x[len(p):], y[len(q):]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// sameChunks returns the length of the chunks with which both a and b begin. Most keys of a fleet differ only
// in their last number.
func sameChunks(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	if n == 0 {
		return 0
	}
	// The last chunk may go on in a or b, and then differs.
	for digits := isDigit(a[n-1]); n > 0 && isDigit(a[n-1]) == digits; {
		n--
	}
	return n
}

// Ranges writes keys in short form, in the order of CompareKeys. Three or more that count up by one in one
// place become web-021…web-050. A range holds only keys that were given.
func Ranges(keys []string) []string {
	keys = slices.SortedFunc(slices.Values(keys), CompareKeys)
	var ranges []string
	for len(keys) > 0 {
		n := counted(keys)
		if n < 3 {
			ranges = append(ranges, keys[:n]...)
		} else {
			ranges = append(ranges, keys[0]+"…"+keys[n-1])
		}
		keys = keys[n:]
	}
	return ranges
}

// counted returns how many keys, from the first on, count up by one in one place.
func counted(keys []string) int {
	var place int
	for n := 1; n < len(keys); n++ {
		at, follows := follows(keys[n-1], keys[n])
		if !follows || (n > 1 && at != place) {
			return n
		}
		place = at
	}
	return len(keys)
}

// follows reports whether b is a with one of its numbers increased by one, leading zeros kept, and where that
// number begins.
func follows(a, b string) (place int, ok bool) {
	for place < min(len(a), len(b)) && a[place] == b[place] {
		place++
	}
	for place > 0 && isDigit(a[place-1]) {
		place--
	}
	x, y := number(a[place:]), number(b[place:])
	if a[place+len(x):] != b[place+len(y):] {
		return 0, false
	}
	if len(x) != len(y) && (strings.HasPrefix(x, "0") || strings.HasPrefix(y, "0")) {
		return 0, false
	}
	m, errX := strconv.ParseUint(x, 10, 64)
	n, errY := strconv.ParseUint(y, 10, 64)
	return place, errX == nil && errY == nil && m+1 == n
}

// chunk returns the number, or the text without digits, with which s begins.
func chunk(s string) string {
	n := 1
	for n < len(s) && isDigit(s[n]) == isDigit(s[0]) {
		n++
	}
	return s[:n]
}

func number(s string) string {
	if s == "" || !isDigit(s[0]) {
		return ""
	}
	return chunk(s)
}

// compareNumbers compares numbers of any length by value.
func compareNumbers(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
