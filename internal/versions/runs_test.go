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

	"github.com/blueking/terraform-provider-bk/internal/providertest"
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
	text := providertest.ReadFile(t, runsFile)
	var runs []run
	if err := json.Unmarshal([]byte(text), &runs); err != nil || len(runs) == 0 {
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
	providertest.NoError(t, err)
	providertest.NoError(t, os.WriteFile(runsFile, append(text, '\n'), 0o644))
}

// What the guide says that the long run and every change are run on are the releases that
// are pinned.
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

// pinnedIn returns which OpenTofu a go.mod pins.
func pinnedIn(t *testing.T, file string) string {
	t.Helper()
	text := providertest.ReadFile(t, file)
	pin := regexp.MustCompile(`\sgithub.com/opentofu/opentofu v(\S+)`).FindStringSubmatch(text)
	if pin == nil {
		t.Fatalf("%s pins no OpenTofu", file)
	}
	return pin[1]
}
