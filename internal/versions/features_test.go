package versions_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// since maps a CLI to its first release with a feature. nil means all supported releases, and a CLI that is not in the map lacks the feature.
type since map[string]string

var (
	sinceEphemeral = since{terraform: "1.10", opentofu: "1.11"}
	sinceIdentity  = since{terraform: "1.12", opentofu: "1.12"}
	sinceActions   = since{terraform: "1.14"} // and lists
)

type words struct{ english, chinese string }

// feature is something that users do with a command line and this provider. The guides list these.
type feature struct {
	name  words
	since since
	// try uses the feature, and lack shows that an older release does not have it.
	try, lack func(workspace)
}

var features = []feature{
	{words{"installation", "安装"}, nil, installation, nil},
	{words{"life of a resource", "资源的生命周期"}, nil, life, nil},
	{words{"import", "导入"}, nil, importing, nil},
	{words{"functions", "函数"}, nil, functions, nil},
	{words{"examples", "示例"}, nil, examples, nil},
	{words{"tests of modules", "模块测试"}, nil, modules, nil},
	{words{"schema", "schema"}, nil, schemas, nil},
	{words{"ephemeral secrets", "ephemeral 密钥"}, sinceEphemeral, ephemeral, noEphemeral},
	{words{"import by identity", "按 identity 导入"}, sinceIdentity, identity, noIdentity},
	{words{"actions", "action"}, sinceActions, actions, noActions},
	{words{"lists", "list 资源"}, sinceActions, lists, noLists},
}

func TestMain(m *testing.M) { providertest.Main(m) }

const (
	terraform = "Terraform"
	opentofu  = "OpenTofu"
)

type commandLine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (c commandLine) String() string { return c.Name + " " + c.Version }

func (c commandLine) has(since since) bool {
	first, ever := since[c.Name]
	return since == nil || ever && minor(c.Version) >= minor(first)
}

// minor returns the second number of a version. The first one is always 1.
func minor(version string) int {
	_, rest, _ := strings.Cut(version, ".")
	number, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	return n
}

func atHand(t *testing.T) commandLine {
	t.Helper()
	cli := providertest.NewEmptyCLI(t)
	at := commandLine{Name: terraform}
	if strings.HasPrefix(cli.Expect(0, "version"), opentofu) {
		at.Name = opentofu
	}
	var printed struct {
		Version string `json:"terraform_version"` // also of OpenTofu
	}
	text := cli.Expect(0, "version", "-json")
	if err := json.Unmarshal([]byte(text), &printed); err != nil || !strings.HasPrefix(printed.Version, "1.") {
		t.Fatalf("%v: %s", err, text)
	}
	at.Version = printed.Version
	return at
}

// workspace is a command line with a configuration, the provider in a mirror, and a platform.
type workspace struct {
	*providertest.CLI
	sim *providertest.Sim
	at  commandLine
}

func newWorkspace(t *testing.T, at commandLine) workspace {
	t.Helper()
	sim := providertest.NewSim(t)
	w := workspace{providertest.NewCLI(t, sim, ""), sim, at}
	w.UseMirror()
	return w
}

// A release has each feature that the table says it has, and lacks the others.
func TestAccVersions(t *testing.T) {
	t.Parallel()
	at := atHand(t)
	if os.Getenv("BK_TEST_RECORD") != "" {
		t.Cleanup(func() {
			if !t.Failed() {
				keepRun(t, at)
			}
		})
	}
	for _, f := range features {
		t.Run(f.name.english, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t, at)
			if at.has(f.since) {
				f.try(w)
				return
			}
			f.lack(w)
			t.Skipf("%s lacks it", at)
		})
	}
}

var writePages = flag.Bool("write-versions", false, "let TestVersions_pages write the guides in place of comparing them")

// The guides' words for a run.
var (
	whats = map[what]words{theSet: {"the set", "下列项目"}, theSuite: {"the whole acceptance suite", "全部验收测试"}}
	whens = map[when]words{everyChange: {"every change", "每次变更"}, longRun: {"the long run", "长时间测试"}}
)

// The guides list the runs of runs.json and the features that are tried.
func TestVersions_pages(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]func(words) string{
		"versions.md.tmpl":    func(w words) string { return w.english },
		"zh-versions.md.tmpl": func(w words) string { return w.chinese },
	} {
		var said []string
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
			"since": func(name string) string { // the name of a feature, and since which release each command line has it
				said = append(said, name)
				f := features[slices.IndexFunc(features, func(f feature) bool { return f.name.english == name })]
				return strings.Join([]string{in(f.name), f.sinceIn(t, terraform, in), f.sinceIn(t, opentofu, in)}, " | ")
			},
		}).ParseFiles(filepath.Join("testdata", name))
		providertest.NoError(t, err)
		var page strings.Builder
		providertest.NoError(t, layout.Execute(&page, map[string]any{"Runs": keptRuns(t)}))
		providertest.Check(t, len(said) == len(features), "%s says what these are: %v", name, said)
		file := filepath.Join("..", "..", "templates", "guides", name)
		providertest.Rendered(t, *writePages, file, page.String())
	}
}

func (f feature) sinceIn(t *testing.T, name string, in func(words) string) string {
	t.Helper()
	if f.since == nil {
		return oldest(t, name)
	}
	return cmp.Or(f.since[name], in(words{"none", "无"}))
}

