package main

import (
	"cmp"
	"crypto/sha1"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

var markTranslated = flag.Bool("mark-translated", false, "let TestTranslations_keepUp mark the Chinese pages as up to date in place of comparing them")

// A Chinese page says in a comment which file it was translated from, and the Git blob of
// that file. With the blob, Git shows what has changed since.
var translatedFrom = regexp.MustCompile(`Translated from (\S+) at blob ([0-9a-f]{40})`)

// A translation is a Chinese page, or the template of one.
type translation struct {
	file, text   string
	source, blob string // the file that it was translated from
}

// If a page changed after its translation, the test names the translation and the command that shows the change.
func TestTranslations_keepUp(t *testing.T) {
	t.Parallel()
	for _, page := range translations(t) {
		source, err := os.ReadFile(page.source)
		if err != nil {
			t.Errorf("%s: %v", page.file, err)
			continue
		}
		blob := blobOf(source)
		switch {
		case blob == page.blob:
		case *markTranslated:
			providertest.NoError(t, os.WriteFile(page.file, []byte(strings.Replace(page.text, page.blob, blob, 1)), 0o644))
		default:
			t.Errorf("%s changed since %s was translated from it:\n"+
				"  git diff %s %s\n"+
				"shows the change. Translate it, and then `make translated` marks every Chinese page as up to date.", page.source, page.file, page.blob[:12], page.source)
		}
	}
}

// blobOf returns the id that Git gives a file with this content.
func blobOf(content []byte) string {
	return fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content)))
}

// Code is the same in both languages except for comments: a Chinese page has no command,
// configuration or output that the English one does not have.
func TestTranslations_haveTheSameCode(t *testing.T) {
	t.Parallel()
	for _, page := range translations(t) {
		if !strings.HasSuffix(page.source, ".md") && !strings.HasSuffix(page.source, ".md.tmpl") || strings.HasPrefix(page.file, zhReference) {
			continue // TestReference_pages compares the pages of objects
		}
		english := codeOf(rendered(t, page.source))
		for _, block := range codeOf(rendered(t, page.file)) {
			providertest.Check(t, slices.Contains(english, block), "%s has code that %s does not have:\n%s", page.file, page.source, block)
		}
	}
}

var (
	codeBlock   = regexp.MustCompile("(?s)```.*?\n```")
	codeComment = regexp.MustCompile(`(?m)\s*(?:#|//)\s.*$`)
)

// codeOf returns the blocks of code of a page without comments and empty lines.
func codeOf(page string) []string {
	var blocks []string
	for _, block := range codeBlock.FindAllString(page, -1) {
		var lines []string
		for line := range strings.Lines(codeComment.ReplaceAllString(block, "")) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		blocks = append(blocks, strings.Join(lines, "\n"))
	}
	return blocks
}

func rendered(t *testing.T, file string) string {
	t.Helper()
	if page, isTemplate := strings.CutSuffix(file, ".tmpl"); isTemplate && strings.HasPrefix(file, "templates/") {
		file = "docs" + strings.TrimPrefix(page, "templates")
	}
	return read(t, file)
}

var subcategory = regexp.MustCompile(`\A---\npage_title: .*\nsubcategory: "(Basics|Operation|Reference)"\n`)

// Every guide is in the list of guides, and has a Chinese page, named zh- and its own name.
// Every template of the other pages has a Chinese layout.
func TestTranslations_areComplete(t *testing.T) {
	t.Parallel()
	guides := providertest.Glob(t, "docs/guides/*.md")
	for _, guide := range guides {
		name := filepath.Base(guide)
		if strings.HasPrefix(name, "zh-") {
			continue
		}
		providertest.Check(t, subcategory.MatchString(read(t, guide)), "%s has none of the subcategories Basics, Operation and Reference", guide)
		_, err := os.Stat(filepath.Join("docs", "guides", "zh-"+name))
		providertest.Check(t, err == nil, "%s has no Chinese page: templates/guides/zh-%s.tmpl", guide, name)
	}
	providertest.NoError(t, fs.WalkDir(os.DirFS("templates"), ".", func(file string, entry fs.DirEntry, err error) error {
		if entry != nil && file == "guides" {
			return fs.SkipDir
		}
		if strings.HasSuffix(file, ".tmpl") {
			read(t, zhReference+"/"+file)
		}
		return err
	}))
}

var zhSubcategory = regexp.MustCompile(`\A---\npage_title: .*\nsubcategory: "(中文|参考（中文）)"\n`)

