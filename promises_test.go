package main

import (
	"fmt"
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

// A sentence in a page about a warning, an error, an exit code or a default is a
// promise. The test that shows it quotes it in its comment:
//
//	Promised in drift-in-ci.md: state is kept, and a warning names the host
//
// The pages of resources, data sources, actions, lists and functions repeat each other, as they are rendered from the same
// descriptions, so they count as one page, "reference". TestDefaults_asDescribed covers the defaults of their attributes.
//
// Tests show what the documentation promises, and the documentation still promises what they quote.
func TestDocs_keepTheirPromises(t *testing.T) {
	t.Parallel()
	// These are about the CLI itself, or are rendered from the table of the tests in faultmatrix.
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
			quote = strings.TrimSuffix(quote, ".") // the full stop may be the comment's own
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
		providertest.Check(t, used[quote], "no page says any more: %s", quote)
	}
}

// page is a text. Its promises match a pattern, except in the parts that it leaves out.
type page struct {
	text      string
	promising *regexp.Regexp
	besides   *regexp.Regexp
}

var (
	promiseMark = regexp.MustCompile(`^// Promised in (reference|[\w-]+\.md): (.*)$`)
	inGuides    = regexp.MustCompile(`(?i)\bwarn|\bexit|\bdefault|\berror|\bfails?\b`)
	// In other pages, many attributes have one of these words in their names.
	inReference = regexp.MustCompile(`(?i)\bwarn(s|ing|ings)?\b|\berrors?\b|\bexits?\b|\bfails\b|\bby default\b|\bdefaults to \w`)
	nothing     = regexp.MustCompile(`^\z.`)
	code        = regexp.MustCompile("`[^`]*`")
	// Code, front matter and the heads of tables contain no promises.
	besides     = regexp.MustCompile("(?s)```.*?```|^---.*?\n---\n|\n[|][^\n]*\n[|][-|]+[|]\n")
	blockEnd    = regexp.MustCompile(`\n\s*\n|\n[|*-]`)
	sentenceEnd = regexp.MustCompile(`[.:;] `)
)

// pages returns all pages that are read, by the names that quotes use.
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
			// Rendered from tables that their tests check, and compared with the English page.
		case name == "logs.md": // the names of its variables are not warnings
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
		page := "" // of a quote that continues on the next line
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

// promises returns the sentences of a page that promise something. A row of a table counts as
// one sentence. Headings do not count.
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

var (
	frontMatter  = regexp.MustCompile(`(?s)\A---.*?\n---\n`)
	notRead      = regexp.MustCompile("(?s)```.*?\n```|<!--.*?-->")
	aboveHeading = regexp.MustCompile(`(?s)\A.*?\n# `)
)

// words counts the words of a page as a reader sees it: tables count, code blocks do not.
func words(page string) int {
	return len(strings.Fields(notRead.ReplaceAllString(frontMatter.ReplaceAllString(page, ""), "")))
}

var han = regexp.MustCompile(`\p{Han}`)

// wordsInChinese counts three characters as two words, the usual ratio of a translation.
func wordsInChinese(page string) int {
	return len(han.FindAllString(notRead.ReplaceAllString(frontMatter.ReplaceAllString(page, ""), ""), -1)) * 2 / 3
}

// Pages are short enough to be read to the end. A longer page must be shortened or split.
func TestPages_keepTheirBudgets(t *testing.T) {
	t.Parallel()
	budgets := map[string]int{"docs/index.md": 1000, "docs/guides/*.md": 1200, "docs/resources/*.md": 2000, "docs/actions/*.md": 2000, "docs/data-sources/*.md": 2000}
	for pattern, budget := range budgets {
		pages := providertest.Glob(t, pattern)
		for _, page := range pages {
			page, text, budget := filepath.ToSlash(page), read(t, page), budget
			count := words(text)
			if strings.HasPrefix(page, "docs/guides/zh-") {
				count = wordsInChinese(text)
			}
			switch {
			case page == "docs/guides/zh-index.md":
				budget = budgets["docs/index.md"]
			case strings.Contains(text, referenceSubcategory):
				budget = budgets["docs/resources/*.md"]
			}
			providertest.Check(t, count <= budget, "%s has %d words, more than %d", page, count, budget)
		}
	}
}

// The index shows, before anything else, how to install the provider, which permissions it needs,
// and what has not been proven.
func TestIndex_beginsWithWhatIsNeeded(t *testing.T) {
	t.Parallel()
	const screen = 200 // words
	page := aboveHeading.ReplaceAllString(read(t, "docs/index.md"), "")
	for _, heading := range []string{"Never run against a live GSE", "\n## Install\n", "\n## Credentials\n"} {
		above, _, found := strings.Cut(page, heading)
		count := len(strings.Fields(above))
		providertest.Check(t, found && count <= screen, "%q is not among the first %d words of the index, but after %d", heading, screen, count)
	}
	example := strings.TrimSpace(read(t, "examples/resources/bk_hosted_process/resource.tf"))
	for _, page := range []string{"README.md", "docs/index.md", "docs/resources/hosted_process.md"} {
		providertest.Check(t, strings.Contains(read(t, page), example), "%s has not the first example of all pages", page)
	}
}

