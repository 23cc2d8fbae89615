package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A sentence of a page that says a warning, an error, an exit code or a default is a
// promise. The test that shows it quotes it, in a comment of its own:
//
//	Promised in drift-in-ci.md: state is kept, and a warning names the host
//
// What the guides promise is shown by tests, and what tests quote is promised still.
func TestGuides_keepTheirPromises(t *testing.T) {
	t.Parallel()
	// These are about the CLI itself, or are the table that the tests of faultmatrix write.
	exempt := map[string]string{
		"`plan -refresh-only -detailed-exitcode`":                                       "what later releases of Terraform do",
		"A `check` never makes a plan fail":                                             "what Terraform does",
		"`plan -detailed-exitcode` then returns 2 on every run":                         "what a check block makes of any provider",
		"they change on every run, and so does the exit code":                           "what Terraform makes of a changed output",
		"When a create ends with an error, Terraform marks the resource as tainted":     "what Terraform does",
		"A second Ctrl-C can catch Terraform while it writes a local state":             "what Terraform does",
		"A plan with drift reads the data source only when it is applied":               "what Terraform does",
		"each plan reads and compares all of it, and a run that fails leaves more to":   "advice",
		"`Error acquiring the state lock`":                                              "what the CLI says",
		"What each kind of fault leads to, from a connection that is refused to a host": "where to read on",
	}
	quoted := promisesQuoted(t)
	pages, err := filepath.Glob("docs/guides/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		name := path.Base(filepath.ToSlash(page))
		if name == "faults.md" || name == "codes.md" || strings.HasPrefix(name, "zh-") {
			continue // rendered from the tables that their tests go through; held against the English page
		}
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		for i, quote := range quoted[name] {
			quote = strings.TrimSuffix(quote, ".") // the comment's own
			quoted[name][i] = quote
			if !strings.Contains(oneLine(text), quote) {
				t.Errorf("%s does not say: %s", page, quote)
			}
		}
		for _, promise := range promisesOf(text) {
			shown := func(quote string) bool { return strings.Contains(promise, quote) || strings.Contains(quote, promise) }
			known := slices.ContainsFunc(quoted[name], shown)
			for quote := range exempt {
				if shown(quote) {
					delete(exempt, quote)
					known = true
				}
			}
			if !known {
				t.Errorf("no test quotes what %s promises: %s", page, promise)
			}
		}
		delete(quoted, name)
	}
	for page, quotes := range quoted {
		t.Errorf("there is no guide %s, which is quoted with %q", page, quotes)
	}
	for quote := range exempt {
		t.Errorf("no guide says any more: %s", quote)
	}
}

var (
	promiseMark = regexp.MustCompile(`^// Promised in ([\w-]+\.md): (.*)$`)
	promising   = regexp.MustCompile(`(?i)\bwarn|\bexit|\bdefault|\berror|\bfails?\b`)
	// Code, front matter and the heads of tables promise nothing.
	besides     = regexp.MustCompile("(?s)```.*?```|^---.*?\n---\n|\n[|][^\n]*\n[|][-|]+[|]\n")
	blockEnd    = regexp.MustCompile(`\n\s*\n|\n[|*-]`)
	sentenceEnd = regexp.MustCompile(`[.:;] `)
)

// promisesQuoted returns what tests quote, by page.
func promisesQuoted(t *testing.T) map[string][]string {
	t.Helper()
	quoted := make(map[string][]string)
	err := fs.WalkDir(os.DirFS("."), "internal", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		content, err := os.ReadFile(file)
		page := "" // of the quote that goes on with the next line
		for line := range strings.Lines(string(content)) {
			line = strings.TrimSpace(line)
			if mark := promiseMark.FindStringSubmatch(line); mark != nil {
				page = mark[1]
				quoted[page] = append(quoted[page], mark[2])
				continue
			}
			more, comment := strings.CutPrefix(line, "// ")
			if !comment {
				page = ""
			}
			if page != "" {
				quoted[page][len(quoted[page])-1] += " " + more
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return quoted
}

// promisesOf returns the sentences of a page that promise something. A row of a table is
// one; headings and rows of links are none.
func promisesOf(page string) []string {
	var promises []string
	for _, block := range blockEnd.Split(besides.ReplaceAllString(page, "\n\n"), -1) {
		block = oneLine(block)
		if strings.HasPrefix(block, "#") {
			continue
		}
		var sentences []string
		if strings.HasSuffix(block, "|") {
			sentences = []string{block}
		} else {
			sentences = sentenceEnd.Split(block, -1)
		}
		for _, sentence := range sentences {
			if promising.MatchString(sentence) {
				promises = append(promises, sentence)
			}
		}
	}
	return promises
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
