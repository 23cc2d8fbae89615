package diagnose

import "strings"

// Limits on how much of a command's output is kept.
const (
	maxOutputLines = 5
	maxLineRunes   = 160
	maxStateLines  = 3
	maxStateRunes  = 240
)

// cutMark replaces what is cut.
const cutMark = "…"

// tail returns the last lines of a command's output, which have the cause. They are printable, as everything
// from the clients is.
func tail(message string) string {
	lines := printed(message)
	if len(lines) > maxOutputLines {
		lines = append([]string{cutMark}, lines[len(lines)-maxOutputLines:]...)
	}
	for i, line := range lines {
		if runes := []rune(line); len(runes) > maxLineRunes {
			lines[i] = string(runes[:maxLineRunes]) + cutMark
		}
	}
	return strings.Join(lines, "\n")
}

// printed returns the lines of a text that are not blank.
func printed(message string) []string {
	var lines []string
	for line := range strings.Lines(message) {
		if line = strings.TrimRight(strings.ReplaceAll(line, "\t", " "), " \n"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// indented returns lines as they are printed below a row.
func indented(lines string) string {
	var text strings.Builder
	for line := range strings.Lines(lines) {
		text.WriteString("      " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return text.String()
}

// onOneLine returns the end of a command's output on one line, for state.
func onOneLine(message string) string {
	lines := printed(message)
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	cut := ""
	if len(lines) > maxStateLines {
		lines, cut = lines[len(lines)-maxStateLines:], cutMark
	}
	text := []rune(strings.Join(lines, " | "))
	if len(text) > maxStateRunes {
		text, cut = text[len(text)-maxStateRunes:], cutMark
	}
	return cut + string(text)
}
