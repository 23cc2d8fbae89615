package diagnose

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"
	"unicode"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// Everything that was ever written with a code keeps its meaning, whatever is written now.
func TestParseHostStatus_codes(t *testing.T) {
	t.Parallel()
	read := readGolden(t, "testdata/state-with-codes.txt")
	for _, code := range Codes() {
		procapitest.Check(t, read[code], "no text is read as %s", code)
	}
}

func readGolden(t *testing.T, file string) map[fleet.Code]bool {
	t.Helper()
	golden, err := os.ReadFile(file)
	procapitest.NoError(t, err)
	otherwise := map[string]fleet.Code{"out_of_sync": fleet.NotRegistered, "failed_hosts": Failed}
	read := make(map[fleet.Code]bool)
	for line := range strings.Lines(string(golden)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(fields) != 3 || otherwise[fields[0]] == "" {
			t.Fatalf("not an attribute, a code and a sentence: %q", line)
		}
		status := ParseHostStatus(fields[2], otherwise[fields[0]])
		procapitest.WantEqual(t, "code of "+fields[2], fleet.Code(fields[1]), status.Code)
		procapitest.WantEqual(t, "written and read, "+fields[2], status, ParseHostStatus(status.String(), ""))
		read[status.Code] = true
	}
	return read
}

func TestDrifted(t *testing.T) {
	t.Parallel()
	stop := fleet.Difference{Field: "control.stop_cmd", Declared: "./stop.sh", Hosted: "./stop.sh -9, or so"}
	memory := fleet.Difference{Field: "resource.mem", Declared: "10", Hosted: "50"}
	long := fleet.Difference{Field: "control.start_cmd", Declared: strings.Repeat("a", 60), Hosted: strings.Repeat("b", 61)}
	for want, c := range map[string]struct {
		differs []fleet.Code
		fields  []fleet.Difference
		hosted  bool // and read
	}{
		"not_hosted: not running, not hosted":                         {differs: []fleet.Code{fleet.NotHosted, fleet.NotRunning}},
		"not_running: not running":                                    {differs: []fleet.Code{fleet.NotRunning}},
		"unregistered: the platform no longer knows the process here": {differs: []fleet.Code{fleet.NotRegistered}},
		"other_spec: registered anew by another tool":                 {differs: []fleet.Code{fleet.Anew}},
		"other_spec: registered with another spec, not running":       {differs: []fleet.Code{fleet.OtherSpec, fleet.NotRunning}},
		"other_labels: replaced by a start without its limits":        {differs: []fleet.Code{fleet.Started}},
		"other_labels: registered with other labels":                  {differs: []fleet.Code{fleet.OtherLabels}},
		`other_spec: hosted with stop_cmd "./stop.sh" → "./stop.sh -9, or so", mem 10 → 50`: {
			[]fleet.Code{fleet.HostedOtherwise}, []fleet.Difference{stop, memory}, true,
		},
		`other_spec: registered with another spec, not hosted, hosted with mem 10 → 50, mem 10 → 50, mem 10 → 50, mem 10 → 50, mem 10 → 50, and 2 more`: {
			[]fleet.Code{fleet.HostedOtherwise, fleet.OtherSpec, fleet.NotHosted}, slices.Repeat([]fleet.Difference{memory}, 7), true,
		},
		`other_spec: hosted with start_cmd "` + strings.Repeat("a", 60) + `" → "` + strings.Repeat("b", 60) + `…"`: {
			[]fleet.Code{fleet.HostedOtherwise}, []fleet.Difference{long}, true,
		},
		`other_spec: hosted with start_cmd "…` + strings.Repeat("a", 15) + `" → "…` + strings.Repeat("a", 15) + `b"`: {
			[]fleet.Code{fleet.HostedOtherwise}, []fleet.Difference{{Field: "control.start_cmd", Declared: strings.Repeat("a", 80), Hosted: strings.Repeat("a", 80) + "b"}}, true,
		},
		"not_running: not running, not hosted": {[]fleet.Code{fleet.NotRunning, fleet.NotHosted}, []fleet.Difference{stop}, true},
		"other_spec: registered with another spec (in what the agent's file does not keep), not running": {differs: []fleet.Code{fleet.OtherSpec, fleet.NotRunning}, hosted: true},
	} {
		var kept *fleet.Hosting
		if c.hosted {
			kept = &fleet.Hosting{Hosted: true, Differs: c.fields}
		}
		got := Drifted(c.differs, kept)
		procapitest.WantEqual(t, "in state", want, got.String())
		procapitest.Check(t, slices.Contains(Codes(), got.Code) && got.FromRefresh(),
			"%q has no code of the list, or does not count as what a refresh tells", got)
	}
	for _, text := range []string{"not running: 117, the agent is abnormal or not found", "836: hosted with nothing", "refused, hosted with mem 10 → 50"} {
		failed := (HostStatus{Code: fleet.NotRunning, Text: text})
		procapitest.Check(t, !failed.FromRefresh(), "%q counts as what a refresh found", failed)
	}
}

