package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whoever adds a dependency says in README.md what it is for.
func TestReadme_givesReasonForEachDirectDependency(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var required []string
	for _, line := range regexp.MustCompile(`(?m)^(?:require)?\s+(\S+\.\S+/\S+) v\S+(.*)$`).FindAllStringSubmatch(read("go.mod"), -1) {
		if !strings.Contains(line[2], "// indirect") {
			required = append(required, line[1])
		}
	}
	_, table, _ := strings.Cut(read("README.md"), "| Direct dependency | Why |\n|---|---|\n")
	table, _, _ = strings.Cut(table+"\n\n", "\n\n")
	var listed []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 || strings.TrimSpace(cells[2]) == "" {
			t.Errorf("no dependency and reason: %s", row)
			continue
		}
		for _, module := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			listed = append(listed, module[1])
		}
	}
	slices.Sort(required)
	slices.Sort(listed)
	if diff := cmp.Diff(required, listed); diff != "" {
		t.Errorf("direct dependencies (-go.mod +README.md):\n%s", diff)
	}
}
