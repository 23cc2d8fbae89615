package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// How much one diagnostic shows.
const (
	maxRows        = 20
	maxOutputLines = 3
	maxLineRunes   = 160
)

// Sentences that say what the next run does about hosts that failed.
const (
	RetriedAlone   = "Fix the cause and apply again: only these hosts are called."
	DestroyedAlone = "Fix the cause and destroy again: only these hosts are called."
)

// Reasons that leave open whether the platform did what was asked, as people read them.
const (
	reasonUnknown     = "outcome unknown"
	reasonInterrupted = "interrupted"
	reasonTimeUp      = "no verdict when the time was up"
)

// Rows lists hosts that failed, one on a line, by reason and then by key, each with the
// first lines of the command's output; hosts beyond the first 20 are counted. The ids of
// tasks and requests, and errors of whole calls, follow. The text ends with a newline.
func Rows(inventory fleet.Inventory, failures fleet.Results) string {
	type row struct {
		key, address, reason, output string
	}
	rows := make([]row, 0, len(failures))
	for host, outcome := range failures {
		rows = append(rows, row{inventory.Key(host), host.Address(), Reason(outcome), output(outcome.Message)})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.reason, b.reason), cmp.Compare(a.key, b.key)) })
	var text strings.Builder
	for i, r := range rows {
		if i == maxRows {
			fmt.Fprintf(&text, "  and %d more\n", len(rows)-maxRows)
			break
		}
		place := r.key
		if r.address != r.key {
			place += " (" + r.address + ")"
		}
		fmt.Fprintf(&text, "  %s: %s\n%s", place, r.reason, r.output)
	}
	return text.String() + trailer(failures)
}

// Reason is an outcome in one line, for people. Nothing in it changes from one run to
// the next.
func Reason(o fleet.Outcome) string {
	said := detail(o)
	switch operationCode(o) {
	case OutcomeUnknown:
		return joined(reasonUnknown, said)
	case Interrupted:
		return joined(reasonInterrupted, said)
	case NoVerdict:
		return joined(reasonTimeUp, said)
	case NotTried:
		if o.Meaning != "" {
			return platformSaid(o)
		}
		return "not tried: " + said
	default: // the platform's code, or a failed call
		return cmp.Or(said, "failed")
	}
}

// detail is what there is to say of an outcome beside its code, if anything.
func detail(o fleet.Outcome) string {
	said := platformSaid(o)
	switch {
	case said != "" && o.Verdict == fleet.NotTried:
		return strings.TrimPrefix(said, "not tried: ")
	case said != "":
		return said
	case o.Verdict == fleet.Lost:
		return "the operation was sent and its answer got lost"
	case o.Verdict == fleet.NotTried && fleet.Interrupted(o.Err):
		return "interrupted before it was sent"
	case o.Verdict == fleet.NotTried:
		return "the time was up before it was sent"
	case o.Verdict != fleet.Pending && o.Err != nil:
		return "the call failed"
	}
	return ""
}

// platformSaid is the platform's code for a host and its meaning, as far as there are any.
func platformSaid(o fleet.Outcome) string {
	if o.Code == 0 {
		return o.Meaning
	}
	return strings.TrimSuffix(fmt.Sprintf("%d, %s", o.Code, o.Meaning), ", ")
}

func joined(what, more string) string {
	if more == "" {
		return what
	}
	return what + " (" + more + ")"
}

// output returns the first lines of what a command printed, indented. It is printable,
// as is everything that comes from the clients.
func output(message string) string {
	var (
		text  strings.Builder
		lines int
	)
	for line := range strings.Lines(message) {
		line = strings.TrimRight(strings.ReplaceAll(line, "\t", " "), " \n")
		if line == "" {
			continue
		}
		if lines == maxOutputLines {
			text.WriteString("      …\n")
			break
		}
		if runes := []rune(line); len(runes) > maxLineRunes {
			line = string(runes[:maxLineRunes]) + "…"
		}
		lines++
		text.WriteString("      " + line + "\n")
	}
	return text.String()
}

// trailer is what the platform's administrators will ask for: the ids of tasks and
// requests, and the errors of whole calls.
func trailer(failures fleet.Results) string {
	var tasks, requests, errs []string
	for _, o := range failures {
		tasks = append(tasks, o.TaskID)
		requests = append(requests, o.RequestID)
		if o.Err != nil && (!interruptedOrUp(o) || troubled(o.Err)) {
			errs = append(errs, explain(o.Err))
		}
	}
	var ids []string
	if text := enumerated(tasks); text != "" {
		ids = append(ids, "Task: "+text)
	}
	if text := enumerated(requests); text != "" {
		ids = append(ids, "Request: "+text)
	}
	paragraphs := distinct(errs)
	if timeUp(failures) {
		paragraphs = append(paragraphs, "Time ran out, and what was already sent may still take effect. If the platform is just slow, raise the timeouts of this object.")
	}
	if len(paragraphs) > maxOutputLines {
		paragraphs = paragraphs[:maxOutputLines]
	}
	if len(ids) > 0 {
		paragraphs = slices.Insert(paragraphs, 0, strings.Join(ids, "\n"))
	}
	if len(paragraphs) == 0 {
		return ""
	}
	return "\n" + strings.Join(paragraphs, "\n\n") + "\n"
}

// timeUp reports whether the deadline cut anything off.
func timeUp(failures fleet.Results) bool {
	for _, o := range failures {
		if o.Err != nil && !o.OK() && fleet.Ended(o.Err) && !fleet.Interrupted(o.Err) {
			return true
		}
	}
	return false
}

// interruptedOrUp reports whether a host was cut off by an interrupt or the deadline: its
// row says so already, and there is nothing to add.
func interruptedOrUp(o fleet.Outcome) bool {
	return (o.Verdict == fleet.Pending || o.Verdict == fleet.NotTried) && fleet.Ended(o.Err)
}

// troubled reports whether a wait that was cut off had failed before: then there is more
// to say than that it took too long.
func troubled(err error) bool {
	var last *bkapi.Error
	return troubleIn(err) != nil || (errors.As(err, &last) && last.Attempts > 1)
}

// troubleIn returns what went wrong in a call before time ran out, nil if nothing did.
func troubleIn(err error) *bkapi.Error {
	switch wrapped := err.(type) { //nolint:errorlint // every error of the tree is looked at, not the first of a type
	case *bkapi.Error:
		if wrapped.Kind != bkapi.KindCanceled && wrapped.Code != procapi.CodeTaskQueued {
			return wrapped
		}
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			if trouble := troubleIn(inner); trouble != nil {
				return trouble
			}
		}
	case interface{ Unwrap() error }:
		return troubleIn(wrapped.Unwrap())
	}
	return nil
}

func enumerated(ids []string) string {
	unique := distinct(ids)
	if len(unique) > maxOutputLines {
		return fmt.Sprintf("%s and %d more", strings.Join(unique[:maxOutputLines], ", "), len(unique)-maxOutputLines)
	}
	return strings.Join(unique, ", ")
}

// distinct returns texts sorted, each once, without the empty one.
func distinct(texts []string) []string {
	texts = slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" })
	slices.Sort(texts)
	return slices.Compact(texts)
}

// CountHosts is "n of m hosts".
func CountHosts(n, of int) string {
	return fmt.Sprintf("%d of %d hosts", n, of)
}
