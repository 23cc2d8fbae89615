package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Limits on what is shown.
const (
	maxRows    = 20 // more if there are more reasons, each of which has a row
	maxReasons = 50
	maxRanges  = 8 // of the hosts of a row
	maxIDs     = 3
	maxErrors  = 5 // of whole calls

	// In a line of the log.
	maxInLine    = 5
	maxIDsInLine = 10
)

// row describes the hosts with the same outcome of a call.
type row struct {
	rank           int // rows are sorted by it, rankFailed first
	reason, output string
	hosts          []fleet.Host
	keys           []string
	varied         bool // the texts of the hosts differ in numbers
}

// Rows lists the hosts that failed. Hosts with the same reason and output share a row, which has the last lines
// of the output. Each of the first maxReasons reasons has at least one row, however many hosts share another. The ids of tasks
// and requests, and errors of whole calls, follow. The text ends with a newline.
func Rows(inventory fleet.Inventory, failures fleet.Results) string {
	return RowsInDoubt(inventory, failures, lateEffect(failures))
}

// lateEffect returns what to say of calls that did not end before the deadline, "" if there are none.
func lateEffect(failures fleet.Results) string {
	if timeUp(failures) {
		return "What was already sent may still take effect."
	}
	return ""
}

// RowsInDoubt is Rows with the caller's text about hosts whose outcome is unknown. It is left out if there are
// no such hosts.
func RowsInDoubt(inventory fleet.Inventory, failures fleet.Results, doubt string) string {
	rows := folded(inventory, failures)
	shown := chosen(rows)
	text := listed(shown, row.place)
	if left := count(rows) - count(shown); left > 0 {
		text += fmt.Sprintf("  and %d more hosts with other outputs\n", left)
	}
	return text + trailer(failures, doubt)
}

// RowsInFull is Rows with every host and its address. It is for hosts that leave state or were taken over:
// nothing else names them afterwards.
func RowsInFull(inventory fleet.Inventory, results fleet.Results) string {
	return listed(folded(inventory, results), row.places) + trailer(results, lateEffect(results))
}

// folded returns the rows of a message. If there are too many, outputs that differ only in numbers share a row.
func folded(inventory fleet.Inventory, failures fleet.Results) []row {
	rows := fold(inventory, failures, func(output string) string { return output })
	if len(rows) > maxRows {
		rows = fold(inventory, failures, withoutNumbers)
	}
	return rows
}

func listed(rows []row, place func(row) string) string {
	var text strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&text, "  %s: %s\n%s", place(r), r.reason, indented(r.output))
		if r.varied {
			fmt.Fprintf(&text, "      (on %s; the others differ in numbers)\n", r.keys[0])
		}
	}
	return text.String()
}

// RowsInLine returns the first few rows on one line for the log, without outputs.
func RowsInLine(inventory fleet.Inventory, failures fleet.Results) string {
	rows := fold(inventory, failures, func(string) string { return "" })
	var texts []string
	for i, r := range rows {
		if i == maxInLine {
			texts = append(texts, fmt.Sprintf("and %d more hosts", count(rows[i:])))
			break
		}
		texts = append(texts, r.place()+": "+r.reason)
	}
	return strings.Join(texts, "; ")
}

