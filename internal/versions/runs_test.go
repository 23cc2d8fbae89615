package versions_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// run is a release that passed.
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

// when is a date, on which it was run by hand, or how often it is run.
type when string

const (
	everyChange when = "every change"
	longRun     when = "long run"
)

var runsFile = filepath.Join("testdata", "runs.json")

func keptRuns(t *testing.T) []run {
	t.Helper()
	text, err := os.ReadFile(runsFile)
	if err != nil {
		t.Fatal(err)
	}
	var runs []run
	if err := json.Unmarshal(text, &runs); err != nil || len(runs) == 0 {
		t.Fatalf("%d runs: %v", len(runs), err)
	}
	return runs
}

// keepRun writes down that a command line passed today, unless it is run often anyway.
// BK_TEST_RECORD=1 asks for it.
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
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(runsFile, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What the guide says that the long run and every change are run on are the releases that
// are pinned.
func TestRuns_pinned(t *testing.T) {
	t.Parallel()
	tools := filepath.Join("..", "..", "tools", "opentofu")
	pins, err := filepath.Glob(filepath.Join(tools, "*", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	pinned := map[string]when{pinnedIn(t, filepath.Join(tools, "go.mod")): everyChange}
	for _, file := range pins {
		pinned[pinnedIn(t, file)] = longRun
	}
	said := make(map[string]when)
	for _, r := range keptRuns(t) {
		if r.Name == opentofu {
			said[r.Version] = r.When
		}
	}
	if diff := gocmp.Diff(pinned, said); diff != "" {
		t.Errorf("OpenTofu (-pinned +%s):\n%s", runsFile, diff)
	}
}

// pinnedIn returns which OpenTofu a go.mod pins.
func pinnedIn(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pin := regexp.MustCompile(`\sgithub.com/opentofu/opentofu v(\S+)`).FindStringSubmatch(string(text))
	if pin == nil {
		t.Fatalf("%s pins no OpenTofu", file)
	}
	return pin[1]
}
