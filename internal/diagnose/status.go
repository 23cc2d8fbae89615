package diagnose

import (
	"slices"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// The codes of failed_hosts.
const (
	Failed         fleet.Code = "failed"
	OutcomeUnknown fleet.Code = "outcome_unknown" // sent, but its answer or its result could not be read
	NoVerdict      fleet.Code = "no_verdict"      // no result before the deadline
	Interrupted    fleet.Code = "interrupted"
	NotTried       fleet.Code = "not_tried"
)

// Codes returns the codes of out_of_sync and of failed_hosts.
func Codes() []fleet.Code {
	return append(fleet.Codes(), Failed, OutcomeUnknown, NoVerdict, Interrupted, NotTried)
}

// Texts for what a refresh found.
const (
	textUnregistered      = "the platform no longer knows the process here"
	textRegisteredByOther = "somebody else registered it"
	// What to do about another registration: without an owner, with one, and if its owner could not be read.
	textAdopt     = "; set adopt_existing = true to take it over"
	textShared    = "; take it out of hosts in one of the two resources"
	textReadAgain = "; apply again once that can be read"
	textOvertaken = "registered by another resource"
	textStillDue  = "registered by an apply that did not get to the end"
)

type driftText struct {
	drift fleet.Code
	text  string
}

// driftTexts lists the texts in the order in which they are printed.
var driftTexts = []driftText{
	{fleet.NotRegistered, textUnregistered},
	{fleet.Anew, "registered anew by another tool"},
	{fleet.OtherSpec, "registered with another spec"},
	{fleet.Started, "replaced by a start without its limits"},
	{fleet.OtherLabels, "registered with other labels"},
	{fleet.NotRunning, "not running"},
	{fleet.NotHosted, "not hosted"},
}

// textNotKept replaces the text of OtherSpec if the agent hosts what is declared, as far as its own file shows.
const textNotKept = "registered with another spec (in what the agent's file does not keep)"

// Overtaken returns the status of a host that another object has registered with the very same declaration.
func Overtaken(owner string) HostStatus {
	return HostStatus{Code: fleet.OtherLabels, Text: textOvertaken + fleet.ByOwner(owner)}
}

// textHosted precedes the fields in which the agent hosts something other than declared. They end the text of a
// refresh.
const textHosted = "hosted with "

// maxDifferences limits the fields in a text, and maxValue the runes of a value there.
const (
	maxDifferences = 5
	maxValue       = 60
)

// hostedWith returns, field by field, what is declared and what is hosted, "" if nothing differs.
func hostedWith(fields []fleet.Difference) string {
	if len(fields) == 0 {
		return ""
	}
	var parts []string
	for _, f := range fields[:min(len(fields), maxDifferences)] {
		name := f.Field[strings.LastIndex(f.Field, ".")+1:]
		start := differFrom(f.Declared, f.Hosted)
		parts = append(parts, name+" "+value(f.Declared, start)+" → "+value(f.Hosted, start))
	}
	if more := len(fields) - len(parts); more > 0 {
		parts = append(parts, "and "+strconv.Itoa(more)+" more")
	}
	return textHosted + strings.Join(parts, ", ")
}

// differFrom returns the index from which two values are shown: 0, or shortly before the first difference if
// the beginnings would not show it.
func differFrom(a, b string) int {
	one, other := []rune(a), []rune(b)
	same := 0
	for same < min(len(one), len(other)) && one[same] == other[same] {
		same++
	}
	if same < maxValue/2 || max(len(one), len(other)) <= maxValue {
		return 0
	}
	return same - maxValue/4
}

// value returns a number unchanged, and a quoted part of any other text.
func value(text string, start int) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	runes, before, behind := []rune(text)[start:], "", ""
	if start > 0 {
		before = "…"
	}
	if len(runes) > maxValue {
		runes, behind = runes[:maxValue], "…"
	}
	return strconv.Quote(before + string(runes) + behind)
}

