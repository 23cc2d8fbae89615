package main

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// Whoever looks for a message finds it: what stands in the first column of the tables, as
// code, is what the provider or the command line says.
func TestTroubleshooting_quotesMessages(t *testing.T) {
	t.Parallel()
	said := sourcesOf(t, "internal")
	others := map[string]bool{ // what Terraform says, and what users write; the first ones are tried by TestAccMistakes_ofTerraform
		"a number is required": true, `"process": string required`: true, `attribute "priority" is required`: true, `["web"].priority`: true, "map of string required": true,
		`attribute "healthy": object required`: true, `attribute "waves": list of string required`: true, `on_fail = "rollback"`: true, "rollout": true,
		"must be replaced": true, "Error acquiring the state lock": true, "ensure = \"hosted\"": true, "out_of_sync": true, "terraform untaint": true,
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
					t.Errorf("%s: nothing says %q", page, quote[1])
				}
			}
		}
		if quoted < 25 && !strings.Contains(page, "mistakes") {
			t.Errorf("%s quotes %d messages", page, quoted)
		}
	}
}

// sourcesOf is the text of the Go files in a folder that are not tests. Texts that a line
// break cuts are put together.
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
