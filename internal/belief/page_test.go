package belief

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
)

var writePages = flag.Bool("write-beliefs", false, "let TestRows_pages write the guides in place of comparing them")

// The guides print the rows.
func TestRows_pages(t *testing.T) {
	t.Parallel()
	sure := map[Confidence]Words{High: {"high", "高"}, Medium: {"medium", "中"}, Low: {"low", "低"}}
	for name, in := range map[string]func(Words) string{
		"beliefs.md.tmpl":    func(w Words) string { return w.English },
		"zh-beliefs.md.tmpl": func(w Words) string { return w.Chinese },
	} {
		layout, err := template.New(name).Funcs(template.FuncMap{
			"holds":     func(b Belief) string { return in(b.Holds) },
			"source":    func(b Belief) string { return in(b.Source) },
			"sure":      func(b Belief) string { return in(sure[b.Sure]) },
			"otherwise": func(b Belief) string { return in(b.Otherwise) },
			"untold":    func(b Belief) string { return in(b.Untold) },
		}).ParseFiles(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		rows := make(map[string][]Belief)
		for _, b := range All() {
			kind := "Told"
			if b.Settled == SettledByNothing {
				kind = "Untold"
			}
			rows[kind] = append(rows[kind], b)
		}
		var page strings.Builder
		if err := layout.Execute(&page, rows); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("..", "..", "templates", "guides", name)
		if *writePages {
			if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if written, err := os.ReadFile(file); err != nil || string(written) != page.String() {
			t.Errorf("make generate writes %s anew: %v", file, err)
		}
	}
}
