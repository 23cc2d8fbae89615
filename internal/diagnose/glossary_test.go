package diagnose

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"unicode"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

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

// No code that the clients decide by is left out, and none of state.
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
	if found < len(told) {
		t.Errorf("%d codes are declared, and %d are listed", found, len(told))
	}
	var states []fleet.Code
	for _, known := range stateCodes {
		states = append(states, known.code)
	}
	procapitest.WantEqual(t, "codes of state, in the closed list and the glossary", Codes(), states)
}
