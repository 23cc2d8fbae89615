// Package doctor finds out of a platform what the provider believes of it. Check changes
// nothing; Probe registers, starts and stops one scratch process, and takes it away again.
// Both ask through the provider's own clients and request path, and answer with lines.
//
// What a line of Probe is about is a row of package belief. Doctor knows no Terraform, and
// nothing of the simulator: it finds out of either what it can see from outside.
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

// Platform is how one is reached.
type Platform struct {
	Gateway bkapi.Gateway
	GSE     *gse.Client
	// Raw, JOB and CMDB send what is not for the provider's clients. JOB and CMDB are nil where
	// nothing says where they are. JOBAPI is the segment of JOB's paths, and CMDBGateway the
	// way that CMDB takes.
	Raw, JOB, CMDB *bkapi.Client
	JOBAPI         string
	CMDBGateway    bkapi.Gateway
	// Stranger calls as the same application with a secret that is wrong.
	Stranger *bkapi.Client
	// Warnings are what the provider warns of in the settings: connections that are not safe.
	Warnings []string
	Supplier int

	Clock   poll.Clock
	Backoff poll.Backoff
}

// State is how a line came out.
type State string

// The states.
const (
	Well   State = "well"
	Found  State = "found" // something to know or to do
	Untold State = "untold"
)

var marks = map[State]string{Well: "✓", Found: "✗", Untold: "?"}

// Line is one thing that was looked at.
type Line struct {
	ID    string `json:"id"`
	What  string `json:"what"`
	State State  `json:"state"`
	Found string `json:"found"`          // what there is, or why it cannot be told
	Next  string `json:"next,omitempty"` // what follows, and what to do
	// Value is what the profile has.
	Value        string `json:"value,omitempty"`
	Milliseconds int64  `json:"milliseconds,omitempty"`
}

// String is the line for people.
func (l Line) String() string {
	text := marks[l.State] + " " + l.What + ": "
	if l.State == Untold {
		text += "cannot be told: "
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

// Report is what a command has to say.
type Report struct {
	Command string `json:"command"`
	Lines   []Line `json:"lines"`
	// Say is given each line as it comes, if non-nil.
	Say func(Line) `json:"-"`
}

func (r *Report) add(l Line) {
	l.Found, l.Next = strings.TrimSpace(bkapi.Printable(l.Found)), strings.TrimSpace(l.Next)
	r.Lines = append(r.Lines, l)
	if r.Say != nil {
		r.Say(l)
	}
}

// Count is how many lines came out so.
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

// took is the milliseconds of a call, 1 at least.
func took(d time.Duration) int64 { return max(d.Milliseconds(), 1) }

// pause lets time pass by the platform's clock.
func (p *Platform) pause(ctx context.Context, d time.Duration) error { return p.Clock.Pause(ctx, d) }
