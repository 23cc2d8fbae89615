package expression

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isNumber reports whether text is a bound of a range of numbers: digits only.
func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

func trimZeros(number string) string {
	if trimmed := strings.TrimLeft(number, "0"); trimmed != "" {
		return trimmed
	}
	return "0"
}

// less compares numbers of any length, without leading zeros.
func less(a, b string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	return a < b
}

// isLetterRange reports whether two texts are letters of the same case, in order.
func isLetterRange(first, last string) bool {
	a, n := utf8.DecodeRuneInString(first)
	b, m := utf8.DecodeRuneInString(last)
	return n == len(first) && m == len(last) && unicode.IsLetter(a) && unicode.IsLetter(b) && unicode.IsLower(a) == unicode.IsLower(b) && a < b
}

// numbers returns regular expressions for the numbers from first to last, which have no
// leading zeros: one for each length.
func numbers(first, last string) []string {
	var patterns []string
	for length := len(first); length <= len(last); length++ {
		from, to := "1"+strings.Repeat("0", length-1), strings.Repeat("9", length)
		if length == len(first) {
			from = first
		}
		if length == len(last) {
			to = last
		}
		patterns = append(patterns, digits(from, to))
	}
	return patterns
}

// digits returns a regular expression for the numbers from one to another of the same length.
func digits(from, to string) string {
	switch {
	case from == to:
		return from
	case from[0] == to[0]:
		return from[:1] + digits(from[1:], to[1:])
	case strings.Trim(from[1:], "0") == "" && strings.Trim(to[1:], "9") == "":
		return fmt.Sprintf("[%c-%c]", from[0], to[0]) + strings.Repeat("[0-9]", len(from)-1)
	}
	zeros, nines := strings.Repeat("0", len(from)-1), strings.Repeat("9", len(from)-1)
	choices := []string{from[:1] + digits(from[1:], nines)}
	if from[0]+1 < to[0] {
		choices = append(choices, fmt.Sprintf("[%c-%c]", from[0]+1, to[0]-1)+strings.Repeat("[0-9]", len(from)-1))
	}
	choices = append(choices, to[:1]+digits(zeros, to[1:]))
	return `(?:` + strings.Join(choices, "|") + `)`
}

// bound parses a bound of a slice, nil if there is none. One that is too large for an int
// is beyond any list.
func bound(text string) *int {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		n = math.MaxInt
		if strings.HasPrefix(text, "-") {
			n = math.MinInt / 2
		}
	}
	return &n
}
