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

// MATRIX.md is rendered from the table of the tests.
func TestFaultPage(t *testing.T) {
	t.Parallel()
	providertest.Rendered(t, *writeFaultPage, "MATRIX.md", renderFaultPage(t))
}

// matrixCell is a cell of the matrix for one face. The page and the tests use the same list.
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
	pageEffect struct{ Operation, Through, Before, After string }
)

func renderFaultPage(t *testing.T) string {
	t.Helper()
	cells := matrixCells()
	layout, err := template.New("faults.md.tmpl").Funcs(template.FuncMap{"shown": shown}).ParseFiles(filepath.Join("testdata", "faults.md.tmpl"))
	providertest.NoError(t, err)
	var page strings.Builder
	onCLI := slices.DeleteFunc(slices.Clone(cells), func(c matrixCell) bool { return !c.on.OnCLI() })
	providertest.NoError(t, layout.Execute(&page, map[string]any{
		"Cells": len(cells), "OnCLI": len(onCLI), "Sections": pageSections(cells),
		"Effects": pageEffects(), "Commands": cliCells,
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
		// The row shows the first fault that follows the pattern there.
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

// notes returns notes about cells that differ from the pattern, each once.
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
		return "once, and polled until the time is up"
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
		return "a destroy of the hosts hit"
	case c.cell.ending == taints:
		return "a replacement; at the gateway with a warning if the platform did nothing"
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

func TestFaultTable(t *testing.T) {
	t.Parallel()
	for _, f := range faultTable() {
		_, err := shown(f.name)
		providertest.NoError(t, err)
	}
}

// shown returns the titles of the table's rows that the template of the page names.
func shown(rows ...string) (string, error) {
	titles := make([]string, len(rows))
	cells := matrixCells()
	for i, row := range rows {
		at := slices.IndexFunc(cells, func(c matrixCell) bool { return c.fault.name == row })
		if at < 0 {
			return "", fmt.Errorf("%q has no cell", row)
		}
		titles[i] = strings.ReplaceAll(cells[at].fault.title, "|", "\\|")
	}
	return strings.Join(titles, "; "), nil
}