// Every link leads to a page and a heading that exist.
func TestPages_leadSomewhere(t *testing.T) {
	t.Parallel()
	pages := providertest.Glob(t, "docs/*/*.md")
	for _, page := range append(pages, "docs/index.md", "README.md", "README.zh-CN.md", "SECURITY.md", "CONTRIBUTING.md", "DESIGN.md", "internal/faultmatrix/MATRIX.md") {
		for _, link := range pageLink.FindAllStringSubmatch(read(t, page), -1) {
			to, anchor := filepath.Join(filepath.Dir(page), link[1]), link[2]
			if link[1] == "" {
				to = page
			}
			providertest.Check(t, slices.Contains(anchorsOf(read(t, to)), anchor), "%s leads to %s%s, which does not exist", page, to, anchor)
		}
	}
}

// The change log says what users get with each release, and leaves details to the pages.
func TestChangelog_keepsItsBudget(t *testing.T) {
	t.Parallel()
	const budget = 600
	for _, release := range strings.Split("\n"+read(t, "CHANGELOG.md"), "\n## ")[1:] {
		if count := words(release); count > budget {
			name, _, _ := strings.Cut(release, "\n")
			t.Errorf("CHANGELOG.md has %d words about %s, more than %d", count, name, budget)
		}
	}
}

// The first steps explain in both languages each step of the demo, which prints English only.
func TestFirstSteps_tellTheDemo(t *testing.T) {
	t.Parallel()
	demo := read(t, "examples/demo/run.sh")
	steps := regexp.MustCompile(`(?m)^step ['"](.+?)['"](?: |$)`).FindAllStringSubmatch(demo, -1)
	if len(steps) == 0 {
		t.Fatal("the demo has no steps")
	}
	for _, file := range []string{"docs/guides/first-steps.md", "docs/guides/zh-first-steps.md"} {
		page := read(t, file)
		for i, step := range steps {
			if row := fmt.Sprintf("\n| %d. %s | ", i+1, step[1]); !strings.Contains(page, row) {
				t.Errorf("%s has no row for the step %q", file, step[1])
			}
		}
	}
}

// The messages in the first columns of the tables, as code, are really printed by the provider or the command line.
func TestTroubleshooting_quotesMessages(t *testing.T) {
	t.Parallel()
	said := sourcesOf(t, "internal")
	others := map[string]bool{ // messages of Terraform, and what users write; TestAccMistakes_ofTerraform tries the former
		"a number is required": true, `"process": string required`: true, `attribute "priority" is required`: true, `["web"].priority`: true, "map of string required": true,
		`attribute "healthy": object required`: true, `attribute "waves": list of string required`: true, `on_fail = "rollback"`: true, "rollout": true,
		"Provider requires explicit configuration": true, "hashicorp/bk": true, "init": true, "code 1306000": true, "owner": true, "must be replaced": true, "Error acquiring the state lock": true, "ensure = \"hosted\"": true, "out_of_sync": true, "terraform untaint": true,
	}
	firstCell := regexp.MustCompile(`(?m)^\| ([^|]*) \|`)
	code := regexp.MustCompile("`([^`]+)`")
	for _, page := range []string{
		"docs/guides/troubleshooting.md", "docs/guides/zh-troubleshooting.md", "docs/guides/configuration-mistakes.md", "docs/guides/zh-configuration-mistakes.md",
	} {
		text := read(t, page)
		quoted := 0
		for _, row := range firstCell.FindAllStringSubmatch(text, -1) {
			for _, quote := range code.FindAllStringSubmatch(row[1], -1) {
				quoted++
				if !others[quote[1]] && !strings.Contains(said, quote[1]) {
					t.Errorf("%s: nothing prints %q", page, quote[1])
				}
			}
		}
		if quoted < 25 && !strings.Contains(page, "mistakes") {
			t.Errorf("%s quotes %d messages", page, quoted)
		}
	}
}

// sourcesOf returns the text of the Go files in a folder, without tests. Texts that
// continue on the next line are joined.
func sourcesOf(t *testing.T, folder string) string {
	t.Helper()
	var text strings.Builder
	err := fs.WalkDir(os.DirFS("."), folder, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := os.ReadFile(file)
		text.Write(source)
		return err
	})
	providertest.NoError(t, err)
	return regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(text.String(), "")
}
