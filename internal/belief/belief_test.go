package belief

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
)

// Each row says everything that whoever reads it needs, in both languages, and the code that
// depends on it exists.
func TestRows(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, b := range All() {
		words := []Words{b.Holds, b.Source, b.Otherwise}
		if b.Settled == SettledByNothing {
			words[2] = b.WhyUnsettled
		}
		for _, w := range words {
			if w.English == "" || w.Chinese == "" {
				t.Errorf("%s does not say everything in both languages: %+v", b.ID, w)
			}
		}
		if seen[b.ID] || len(b.Faces) == 0 || b.Sure == "" || b.Kind == "" || len(b.Code) == 0 {
			t.Errorf("%s is there twice, or not complete", b.ID)
		}
		seen[b.ID] = true
		if b.Expected != "" && b.Kind.want(b.Expected) != "" {
			t.Errorf("%s expects %q, which is no %s", b.ID, b.Expected, b.Kind)
		}
		for _, file := range b.Code {
			if _, err := os.Stat(filepath.Join("..", "..", file)); err != nil {
				t.Errorf("%s: %v", b.ID, err)
			}
		}
	}
}

func TestProfile_roundTrip(t *testing.T) {
	t.Parallel()
	first := Profile{map[string]string{"hosting-once": Yes, "second-stop": "0", "status-lag": "1m30s", "start-replaces": No}}
	later := Profile{map[string]string{"hosting-once": Unknown, "start-replaces": Yes, "labels-added": Unknown}}
	merged := first.With(later)
	read, err := ParseProfile("platform.json", merged.Text())
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"hosting-once": Yes, "second-stop": "0", "status-lag": "1m30s", "start-replaces": Yes, "labels-added": Unknown, "old-cmdb": Unknown} {
		if got := read.Value(id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	if on := strings.Join(read.Switches(), " "); on != "hosting-once start-replaces" {
		t.Errorf("switches: %s", on)
	}
}

// A profile that cannot be read is refused with its file, the line, and what would be right.
func TestParseProfile_refuses(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		`p.json:1: the file ends too early`:                                   ``,
		`p.json:1: it is not JSON`:                                            `{format: 1}`,
		`p.json:1: []`:                                                        `"x"`,
		`p.json:1: the format is 2; this release reads 1`:                     `{"format": 2}`,
		`p.json:1: there is no "format"; want "format": 1`:                    `{"beliefs": {}}`,
		`p.json:3: "belief" is not a member of a profile`:                     "{\n\"format\": 1,\n\"belief\": {}}",
		`p.json:4: "hosting-twice" is no belief of this release; did`:         "{\n\"format\": 1,\n\"beliefs\": {\n\"hosting-twice\": \"yes\"}}",
		`p.json:1: "x" is no belief of this release; want one of register`:    `{"format": 1, "beliefs": {"x": "yes"}}`,
		`p.json:2: hosting-once is "on"; want "yes", "no" or "unknown"`:       "{\"format\": 1, \"beliefs\": {\n\"hosting-once\": \"on\"}}",
		`p.json:1: hosting-once is true; want "yes", "no"`:                    `{"format": 1, "beliefs": {"hosting-once": true}}`,
		`p.json:1: second-stop is "ok"; want a code such as "829"`:            `{"format": 1, "beliefs": {"second-stop": "ok"}}`,
		`p.json:1: status-lag is "90"; want a time such as "90s"`:             `{"format": 1, "beliefs": {"status-lag": "90"}}`,
		`p.json:1: hosting-once is there twice`:                               `{"format": 1, "beliefs": {"hosting-once": "no", "hosting-once": "yes"}}`,
		`p.json:1: there is more than one JSON document`:                      `{"format": 1} {}`,
		`p.json:1: the file ends too early; write it again with bk-doctor pr`: `{"format": 1`,
	} {
		want = strings.Replace(want, `[]`, `"x"; want an object`, 1)
		if _, err := ParseProfile("p.json", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

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
			"untold":    func(b Belief) string { return in(b.WhyUnsettled) },
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