// The end of what a command printed is in state, on one line and bounded.
//
// Promised in limits.md: the last 3 lines, 240 characters |.
// Promised in limits.md: the last 5 lines, 160 characters each |.
func TestHostStatus_output(t *testing.T) {
	t.Parallel()
	const because = "65535, the command failed"
	for name, c := range map[string]struct{ message, want string }{
		"none":            {"", because},
		"a-line":          {"disk full\n", because + ": disk full"},
		"the-last-lines":  {"Traceback:\n  File x\n\n\tin y\nOSError:\nno space left:\n", because + ": …in y | OSError: | no space left:"},
		"a-line-too-long": {strings.Repeat("a", 500) + "end", because + ": …" + strings.Repeat("a", maxStateRunes-3) + "end"},
	} {
		o := fleet.Outcome{Verdict: fleet.Failed, Code: 65535, Meaning: "the command failed", Message: c.message, Ran: true}
		procapitest.WantEqual(t, name+" in failed_hosts", "failed: "+c.want, OperationStatus(o).String())
		procapitest.WantEqual(t, name+" in out_of_sync", "not_running: "+c.want, LeftStatus(fleet.NotRunning, o).String())
	}
	line, lines := strings.Repeat("a", maxLineRunes), strings.Repeat("a\n", maxOutputLines-1)+"a"
	for text, want := range map[string]string{line: line, line + "b": line + cutMark, lines: lines, "b\n" + lines: cutMark + "\n" + lines} {
		procapitest.WantEqual(t, "a message", want, tail(text))
	}
	for want, o := range map[string]fleet.Outcome{
		"failed: 117, the agent is abnormal or not found": {Verdict: fleet.Failed, Code: 117, Meaning: "the agent is abnormal or not found", Message: "agent abnormal"},
		// The meaning of a code is printed once, even if the platform's message repeats it.
		"failed: 65535, the command failed":         {Verdict: fleet.Failed, Code: 65535, Meaning: "the command failed", Message: "Command failed.", Ran: true},
		"failed: 65535, the command failed: exit 1": {Verdict: fleet.Failed, Code: 65535, Meaning: "the command failed", Message: "exit 1", Ran: true},
		"failed: 4711: what nobody expects":         {Verdict: fleet.Failed, Code: 4711, Message: "what nobody expects"},
	} {
		procapitest.WantEqual(t, "failed_hosts", want, OperationStatus(o).String())
	}
}

// hostile are texts that look like something else.
var hostile = []string{"", "x", "interrupted", "outcome unknown (x)", "not registered: x", "failed: x", ": ", "a: b"}

func TestHostStatus_roundTrip(t *testing.T) {
	t.Parallel()
	for _, code := range Codes() {
		for _, text := range hostile {
			want := HostStatus{Code: code, Text: text}
			procapitest.WantEqual(t, "read from "+want.String(), want, ParseHostStatus(want.String(), "other"))
		}
	}
}

var outcomes = map[string]struct {
	outcome fleet.Outcome
	want    string // in state
	reason  string // in messages
}{
	"refused":        {fleet.Outcome{Verdict: fleet.Failed, Code: 117, Meaning: "the agent is abnormal or not found"}, "failed: 117, the agent is abnormal or not found", "117, the agent is abnormal or not found"},
	"code-alone":     {fleet.Outcome{Verdict: fleet.Failed, Code: 4711}, "failed: 4711", "4711"},
	"nothing-known":  {fleet.Outcome{Verdict: fleet.Failed}, "failed", "failed"},
	"call-failed":    {fleet.Outcome{Verdict: fleet.Failed, Err: errors.New("403")}, "failed: the call failed", "the call failed"},
	"lost":           {fleet.Outcome{Verdict: fleet.Lost}, "outcome_unknown: the operation was sent and its answer got lost", "outcome unknown (the operation was sent and its answer got lost)"},
	"unreadable":     {fleet.Outcome{Verdict: fleet.Lost, Meaning: "unreadable"}, "outcome_unknown: unreadable", "outcome unknown (unreadable)"},
	"refuses-result": {fleet.Outcome{Verdict: fleet.Pending, Err: errors.New("403")}, "outcome_unknown", "outcome unknown"},
	"time-up":        {fleet.Outcome{Verdict: fleet.Pending, Code: 115, Meaning: "still in progress", Err: context.DeadlineExceeded}, "no_verdict: 115, still in progress", "no verdict when the time was up (115, still in progress)"},
	"time-up-silent": {fleet.Outcome{Verdict: fleet.Pending, Err: context.DeadlineExceeded}, "no_verdict", "no verdict when the time was up"},
	"interrupted":    {fleet.Outcome{Verdict: fleet.Pending, Err: context.Canceled}, "interrupted", "interrupted"},
	"never-began":    {fleet.Outcome{Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}, "not_tried: too many hosts had failed before its wave", "not tried: too many hosts had failed before its wave"},
	"never-sent":     {fleet.Outcome{Verdict: fleet.NotTried, Err: context.DeadlineExceeded}, "not_tried: the time was up before it was sent", "not tried: the time was up before it was sent"},
	"ctrl-c-first":   {fleet.Outcome{Verdict: fleet.NotTried, Err: context.Canceled}, "not_tried: interrupted before it was sent", "not tried: interrupted before it was sent"},
}

