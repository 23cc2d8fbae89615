package versions_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }

const (
	terraform = "Terraform"
	opentofu  = "OpenTofu"
)

// commandLine is a release of Terraform or OpenTofu.
type commandLine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func (c commandLine) String() string { return c.Name + " " + c.Version }

// has reports whether a CLI of this version has a feature.
func (c commandLine) has(since since) bool {
	first, ever := since[c.Name]
	return since == nil || ever && minor(c.Version) >= minor(first)
}

// minor is the second number of a version: the first is 1 in all that there are.
func minor(version string) int {
	_, rest, _ := strings.Cut(version, ".")
	number, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	return n
}

// atHand is the command line that acceptance tests run on.
func atHand(t *testing.T) commandLine {
	t.Helper()
	cli := providertest.NewEmptyCLI(t)
	at := commandLine{Name: terraform}
	if strings.HasPrefix(cli.Expect(0, "version"), opentofu) {
		at.Name = opentofu
	}
	var told struct {
		Version string `json:"terraform_version"` // of OpenTofu as well
	}
	text := cli.Expect(0, "version", "-json")
	if err := json.Unmarshal([]byte(text), &told); err != nil || !strings.HasPrefix(told.Version, "1.") {
		t.Fatalf("%v: %s", err, text)
	}
	at.Version = told.Version
	return at
}

// workspace is a command line with a configuration, that finds the provider in a mirror,
// and its platform.
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

// says fails the test unless a text has all parts, however it is wrapped.
func (w workspace) says(text string, parts ...string) {
	w.T.Helper()
	providertest.Says(w.T, text, parts...)
}

// called fails the test unless the platform was asked for just these changes since it was
// last looked at.
func (w workspace) called(want ...string) {
	w.T.Helper()
	got := w.sim.Changes()
	w.sim.ResetCalls()
	if len(got) != len(want) {
		w.T.Fatalf("called %q, want %q", got, want)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			w.T.Errorf("called %q, want %q", got, want)
		}
	}
}
