package hostedprocess

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// The operation is due where another spec was declared, or may run. It is not due where what runs is not this object's.
func TestRemains(t *testing.T) {
	t.Parallel()
	host := hostOf(1)
	prior := fleet.Desired{HasSpec: true, Spec: "old"}
	for name, c := range map[string]struct {
		code  fleet.Code
		runs  fleet.Runs
		prior fleet.Desired
		lost  bool // the ledger is
		spec  string
		due   bool
		want  fleet.Runs
	}{
		"nothing changes":                 {prior: prior, spec: "old", runs: fleet.Runs{PID: 7}, want: fleet.Runs{PID: 7}},
		"the spec changes":                {prior: prior, spec: "new", runs: fleet.Runs{PID: 7}, due: true, want: fleet.Runs{Spec: "old", PID: 7}},
		"it failed before":                {prior: prior, spec: "old", code: fleet.NotOperated, runs: fleet.Runs{Tried: fleet.TryFailed}, due: true, want: fleet.Runs{Tried: fleet.TryFailed}},
		"it failed before, and changes":   {prior: prior, spec: "new", runs: fleet.Runs{Tried: fleet.TryFailed}, due: true, want: fleet.Runs{Spec: fleet.SpecUnknown, Tried: fleet.TryEarlier}},
		"another spec is found":           {prior: prior, spec: "old", code: fleet.OtherSpec, due: true, want: fleet.Runs{Spec: "old", Sent: true}},
		"another spec is known":           {prior: prior, spec: "old", code: fleet.OtherSpec, runs: fleet.Runs{Spec: "older"}, due: true, want: fleet.Runs{Spec: "older"}},
		"not hosted":                      {prior: prior, spec: "old", code: fleet.NotHosted},
		"not hosted, and the ledger lost": {prior: prior, spec: "old", code: fleet.NotHosted, lost: true},
		"unregistered":                    {prior: prior, spec: "old", code: fleet.NoLongerRegistered},
		"unregistered, and ledger lost":   {prior: prior, spec: "old", code: fleet.NoLongerRegistered, lost: true, due: true, want: fleet.Runs{Spec: fleet.SpecUnknown}},
		"not operated, and ledger lost":   {prior: prior, spec: "old", code: fleet.NotOperated, lost: true, due: true, want: fleet.Runs{Spec: fleet.SpecUnknown}},
		"no spec before":                  {spec: "new"},
		"never registered":                {prior: prior, spec: "new", code: fleet.NotRegistered, runs: fleet.Runs{Spec: "older"}},
		"another's":                       {prior: prior, spec: "new", code: fleet.RegisteredByOther, runs: fleet.Runs{Spec: "older"}},
		"unconfirmed, and never ran":      {prior: prior, spec: "new", code: fleet.Unconfirmed},
		"unconfirmed, and ran before":     {prior: prior, spec: "new", code: fleet.Unconfirmed, runs: fleet.Runs{Spec: "old"}, due: true, want: fleet.Runs{Spec: "old"}},
		"unconfirmed, and another runs":   {prior: prior, spec: "old", code: fleet.Unconfirmed, runs: fleet.Runs{Spec: "older"}, due: true, want: fleet.Runs{Spec: "older"}},
	} {
		last := ledger{kept: !c.lost, hosts: map[fleet.HostID]entry{host.WithoutSupplier(): {Runs: c.runs}}}
		r := remains{known{last, map[fleet.HostID]diagnose.HostStatus{host.WithoutSupplier(): {Code: c.code}}}, c.prior, c.spec}
		if runs, due := r.on(host); due != c.due || runs != c.want {
			t.Errorf("%s: due: %t, %+v, want %+v", name, due, runs, c.want)
		}
	}
}