func TestOperationStatus(t *testing.T) {
	t.Parallel()
	for name, c := range outcomes {
		procapitest.WantEqual(t, name+" in state", c.want, OperationStatus(c.outcome).String())
		procapitest.WantEqual(t, name+" in messages", c.reason, Reason(c.outcome))
	}
}

func TestInDoubt(t *testing.T) {
	t.Parallel()
	var doubtful []fleet.Code
	for _, code := range Codes() {
		if CodeInDoubt(code) {
			doubtful = append(doubtful, code)
		}
	}
	procapitest.WantEqual(t, "in doubt", []fleet.Code{OutcomeUnknown, NoVerdict, Interrupted}, doubtful)
}

// A supplier id that is written out later does not make it another host.
func TestStatuses_supplier(t *testing.T) {
	t.Parallel()
	short, faults := fleet.NewInventory(maps.All(map[string]string{"a": "0:10.0.0.1", "well": "0:10.0.0.2"}), 0)
	spelt, more := fleet.NewInventory(maps.All(map[string]string{"b": "0:7:10.0.0.1", "well": "0:10.0.0.2"}), 0)
	if len(faults)+len(more) > 0 {
		t.Fatal(faults, more)
	}
	statuses := Statuses(map[string]string{"a": "not_tried", "gone": "failed"}, short, Failed)
	procapitest.WantEqual(t, "statuses", map[string]string{"b": "not_tried"}, StatusesByKey(spelt, statuses))
}

// Hosts whose agents do not answer keep since when that is, and what the platform said. Beyond the allowed
// number they count as any other host that failed.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 3)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	away := fleet.Outcome{Verdict: fleet.Failed, Code: 117, Meaning: "away", Message: "no heartbeat"}
	first, second := Unanswered(now, NotTried, away, HostStatus{}), Unanswered(now, "", fleet.Outcome{Verdict: fleet.Failed, Meaning: "silent"}, HostStatus{})
	procapitest.WantEqual(t, "the next day", first, Unanswered(now.Add(24*time.Hour), NotTried, fleet.Outcome{}, first))
	statuses := map[fleet.HostID]HostStatus{hosts[0].WithoutSupplier(): first, hosts[1].WithoutSupplier(): second, hosts[2].WithoutSupplier(): {Code: Failed, Text: "no"}}
	written := UnreachableByKey(inventory, statuses)
	procapitest.WantEqual(t, "in state", map[string]string{
		"h01": "not_tried since 2026-01-02T03:04:05Z: 117, the agent is abnormal or not found", "h02": "since 2026-01-02T03:04:05Z: silent",
	}, written)
	procapitest.WantEqual(t, "read again", written, UnreachableByKey(inventory, Unreachable(written, inventory)))
	procapitest.WantEqual(t, "in a message", "  h01 (0:10.0.0.1): 117, the agent is abnormal or not found\n  h02 (0:10.0.0.2): silent\n", UnreachableRows(inventory, statuses))
	procapitest.WantEqual(t, "within 2", 2, CountUnreachable(Within(2, statuses)))
	procapitest.WantEqual(t, "within 1", map[string]string{"h01": "not_tried: 117, the agent is abnormal or not found", "h03": "failed: no"}, StatusesByKey(inventory, Within(1, statuses)))
	procapitest.WantEqual(t, "nothing was left to do", HostStatus{}, second.AnswersAgain())
	procapitest.WantEqual(t, "something was", NotTried, first.AnswersAgain().Code)
}

var writeGlossary = flag.Bool("write-glossary", false, "let TestGlossary_pages write the pages in place of comparing them")

