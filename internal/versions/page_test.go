package versions_test

import (
	"cmp"
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

var writePages = flag.Bool("write-versions", false, "let TestVersions_pages write the guides in place of comparing them")

// What the guides say of a run.
var (
	whats = map[what]words{theSet: {"the set", "下列项目"}, theSuite: {"the whole acceptance suite", "全部验收测试"}}
	whens = map[when]words{everyChange: {"every change", "每次变更"}, longRun: {"the long run", "长时间测试"}}
)

// The guides say what runs.json keeps and what features are tried.
func TestVersions_pages(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]func(words) string{
		"versions.md.tmpl":    func(w words) string { return w.english },
		"zh-versions.md.tmpl": func(w words) string { return w.chinese },
	} {
		layout, err := template.New(name).Funcs(template.FuncMap{
			"what": func(r run) string { return in(whats[r.What]) },
			"when": func(r run) string {
				if often, ok := whens[r.When]; ok {
					return in(often)
				}
				return in(words{"by hand, ", "手工运行，"}) + string(r.When)
			},
			"lacks": func(r run) string {
				var lacks []string
				for _, f := range features {
					if !r.has(f.since) {
						lacks = append(lacks, in(f.name))
					}
				}
				return strings.Join(lacks, in(words{", ", "、"}))
			},
			"name": func(f feature) string { return in(f.name) },
			"does": func(f feature) string { return in(f.does) },
			"since": func(f feature, name string) string {
				if f.since == nil {
					return oldest(t, name)
				}
				return cmp.Or(f.since[name], in(words{"none", "无"}))
			},
		}).ParseFiles(filepath.Join("testdata", name))
		providertest.NoError(t, err)
		var page strings.Builder
		providertest.NoError(t, layout.Execute(&page, map[string]any{"Runs": keptRuns(t), "Features": features}))
		file := filepath.Join("..", "..", "templates", "guides", name)
		providertest.Rendered(t, *writePages, file, page.String())
	}
}

// oldest is the oldest minor version that was run of a command line.
func oldest(t *testing.T, name string) string {
	t.Helper()
	return slices.MinFunc(minorsRun(t, name), func(a, b string) int { return minor(a) - minor(b) })
}

// minorsRun are the minor versions that were run of a command line, as "1.8".
func minorsRun(t *testing.T, name string) []string {
	t.Helper()
	var versions []string
	for _, r := range keptRuns(t) {
		if r.Name == name {
			versions = append(versions, strings.Join(strings.Split(r.Version, ".")[:2], "."))
		}
	}
	return versions
}
