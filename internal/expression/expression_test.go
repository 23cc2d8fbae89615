package expression_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/expression"
)

func TestExpression(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		expression string
		meant, not string // names apart by blanks; · is a blank inside of one
	}{
		"text":                   {"web", "web", "web1 aweb Web"},
		"text-is-no-pattern":     {"a.b+c(d)^$|\\", "a.b+c(d)^$|\\", "axb+c(d)^$|\\"},
		"nothing":                {"", "", "a"},
		"star":                   {"web*", "web web1 web-1-2 web·1", "aweb We"},
		"star-in-the-middle":     {"a*c", "ac abc abbc acc", "ab bc"},
		"star-takes-line-ends":   {"a*c", "a\nc", ""},
		"question-mark":          {"web?", "web1 web中", "web web12"},
		"question-marks":         {"??", "ab", "a abc"},
		"case":                   {"Web*", "Web1", "web1"},
		"chinese":                {"广州[一区,二区]", "广州一区 广州二区", "广州三区 广州"},
		"composed":               {"caf\u00e9", "caf\u00e9 cafe\u0301", "cafe"},
		"words":                  {"[web, db]", "web db", "web,·db webdb w"},
		"words-trimmed":          {"[  web ,db  ]-1", "web-1 db-1", "··web·-1"},
		"words-with-patterns":    {"[web*, d?]", "web1 db", "d d12"},
		"words-and-ranges":       {"x[1-3, 7, a-c, end]", "x1 x3 x7 xa xc xend", "x4 xd x xe"},
		"words-repeated":         {"[a, a]", "a", "b"},
		"word-alone":             {"[ab]", "ab", "a b"},
		"word-alone-with-blanks": {"[ ab ]", "·ab·", "ab"},
		"word-with-pattern":      {"[w*]", "web w", "x"},
		"word-empty":             {"a[]b", "ab", "a[]b"},
		"word-empty-in-a-list":   {"a[,1]", "a a1", "a,1"},
		"number":                 {"[1-100]", "1 9 10 42 99 100", "0 101 01 1a 1000 -1"},
		"number-from-zero":       {"[0-3]", "0 3", "4 00"},
		"number-odd-bounds":      {"[37-1204]", "37 99 100 999 1000 1199 1204", "36 1205 2000 3 037"},
		"number-in-text":         {"gz-[1-12]-a", "gz-1-a gz-12-a", "gz-13-a gz-1a"},
		"number-beside-digits":   {"1[1-10]*", "11 110 1105", "10 1"},
		"number-leading-zeros":   {"[01-10]", "1 10", "01 001"},
		"number-of-18-digits":    {"[99999999999999999-100000000000000001]", "99999999999999999 100000000000000000", "9 100000000000000002"},
		"number-long-by-zeros":   {"[1-" + strings.Repeat("0", 3000) + "3]", "1 2 3", "0 4"},
		"number-long-backwards":  {"[1000000000000000000-1]", "1000000000000000000-1", "1 5"},
		"number-backwards":       {"[9-1]", "9-1", "9 1 5"},
		"number-of-one":          {"[3-3]", "3-3", "3"},
		"number-with-blanks":     {"[1 - 3]", "1·-·3", "1 2 3"},
		"number-three-bounds":    {"[1-2-3]", "1-2-3", "1 2"},
		"letters":                {"[a-f]", "a c f", "g A ab a-f"},
		"letters-upper":          {"[A-C]", "A C", "a D"},
		"letters-backwards":      {"[c-a]", "c-a", "b"},
		"letters-of-one":         {"[a-a]", "a-a", "a"},
		"letters-mixed-cases":    {"[a-Z]", "a-Z", "a b Z"},
		"letters-and-numbers":    {"[a-9]", "a-9", "a 9"},
		"letters-more-than-one":  {"[ab-cd]", "ab-cd", "ab b"},
		"not":                    {"web[!12]", "web3 weba", "web1 web2 web web34"},
		"not-a-range":            {"[!a-c]", "d A -", "a b c"},
		"not-a-list":             {"[!a, b]", "c", "a b , ·"},
		"not-a-hyphen":           {"[!a-]", "b", "a -"},
		"not-in-a-list":          {"[ab, !a]", "ab b", "a cd"},
		"not-a-caret":            {"[!^]", "a", "^"},
		"one-of":                 {"[[ab]]1", "a1 b1", "ab1 c1 [ab]1"},
		"one-of-a-range":         {"[[a-c]]", "a c", "d a-c"},
		"one-of-digits":          {"[[1-30]]", "1 2 3 0", "4 30"},
		"none-of":                {"[[!ab]]", "c", "a ab"},
		"several-multiply":       {"[gz, sh]-[1-2][a-b]", "gz-1a gz-2b sh-1b", "gz-3a bj-1a gz-1"},
		"stray-closing":          {"a]b", "a]b", "ab"},
		"slice-is-text":          {"[0:10]", "0:10", "0 5"},
	} {
		e, err := expression.Parse(c.expression)
		if err != nil {
			t.Fatal(name, err)
		}
		check := func(list string, want bool) {
			for name := range strings.SplitSeq(list, " ") {
				name = strings.ReplaceAll(name, "·", " ")
				if (list != "" || want == (c.expression == "")) && e.Match(name) != want {
					t.Errorf("%s: %s: %q matches: %t", name, c.expression, name, !want)
				}
			}
		}
		check(c.meant, true)
		check(c.not, false)
	}
}