type glossaryRow struct {
	Code                      string
	From, Sure, Meaning, Todo procapi.Words
}

func hostRows() []glossaryRow {
	var rows []glossaryRow
	for _, known := range procapi.KnownCodes() {
		row := glossaryRow{Code: fmt.Sprint(known.Code), Sure: known.Sure, Meaning: known.Meaning, Todo: known.Todo}
		if known.Stop {
			row.From = procapi.Words{English: "stop, kill", Chinese: "停止、强制停止"}
		}
		rows = append(rows, row)
	}
	return rows
}

func callRows() []glossaryRow {
	var rows []glossaryRow
	for _, known := range callCodes {
		rows = append(rows, glossaryRow{Code: fmt.Sprint(known.code), From: known.from, Meaning: known.meaning, Todo: known.todo})
	}
	return rows
}

func stateRows() []glossaryRow {
	var rows []glossaryRow
	for _, known := range stateCodes {
		rows = append(rows, glossaryRow{Code: string(known.code), Meaning: known.meaning, Todo: known.next})
	}
	return rows
}

// The glossaries in the documentation are what the tables of codes say.
func TestGlossary_pages(t *testing.T) {
	t.Parallel()
	tables := map[string][]glossaryRow{"Host": hostRows(), "Call": callRows(), "State": stateRows()}
	for _, name := range []string{"codes.md.tmpl", "zh-codes.md.tmpl"} {
		// A cell is Markdown: its bars and what looks like HTML are text.
		cell := strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace
		words := func(w procapi.Words) string {
			if strings.HasPrefix(name, "zh-") {
				return cell(w.Chinese)
			}
			return cell(w.English)
		}
		english := func(w procapi.Words) string { return cell(w.English) }
		layout, err := template.New(name).Funcs(template.FuncMap{"words": words, "english": english}).ParseFiles(filepath.Join("testdata", name))
		procapitest.NoError(t, err)
		var page strings.Builder
		procapitest.NoError(t, layout.Execute(&page, tables))
		file := filepath.Join("..", "..", "templates", "guides", name)
		if *writeGlossary {
			procapitest.NoError(t, os.WriteFile(file, []byte(page.String()), 0o644))
			continue
		}
		written, err := os.ReadFile(file)
		procapitest.NoError(t, err)
		procapitest.WantEqual(t, "what make generate writes anew, "+file, page.String(), string(written))
	}
}

// Each code says in both languages what it means and what to do.
func TestGlossary_hasBothLanguages(t *testing.T) {
	t.Parallel()
	for table, rows := range map[string][]glossaryRow{"host": hostRows(), "call": callRows(), "state": stateRows()} {
		for _, row := range rows {
			all := map[string]procapi.Words{"meaning": row.Meaning, "what to do": row.Todo}
			if table == "host" {
				all["how sure"] = row.Sure
			}
			for what, words := range all {
				switch {
				case words.English == "" || strings.ContainsFunc(strings.ReplaceAll(words.English, "(节点管理)", ""), isChinese):
					t.Errorf("%s code %s: %s in English: %q", table, row.Code, what, words.English)
				case !strings.ContainsFunc(words.Chinese, isChinese):
					t.Errorf("%s code %s: %s in Chinese: %q", table, row.Code, what, words.Chinese)
				}
			}
		}
	}
}

func isChinese(r rune) bool { return unicode.Is(unicode.Han, r) }

// The tables have every code that the clients decide by, and every code of state.
func TestGlossary_isComplete(t *testing.T) {
	t.Parallel()
	told := make(map[string]bool)
	for _, row := range append(hostRows(), callRows()...) {
		told[row.Code] = true
	}
	declared := regexp.MustCompile(`(?m)^(?:const)?\s*(?:[Cc]ode|esb|apigw)\w+\s+= (\d+)$`)
	found := 0
	for _, client := range []string{"bkapi", "procapi", "job", "cmdb"} {
		files, err := filepath.Glob(filepath.Join("..", client, "*.go"))
		procapitest.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			procapitest.NoError(t, err)
			for _, match := range declared.FindAllSubmatch(source, -1) {
				found++
				code, err := strconv.ParseInt(string(match[1]), 10, 64)
				procapitest.NoError(t, err)
				if code != procapi.CodeOK && !told[string(match[1])] {
					t.Errorf("%s decides by %d, which the glossary does not tell", file, code)
				}
			}
		}
	}
	procapitest.Check(t, found >= len(told), "%d codes are declared, and %d are listed", found, len(told))
	var states []fleet.Code
	for _, known := range stateCodes {
		states = append(states, known.code)
	}
	procapitest.WantEqual(t, "codes of state, in the closed list and the glossary", Codes(), states)
}