// Chinese pages are listed together, and link to Chinese pages if they exist.
func TestTranslations_standTogether(t *testing.T) {
	t.Parallel()
	pages := providertest.Glob(t, "docs/guides/zh-*.md")
	for _, file := range append(pages, "README.zh-CN.md") {
		text := rendered(t, file)
		if file != "README.zh-CN.md" && !zhSubcategory.MatchString(text) {
			t.Errorf("%s does not begin with a title and the subcategory 中文 or 参考（中文）", file)
		}
		english := strings.TrimPrefix(filepath.Base(file), "zh-")
		for _, link := range pageLink.FindAllStringSubmatch(text, -1) {
			page := filepath.ToSlash(filepath.Join(filepath.Dir(file), cmp.Or(link[1], filepath.Base(file))))
			if name := filepath.Base(page); strings.HasPrefix(page, "docs/") && !strings.HasPrefix(name, "zh-") && name != english {
				t.Errorf("%s leads to %s and not to the Chinese page", file, page)
			}
		}
	}
}

// Words that Chinese operators do not use, and what they say instead.
var zhWords = []struct{ never, say string }{
	{`你`, "您"},
	{`放手`, "移出管理"},
	{`替身`, "模拟器"},
	{`门槛`, "健康门禁"},
	{`名字`, "标识、名称"},
	{`污点`, "标记 tainted"},
	{`[一不]声不响`, "静默"},
	{`(?i)supplier id`, "开发商 ID（`bk_supplier_id`）"},
	{`管控区域(?:[^（]|（[^云])|[^（]云区域`, "管控区域（云区域）"},
	{`[^（]取消注册`, "注销"},
	{`\A[^注]*(?:注[^销][^注]*)*注销(?:[^（]|（[^取])`, "注销（取消注册）, where it is first said"},
}

// Chinese pages use the words of Chinese operators.
func TestTranslations_useWordsOfOperators(t *testing.T) {
	t.Parallel()
	pages := providertest.Glob(t, "docs/guides/zh-*.md")
	for _, file := range append(pages, "README.zh-CN.md") {
		text := notRead.ReplaceAllString(frontMatter.ReplaceAllString(read(t, file), ""), "")
		for _, word := range zhWords {
			if at := regexp.MustCompile(word.never).FindStringIndex(text); at != nil {
				t.Errorf("%s: say %s instead of this: %q", file, word.say, lastRunes(text[:at[1]], 20))
			}
		}
	}
}

// lastRunes returns the last n characters of a text, or all of it.
func lastRunes(text string, n int) string {
	runes := []rune(text)
	return string(runes[max(0, len(runes)-n):])
}

var (
	pageLink = regexp.MustCompile(`\]\(([\w./-]+\.md)?(#[^)]+)?\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	placed   = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	unlinked = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchorsOf returns the anchors of a page's headings and of its other targets, and "".
func anchorsOf(page string) []string {
	anchors := []string{""}
	for _, match := range heading.FindAllStringSubmatch(page, -1) {
		anchors = append(anchors, "#"+strings.ReplaceAll(unlinked.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-"))
	}
	for _, match := range placed.FindAllStringSubmatch(page, -1) {
		anchors = append(anchors, "#"+match[1])
	}
	return anchors
}

// fromTables has the Chinese pages that are rendered from tables, with the file of each that is translated by hand, if any.
var fromTables = map[string]string{
	"zh-beliefs.md.tmpl":   "internal/belief/testdata/zh-beliefs.md.tmpl",
	"zh-codes.md.tmpl":     "",
	"zh-ownership.md.tmpl": "internal/ownership/testdata/zh-ownership.md.tmpl",
	"zh-versions.md.tmpl":  "internal/versions/testdata/zh-versions.md.tmpl",
}

func translations(t *testing.T) []translation {
	t.Helper()
	var pages []translation
	for _, file := range append(providertest.Glob(t, "templates/guides/zh-*.md.tmpl", zhReference+"/*.md.tmpl", zhReference+"/*/*.md.tmpl"), "README.zh-CN.md") {
		file = filepath.ToSlash(file)
		if layout, isRendered := fromTables[filepath.Base(file)]; isRendered {
			if layout == "" {
				continue
			}
			file = layout
		}
		text := read(t, file)
		mark := translatedFrom.FindStringSubmatch(text)
		if mark == nil {
			t.Errorf("%s does not say what it was translated from: <!-- Translated from docs/guides/….md at blob … -->", file)
			continue
		}
		pages = append(pages, translation{file, text, mark[1], mark[2]})
	}
	return pages
}
