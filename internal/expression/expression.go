package expression

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Forms shows users what an expression looks like.
const Forms = "`*` stands for any text, `?` for one character, `[a, b]` for one of these words. `[1-100]` stands for a number, `[a-f]` for a letter, " +
	"`[!ab]` for another character. Several brackets multiply. `[ab]` is the word `ab`"

// Expression selects names.
type Expression struct {
	text  string
	names *regexp.Regexp
}

// Error reports where an expression is invalid.
type Error struct {
	Expression string
	// At is the number of characters before that place.
	At  int
	Why string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%q cannot be read from character %d on: %s", e.Expression, e.At+1, e.Why)
}

// Parse reads an expression. Every error is an [*Error].
func Parse(text string) (*Expression, error) {
	var pattern strings.Builder
	pattern.WriteString(`(?s)\A`)
	stop := func(at int, err error) error {
		return &Error{Expression: text, At: utf8.RuneCountInString(text[:at]), Why: err.Error()}
	}
	at := 0
	for {
		fixed, behind, found := strings.Cut(text[at:], "[")
		pattern.WriteString(glob(fixed))
		if !found {
			break
		}
		at += len(fixed)
		inside, after, closed := strings.Cut(behind, "]")
		if !closed {
			return nil, stop(at, errors.New("a [ without its ]"))
		}
		var (
			choice string
			err    error
		)
		if characters, nested := strings.CutPrefix(inside, "["); nested && characters != "" && strings.HasPrefix(after, "]") && !strings.ContainsAny(characters, "[,") {
			after = after[1:]
			choice, err = class(characters)
		} else {
			choice, err = bracket(inside)
		}
		if err != nil {
			return nil, stop(at, err)
		}
		pattern.WriteString(choice)
		at = len(text) - len(after)
	}
	pattern.WriteString(`\z`)
	names, err := regexp.Compile(pattern.String())
	if err != nil { // too large, or not UTF-8
		return nil, stop(0, errors.New("it is too large, or no text"))
	}
	return &Expression{text: text, names: names}, nil
}

// String returns the expression as written.
func (e *Expression) String() string { return e.text }

// Match reports whether the expression selects a name. Terraform normalizes all text, and so expressions, but CMDB
// keeps names as they were typed.
func (e *Expression) Match(name string) bool { return e.names.MatchString(norm.NFC.String(name)) }

// Filter returns the selected names, in their order.
func (e *Expression) Filter(names []string) []string {
	meant := []string{}
	for _, name := range names {
		if e.Match(name) {
			meant = append(meant, name)
		}
	}
	return meant
}

// glob converts text with the wildcards * and ? to a regular expression.
func glob(text string) string {
	return strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(text))
}

// bracket converts the content of brackets to a regular expression.
func bracket(inside string) (string, error) {
	switch {
	case strings.Contains(inside, "["):
		return "", errors.New("a [ inside of brackets; [[ab]] alone has a meaning, a or b")
	case strings.HasPrefix(inside, "!"):
		return class(inside)
	case !strings.Contains(inside, ","):
		return word(inside)
	}
	var choices []string
	for element := range strings.SplitSeq(inside, ",") {
		choice, err := bracket(strings.TrimSpace(element))
		if err != nil {
			return "", err
		}
		choices = append(choices, choice)
	}
	return `(?:` + strings.Join(choices, "|") + `)`, nil
}

// maxDigits limits the numbers of a range: regular expressions for longer ones take long to compile.
const maxDigits = 18

// word converts one element in brackets: a range if it counts upwards, otherwise text.
func word(text string) (string, error) {
	first, last, found := strings.Cut(text, "-")
	switch {
	case !found:
	case isNumber(first) && isNumber(last):
		first, last = trimZeros(first), trimZeros(last)
		switch {
		case !less(first, last):
		case len(last) > maxDigits:
			return "", fmt.Errorf("a range with a number of more than %d digits", maxDigits)
		default:
			return `(?:` + strings.Join(numbers(first, last), "|") + `)`, nil
		}
	case isLetterRange(first, last):
		return fmt.Sprintf("[%s-%s]", first, last), nil
	}
	return glob(text), nil
}

// class converts a set: one of its characters or, after a !, a character that is not in it.
func class(set string) (string, error) {
	var pattern strings.Builder
	pattern.WriteString("[")
	members, not := strings.CutPrefix(set, "!")
	if not {
		pattern.WriteString("^")
	}
	characters := []rune(members)
	if len(characters) == 0 {
		return "", errors.New("[!] names no character")
	}
	for i := 0; i < len(characters); i++ {
		first, last := characters[i], characters[i]
		if i+2 < len(characters) && characters[i+1] == '-' {
			last = characters[i+2]
			i += 2
		}
		if last < first {
			return "", fmt.Errorf("%c-%c counts backwards", first, last)
		}
		fmt.Fprintf(&pattern, `\x{%x}-\x{%x}`, first, last)
	}
	pattern.WriteString("]")
	return pattern.String(), nil
}

// Slice is a part of a list by position, as in Python. A negative bound counts from the end, and
// positions beyond the list are ignored.
type Slice struct{ from, to *int }

var sliceForm = regexp.MustCompile(`\A\[([-+]?\d+)?\s?:\s?([-+]?\d+)?\]\z`)

// ParseSlice parses [0:10], [:10], [-10:] and the like. ok is false for anything else.
func ParseSlice(text string) (s Slice, ok bool) {
	bounds := sliceForm.FindStringSubmatch(text)
	if bounds == nil {
		return Slice{}, false
	}
	return Slice{from: bound(bounds[1]), to: bound(bounds[2])}, true
}

// Of returns the part of a list that the slice selects.
func (s Slice) Of(names []string) []string {
	from, to := 0, len(names)
	if s.from != nil {
		from = position(*s.from, len(names))
	}
	if s.to != nil {
		to = position(*s.to, len(names))
	}
	return slices.Clone(names[min(from, to):to])
}

func position(n, length int) int {
	if n < 0 {
		n += length
	}
	return max(0, min(n, length))
}