// What runs on a host after an update follows from its outcome, and from what the operation did there.
func TestUpdate_runsAfter(t *testing.T) {
	t.Parallel()
	const unknown = fleet.SpecUnknown
	host := hostOf(1)
	task := fleet.Task{ID: "T", Operation: fleet.Restart}
	left := func(verdict fleet.Verdict, code fleet.Code) fleet.Outcome {
		return fleet.Outcome{Verdict: verdict, Left: code}
	}
	pending := left(fleet.Pending, fleet.OperationUnconfirmed)
	pending.Underway = task
	away := left(fleet.Failed, fleet.OtherSpec)
	away.Away = true
	awayAfter := left(fleet.Failed, fleet.NotOperated)
	awayAfter.Away, awayAfter.TaskID = true, "T"
	pids := func(pid int64) map[fleet.Host]int64 { return map[fleet.Host]int64{host: pid} }
	old := fleet.Runs{Spec: "old", PID: 7}
	for name, c := range map[string]struct {
		none       bool // no operation is declared
		before     fleet.Runs
		due        *fleet.Runs
		o          fleet.Outcome
		found      fleet.Found
		registered bool
		want       fleet.Runs
	}{
		"no operation":                 {none: true, before: fleet.Runs{Spec: "old", PID: 7, Task: task}, want: fleet.Runs{Task: task}},
		"not due":                      {before: fleet.Runs{PID: 7}, want: fleet.Runs{PID: 7}},
		"not due, and looked at":       {before: fleet.Runs{PID: 7}, found: fleet.Found{Running: pids(8)}, want: fleet.Runs{PID: 8}},
		"not due, and another try":     {before: fleet.Runs{PID: 7, Task: task}, want: fleet.Runs{PID: 7, Task: task}},
		"done":                         {before: old, due: &old, found: fleet.Found{Operated: pids(7), Running: pids(8)}, registered: true, want: fleet.Runs{PID: 8}},
		"done, and an earlier try":     {before: fleet.Runs{Tried: fleet.TryUnseen, Task: task}, due: &fleet.Runs{Tried: fleet.TryUnseen, Task: task}, found: fleet.Found{Operated: pids(7)}, want: fleet.Runs{}},
		"not hosted":                   {before: old, due: &old, o: left(fleet.Failed, fleet.NotHosted), found: fleet.Found{Operated: pids(7), Running: pids(8)}, want: fleet.Runs{PID: 8}},
		"not running":                  {before: old, due: &old, o: left(fleet.Failed, fleet.NotRunning), found: fleet.Found{Operated: pids(7), Running: pids(0)}, want: fleet.Runs{}},
		"unhealthy":                    {before: old, due: &old, o: left(fleet.Failed, fleet.Unhealthy), found: fleet.Found{Operated: pids(7), Running: pids(8)}, want: fleet.Runs{PID: 8, Tried: fleet.TryWorked}},
		"unhealthy, and not due":       {before: fleet.Runs{PID: 7}, o: left(fleet.Failed, fleet.Unhealthy), found: fleet.Found{Running: pids(8)}, want: fleet.Runs{PID: 8}},
		"unsure":                       {before: old, due: &old, o: left(fleet.Failed, fleet.OperationUnconfirmed), found: fleet.Found{Unsure: pids(7)}, want: fleet.Runs{Spec: unknown, PID: 7, Tried: fleet.TryUnsure}},
		"unsure, and looked at":        {before: old, due: &old, o: left(fleet.Failed, fleet.OperationUnconfirmed), found: fleet.Found{Unsure: pids(7), Running: pids(8)}, want: fleet.Runs{Spec: unknown, PID: 8, Tried: fleet.TryUnsure}},
		"its end was not seen":         {before: old, due: &old, o: pending, found: fleet.Found{Operated: pids(7), Running: pids(8)}, want: fleet.Runs{Spec: unknown, PID: 7, Tried: fleet.TryUnseen, Task: task}},
		"it failed":                    {before: old, due: &old, o: left(fleet.Failed, fleet.NotOperated), found: fleet.Found{Operated: pids(7)}, registered: true, want: fleet.Runs{Spec: unknown, PID: 7, Tried: fleet.TryFailed}},
		"it failed, and looked at":     {before: old, due: &old, o: left(fleet.Failed, fleet.NotOperated), found: fleet.Found{Operated: pids(7), Running: pids(8)}, registered: true, want: fleet.Runs{Spec: unknown, PID: 8, Tried: fleet.TryFailed}},
		"the agent went away":          {before: old, due: &old, o: awayAfter, found: fleet.Found{Operated: pids(7)}, registered: true, want: fleet.Runs{Spec: unknown, PID: 7, Tried: fleet.TryFailed}},
		"registered, and time was up":  {before: old, due: &old, o: left(fleet.NotTried, fleet.NotOperated), found: fleet.Found{Operated: pids(7)}, registered: true, want: fleet.Runs{Spec: "old", PID: 7, Tried: fleet.TryDue}},
		"registered, restarted since":  {before: old, due: &old, o: left(fleet.NotTried, fleet.NotOperated), found: fleet.Found{Operated: pids(7), Running: pids(8)}, registered: true, want: fleet.Runs{Spec: unknown, PID: 8, Tried: fleet.TryDue}},
		"registered after another try": {before: old, due: &fleet.Runs{Spec: unknown, Tried: fleet.TryEarlier}, o: left(fleet.NotTried, fleet.NotOperated), found: fleet.Found{Operated: pids(7)}, registered: true, want: fleet.Runs{Spec: unknown, Tried: fleet.TryFailed}},
		"registered, and tried before": {before: old, due: &fleet.Runs{Spec: unknown, Tried: fleet.TryUnseen}, o: left(fleet.NotTried, fleet.NotOperated), found: fleet.Found{Operated: pids(7)}, registered: true, want: fleet.Runs{Spec: unknown, Tried: fleet.TryUnseen}},
		"settled, and time was up":     {before: old, due: &old, o: left(fleet.NotTried, fleet.NotOperated), found: fleet.Found{Operated: pids(7)}, want: old},
		"not registered":               {before: fleet.Runs{PID: 7}, due: &old, o: away, want: old},
		"not registered, not due":      {before: fleet.Runs{PID: 7}, o: away, want: fleet.Runs{Spec: "new", PID: 7}},
	} {
		u := update{operation: fleet.Restart, due: make(map[fleet.Host]fleet.Runs)}
		u.h.Desired.Spec, u.found, u.failures, u.registered = "new", c.found, make(fleet.Results), map[fleet.Host]bool{host: c.registered}
		if c.none {
			u.operation = ""
		}
		if c.due != nil {
			u.due[host] = *c.due
		}
		if !c.o.OK() {
			u.failures[host] = c.o
		}
		if diff := cmp.Diff(c.want, u.runsAfter(host, c.before)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What runs on a host after going back follows from what the update did there and whether that was undone.
func TestUpdate_runsBack(t *testing.T) {
	t.Parallel()
	const unknown = fleet.SpecUnknown
	host := hostOf(1)
	task := fleet.Task{ID: "T", Operation: fleet.Restart}
	left := func(verdict fleet.Verdict, code fleet.Code) *fleet.Outcome {
		return &fleet.Outcome{Verdict: verdict, Left: code}
	}
	pids := func(pid int64) map[fleet.Host]int64 { return map[fleet.Host]int64{host: pid} }
	before := fleet.Runs{PID: 7, Task: task}
	for name, c := range map[string]struct {
		update fleet.Outcome
		back   *fleet.Outcome
		found  fleet.Found
		want   fleet.Runs
	}{
		"not changed":            {fleet.Outcome{}, nil, fleet.Found{Running: pids(8)}, before},
		"went back":              {fleet.Outcome{}, &fleet.Outcome{}, fleet.Found{Running: pids(9)}, fleet.Runs{PID: 9, Task: task}},
		"went back, not hosted":  {fleet.Outcome{}, left(fleet.Failed, fleet.NotHosted), fleet.Found{Running: pids(9)}, fleet.Runs{PID: 9, Task: task}},
		"not tried":              {fleet.Outcome{}, left(fleet.NotTried, fleet.OtherSpec), fleet.Found{Running: pids(8), Operated: pids(7)}, fleet.Runs{Spec: "new", PID: 8, Task: task}},
		"failed, and not tried":  {*left(fleet.Failed, fleet.NotOperated), left(fleet.NotTried, fleet.OtherSpec), fleet.Found{Running: pids(8), Operated: pids(7)}, fleet.Runs{Spec: unknown, PID: 8, Tried: fleet.TryFailed}},
		"not operated again":     {fleet.Outcome{}, left(fleet.Failed, fleet.NotOperated), fleet.Found{Running: pids(8), Operated: pids(7)}, fleet.Runs{Spec: unknown, PID: 8, Tried: fleet.TryFailed}},
		"operated, and no pid":   {fleet.Outcome{}, left(fleet.Failed, fleet.NotOperated), fleet.Found{Operated: pids(7)}, fleet.Runs{Spec: unknown, PID: 7, Tried: fleet.TryFailed}},
		"neither was registered": {*left(fleet.Failed, fleet.OtherSpec), left(fleet.Failed, fleet.OtherSpec), fleet.Found{Running: pids(7)}, fleet.Runs{Spec: "old", PID: 7, Sent: true, Task: task}},
		"nor seen to run on":     {*left(fleet.Failed, fleet.OtherSpec), left(fleet.Failed, fleet.OtherSpec), fleet.Found{Running: pids(8)}, fleet.Runs{Spec: unknown, PID: 8, Task: task}},
	} {
		u := update{operation: fleet.Restart}
		u.h.Desired.Spec, u.prior.Desired.Spec, u.found, u.results, u.back = "new", "old", c.found, fleet.Results{host: c.update}, make(fleet.Results)
		if c.back != nil {
			u.back[host] = *c.back
		}
		if diff := cmp.Diff(c.want, u.runsBack(host, before)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Of what failed in the update, only what going back has repaired is forgotten, or has sent something else for.
func TestUpdate_failedAtLast(t *testing.T) {
	t.Parallel()
	failed := fleet.Outcome{Verdict: fleet.Failed, Code: 117}
	sent := fleet.Outcome{Verdict: fleet.Pending, Underway: fleet.Task{ID: "T", Operation: fleet.Supervise}}
	var u update
	u.failures = fleet.Results{hostOf(1): failed, hostOf(2): failed, hostOf(3): failed, hostOf(4): failed}
	before := maps.Clone(u.failures)
	u.back = fleet.Results{hostOf(1): {}, hostOf(2): {Verdict: fleet.Failed}, hostOf(3): sent, hostOf(5): sent, hostOf(6): {}}
	got, want := u.failedAtLast(), fleet.Results{hostOf(2): failed, hostOf(3): sent, hostOf(4): failed, hostOf(5): sent}
	if !maps.Equal(got, want) || !maps.Equal(before, u.failures) {
		t.Errorf("it is %v, want %v", got, want)
	}
}

// The code of a host after an update says whether this object's registration is gone, may be there, or never was.
func TestUpdate_unregistered(t *testing.T) {
	t.Parallel()
	host, task := hostOf(1), fleet.Task{ID: "T", Operation: fleet.Supervise}
	not := func(verdict fleet.Verdict, sent fleet.Task) fleet.Outcome {
		return fleet.Outcome{Verdict: verdict, Left: fleet.NotRegistered, Underway: sent}
	}
	unread := fleet.Outcome{Verdict: fleet.Failed, Unread: true, Left: fleet.RegisteredByOther}
	unreadUnplaced := unread
	unreadUnplaced.Left = fleet.NotRegistered
	for name, c := range map[string]struct {
		before fleet.Code
		joins  bool
		last   entry
		label  string
		o      fleet.Outcome
		want   fleet.Code
	}{
		"refused":                          {fleet.NoLongerRegistered, false, entry{}, "tf_spec", not(fleet.Failed, fleet.Task{}), fleet.NoLongerRegistered},
		"no wave reached it":               {fleet.NoLongerRegistered, false, entry{}, "tf_spec", not(fleet.NotTried, fleet.Task{}), fleet.NoLongerRegistered},
		"the answer was lost":              {fleet.NoLongerRegistered, false, entry{}, "tf_spec", not(fleet.Lost, fleet.Task{}), fleet.NotRegistered},
		"it goes on":                       {fleet.NoLongerRegistered, false, entry{}, "tf_spec", not(fleet.Pending, task), fleet.NotRegistered},
		"an earlier one still goes on":     {fleet.NoLongerRegistered, false, entry{Task: task}, "tf_spec", not(fleet.Pending, task), fleet.NoLongerRegistered},
		"an earlier try still goes on":     {fleet.NoLongerRegistered, false, entry{Runs: fleet.Runs{Task: task}}, "tf_spec", not(fleet.Pending, task), fleet.NoLongerRegistered},
		"another than the earlier goes on": {fleet.NoLongerRegistered, false, entry{Task: fleet.Task{ID: "U"}}, "tf_spec", not(fleet.Pending, task), fleet.NotRegistered},
		"refused where it joins":           {"", true, entry{}, "tf_spec", not(fleet.Failed, fleet.Task{}), fleet.NotRegistered},
		"refused where it never was":       {fleet.NotRegistered, false, entry{}, "tf_spec", not(fleet.Failed, fleet.Task{}), fleet.NotRegistered},
		"refused where it may be":          {fleet.Unconfirmed, false, entry{}, "tf_spec", not(fleet.Failed, fleet.Task{}), fleet.NotRegistered},
		"not hosted":                       {fleet.NoLongerRegistered, false, entry{}, "tf_spec", fleet.Outcome{Verdict: fleet.Failed, Left: fleet.NotHosted}, fleet.NotHosted},
		"whose could not be read":          {fleet.NoLongerRegistered, false, entry{}, "tf_spec", unread, fleet.NotRegistered},
		"nor before whose it is":           {fleet.RegisteredByOther, false, entry{}, "tf_spec", unread, fleet.RegisteredByOther},
		"not read where it joins":          {"", true, entry{}, "tf_spec", unread, fleet.NotRegistered},
		"not read without labels":          {fleet.NoLongerRegistered, false, entry{}, "", unread, fleet.NotRegistered},
		"nor where it joins":               {"", true, entry{}, "", unread, fleet.RegisteredByOther},
		"not read, of another before":      {fleet.RegisteredByOther, false, entry{}, "tf_spec", unreadUnplaced, fleet.NotRegistered},
	} {
		var u update
		u.h.Desired.FingerprintLabel = c.label
		if !c.joins {
			u.prior.Hosts, _ = fleet.NewInventory(maps.All(map[string]string{"web-1": host.Address()}), 0)
		}
		u.last.hosts = map[fleet.HostID]entry{host.WithoutSupplier(): c.last}
		u.statuses = map[fleet.HostID]diagnose.HostStatus{host.WithoutSupplier(): {Code: c.before}}
		results := fleet.Results{host: c.o}
		u.keepDoubt(results)
		u.markNoLongerRegistered(results)
		if got := results[host]; got.Left != c.want || got.OK() {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// State says of a host that could not leave what it said before, if nothing of this object is registered there.
// Otherwise a changed declaration is missing there.
func TestUpdate_stuckStatuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before  fleet.Code
		changed bool
		want    fleet.Code
	}{
		"as declared": {"", false, ""}, "as declared, and changed": {"", true, fleet.OtherSpec},
		"not hosted": {fleet.NotHosted, false, fleet.NotHosted}, "not hosted, and changed": {fleet.NotHosted, true, fleet.OtherSpec},
		"other labels, and changed":   {fleet.OtherLabels, true, fleet.OtherSpec},
		"not registered, and changed": {fleet.NotRegistered, true, fleet.NotRegistered},
		"another's, and changed":      {fleet.RegisteredByOther, true, fleet.RegisteredByOther},
		"unconfirmed, and changed":    {fleet.Unconfirmed, true, fleet.Unconfirmed},
	} {
		host := hostOf(1)
		u := update{}
		u.stuck = fleet.Results{host: {Verdict: fleet.Failed}}
		if u.statuses = make(map[fleet.HostID]diagnose.HostStatus); c.before != "" {
			u.statuses[host.WithoutSupplier()] = diagnose.HostStatus{Code: c.before}
		}
		if c.changed {
			u.h.Desired.Fingerprint = "v1-new"
		}
		if got := u.stuckStatuses()[host.WithoutSupplier()].Code; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A row of the new name is another object's, unless it is the entry of the old name or carries this object's labels.
func TestUpdate_anothers(t *testing.T) {
	t.Parallel()
	ours, theirs := map[string]string{"tf_spec": "v1-old", "tf_spec_owner": "us"}, map[string]string{"owner": "other-team"}
	row := func(labels map[string]string, at int64) fleet.Status {
		return fleet.Status{State: fleet.Stopped, Labels: labels, RegisterTime: at}
	}
	for name, c := range map[string]struct {
		now, old fleet.Status
		want     bool
	}{
		"none": {fleet.Status{State: fleet.Unregistered}, row(ours, 5), false}, "its own": {row(ours, 6), row(ours, 5), false},
		"another's": {row(theirs, 6), row(ours, 5), true}, "one entry": {row(theirs, 5), row(theirs, 5), false},
		"another's, of the same time": {row(theirs, 5), row(ours, 5), true}, "alike, without times": {row(theirs, 0), row(theirs, 0), true},
		"alike, of another time": {row(theirs, 6), row(theirs, 5), true}, "without labels": {row(nil, 6), row(ours, 5), false},
	} {
		u := update{known: known{last: ledger{owner: "us", declared: declared{FingerprintLabel: "tf_spec", Fingerprint: "v1-old"}}}}
		if got := u.anothers(c.now, c.old); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
