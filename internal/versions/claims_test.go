package versions_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// aboutCLI is a line that may say which releases are supported, and version one that it names.
var (
	aboutCLI = regexp.MustCompile(`Terraform|OpenTofu|required_version`)
	version  = regexp.MustCompile(`(?:^|[^\d.:])(1\.\d+)`)
)

// No page, module or pipeline names a release that is older than the oldest that was run.
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
					if minor(claim[1]) < minor(oldest(t, name)) {
						t.Errorf("%s names %s, and the oldest %s that was run is %s", file, claim[1], name, oldest(t, name))
					}
				}
			}
		}
	}
	if claims < 20 {
		t.Errorf("only %d claims were found", claims)
	}
}

// The READMEs list what was run.
func TestVersions_readmes(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]struct{ and, comma string }{"README.md": {" and ", ", "}, "README.zh-CN.md": {" 和 ", "、"}} {
		text := providertest.ReadFile(t, "..", "..", name)
		list := func(name string) string { return name + " " + strings.Join(minorsRun(t, name), words.comma) }
		if want := "[" + list(terraform) + words.and + list(opentofu) + "]"; !strings.Contains(text, want) {
			t.Errorf("%s does not say %s", name, want)
		}
	}
}

// The modules are for every release from the oldest on that was run.
func TestVersions_modules(t *testing.T) {
	t.Parallel()
	for _, file := range providertest.Glob(t, "../../examples/modules/*/main.tf") {
		text := providertest.ReadFile(t, file)
		if want := `required_version = ">= ` + oldest(t, terraform) + `"`; !strings.Contains(text, want) {
			t.Errorf("%s does not say %s", file, want)
		}
	}
}

// claiming are the pages and the examples.
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
