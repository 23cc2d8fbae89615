package diagnose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// Sentences that say what the next run does about hosts that failed.
const (
	RetriedAlone   = "Fix the cause and apply again: only these hosts are called."
	DestroyedAlone = "Fix the cause and repeat the apply or destroy: only these hosts are called. What was applied last counts, timeouts too."
)

// trailer returns what the platform's administrators will ask for: the ids of tasks and requests, and the
// errors of whole calls. It ends with the paragraph of openEnd.
func trailer(failures fleet.Results, doubt string) string {
	var ids, paragraphs []string
	if text := enumerated(failures.TaskIDs(), maxIDs); text != "" {
		ids = append(ids, "Task: "+text)
	}
	if text := enumerated(failures.RequestIDs(), maxIDs); text != "" {
		ids = append(ids, "Request: "+text)
	}
	if len(ids) > 0 {
		paragraphs = append(paragraphs, strings.Join(ids, "\n"))
	}
	paragraphs = append(paragraphs, failedCalls(failures)...)
	if text := openEnd(failures, doubt); text != "" {
		paragraphs = append(paragraphs, text)
	}
	if len(paragraphs) == 0 {
		return ""
	}
	return "\n" + strings.Join(paragraphs, "\n\n") + "\n"
}

// openEnd returns the paragraph about calls whose end was not seen: the cause, doubt, which is about hosts
// whose outcome is unknown, and what to do.
func openEnd(failures fleet.Results, doubt string) string {
	var sentences []string
	up := timeUp(failures)
	if up {
		sentences = append(sentences, "Time ran out.")
	}
	if doubt != "" && InDoubt(failures) {
		sentences = append(sentences, doubt)
	}
	if up {
		sentences = append(sentences, "If the platform is just slow, raise the timeouts of this object, or rollout.wave_timeout.")
	}
	return strings.Join(sentences, " ")
}

// failedCalls explains the errors of whole calls. Of calls that failed alike, it explains the first.
func failedCalls(failures fleet.Results) []string {
	texts := make(map[string][]string)
	for _, o := range failures {
		if o.Err != nil && (!interruptedOrUp(o) || troubled(o.Err)) {
			text := explain(o.Err)
			texts[cmp.Or(causeOf(o.Err), text)] = append(texts[cmp.Or(causeOf(o.Err), text)], text)
		}
	}
	var paragraphs []string
	for _, alike := range texts {
		slices.Sort(alike)
		alike = slices.Compact(alike)
		text := alike[0]
		if len(alike) > 1 {
			text += fmt.Sprintf("\n\n%d calls failed like this one.", len(alike))
		}
		paragraphs = append(paragraphs, text)
	}
	slices.Sort(paragraphs)
	if len(paragraphs) > maxErrors {
		paragraphs = append(paragraphs[:maxErrors], fmt.Sprintf("%d more calls failed, each in another way.", len(paragraphs)-maxErrors))
	}
	return paragraphs
}

// causeOf identifies what went wrong in a call, without its request or task.
func causeOf(err error) string {
	failure := troubleIn(err)
	if failure == nil {
		return ""
	}
	return fmt.Sprintln(failure.API, failure.Kind, failure.Status, failure.Code)
}

// answered returns the platform's answer to a call that failed as a whole, without what differs from call to
// call.
func answered(err error) string {
	failure := troubleIn(err)
	switch {
	case failure == nil:
		return ""
	case failure.Kind == bkapi.KindStatus:
		return fmt.Sprintf("HTTP %d", failure.Status)
	case failure.Kind == bkapi.KindRefused && failure.Code != 0:
		return fmt.Sprintf("code %d", failure.Code)
	case failure.Kind == bkapi.KindConnect:
		return "no connection"
	}
	return ""
}

// timeUp reports whether the deadline ended the work on at least one host.
func timeUp(failures fleet.Results) bool {
	return failures.Any(func(o fleet.Outcome) bool {
		return o.Err != nil && !o.OK() && fleet.Ended(o.Err) && !fleet.Interrupted(o.Err)
	})
}

// interruptedOrUp reports whether an interrupt or the deadline ended the work on a host. Its row says so, and
// there is nothing to add.
func interruptedOrUp(o fleet.Outcome) bool {
	return (o.Verdict == fleet.Pending || o.Verdict == fleet.NotTried) && fleet.Ended(o.Err)
}

// Hindered returns the outcome of a host to which nothing was sent, because an operation of an earlier run is still
// under way there. still is what a wait for that found. Its error is left out if it says only that the wait is over.
func Hindered(ctx context.Context, still fleet.Outcome, meaning string) fleet.Outcome {
	o := fleet.Outcome{Verdict: fleet.NotTried, Meaning: meaning, TaskID: still.TaskID, RequestID: still.RequestID, Unreachable: still.Unreachable}
	if ctx.Err() != nil || !fleet.Ended(still.Err) || troubled(still.Err) {
		o.Err = still.Err
	}
	return o
}

// troubled reports whether calls failed before a wait ended early. Then there is more to say than that the wait
// took too long.
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

// TasksInLine names the tasks of results, for the log.
func TasksInLine(results fleet.Results) string { return enumerated(results.TaskIDs(), maxIDsInLine) }

func enumerated(ids []string, most int) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = shortened(id)
	}
	if len(texts) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), len(texts)-most)
	}
	return strings.Join(texts, ", ")
}

// shortened returns an id on one line, cut if it is long.
func shortened(id string) string {
	id = strings.Join(strings.Fields(id), " ")
	if runes := []rune(id); len(runes) > maxLineRunes {
		return string(runes[:maxLineRunes]) + cutMark
	}
	return id
}
