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

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// A sentence of a page that says a warning, an error, an exit code or a default is a
// promise. The test that shows it quotes it, in a comment of its own:
//
//	Promised in drift-in-ci.md: state is kept, and a warning names the host
//
// The pages of resources, data sources, actions, lists and functions say much alike, as they are rendered from the same
// descriptions: they are one page here, "reference". What they say the default of an attribute is, TestDefaults_asDescribed reads.
//
// What the documentation promises is shown by tests, and what tests quote is promised still.
func TestDocs_keepTheirPromises(t *testing.T) {
	t.Parallel()
	// These are about the CLI itself, or are the table that the tests of faultmatrix write.
	exempt := map[string]string{
		"`plan -refresh-only -detailed-exitcode`":                                     "what later releases of Terraform do",
		"A `check` never makes a plan fail":                                           "what Terraform does",
		"`plan -detailed-exitcode` then returns 2 on every run":                       "what a check block makes of any provider",
		"they change on every run, and so does the exit code":                         "what Terraform makes of a changed output",
		"When a create ends with an error, Terraform marks the resource as tainted":   "what Terraform does",
		"A second Ctrl-C can catch Terraform while it writes a local state":           "what Terraform does",
		"A plan with drift reads the data source only when it is applied":             "what Terraform does",
		"Each plan reads and compares all of it, and a run that fails leaves more to": "advice",
		"`Error acquiring the state lock`":                                            "what the CLI says",
		"The platform's error code if the state is `unknown`, otherwise null":         "what an attribute is",
		"None by default":      "an attribute that may be left out",
		"Unlimited by default": "every other test runs without a limit",
	}
	used := make(map[string]bool)
	quoted := promisesQuoted(t)
	for name, page := range pages(t) {
		for i, quote := range quoted[name] {
			quote = strings.TrimSuffix(quote, ".") // the comment's own
			quoted[name][i] = quote
			providertest.Check(t, strings.Contains(oneLine(page.text), quote), "%s does not say: %s", name, quote)
		}
		for _, promise := range page.promises() {
			shown := func(quote string) bool { return strings.Contains(promise, quote) || strings.Contains(quote, promise) }
			known := slices.ContainsFunc(quoted[name], shown)
			for quote := range exempt {
				if shown(quote) {
					known = true
					used[quote] = true
				}
			}
			providertest.Check(t, known, "no test quotes what %s promises: %s", name, promise)
		}
		delete(quoted, name)
	}
	for page, quotes := range quoted {
		t.Errorf("there is no page %s, which is quoted with %q", page, quotes)
	}
	for quote := range exempt {
		providertest.Check(t, used[quote], "nothing says any more: %s", quote)
	}
}

// page is a text that promises what its pattern finds, outside of what it leaves out.
type page struct {
	text      string
	promising *regexp.Regexp
	besides   *regexp.Regexp
}

var (
	promiseMark = regexp.MustCompile(`^// Promised in (reference|[\w-]+\.md): (.*)$`)
	inGuides    = regexp.MustCompile(`(?i)\bwarn|\bexit|\bdefault|\berror|\bfails?\b`)
	// Elsewhere many an attribute is named after one of these words.
	inReference = regexp.MustCompile(`(?i)\bwarn(s|ing|ings)?\b|\berrors?\b|\bexits?\b|\bfails\b|\bby default\b|\bdefaults to \w`)
	nothing     = regexp.MustCompile(`^\z.`)
	code        = regexp.MustCompile("`[^`]*`")
	// Code, front matter and the heads of tables promise nothing.
	besides     = regexp.MustCompile("(?s)```.*?```|^---.*?\n---\n|\n[|][^\n]*\n[|][-|]+[|]\n")
	blockEnd    = regexp.MustCompile(`\n\s*\n|\n[|*-]`)
	sentenceEnd = regexp.MustCompile(`[.:;] `)
)

// pages are all that is read, by the names that quotes give them.
func pages(t *testing.T) map[string]page {
	t.Helper()
	found := map[string]page{
		"README.md": {read(t, "README.md"), inReference, code}, "index.md": {read(t, "docs/index.md"), inReference, code},
	}
	files := providertest.Glob(t, "docs/*/*.md")
	var reference strings.Builder
	for _, file := range files {
		text, name := read(t, file), path.Base(filepath.ToSlash(file))
		switch {
		case name == "faults.md", name == "codes.md", strings.HasPrefix(name, "zh-"):
			// Rendered from the tables that their tests go through; held against the English page.
		case name == "logs.md": // the names of its variables are no warnings
			found[name] = page{text, inReference, code}
		case path.Base(path.Dir(filepath.ToSlash(file))) == "guides":
			found[name] = page{text, inGuides, nothing}
		default:
			reference.WriteString(besides.ReplaceAllString(text, "\n\n") + "\n\n")
		}
	}
	found["reference"] = page{reference.String(), inReference, code}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	return providertest.ReadFile(t, file)
}

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
	providertest.NoError(t, err)
	return quoted
}

// promises returns the sentences of a page that promise something. A row of a table is
// one; headings are none.
func (p page) promises() []string {
	var promises []string
	for _, block := range blockEnd.Split(besides.ReplaceAllString(p.text, "\n\n"), -1) {
		block = oneLine(block)
		if strings.HasPrefix(block, "#") {
			continue
		}
		sentences := sentenceEnd.Split(block, -1)
		if strings.HasSuffix(block, "|") {
			sentences = []string{block}
		}
		for _, sentence := range sentences {
			if p.promising.MatchString(p.besides.ReplaceAllString(sentence, "")) {
				promises = append(promises, strings.TrimSuffix(sentence, "."))
			}
		}
	}
	return promises
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
