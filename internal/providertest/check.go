package providertest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// NoError ends the test if there is an error.
func NoError(tb testing.TB, errs ...error) {
	tb.Helper()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}

// ReadFile returns the text of a file.
func ReadFile(tb testing.TB, path ...string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	NoError(tb, err)
	return string(text)
}

// Glob returns the files of all patterns, each of which must match at least one.
func Glob(tb testing.TB, patterns ...string) []string {
	tb.Helper()
	var all []string
	for _, pattern := range patterns {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil || len(files) == 0 {
			tb.Fatalf("no file is like %s: %v", pattern, err)
		}
		all = append(all, files...)
	}
	return all
}

// Says fails the test unless a text, which a CLI may have wrapped, contains all parts.
func Says(tb testing.TB, text string, parts ...string) {
	tb.Helper()
	for _, part := range parts {
		if !has(text, part) {
			tb.Errorf("it does not say %q:\n%s", part, text)
		}
	}
}

// SaysNot fails the test if a text contains one of the parts.
func SaysNot(tb testing.TB, text string, parts ...string) {
	tb.Helper()
	for _, part := range parts {
		if has(text, part) {
			tb.Errorf("it says %q:\n%s", part, text)
		}
	}
}

func has(text, part string) bool {
	return strings.Contains(text, part) || strings.Contains(unwrapped(text), unwrapped(part))
}

// unwrapped returns a text with single spaces for all white space, and without the frame of a CLI's messages.
func unwrapped(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "│", " ")), " ")
}

// NewSimOf starts a simulator with a topology in its CMDB.
func NewSimOf(tb testing.TB, topology string) *Sim {
	tb.Helper()
	sim := NewSim(tb)
	parsed, err := simulator.ParseTopology([]byte(topology))
	NoError(tb, err)
	sim.Topology = parsed
	return sim
}

// Decode decodes JSON.
func Decode(tb testing.TB, text string, into any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		tb.Fatalf("%s: %s", err, text)
	}
}

// Output returns an output as JSON.
func (c *CLI) Output(name string) string {
	c.T.Helper()
	return strings.TrimSpace(c.Expect(0, "output", "-json", name))
}

// ExpectOperated fails the test unless each operation, by op type, was called for that number of hosts.
func (s *Sim) ExpectOperated(tb testing.TB, hosts map[int]int) {
	tb.Helper()
	got := make(map[int]int)
	for op := range hosts {
		got[op] = s.Calls().OfOp(op).HostCalls("operate_*")
	}
	Same(tb, "hosts by operation", hosts, got)
}

// Rendered compares a file with the text that is rendered for it or, if write is set, writes the file.
func Rendered(tb testing.TB, write bool, file, text string) {
	tb.Helper()
	if write {
		NoError(tb, os.WriteFile(file, []byte(text), 0o644))
		return
	}
	if written := ReadFile(tb, file); written != text {
		Same(tb, "make generate writes "+file+" anew", strings.Split(text, "\n"), strings.Split(written, "\n"))
	}
}

// Silent ends the test if there are any diagnostics.
func Silent(tb testing.TB, said Diagnostics) {
	tb.Helper()
	if len(said) > 0 {
		tb.Fatal(said)
	}
}

// Fails fails the test unless the diagnostics have an error and contain all parts.
func Fails(tb testing.TB, said Diagnostics, parts ...string) {
	tb.Helper()
	Check(tb, said.Failed(), "it did not fail: %s", said)
	Says(tb, said.String(), parts...)
}

// Destroyed destroys the object. It ends the test if there are any diagnostics.
func (c *Core) Destroyed() {
	c.T.Helper()
	_, said := c.Apply(nil)
	Silent(c.T, said)
}

// Settled fails the test unless the next plan of a configuration has no changes and no diagnostics.
func (c *Core) Settled(config map[string]any) {
	c.T.Helper()
	if plan, said := c.Plan(config); plan.Action != PlanNothing || len(said) > 0 {
		c.T.Errorf("the next plan: %s %s", plan.Action, said)
	}
}