func oldest(t *testing.T, name string) string {
	t.Helper()
	return slices.MinFunc(minorsRun(t, name), func(a, b string) int { return minor(a) - minor(b) })
}

// minorsRun returns the minor versions of a command line that were run, such as "1.8".
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

// aboutCLI matches a line that may claim support for releases, and version a release in it.
var (
	aboutCLI = regexp.MustCompile(`Terraform|OpenTofu|required_version`)
	version  = regexp.MustCompile(`(?:^|[^\d.:])(1\.\d+)`)
)

// No page, module or pipeline claims support for a release older than the oldest that was run.
func TestVersions_claims(t *testing.T) {
	t.Parallel()
	claims := 0
	for _, file := range claiming(t) {
		text := providertest.ReadFile(t, file)
		for line := range strings.Lines(text) {
			if !aboutCLI.MatchString(line) {
				continue
			}
			for _, claim := range version.FindAllStringSubmatch(line, -1) {
				claims++
				for _, name := range []string{terraform, opentofu} {
					providertest.Check(t, minor(claim[1]) >= minor(oldest(t, name)),
						"%s names %s, and the oldest %s that was run is %s", file, claim[1], name, oldest(t, name))
				}
			}
		}
	}
	providertest.Check(t, claims >= 20, "only %d claims were found", claims)
}

// The READMEs list the releases that were run, and the modules accept every release since the oldest.
func TestVersions_readmes(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]struct{ and, comma string }{"README.md": {" and ", ", "}, "README.zh-CN.md": {" 和 ", "、"}} {
		text := providertest.ReadFile(t, "..", "..", name)
		list := func(name string) string { return name + " " + strings.Join(minorsRun(t, name), words.comma) }
		want := "[" + list(terraform) + words.and + list(opentofu) + "]"
		providertest.Check(t, strings.Contains(text, want), "%s does not say %s", name, want)
	}
	for _, file := range providertest.Glob(t, "../../examples/modules/*/main.tf") {
		text := providertest.ReadFile(t, file)
		want := `required_version = ">= ` + oldest(t, terraform) + `"`
		providertest.Check(t, strings.Contains(text, want), "%s does not say %s", file, want)
	}
}

func claiming(t *testing.T) []string {
	t.Helper()
	files := providertest.Glob(t, "../../README*.md")
	for _, dir := range []string{"docs", "templates", "examples"} {
		providertest.NoError(t, filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && slices.Contains([]string{".md", ".tmpl", ".tf", ".hcl", ".yml"}, filepath.Ext(path)) {
				files = append(files, path)
			}
			return err
		}))
	}
	return files
}

type run struct {
	commandLine
	What what `json:"what"`
	When when `json:"when"`
}

type what string

const (
	theSet   what = "set"   // TestAccVersions
	theSuite what = "suite" // every acceptance test
)

// when is the date of a run by hand, or how often a release is run.
type when string

const (
	everyChange when = "every change"
	longRun     when = "long run"
)

var runsFile = filepath.Join("testdata", "runs.json")

func keptRuns(t *testing.T) []run {
	t.Helper()
	text := providertest.ReadFile(t, runsFile)
	var runs []run
	if err := json.Unmarshal([]byte(text), &runs); err != nil || len(runs) == 0 {
		t.Fatalf("%d runs: %v", len(runs), err)
	}
	return runs
}

// keepRun records that a command line passed today, unless it is run regularly. BK_TEST_RECORD=1 requests it.
func keepRun(t *testing.T, at commandLine) {
	t.Helper()
	runs := keptRuns(t)
	i := slices.IndexFunc(runs, func(r run) bool { return r.commandLine == at })
	if i < 0 {
		i, runs = len(runs), append(runs, run{commandLine: at, What: theSet})
	}
	if runs[i].When != everyChange && runs[i].When != longRun {
		runs[i].When = when(time.Now().UTC().Format(time.DateOnly))
	}
	slices.SortStableFunc(runs, func(a, b run) int {
		return cmp.Or(-cmp.Compare(a.Name, b.Name), cmp.Compare(minor(a.Version), minor(b.Version)))
	})
	text, err := json.MarshalIndent(runs, "", "  ")
	providertest.NoError(t, err)
	providertest.NoError(t, os.WriteFile(runsFile, append(text, '\n'), 0o644))
}

// The releases that the guide says are run in the long run and on every change are those that are pinned.
func TestRuns_pinned(t *testing.T) {
	t.Parallel()
	pinned := map[string]when{pinnedIn(t, "../../tools/opentofu/go.mod"): everyChange}
	for _, file := range providertest.Glob(t, "../../tools/opentofu/*/go.mod") {
		pinned[pinnedIn(t, file)] = longRun
	}
	said := make(map[string]when)
	for _, r := range keptRuns(t) {
		if r.Name == opentofu {
			said[r.Version] = r.When
		}
	}
	providertest.Same(t, "OpenTofu that is pinned, and in "+runsFile, pinned, said)
}

func pinnedIn(t *testing.T, file string) string {
	t.Helper()
	text := providertest.ReadFile(t, file)
	pin := regexp.MustCompile(`\sgithub.com/opentofu/opentofu v(\S+)`).FindStringSubmatch(text)
	if pin == nil {
		t.Fatalf("%s pins no OpenTofu", file)
	}
	return pin[1]
}
