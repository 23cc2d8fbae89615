package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// CountHosts returns "n of m hosts".
func CountHosts(n, of int) string {
	return fmt.Sprintf("%d of %s", n, Hosts(of))
}

// Hosts returns "n hosts".
func Hosts(n int) string {
	if n == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", n)
}

// CountFailures is CountHosts of failures. If not all of these hosts failed, it adds how many of them failed,
// have an unknown outcome, or were not tried.
func CountFailures(failures fleet.Results, of int) string {
	text := CountHosts(len(failures), of)
	if t := tallyOf(failures); t.failed != len(failures) {
		text += " (" + t.String() + ")"
	}
	return text
}

// CountOutcomes describes the outcome of a run in numbers of hosts.
func CountOutcomes(failures fleet.Results, of int) string {
	text := fmt.Sprintf("%s: %d done", Hosts(of), of-len(failures))
	if len(failures) > 0 {
		text += ", " + tallyOf(failures).String()
	}
	return text
}

// tally counts hosts that failed, that have an unknown outcome, and that were not tried.
type tally struct{ failed, unknown, notTried int }

func tallyOf(failures fleet.Results) tally {
	var t tally
	for _, o := range failures {
		switch rankOf(o) {
		case rankFailed:
			t.failed++
		case rankUnknown:
			t.unknown++
		default: // not tried
			t.notTried++
		}
	}
	return t
}

func (t tally) String() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{t.failed, "failed"}, {t.unknown, reasonUnknown}, {t.notTried, "not tried"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// Ranks of outcomes in a message: what people look for first comes first.
const (
	rankFailed = iota
	rankUnknown
	rankNotTried
)

func rankOf(o fleet.Outcome) int {
	switch code := operationCode(o); {
	case CodeInDoubt(code):
		return rankUnknown
	case code == NotTried:
		return rankNotTried
	}
	return rankFailed
}

// mostWaves is how many waves are listed one by one.
const mostWaves = 12

// InWaves describes waves by number and size. It returns "" for a single wave.
func InWaves(sizes []int) string {
	last := len(sizes) - 1
	if last <= 0 {
		return ""
	}
	if slices.Max(sizes) == sizes[0] && slices.Min(sizes[:last]) == sizes[0] {
		return fmt.Sprintf(" in %d waves of %d", len(sizes), sizes[0])
	}
	var texts []string
	for i, size := range sizes {
		if i < mostWaves || i == last {
			texts = append(texts, strconv.Itoa(size))
		} else if i == mostWaves {
			texts = append(texts, "…")
		}
	}
	return fmt.Sprintf(" in %d waves of %s", len(sizes), strings.Join(texts, ", "))
}

// longLine is the longest rollout_plan of one line. Terraform prints the previous value in front of it.
const longLine = 100

// Lines joins the lines of a rollout_plan. A single line that is too long becomes two, because Terraform
// compares a text of several lines line by line.
func Lines(lines []string) string {
	if len(lines) == 1 && len(lines[0]) > longLine {
		return strings.Replace(lines[0], ": ", ":\n", 1)
	}
	return strings.Join(lines, "\n")
}

var repeated = regexp.MustCompile(`^again(?: \((\d+)\))?: `)

// IsAgain reports whether a rollout_plan, or a line of it, is the same as in the previous apply.
func IsAgain(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"), repeated.MatchString)
}

// Again returns a rollout_plan that follows before. A line that is the same as before begins with again, since
// a plan would show no change otherwise.
func Again(text, before string) string {
	times := make(map[string]int)
	for _, line := range whole(before) {
		n := 1
		if found := repeated.FindStringSubmatch(line); found != nil {
			line = strings.TrimPrefix(line, found[0])
			n = 2
			if found[1] != "" {
				n, _ = strconv.Atoi(found[1])
				n++
			}
		}
		times[line] = n
	}
	lines := whole(text)
	for i, line := range lines {
		switch n := times[line]; { // a line of waves continues the line before it
		case n == 1 && !strings.HasPrefix(line, "in "):
			lines[i] = "again: " + line
		case n > 1:
			lines[i] = fmt.Sprintf("again (%d): %s", n, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), broken, ":\n")
}

// broken stands for the place at which Lines has broken a line in two.
const broken = ":\x00"

// whole returns the lines of a rollout_plan. One that Lines has broken is one line.
func whole(text string) []string { return strings.Split(strings.ReplaceAll(text, ":\n", broken), "\n") }
