package tape

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Report is the result of playing a tape.
type Report struct {
	Version string `json:"bk_doctor"`
	// Profile reports whether the simulator ran with a profile.
	Profile bool  `json:"profile"`
	Rows    []Row `json:"apis"`
}

// Played returns the number of exchanges that were played.
func (r Report) Played() int { return r.sum(func(row Row) int { return row.Played }) }

// Differ returns the number of exchanges with a difference.
func (r Report) Differ() int { return r.sum(func(row Row) int { return row.Differ }) }

func (r Report) sum(of func(Row) int) int {
	total := 0
	for _, row := range r.Rows {
		total += of(row)
	}
	return total
}

// WriteJSON writes the report for programs.
func (r Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// String returns the report as text that can be pasted into an issue.
func (r Report) String() string {
	var text strings.Builder
	for _, row := range r.Rows {
		row.print(&text)
	}
	fmt.Fprintf(&text, "\n### bk-doctor verify\n\nbk-doctor %s, %s; %d exchanges played, %d differ\n\n", r.Version,
		map[bool]string{true: "with a profile", false: "without a profile"}[r.Profile], r.Played(), r.Differ())
	text.WriteString("| API | Where | Platform | Simulator | Times |\n|---|---|---|---|---|\n")
	for _, row := range r.Rows {
		if row.Played > 0 && len(row.Differences) == 0 {
			fmt.Fprintf(&text, "| %s | | as simulated | | %d |\n", row.API, row.Played)
		}
		for _, d := range row.Differences {
			fmt.Fprintf(&text, "| %s | `%s` | %s | %s | %d |\n", row.API, d.Where, d.Platform, d.Simulator, d.Times)
		}
	}
	return text.String()
}

func (r *Row) print(text *strings.Builder) {
	switch {
	case r.Played == 0:
	case r.Differ == 0:
		fmt.Fprintf(text, "✓ %s: %d exchanges, no difference\n", r.API, r.Played)
	default:
		fmt.Fprintf(text, "✗ %s: %d exchanges, %d differ\n", r.API, r.Played, r.Differ)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(text, "    %s: %s on the platform, %s in the simulator (%d times, first in line %d)\n", d.Where, d.Platform, d.Simulator, d.Times, d.Line)
	}
	for _, why := range sortedKeys(r.Left) {
		fmt.Fprintf(text, "? %s: %d exchanges not played: %s\n", r.API, r.Left[why], why)
	}
}
