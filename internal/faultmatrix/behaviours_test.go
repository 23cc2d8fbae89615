package faultmatrix

import (
	"slices"
	"strings"
	"testing"
)

type behaviour struct {
	title string
	// rows are the names of faults.
	rows []string
	// effects: the side effects of operations are a table of their own.
	effects bool
}

// behaviours are all that is known, in the order of the page.
var behaviours = []behaviour{
	{"A task is queued (code 1000115, without data) before it has results", []string{"queued", "queued-data", "queued-for-ever"}, false},
	{"Hosts are missing from answers, for a while or for good", []string{"missing", "missing-for-ever", "silent", "silent-object"}, false},
	{"A host stays in progress (115) while the others are done, or its agent is away (117)", []string{"pending", "pending-for-ever", "agent-away", "machine-silent", "machine-gone"}, false},
	{"One answer holds every code", []string{"mixed-start", "mixed-stop", "unknown-code"}, false},
	{"Codes say that the process is already as requested (828, 829, 850), and stopping one that does not run leaves it hosted",
		[]string{"already-running", "nothing-to-stop", "idle-not-asked", "idle-not-unhosted", "taken"}, false},
	{"836 can be about a start or a stop, and every start of a one-shot process ends with it", []string{"check-failed", "stop-check-failed", "one-shot", "one-shot-running"}, false},
	{"A failed command prints a lot, in lines, in another encoding, and secrets", []string{"command-failed", "command-failed-everywhere", "output-lines", "output-long", "output-mangled", "output-secret", "output-secret-spelt"}, false},
	{"A start that fails hosts the process anyway", []string{"failed-start-hosts"}, false},
	{"Operations host and unhost as well", []string{"none"}, true},
	{"A query's `content` has many forms", []string{
		"content-object", "process-object", "isauto-lower", "hosting-not-told", "content-texts", "several-instances", "pid-zero",
		"unreadable-status", "null-content", "no-instance", "no-content",
	}, false},
	{"Members are spelt in several ways, and codes come as texts or not at all", []string{"errcode", "code-as-text", "code-missing", "code-empty", "codes-as-text", "false-with-zero"}, false},
	{"Keys name hosts in several ways, name others, or come twice", []string{
		"keys-supplier", "keys-no-supplier", "keys-of-agents", "keys-of-addresses", "keys-ipv6", "keys-windows", "extra-key", "key-twice",
	}, false},
	{"The cached status lags, and its pages move", []string{
		"rows-lag", "no-row", "refused-while-frozen", "refused-without-hosts", "row-not-registered", "rows-unreadable", "many-rows", "count-grows", "count-shrinks", "rows-twice", "rows-moving", "row-skipped",
	}, false},
	{"A question needs the whole spec", []string{"no-spec"}, false},
	{"Zeros do harm", []string{"start-check-zero", "op-timeout-zero", "cpu-zero", "mem-zero"}, false},
	{"The answer to an operation gets lost after it was taken", []string{"closed-after", "reset", "cut", "504", "504-once", "timeout-after"}, false},
	{"The platform refuses a whole request because of one host", []string{"poison", "empty-host"}, false},
	{"Pages, limits, refusals and missing APIs come as HTTP statuses, or as 200", []string{
		"502", "502-once", "504", "429", "429-once", "401", "403", "404", "404-job", "login-page", "esb-not-allowed", "esb-busy",
	}, false},
	{"A task is forgotten, or has no id", []string{"expired", "no-task-id"}, false},
	{"JOB takes registering for stopping, refuses what it calls optional, takes 150 for 0, hides GSE's errors, and is gone from 3.7 on", []string{
		"manage-proc", "manage-proc-chosen", "job-no-pid-path", "job-no-setup-path", "job-cpu-150", "job-status", "gse-error", "404-job",
	}, false},
	{"One host has two names, and a platform may keep an entry for each, or take them for two hosts",
		[]string{"renamed", "renamed-entries", "names-unread", "other-selector", "machine-twice", "agent-id-esb", "host-twice"}, false},
	{"Others act on the same processes", []string{
		"taken", "other-resource", "added-where-taken", "unregistered", "unregistered-on-destroy", "stopped-at-console", "stopped-at-console-job", "stopped-during-plan", "unregistered-during-plan", "unregistered-during-plan-esb",
	}, false},
}

// Every behaviour has rows, and every row has cells.
func TestFaultPage_behaviours(t *testing.T) {
	t.Parallel()
	const known = 22
	if len(behaviours) != known {
		t.Errorf("%d behaviours, want %d", len(behaviours), known)
	}
	cells := make(map[string]int)
	for _, c := range matrixCells() {
		cells[c.fault.name]++
	}
	for _, b := range behaviours {
		if len(b.rows) == 0 {
			t.Errorf("nothing shows %q", b.title)
		}
		for i, row := range b.rows {
			if cells[row] == 0 {
				t.Errorf("%q is shown by %q, which has no cell", b.title, row)
			}
			if slices.Contains(b.rows[:i], row) {
				t.Errorf("%q is shown by %q twice", b.title, row)
			}
		}
	}
	for _, f := range faultTable() {
		if cells[f.name] == 0 {
			t.Errorf("%q has no cell", f.name)
		}
	}
}

func (b behaviour) shown() string {
	var titles []string
	for _, name := range b.rows {
		if i := slices.IndexFunc(faultTable(), func(f fault) bool { return f.name == name }); i >= 0 {
			titles = append(titles, strings.ReplaceAll(faultTable()[i].title, "|", "\\|"))
		}
	}
	if b.effects {
		titles = []string{"[Side effects of operations](#side-effects-of-operations)"}
	}
	return strings.Join(titles, "; ")
}
