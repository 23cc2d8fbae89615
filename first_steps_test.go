package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The first steps tell in both languages what the demo plays, step by step: it plays in
// English alone.
func TestFirstSteps_tellTheDemo(t *testing.T) {
	t.Parallel()
	demo, err := os.ReadFile("examples/demo/run.sh")
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile(`(?m)^step ['"](.+?)['"](?: |$)`).FindAllStringSubmatch(string(demo), -1)
	if len(steps) == 0 {
		t.Fatal("the demo has no steps")
	}
	for _, file := range []string{"docs/guides/first-steps.md", "docs/guides/zh-first-steps.md"} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range steps {
			if row := fmt.Sprintf("\n| %d. %s | ", i+1, step[1]); !strings.Contains(string(page), row) {
				t.Errorf("%s has no row for the step %q", file, step[1])
			}
		}
	}
}
