package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// textAnswersAgain is the text of a host whose agent answers again and that is to be brought up to date.
const textAnswersAgain = "its agent answers again, but did not when this was due"

// Unanswered returns the status of a host whose agent does not answer. code is what is left to do there, o what
// the platform says, and was the previous status. A host that did not answer before either keeps its time and
// text, so that no output changes from one plan to the next.
func Unanswered(now time.Time, code fleet.Code, o fleet.Outcome, was HostStatus) HostStatus {
	if was.Away() {
		return HostStatus{Code: code, Text: was.Text, Since: was.Since}
	}
	if meaning := procapi.Meaning(o.Code, ""); meaning != "" {
		o = fleet.Outcome{Verdict: fleet.Failed, Code: o.Code, Meaning: meaning}
	}
	return HostStatus{Code: code, Text: Reason(o), Since: now.UTC().Format(time.RFC3339)}
}

// AnswersAgain returns the status of a host once its agent answers, the zero value if the host is as declared.
func (s HostStatus) AnswersAgain() HostStatus {
	if s.Code == "" {
		return HostStatus{}
	}
	return HostStatus{Code: s.Code, Text: textAnswersAgain}
}

// since returns the status as it is in unreachable: what is left to do, if anything, since when, and what the
// platform said.
func (s HostStatus) since() string {
	text := "since " + s.Since
	if s.Code != "" {
		text = string(s.Code) + " " + text
	}
	if s.Text == "" {
		return text
	}
	return text + ": " + s.Text
}

// parseSince reads what since returns.
func parseSince(text string) HostStatus {
	head, said, _ := strings.Cut(text, ": ")
	code, since, _ := strings.Cut(head, "since ")
	return HostStatus{Code: fleet.Code(strings.TrimSpace(code)), Text: said, Since: cmp.Or(since, head)}
}

// Unreachable reads unreachable, a map of host key to what since returns.
func Unreachable(byKey map[string]string, hosts fleet.Inventory) map[fleet.HostID]HostStatus {
	statuses := make(map[fleet.HostID]HostStatus, len(byKey))
	for key, host := range hosts.All {
		if text, found := byKey[key]; found {
			statuses[host.WithoutSupplier()] = parseSince(text)
		}
	}
	return statuses
}

// UnreachableByKey returns what unreachable says of the hosts whose agents do not answer, by host key.
func UnreachableByKey(hosts fleet.Inventory, statuses map[fleet.HostID]HostStatus) map[string]string {
	byKey := make(map[string]string)
	for key, host := range hosts.All {
		if status := statuses[host.WithoutSupplier()]; status.Away() {
			byKey[key] = status.since()
		}
	}
	return byKey
}

// CountUnreachable counts the hosts whose agents do not answer.
func CountUnreachable(statuses map[fleet.HostID]HostStatus) int {
	count := 0
	for _, status := range statuses {
		if status.Away() {
			count++
		}
	}
	return count
}

// Within returns statuses if they have no more unreachable hosts than limit. Otherwise those hosts count as out
// of sync, like any other, if anything is left to do there.
func Within(limit int, statuses map[fleet.HostID]HostStatus) map[fleet.HostID]HostStatus {
	if CountUnreachable(statuses) <= limit {
		return statuses
	}
	within := maps.Clone(statuses)
	for id, status := range within {
		if status.Since = ""; status.Code == "" {
			delete(within, id)
			continue
		}
		within[id] = status
	}
	return within
}

// UnreachableRows lists the hosts whose agents do not answer. Hosts of which the platform says the same share a
// row.
func UnreachableRows(hosts fleet.Inventory, statuses map[fleet.HostID]HostStatus) string {
	rows := make(fleet.Results)
	for _, host := range hosts.All {
		if status := statuses[host.WithoutSupplier()]; status.Away() {
			rows[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: status.Text}
		}
	}
	return Rows(hosts, rows)
}

// RaiseUnreachable says which max_unreachable_hosts would have let an apply or an action go on without the
// unreachable hosts. set is the value of that setting, and limit the number that it allows. RaiseUnreachable
// returns "" if no more than limit are away.
func RaiseUnreachable(away, limit int, set string) string {
	if away <= limit {
		return ""
	}
	return fmt.Sprintf("\n\nThe agents of %s do not answer, and max_unreachable_hosts = %q allows %d. With %d or more, an apply or action goes on without "+
		"such hosts, and a warning names them.", Hosts(away), set, limit, away)
}

// LeftUnreachable lists the hosts whose agents do not answer, for the warning of an apply or a
// refresh that goes on without them.
func LeftUnreachable(title string, hosts fleet.Inventory, statuses map[fleet.HostID]HostStatus) string {
	return fmt.Sprintf("%s: the agents of %s do not answer.\n\n%s\n", title, CountHosts(CountUnreachable(statuses), hosts.Len()), UnreachableRows(hosts, statuses))
}

// AllowedUnreachable says why unreachable hosts are only a warning. set is the value of max_unreachable_hosts,
// and so is what follows from it.
func AllowedUnreachable(set, so string) string {
	return fmt.Sprintf("That is no more than max_unreachable_hosts = %q allows, so %s", set, so)
}

// KeptUnreachable is what follows, in AllowedUnreachable, for objects with state.
const KeptUnreachable = "these hosts are in unreachable and do not fail the apply."