// Drifted returns the status of a host that differs from the last apply. The first difference becomes its code, and
// the text has every difference. kept is what the agent's own file shows, nil if it was not read.
func Drifted(differs []fleet.Code, kept *fleet.Hosting) HostStatus {
	status := HostStatus{Code: differs[0]}
	switch differs[0] { //nolint:exhaustive // state uses the other codes as they are
	case fleet.NotRegistered:
		status.Code = fleet.NoLongerRegistered // it was registered before, or state would say otherwise
	case fleet.Anew, fleet.HostedOtherwise:
		status.Code = fleet.OtherSpec
	case fleet.Started:
		status.Code = fleet.OtherLabels
	}
	var texts []string
	for _, d := range driftTexts {
		if text := d.text; slices.Contains(differs, d.drift) {
			if d.drift == fleet.OtherSpec && kept.Verified() {
				text = textNotKept
			}
			texts = append(texts, text)
		}
	}
	if hosted := hostedWith(kept.Fields()); hosted != "" && slices.Contains(differs, fleet.HostedOtherwise) {
		texts = append(texts, hosted)
	}
	status.Text = strings.Join(texts, ", ")
	return status
}

// StillDue returns the status of a host that is registered as declared, but on which the operation of on_update
// is due or was not confirmed.
func StillDue(runs fleet.Runs) HostStatus {
	if runs.Unconfirmed() {
		return HostStatus{Code: fleet.OperationUnconfirmed, Text: textStillDue + "; how its operation ended was not seen"}
	}
	return HostStatus{Code: fleet.NotOperated, Text: textStillDue + "; the operation of on_update is still due"}
}

// TakenByOther returns the status of a host on which a refresh found another registration. owner is the owner
// of that registration, "" if it names none.
func TakenByOther(owner string) HostStatus {
	return HostStatus{Code: fleet.RegisteredByOther, Text: textRegisteredByOther + fleet.ByOwner(owner) + adviceOn(owner)}
}

// NamesOwner reports whether the status of a host that another owner has registered names that owner, "" for none.
func (s HostStatus) NamesOwner(owner string) bool {
	return strings.HasSuffix(s.Text, fleet.ByOwner(owner)+adviceOn(owner))
}

// OwnerUnread reports whether the owner of a host that is registered already could not be read.
func (s HostStatus) OwnerUnread() bool { return strings.HasSuffix(s.Text, textReadAgain) }

// adviceOn returns what to do about another registration with this owner.
func adviceOn(owner string) string {
	if owner == "" {
		return textAdopt
	}
	return textShared
}

// WithoutAdvice returns the text without what to do about another registration, for a message that has advice of its own.
func (s HostStatus) WithoutAdvice() string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(s.Text, textAdopt), textShared), textReadAgain)
}

// NeverOurs returns the status of a host that another object had registered and has unregistered.
func NeverOurs() HostStatus { return HostStatus{Code: fleet.NotRegistered, Text: textUnregistered} }

// FromRefresh reports whether the text is from a refresh, which the next refresh replaces. Otherwise it says
// why an apply failed, which is recorded nowhere else.
func (s HostStatus) FromRefresh() bool {
	text, hosted, with := strings.Cut(s.Text, textHosted)
	if with && hosted != "" {
		if text = strings.TrimSuffix(text, ", "); text == "" {
			return true
		}
	}
	for text := range strings.SplitSeq(text, ", ") {
		if text != textOvertaken && text != textNotKept && !strings.HasPrefix(text, "owner ") && !slices.ContainsFunc(driftTexts, func(d driftText) bool { return d.text == text }) {
			return false
		}
	}
	return true
}

// HostedOtherwise reports whether a refresh found that the agent hosts another spec.
func (s HostStatus) HostedOtherwise() bool { return strings.Contains(s.Text, textHosted) }

// CodeInDoubt reports whether an operation with this code may have worked.
func CodeInDoubt(c fleet.Code) bool { return c == OutcomeUnknown || c == NoVerdict || c == Interrupted }

// HostStatus is what state says of one host.
type HostStatus struct {
	Code fleet.Code
	Text string // for people
	// Since is the time since which the agent has not answered, "" if it answers. Code is "" if nothing is
	// left to do on the host.
	Since string
}

// Away reports whether the agent does not answer.
func (s HostStatus) Away() bool { return s.Since != "" }

