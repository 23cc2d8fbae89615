package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// CountHosts is "n of m hosts".
func CountHosts(n, of int) string {
	return fmt.Sprintf("%d of %s", n, Hosts(of))
}

// Hosts is "n hosts".
func Hosts(n int) string {
	if n == 1 {
		return "1 host"
	}
	return fmt.Sprintf("%d hosts", n)
}

// CountFailures is CountHosts of failures. Where not all of them did fail, it tells how
// many did.
func CountFailures(failures fleet.Results, of int) string {
	text := CountHosts(len(failures), of)
	if t := tallyOf(failures); t.failed != len(failures) {
		text += " (" + t.String() + ")"
	}
	return text
}

// CountOutcomes is the outcome of a run in numbers of hosts.
func CountOutcomes(failures fleet.Results, of int) string {
	text := fmt.Sprintf("%s: %d done", Hosts(of), of-len(failures))
	if len(failures) > 0 {
		text += ", " + tallyOf(failures).String()
	}
	return text
}

// tally counts hosts that failed, those whose outcome is not known, and those that were not tried.
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

// What people look for first comes first.
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

// InWaves describes waves by number and size; it is "" for a single one.
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

// longLine is how long a rollout_plan of one line may be. Terraform shows the one before in front of it.
const longLine = 100

// Lines is a rollout_plan of lines. Terraform compares a text of several line by line.
func Lines(lines []string) string {
	if len(lines) == 1 && len(lines[0]) > longLine {
		return strings.Replace(lines[0], ": ", ":\n", 1)
	}
	return strings.Join(lines, "\n")
}

var repeated = regexp.MustCompile(`^again(?: \((\d+)\))?: `)

// IsAgain reports whether a rollout_plan, or a part of it, is that of the apply before.
func IsAgain(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"), repeated.MatchString)
}

// Again is a rollout_plan after the previous one. If both were the same, a plan would show no
// change, so it then begins with again.
func Again(text, before string) string {
	times := make(map[string]int)
	for line := range strings.SplitSeq(before, "\n") {
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
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch n := times[line]; { // a line of waves belongs to the line before it
		case n == 1 && !strings.HasPrefix(line, "in "):
			lines[i] = "again: " + line
		case n > 1:
			lines[i] = fmt.Sprintf("again (%d): %s", n, line)
		}
	}
	return strings.Join(lines, "\n")
}
