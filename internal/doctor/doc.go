// Package doctor checks the provider's assumptions on a real platform. Check changes nothing. Probe
// registers, starts and stops one scratch process, and removes it. Both use the provider's own clients
// and request path, and report lines.
//
// Each line of Probe is about a row of package belief. Package doctor imports neither Terraform nor the
// simulator: it checks a real platform and the simulator in the same way.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// Platform holds the clients of a platform.
type Platform struct {
	Gateway bkapi.Gateway
	GSE     *gse.Client
	// Raw, JOB and CMDB send requests that the provider's clients do not. JOB and CMDB are nil if they have
	// no endpoint. JOBAPI is the segment of JOB's paths, and CMDBGateway the gateway of CMDB.
	Raw, JOB, CMDB *bkapi.Client
	JOBAPI         string
	CMDBGateway    bkapi.Gateway
	// Stranger is the same application with a wrong secret.
	Stranger *bkapi.Client
	// Hasty has none of the provider's limits, and repeats nothing.
	Hasty *bkapi.Client
	// Warnings are the provider's warnings about the settings: insecure connections.
	Warnings []string
	Supplier int

	Clock   poll.Clock
	Backoff poll.Backoff
}

// State is the result of a line.
type State string

// The states.
const (
	Well         State = "well"
	Found        State = "found" // something to know or to do
	Undetermined State = "unknown"
)

var marks = map[State]string{Well: "✓", Found: "✗", Undetermined: "?"}

// Line is the result of one check.
type Line struct {
	ID    string `json:"id"`
	What  string `json:"what"`
	State State  `json:"state"`
	Found string `json:"found"`          // the finding, or why there is none
	Next  string `json:"next,omitempty"` // the consequence, and what to do
	// Value is the line's value in the profile.
	Value        string `json:"value,omitempty"`
	Milliseconds int64  `json:"milliseconds,omitempty"`
}

// String returns the line as text.
func (l Line) String() string {
	text := marks[l.State] + " " + l.What + ": "
	if l.State == Undetermined {
		text += "unknown: "
	}
	text += l.Found
	if l.Milliseconds > 0 {
		text += fmt.Sprintf(" (%d ms)", l.Milliseconds)
	}
	if l.Next != "" {
		text += "\n    → " + l.Next
	}
	return text
}

// Report is the result of a command.
type Report struct {
	Command string `json:"command"`
	Lines   []Line `json:"lines"`
	// Say, if non-nil, is called with each line as soon as it is known.
	Say func(Line) `json:"-"`
}

func (r *Report) add(l Line) {
	l.Found, l.Next = strings.TrimSpace(bkapi.Printable(l.Found)), strings.TrimSpace(l.Next)
	r.Lines = append(r.Lines, l)
	if r.Say != nil {
		r.Say(l)
	}
}

// Count returns the number of lines with a state.
func (r *Report) Count(state State) int {
	count := 0
	for _, l := range r.Lines {
		if l.State == state {
			count++
		}
	}
	return count
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// took returns the milliseconds of a call, at least 1.
func took(d time.Duration) int64 { return max(d.Milliseconds(), 1) }

// pause waits by the platform's clock.
func (p *Platform) pause(ctx context.Context, d time.Duration) error { return p.Clock.Pause(ctx, d) }
