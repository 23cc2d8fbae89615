package faultmatrix

import (
	"cmp"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

var writeFaultPage = flag.Bool("write-fault-page", false, "let TestFaultPage write the page in place of comparing it")

// MATRIX.md is what the table of the tests says.
func TestFaultPage(t *testing.T) {
	t.Parallel()
	providertest.Rendered(t, *writeFaultPage, "MATRIX.md", renderFaultPage(t))
}

// matrixCell is a cell of the matrix by one face. The page and the tests go by the same list.
type matrixCell struct {
	fault fault
	by    face
	on    operation
	cell  cell
}

func (c matrixCell) name() string { return fmt.Sprintf("%s/%s/%s", c.fault.name, c.by, c.on.Path()) }

func matrixCells() []matrixCell {
	var cells []matrixCell
	for _, f := range faultTable() {
		for _, by := range f.by() {
			for _, on := range operations {
				if c, ok := f.cell(on, by); ok {
					cells = append(cells, matrixCell{f, by, on, c})
				}
			}
		}
	}
	return cells
}

type (
	pageRow     struct{ Operation, See, State, Sent, Next string }
	pageFault   struct{ Title, Says, Through string }
	pageSection struct {
		Title, About, Never string
		Rows                []pageRow
		Faults              []pageFault
		Notes               []string
	}
	pageBehaviour struct {
		Number       int
		Title, Shown string
	}
	pageEffect struct{ Operation, Through, Before, After string }
)

func renderFaultPage(t *testing.T) string {
	t.Helper()
	cells := matrixCells()
	layout, err := template.ParseFiles(filepath.Join("testdata", "faults.md.tmpl"))
	providertest.NoError(t, err)
	var page strings.Builder
	onCLI := slices.DeleteFunc(slices.Clone(cells), func(c matrixCell) bool { return !c.on.OnCLI() })
	providertest.NoError(t, layout.Execute(&page, map[string]any{
		"Cells": len(cells), "OnCLI": len(onCLI), "Typed": len(typedCells()), "Sections": pageSections(cells),
		"Behaviours": pageBehaviours(), "Effects": pageEffects(), "Commands": cliCells,
	}))
	return page.String()
}

func pageSections(cells []matrixCell) []pageSection {
	var order []*pattern
	byPattern := make(map[*pattern][]matrixCell)
	for _, c := range cells {
		if !slices.Contains(order, c.fault.pattern) {
			order = append(order, c.fault.pattern)
		}
		byPattern[c.fault.pattern] = append(byPattern[c.fault.pattern], c)
	}
	sections := make([]pageSection, len(order))
	for i, p := range order {
		sections[i] = pageSectionOf(p, byPattern[p])
	}
	return sections
}

func pageSectionOf(p *pattern, cells []matrixCell) pageSection {
	s := pageSection{Title: p.title, About: p.about, Never: p.never}
	var named []string
	for _, c := range cells {
		if !slices.Contains(named, c.fault.name) {
			named = append(named, c.fault.name)
			s.Faults = append(s.Faults, pageFault{c.fault.title, quoted(c.fault.says), through(c.fault, cells)})
		}
	}
	for _, on := range operations {
		// The row is that of the first fault which goes by the pattern there.
		usual := slices.IndexFunc(cells, func(c matrixCell) bool { return c.on == on && !c.excepted() })
		if usual >= 0 {
			s.Rows = append(s.Rows, cells[usual].row())
		}
		s.Notes = append(s.Notes, notes(cells, on)...)
	}
	return s
}

func (c matrixCell) excepted() bool {
	_, excepted := c.fault.except[c.on]
	return excepted
}

// notes are about cells that are not as in the pattern, each once.
func notes(cells []matrixCell, on operation) []string {
	var lines []string
	for _, c := range cells {
		if c.on != on || !c.excepted() {
			continue
		}
		row := c.row()
		line := fmt.Sprintf("%s, %s: %s; state holds %s; sent %s; next plan: %s.", c.fault.title, on, row.See, row.State, row.Sent, row.Next)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (c matrixCell) row() pageRow {
	return pageRow{string(c.on), cmp.Or(seen[c.cell.ending], "nothing"), c.state(), c.sent(), c.next()}
}

var seen = map[ending]string{refused: "an error of the plan", fails: "an error", stays: "an error", taints: "an error", warns: "a warning"}

func (c matrixCell) state() string {
	reasons := "`out_of_sync`"
	if c.on.Operates() {
		reasons = "`failed_hosts`"
	}
	if c.cell.reason != "" {
		reasons += " as `" + strings.TrimRight(c.cell.reason, ": ") + "`"
	}
	asks := c.on.Reads()
	switch {
	case asks && (c.cell.ending == well || c.fault.state != ""):
		return "the status"
	case asks && c.cell.ending == warns:
		return "`unknown` for the hosts hit"
	case asks:
		return "no status"
	case c.on.Stateless() && c.cell.ending == well && len(c.fault.unlisted) > 0:
		return "the hosts that are listed"
	case c.on.Stateless() && c.cell.ending == well:
		return "all hosts"
	case c.on.Stateless(), c.on.BeginsWithoutState() && (c.cell.ending == refused || c.cell.ending == fails), c.on.Destroys() && (c.cell.ending == well || c.cell.ending == warns):
		return "nothing"
	case c.cell.ending == stays, c.cell.ending == refused, c.on.Refreshes() && c.cell.ending == warns:
		return "what it held"
	case c.cell.ending == well:
		return "all as declared"
	case c.on.Destroys():
		return "the hosts hit"
	}
	return "the hosts hit in " + reasons
}

func (c matrixCell) sent() string {
	switch {
	case c.cell.timeUp && c.cell.tries == 1:
		return "once, and its result asked for until the time is up"
	case c.cell.timeUp:
		return "until the time is up"
	case c.fault.repeats > 0 && c.by.Answers(c.on):
		return "until every host has its result"
	}
	times := map[int]string{0: "nothing", 1: "once", 2: "twice", 4: "each page twice", 6: "each page three times"} // a listing has two pages
	return cmp.Or(times[c.cell.tries], "up to `max_retries` times more")
}

func (c matrixCell) next() string {
	switch {
	case c.on.Stateless():
		return "reads it again"
	case c.cell.ending == well, c.cell.ending == warns && c.on.Destroys():
		return "no changes"
	case c.on.Refreshes() && c.cell.ending != drifts:
		return "as before"
	case c.on.BeginsWithoutState() && (c.cell.ending == refused || c.cell.ending == fails):
		return "a create"
	case c.cell.ending == stays && c.on.Updates(), c.cell.ending == refused:
		return "the update"
	case c.cell.ending == stays, c.on == onReadOwner:
		return "the destroy"
	case c.on.Destroys():
		return "a destroy of the hosts hit; at the gateway nothing where the platform did act"
	case c.cell.ending == taints && c.on != onCreate:
		return "a replacement; after `terraform untaint` an update of the hosts hit"
	case c.cell.ending == taints:
		return "a replacement; at the gateway a create where the platform did nothing"
	}
	return "an update of the hosts hit"
}

var faceNames = map[face]string{providertest.FaceESB: "ESB", providertest.FaceGateway: "gateway", providertest.FaceJOB: "JOB"}

func through(f fault, cells []matrixCell) string {
	var by []face
	for _, c := range cells {
		if c.fault.name == f.name && !slices.Contains(by, c.by) {
			by = append(by, c.by)
		}
	}
	return listed(by)
}

func listed(by []face) string {
	names := make([]string, len(by))
	for i, f := range by {
		names[i] = faceNames[f]
	}
	return strings.Join(names, ", ")
}

func pageBehaviours() []pageBehaviour {
	rows := make([]pageBehaviour, len(behaviours))
	for i, b := range behaviours {
		rows[i] = pageBehaviour{i + 1, b.title, b.shown()}
	}
	return rows
}

func pageEffects() []pageEffect {
	rows := make([]pageEffect, len(effectTable))
	for i, e := range effectTable {
		rows[i] = pageEffect{string(e.on), listed(e.by), e.before.String(), e.after.String()}
	}
	return rows
}

func quoted(says string) string {
	if says == "" {
		return "nothing"
	}
	return "`" + strings.NewReplacer("|", "\\|", "127.0.0.1", "…", "`", "'").Replace(says) + "`"
}

type behaviour struct {
	title string
	// rows are the names of faults.
	rows []string
	// effects: the side effects of operations are a table of their own.
	effects bool
}

// behaviours are all that is known, in the order of the page.
var behaviours = []behaviour{
	{"A task is queued (code 1000115, without data) before it has results", []string{"queued", "queued-for-ever"}, false},
	{"Hosts are missing from answers, for a while or for good", []string{"missing", "missing-for-ever", "silent"}, false},
	{"A host stays in progress (115) while the others are done, or its agent is away (117)", []string{"pending", "pending-for-ever", "agent-away", "machine-gone"}, false},
	{"One answer holds every code", []string{"mixed-start", "mixed-stop", "unknown-code"}, false},
	{"Codes say that the process is already as requested (828, 829, 850), and stopping one that does not run leaves it hosted",
		[]string{"already-running", "nothing-to-stop", "taken"}, false},
	{"836 can be about a start or a stop, and every start of a one-shot process ends with it", []string{"check-failed", "stop-check-failed", "one-shot", "one-shot-running"}, false},
	{"A failed command prints a lot, in lines, in another encoding, and secrets", []string{"command-failed", "command-failed-everywhere", "output-lines", "output-long", "output-mangled", "output-secret"}, false},
	{"A start that fails hosts the process anyway", []string{"failed-start-hosts"}, false},
	{"Operations host and unhost as well", []string{"none"}, true},
	{"A query's `content` has many forms", []string{
		"content-object", "hosting-not-told", "several-instances", "pid-zero", "unreadable-status", "no-instance",
	}, false},
	{"Members are spelt in several ways, and codes come as texts or not at all", []string{"errcode", "code-as-text", "false-with-zero"}, false},
	{"Keys name hosts in several ways, name others, or come twice", []string{
		"keys-supplier", "keys-no-supplier", "keys-of-agents", "keys-of-addresses", "keys-ipv6", "extra-key", "key-twice",
	}, false},
	{"The cached status lags, and its pages move", []string{
		"rows-lag", "no-row", "row-not-registered", "rows-unreadable", "rows-twice",
	}, false},
	{"A question needs the whole spec", []string{"no-spec"}, false},
	{"Zeros do harm", []string{"start-check-zero", "op-timeout-zero", "cpu-zero", "mem-zero"}, false},
	{"The answer to an operation gets lost after it was taken", []string{"closed-after", "reset", "cut", "504", "504-once"}, false},
	{"The platform refuses a whole request because of one host", []string{"poison", "empty-host"}, false},
	{"Pages, limits, refusals and missing APIs come as HTTP statuses, or as 200", []string{
		"502", "502-once", "504", "429", "429-once", "401", "403", "404", "404-job", "login-page", "esb-not-allowed", "esb-busy",
	}, false},
	{"A task is forgotten, or has no id", []string{"expired", "no-task-id"}, false},
	{"JOB takes registering for stopping, refuses what it calls optional, takes 150 for 0, hides GSE's errors, and is gone from 3.7 on", []string{
		"manage-proc", "job-no-pid-path", "job-no-setup-path", "job-cpu-150", "job-status", "gse-error", "404-job",
	}, false},
	{"One host has two names, and a platform may keep an entry for each, or take them for two hosts",
		[]string{"renamed", "renamed-entries", "names-unread", "other-selector", "machine-twice", "agent-id-esb", "host-twice"}, false},
	{"Others act on the same processes", []string{
		"taken", "other-resource", "unregistered", "unregistered-on-destroy", "stopped-at-console", "stopped-at-console-job", "stopped-during-plan", "unregistered-during-plan", "unregistered-during-plan-esb",
	}, false},
}

// Every behaviour has rows, and every row has cells.
func TestFaultPage_behaviours(t *testing.T) {
	t.Parallel()
	const known = 22
	if len(behaviours) != known {
		t.Errorf("%d behaviours, want %d", len(behaviours), known)
	}
	cells := make(map[string]int)
	for _, c := range matrixCells() {
		cells[c.fault.name]++
	}
	for _, b := range behaviours {
		if len(b.rows) == 0 {
			t.Errorf("nothing shows %q", b.title)
		}
		for i, row := range b.rows {
			if cells[row] == 0 {
				t.Errorf("%q is shown by %q, which has no cell", b.title, row)
			}
			if slices.Contains(b.rows[:i], row) {
				t.Errorf("%q is shown by %q twice", b.title, row)
			}
		}
	}
	for _, f := range faultTable() {
		if cells[f.name] == 0 {
			t.Errorf("%q has no cell", f.name)
		}
	}
}

func (b behaviour) shown() string {
	var titles []string
	for _, name := range b.rows {
		if i := slices.IndexFunc(faultTable(), func(f fault) bool { return f.name == name }); i >= 0 {
			titles = append(titles, strings.ReplaceAll(faultTable()[i].title, "|", "\\|"))
		}
	}
	if b.effects {
		titles = []string{"[Side effects of operations](#side-effects-of-operations)"}
	}
	return strings.Join(titles, "; ")
}
