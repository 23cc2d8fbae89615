package bkapi

import (
	"strings"
	"unicode"
)

// Printable returns a text of other origin without characters that control a terminal or reverse the reading
// order. It removes control characters (including C1), direction marks and other invisible characters. It keeps
// line feeds and tabs, and replaces invalid UTF-8 by U+FFFD.
func Printable(text string) string {
	if isASCIIPrint(text) {
		return text
	}

	return strings.Map(printable, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// isASCIIPrint reports whether a text has nothing to remove, as is true of most.
func isASCIIPrint(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\n' && c != '\t') || c > '~' {
			return false
		}
	}

	return true
}

func printable(char rune) rune {
	switch {
	case char == '\n', char == '\t', unicode.IsPrint(char):
		return char
	case char != '\r' && unicode.IsSpace(char):
		return ' '
	default:
		return -1
	}
}