// A range has each of its numbers and no other.
func TestExpression_everyNumber(t *testing.T) {
	t.Parallel()
	for first := 0; first < 130; first += 13 {
		for last := first + 1; last < 1250; last += 41 {
			e, err := expression.Parse("[" + strconv.Itoa(first) + "-" + strconv.Itoa(last) + "]")
			if err != nil {
				t.Fatal(err)
			}
			for n := range 1400 {
				if got, want := e.Match(strconv.Itoa(n)), first <= n && n <= last; got != want {
					t.Fatalf("%s: %d matches: %t", e, n, got)
				}
			}
		}
	}
}

func TestExpression_unreadable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		expression, want string
		at               int
	}{
		"no-end":          {"gz-[1-3", `"gz-[1-3" cannot be read from character 4 on: a [ without its ]`, 3},
		"no-end-later":    {"广州[1-3]x[", `"广州[1-3]x[" cannot be read from character 9 on: a [ without its ]`, 8},
		"nested":          {"x[a,[b]]", `"x[a,[b]]" cannot be read from character 2 on: a [ inside of brackets; [[ab]] alone has a meaning, a or b`, 1},
		"nested-list":     {"[[a,b]]", `"[[a,b]]" cannot be read from character 1 on: a [ inside of brackets; [[ab]] alone has a meaning, a or b`, 0},
		"nested-unclosed": {"[[ab]", `"[[ab]" cannot be read from character 1 on: a [ inside of brackets; [[ab]] alone has a meaning, a or b`, 0},
		"nested-nothing":  {"[[]]", `"[[]]" cannot be read from character 1 on: a [ inside of brackets; [[ab]] alone has a meaning, a or b`, 0},
		"long-number":     {"a[1-1000000000000000000]", `"a[1-1000000000000000000]" cannot be read from character 2 on: a range with a number of more than 18 digits`, 1},
		"not-nothing":     {"a[!]", `"a[!]" cannot be read from character 2 on: [!] names no character`, 1},
		"not-backwards":   {"[!z-a]", `"[!z-a]" cannot be read from character 1 on: z-a counts backwards`, 0},
		"no-text":         {"a\xff", `"a\xff" cannot be read from character 1 on: it is too large, or no text`, 0},
	} {
		_, err := expression.Parse(c.expression)
		var stop *expression.Error
		if !errors.As(err, &stop) {
			t.Fatalf("%s: no error, but %v", name, err)
		}
		if err.Error() != c.want || stop.At != c.at {
			t.Errorf("%s: at %d: %s", name, stop.At, err)
		}
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	e, err := expression.Parse("module-[a-d].proc[!2].[10-19, 30-39]")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"module-c.proc3.30", "module-b.proc2.20", "module-a.proc1.10", "module-d.proc4.40", "module-c.proc3.30"}
	want := []string{"module-c.proc3.30", "module-a.proc1.10", "module-c.proc3.30"}
	if diff := cmp.Diff(want, e.Filter(names)); diff != "" {
		t.Errorf("in another order, or others (-want +got):\n%s", diff)
	}
}

func TestSlice(t *testing.T) {
	t.Parallel()
	list := strings.Split("abcde", "")
	for text, want := range map[string]string{
		"[0:2]": "ab", "[:2]": "ab", "[3:]": "de", "[:]": "abcde", "[-2:]": "de", "[:-3]": "ab", "[1:-1]": "bcd", "[+1:+2]": "b", "[1 : 2]": "b",
		"[0:10]": "abcde", "[-10:1]": "a", "[7:9]": "", "[3:1]": "", "[2:2]": "",
		"[0:99999999999999999999]": "abcde", "[-99999999999999999999:1]": "a",
	} {
		slice, ok := expression.ParseSlice(text)
		if got := strings.Join(slice.Of(list), ""); !ok || got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "*", "[0-10]", "[0:10]x", "x[0:10]", "[0:1][0:1]", "[a:b]", "[1:2:3]", "[0:10", "[1  : 2]"} {
		if _, ok := expression.ParseSlice(text); ok {
			t.Errorf("%q is a slice", text)
		}
	}
	whole, _ := expression.ParseSlice("[:]")
	got := whole.Of(list)
	got[0] = "z"
	if !slices.Equal(list, strings.Split("abcde", "")) {
		t.Error("a slice shares its list's memory")
	}
}