// fold makes rows of the hosts with the same reason and the same output, as shape returns it. Texts that are
// neither the output of a command nor the error of a failed call are compared without their numbers, such as
// those of an address, a time or a task. Failed hosts come first, then unknown ones, then those that were not
// tried, and within these the row with the most hosts.
func fold(inventory fleet.Inventory, failures fleet.Results, shape func(string) string) []row {
	type sameness struct {
		rank           int
		code           int64
		reason, output string
	}
	byKey := func(a, b fleet.Host) int { return fleet.CompareKeys(inventory.Key(a), inventory.Key(b)) }
	folded := make(map[sameness]*row)
	for host, o := range failures {
		reason, output := Reason(o), tail(saidBeside(host, o))
		same := sameness{rankOf(o), o.Code, reason, shape(output)}
		if !o.Ran && o.Err == nil {
			same.reason, same.output = withoutNumbers(reason), withoutNumbers(shape(output))
		}
		r, found := folded[same]
		if !found {
			r = &row{rank: same.rank, reason: reason, output: output}
			folded[same] = r
		}
		r.varied = r.varied || reason != r.reason || output != r.output
		if r.hosts = append(r.hosts, host); byKey(host, r.hosts[0]) < 0 {
			last := len(r.hosts) - 1
			r.hosts[0], r.hosts[last] = r.hosts[last], r.hosts[0]
			r.reason, r.output = reason, output // those of the first host, in whatever order they are visited
		}
	}
	rows := make([]row, 0, len(folded))
	for _, r := range folded {
		slices.SortFunc(r.hosts, byKey)
		for _, host := range r.hosts {
			r.keys = append(r.keys, inventory.Key(host))
		}
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(b.keys), len(a.keys)), fleet.CompareKeys(a.keys[0], b.keys[0]))
	})
	return rows
}

// withoutNumbers replaces each number with #, so that outputs with another time or process id are equal.
func withoutNumbers(output string) string {
	var text strings.Builder
	number := false
	for _, r := range output {
		digit := '0' <= r && r <= '9'
		switch {
		case !digit:
			text.WriteRune(r)
		case !number:
			text.WriteRune('#')
		}
		number = digit
	}
	return text.String()
}

// chosen returns the rows that are shown: the first of each reason, and others while there is room.
func chosen(rows []row) []row {
	seen := make(map[string]bool)
	for _, r := range rows {
		seen[r.reason] = true
	}
	room := maxRows - len(seen)
	clear(seen)
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		switch {
		case !seen[r.reason]:
			seen[r.reason] = true
			return len(seen) > maxReasons
		case room > 0:
			room--
			return false
		}
		return true
	})
}

// count returns the number of hosts in rows.
func count(rows []row) int {
	n := 0
	for _, r := range rows {
		n += len(r.hosts)
	}
	return n
}

// place names the hosts of a row.
func (r row) place() string {
	if len(r.hosts) > 1 {
		return fmt.Sprintf("%s (%d hosts)", Keys(r.keys), len(r.keys))
	}
	return placeOf(r.keys[0], r.hosts[0])
}

// places names each host of a row with its address.
func (r row) places() string {
	all := make([]string, len(r.hosts))
	for i, host := range r.hosts {
		all[i] = placeOf(r.keys[i], host)
	}
	return strings.Join(all, ", ")
}

func placeOf(key string, host fleet.Host) string {
	if address := host.Address(); address != key {
		return key + " (" + address + ")"
	}
	return key
}

// Keys names hosts on one line as ranges. If there are too many ranges, it names the first ones.
func Keys(keys []string) string {
	ranges := fleet.Ranges(keys)
	if len(ranges) <= maxRanges {
		return strings.Join(ranges, ", ")
	}
	return strings.Join(ranges[:maxRanges], ", ") + ", …"
}

// Reason describes an outcome in one line for people, without the message of the platform or a command. It does
// not change from one run to the next.
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

// Reasons of outcomes that leave open whether the platform did what was asked.
const (
	reasonUnknown     = "outcome unknown"
	reasonInterrupted = "interrupted"
	reasonTimeUp      = "no verdict when the time was up"
)

// detail returns what there is to say of an outcome besides its code, "" if nothing.
func detail(o fleet.Outcome) string {
	said := platformSaid(o)
	switch {
	case said != "" && o.Verdict == fleet.NotTried:
		return strings.TrimPrefix(said, "not tried: ")
	case said != "":
		return said
	case o.Verdict == fleet.Lost:
		return withOutput("the operation was sent and its answer got lost", answered(o.Err))
	case o.Verdict == fleet.NotTried && fleet.Interrupted(o.Err):
		return "interrupted before it was sent"
	case o.Verdict == fleet.NotTried:
		return "the time was up before it was sent"
	case o.Verdict != fleet.Pending && o.Err != nil:
		return withOutput("the call failed", answered(o.Err))
	}
	return ""
}

// platformSaid returns the platform's code for a host and its meaning, as far as there are any.
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