// String returns the status as it is in state: the code, a colon and the text. ParseHostStatus reads it back.
func (s HostStatus) String() string {
	if s.Text == "" {
		return string(s.Code)
	}
	return string(s.Code) + ": " + s.Text
}

// ParseHostStatus reads what String returns. otherwise is the code for any other text.
func ParseHostStatus(text string, otherwise fleet.Code) HostStatus {
	code, rest, _ := strings.Cut(text, ": ")
	for _, known := range Codes() {
		if code == string(known) {
			return HostStatus{Code: known, Text: rest}
		}
	}
	return HostStatus{Code: otherwise, Text: text}
}

// OperationStatus returns what failed_hosts says of an outcome.
func OperationStatus(o fleet.Outcome) HostStatus {
	return HostStatus{Code: operationCode(o), Text: withOutput(detail(o), outputOf(o))}
}

// LeftStatus returns what out_of_sync says of a host on which code is left to do.
func LeftStatus(code fleet.Code, o fleet.Outcome) HostStatus {
	status := HostStatus{Code: code, Text: withOutput(Reason(o), outputOf(o))}
	switch {
	case code != fleet.RegisteredByOther:
	case o.Unread:
		status.Text += textReadAgain
	default:
		status.Text += adviceOn(o.Owner)
	}
	return status
}

// outputOf returns what an outcome's message adds to its reason: the output of a command, or what the platform
// says of an unknown code. For other codes the message repeats the meaning.
func outputOf(o fleet.Outcome) string {
	if o.Ran || o.Meaning == "" {
		return saidBeside(fleet.Host{}, o)
	}
	return ""
}

// saidBeside returns an outcome's message, "" if it repeats the meaning.
func saidBeside(host fleet.Host, o fleet.Outcome) string {
	if procapi.RepeatsOn(host, o.Message, o.Meaning) {
		return ""
	}
	return o.Message
}

// withOutput adds the end of the platform's message or a command's output to a reason.
func withOutput(reason, message string) string {
	output := onOneLine(message)
	if reason == "" || output == "" {
		return reason + output
	}
	return reason + ": " + output
}

// OperationStatuses returns what failed_hosts says of outcomes.
func OperationStatuses(failures fleet.Results) map[fleet.HostID]HostStatus {
	statuses := make(map[fleet.HostID]HostStatus, len(failures))
	for host, o := range failures {
		statuses[host.WithoutSupplier()] = OperationStatus(o)
	}
	return statuses
}

func operationCode(o fleet.Outcome) fleet.Code {
	switch {
	case o.Verdict == fleet.Lost:
		return OutcomeUnknown
	case o.Verdict == fleet.NotTried:
		return NotTried
	case o.Verdict != fleet.Pending:
		return Failed
	case fleet.Interrupted(o.Err):
		return Interrupted
	case o.Err != nil && !fleet.Ended(o.Err): // the platform refuses to say
		return OutcomeUnknown
	}
	return NoVerdict
}

// InDoubt reports whether the operation may have worked on any of the hosts, whatever its outcome.
func InDoubt(results fleet.Results) bool {
	return results.Any(func(o fleet.Outcome) bool { return CodeInDoubt(operationCode(o)) })
}

// Statuses reads a map of host key to status (out_of_sync, failed_hosts). otherwise is as in ParseHostStatus.
// Hosts are compared without their supplier id, which may be written or left out.
func Statuses(byKey map[string]string, hosts fleet.Inventory, otherwise fleet.Code) map[fleet.HostID]HostStatus {
	statuses := make(map[fleet.HostID]HostStatus, len(byKey))
	for key, host := range hosts.All {
		if text, ok := byKey[key]; ok {
			statuses[host.WithoutSupplier()] = ParseHostStatus(text, otherwise)
		}
	}
	return statuses
}

// StatusesByKey returns statuses by host key, for the hosts of the inventory whose agents answer.
func StatusesByKey(hosts fleet.Inventory, statuses map[fleet.HostID]HostStatus) map[string]string {
	byKey := make(map[string]string, len(statuses))
	for key, host := range hosts.All {
		if status, ok := statuses[host.WithoutSupplier()]; ok && status.Since == "" {
			byKey[key] = status.String()
		}
	}
	return byKey
}
