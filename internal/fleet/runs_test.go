package fleet

import "testing"

// An operation that an interrupted apply may already have run is not run again.
func TestRuns_interrupted(t *testing.T) {
	t.Parallel()
	const ours = "O"
	registeredAs := func(fingerprint string) map[string]string {
		return map[string]string{"tf_spec": fingerprint, "tf_spec_owner": ours}
	}
	before := Desired{FingerprintLabel: "tf_spec", Fingerprint: "v1-old", Owner: ours}
	want := before
	want.Fingerprint, want.Spec = "v1-new", "new"
	row := func(fingerprint string, pid, registered int64) Status {
		return Status{State: Running, Labels: registeredAs(fingerprint), PID: pid, RegisterTime: registered}
	}
	live := func(pid, registered, started int64) Status {
		return Status{State: Running, PID: pid, RegisterTime: registered, StartTime: started}
	}
	type kept struct {
		Runs
		Trace
	}
	known := func(file Status) kept {
		return kept{Runs{Spec: "old", PID: 7}, Trace{RegisterTime: 100, Row: file}}
	}
	lost := func(file Status) kept { return kept{Runs{Spec: "old"}, Trace{Lost: true, Row: file}} }
	ran := func(file Status) kept { return kept{Runs{Spec: "new", PID: 7}, Trace{Row: file}} }
	registered := func(pid int64, file Status) kept {
		return kept{Runs{Spec: SpecUnknown, PID: pid}, Trace{RegisterTime: 100, Registered: true, Row: file}}
	}
	undated := func(file Status) kept { return kept{Runs{Spec: "old", PID: 7}, Trace{Row: file}} }
	never := func(started int64) kept { // operated before
		return kept{Runs{Spec: "old"}, Trace{RegisterTime: 100, Started: started, Row: Status{State: Unknown}}}
	}
	ranAt := func(pid, registered int64) kept {
		return kept{Runs{Spec: "new", PID: pid}, Trace{RegisterTime: registered, Row: row("v1-old", 0, 0)}}
	}
	ranFirm := func(file Status, sent bool) kept {
		return kept{Runs{Spec: "new", PID: 7, Sent: sent}, Trace{RegisterTime: 100, Row: file}}
	}
	relabelled := func(file Status) kept { // with other labels, by an interrupted apply
		return kept{Runs{Spec: "old", PID: 7}, Trace{RegisterTime: 100, Row: file, Alike: true}}
	}
	harmed := func(registered int64, file Status) kept {
		return kept{Runs{Spec: SpecUnknown, Tried: TryEarlier}, Trace{RegisterTime: registered, Row: file}}
	}
	after := func(k kept, operation Operation, want, before Desired, live Status) next {
		h := Host{supplier: 1}
		return k.Runs.next(Operate{Operation: operation, Traces: map[Host]Trace{h: k.Trace}, Before: before}, h, want, live)
	}
	comesBack := before
	comesBack.Earlier = []string{"v1-new", "v1-relabelled"}
	unlabelled := Desired{}
	same := func(t *testing.T, what string, want, got next) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	for name, c := range map[string]struct {
		kept            kept
		live            Status
		restart, reload next
	}{
		"stopped":                             {known(row("v1-new", 7, 100)), Status{State: Stopped, PID: -1}, leaveStopped, leaveStopped},
		"nothing-happened":                    {known(row("v1-old", 7, 100)), live(7, 100, 90), operate, operate},
		"registered-and-not-restarted":        {known(row("v1-new", 7, 200)), live(7, 200, 90), operate, mayHaveRun},
		"restarted-after-its-registration":    {known(row("v1-new", 8, 200)), live(8, 200, 201), ranAlready, ranAlready},
		"restarted-in-its-second":             {known(row("v1-new", 8, 200)), live(8, 200, 200), mayHaveRun, mayHaveRun},
		"restarted,-which-registered":         {known(row("v1-new-started", 8, 200)), live(8, 200, 199), mayHaveRun, mayHaveRun},
		"restarted-and-row-old":               {known(row("v1-old", 7, 100)), live(8, 200, 201), mayHaveRun, mayHaveRun},
		"restarted-and-the-time-is-kept":      {known(row("v1-new", 8, 100)), live(8, 100, 201), mayHaveRun, mayHaveRun},
		"restarted,-time-kept,-row-old":       {known(row("v1-old", 7, 100)), live(8, 100, 201), mayHaveRun, operate},
		"revived-and-row-shows-it":            {known(row("v1-old", 8, 100)), live(8, 100, 150), operate, operate},
		"registered-at-a-console":             {known(row("v1-other", 7, 200)), live(7, 200, 90), operate, operate},
		"and-started-there":                   {known(row("v1-other", 8, 200)), live(8, 200, 201), operate, operate},
		"restarted-and-row-of-between":        {known(row("v1-new", 8, 150)), live(8, 200, 201), mayHaveRun, mayHaveRun},
		"restarted-with-other-labels":         {relabelled(row("v1-other", 8, 200)), live(8, 200, 201), ranAlready, ranAlready},
		"with-other-labels,-time-kept":        {relabelled(row("v1-other", 8, 100)), live(8, 100, 201), mayHaveRun, mayHaveRun},
		"with-other-labels,-not-restarted":    {relabelled(row("v1-other", 7, 200)), live(7, 200, 90), operate, mayHaveRun},
		"harmed-and-revived":                  {harmed(100, row("v1-old", 7, 100)), live(8, 100, 150), operate, operate},
		"lost-and-nothing-happened":           {lost(row("v1-old", 7, 100)), live(7, 100, 90), operate, operate},
		"lost-and-restarted":                  {lost(row("v1-new", 8, 200)), live(8, 200, 201), mayHaveRun, mayHaveRun},
		"lost-and-row-old":                    {lost(row("v1-old", 7, 100)), live(8, 200, 201), mayHaveRun, mayHaveRun},
		"lost-and-no-row":                     {lost(Status{State: Unregistered}), live(7, 100, 90), mayHaveRun, mayHaveRun},
		"lost-and-started-since-the-row":      {lost(row("v1-old", 7, 100)), live(8, 100, 150), mayHaveRun, operate},
		"not-restarted,-and-runs-on":          {ran(row("v1-old", 7, 100)), live(7, 100, 90), ranAlready, operate},
		"not-restarted,-and-another-runs":     {ran(row("v1-old", 8, 100)), live(8, 100, 150), operate, operate},
		"not-restarted,-and-row-shows-it":     {ran(row("v1-new", 8, 100)), live(8, 100, 150), ranAlready, operate},
		"not-restarted,-its-time-and-row":     {ranFirm(row("v1-new", 8, 100), false), live(8, 100, 150), ranAlready, operate},
		"not-restarted,-which-was-sent":       {ranFirm(row("v1-new", 8, 100), true), live(8, 100, 150), mayHaveRun, operate},
		"not-restarted,-and-row-of-before":    {ranFirm(row("v1-new", 7, 100), false), live(8, 100, 150), mayHaveRun, operate},
		"not-restarted,-and-no-pid":           {ranFirm(row("v1-new", -1, 100), false), live(-1, 100, 150), mayHaveRun, operate},
		"not-restarted,-no-pid-but-its-time":  {ranAt(0, 100), live(8, 100, 150), mayHaveRun, operate},
		"not-restarted,-no-pid,-another-time": {ranAt(0, 100), live(8, 200, 250), mayHaveRun, operate},
		"not-restarted,-neither-pid-nor-time": {ranAt(0, 0), live(0, 0, 0), operate, operate},
		"not-restarted,-another-pid":          {ranAt(7, 100), live(8, 100, 150), mayHaveRun, operate},
		"due,-and-started-since":              {registered(7, row("v1-new", 8, 100)), live(8, 100, 101), ranAlready, mayHaveRun},
		"due,-and-not-started-since":          {registered(0, row("v1-new", 8, 100)), live(8, 100, 100), mayHaveRun, mayHaveRun},
		"due,-and-runs-on":                    {registered(7, row("v1-new", 7, 100)), live(7, 100, 101), operate, mayHaveRun},
		"due,-and-registered-since":           {registered(7, row("v1-new", 8, 100)), live(8, 200, 201), mayHaveRun, mayHaveRun},
		"never-operated,-and-runs-on":         {never(150), live(8, 100, 150), operate, operate},
		"never-operated,-and-restarted":       {never(150), live(8, 100, 160), mayHaveRun, operate},
		"never-operated,-runs-from-before":    {never(0), live(8, 100, 90), operate, operate},
		"never-operated,-started-since":       {never(0), live(8, 100, 100), mayHaveRun, operate},
		"never-operated,-no-times":            {never(0), live(8, 100, 0), mayHaveRun, operate},
		"operated,-another-pid,-as-old":       {known(row("v1-old", 7, 100)), live(8, 100, 90), mayHaveRun, operate},
		"an-agent-without-times":              {undated(row("v1-old", 7, 0)), live(7, 0, 0), operate, operate},
		"an-agent-without-times,-another-pid": {undated(row("v1-new", 8, 0)), live(8, 0, 0), mayHaveRun, mayHaveRun},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, "restart", c.restart, after(c.kept, Restart, want, before, c.live))
			same(t, "reload", c.reload, after(c.kept, Reload, want, before, c.live))
		})
	}
	t.Run("an-end-not-seen", func(t *testing.T) {
		t.Parallel()
		unseen := func(file Status) kept {
			return kept{Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnseen}, Trace{RegisterTime: 100, Row: file}}
		}
		unlabelledRow, foreign := Status{State: Running, PID: 8, RegisterTime: 200}, row("v1-other", 8, 200)
		for what, c := range map[string]struct {
			file Status
			live Status
			want next
		}{
			"as registered":           {row("v1-new", 8, 100), live(8, 100, 150), ranAlready},
			"which registered":        {row("v1-new-started", 8, 200), live(8, 200, 200), ranAlready},
			"the row is old":          {row("v1-old", 7, 90), live(8, 100, 150), ranAlready},
			"without labels":          {unlabelledRow, live(8, 200, 250), ranAlready},
			"without times":           {row("v1-old", 7, 0), live(8, 0, 0), ranAlready},
			"registered by another":   {foreign, live(8, 200, 250), overtaken},
			"another, and runs on":    {foreign, live(7, 200, 90), operate},
			"another, and no pid":     {foreign, live(-1, 200, 90), pidUnknown},
			"its time is kept":        {row("v1-old", 7, 100), live(8, 100, 150), ranAlready},
			"no longer registered":    {Status{State: Unregistered}, live(8, 200, 250), overtaken},
			"nor is a time known":     {Status{State: Unregistered}, live(8, 0, 0), overtaken},
			"not listed yet":          {Status{State: Unregistered}, live(8, 100, 150), ranAlready},
			"the row is not known":    {Status{}, live(8, 200, 250), ranAlready},
			"the status is not known": {Status{State: Unknown}, live(8, 200, 250), ranAlready},
		} {
			same(t, what, c.want, after(unseen(c.file), Restart, want, before, c.live))
		}
	})
	t.Run("a-declaration-that-comes-back", func(t *testing.T) {
		t.Parallel()
		old := known(row("v1-new", 7, 100)) // its row may be from the first time
		same(t, "the process of before", operate, after(old, Restart, want, comesBack, live(7, 100, 90)))
		same(t, "another process", mayHaveRun, after(old, Restart, want, comesBack, live(8, 100, 150)))
		same(t, "another process, and the row is of the declaration before", operate,
			after(known(row("v1-old", 8, 100)), Restart, want, comesBack, live(8, 100, 150)))
		same(t, "with other labels", mayHaveRun, after(relabelled(row("v1-relabelled", 7, 100)), Restart, want, comesBack, live(8, 100, 150)))
		same(t, "to reload with other labels", operate, after(relabelled(row("v1-relabelled", 7, 100)), Reload, want, comesBack, live(7, 100, 90)))
		same(t, "to reload", operate, after(old, Reload, want, comesBack, live(7, 100, 90)))
		same(t, "registered since", mayHaveRun, after(old, Reload, want, comesBack, live(8, 200, 250)))
		same(t, "harmed", mayHaveRun, after(harmed(100, row("v1-new", 7, 100)), Reload, want, comesBack, live(8, 100, 150)))
		same(t, "harmed, and the row is outdated", operate, after(harmed(0, row("v1-new", 7, 100)), Reload, want, comesBack, live(8, 200, 250)))
	})
	t.Run("without-labels", func(t *testing.T) {
		t.Parallel()
		same(t, "known", operate, after(undated(Status{}), Restart, unlabelled, unlabelled, live(8, 0, 0)))
		same(t, "lost", mayHaveRun, after(lost(Status{}), Restart, unlabelled, unlabelled, live(8, 0, 0)))
	})
}

// What was tried decides what is tried next. Only another pid shows that an unconfirmed try worked.
func TestRuns_tried(t *testing.T) {
	t.Parallel()
	up := func(pid int64) Status { return Status{State: Running, PID: pid} }
	down := Status{State: Stopped, PID: -1}
	for name, c := range map[string]struct {
		runs Runs
		live Status
		want next
	}{
		"nothing":                      {Runs{Spec: "old", PID: 7}, up(7), operate},
		"nothing-and-down":             {Runs{Spec: "old", PID: 7}, down, leaveStopped},
		"failed":                       {Runs{Spec: SpecUnknown, PID: 7, Tried: TryFailed}, up(7), operate},
		"failed-and-down":              {Runs{Spec: SpecUnknown, Tried: TryFailed}, down, startAgain},
		"unseen-and-the-same":          {Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnseen}, up(7), operate},
		"unseen-and-another":           {Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnseen}, up(8), ranAlready},
		"unseen-and-down":              {Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnseen}, down, startAgain},
		"unseen-and-no-pid":            {Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnseen}, up(-1), pidUnknown},
		"unseen-and-never-a-pid":       {Runs{Spec: SpecUnknown, Tried: TryUnseen}, up(-1), operate},
		"unseen-and-no-pid-before":     {Runs{Spec: SpecUnknown, Tried: TryUnseen}, up(8), operate},
		"unseen-none-before-and-down":  {Runs{Spec: SpecUnknown, Tried: TryUnseen}, down, startAgain},
		"due-and-down":                 {Runs{Spec: SpecUnknown, PID: 7, Tried: TryDue}, down, leaveStopped},
		"unsure":                       {Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnsure}, up(7), operate},
		"unsure-and-no-pid":            {Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnsure}, up(-1), operate},
		"unsure-and-down":              {Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnsure}, down, leaveStopped},
		"worked":                       {Runs{PID: 7, Tried: TryWorked}, up(8), ranAlready},
		"worked-and-down":              {Runs{PID: 7, Tried: TryWorked}, down, startAgain},
		"another-declaration":          {Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnseen}.Redeclared("old"), up(8), operate},
		"another-declaration-and-down": {Runs{PID: 7, Tried: TryWorked}.Redeclared("old"), down, startAgain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.runs.next(Operate{Operation: Restart}, Host{}, Desired{Spec: "new"}, c.live); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

// The declaration that runs is known as long as the pid stays the same.
func TestRuns_since(t *testing.T) {
	t.Parallel()
	task := Task{ID: "T", Operation: Restart}
	for name, c := range map[string]struct{ got, want Runs }{
		"the-same":          {Runs{Spec: "old", PID: 7}.Seen(7), Runs{Spec: "old", PID: 7, Sent: true}},
		"another":           {Runs{Spec: "old", PID: 7}.Seen(8), Runs{Spec: SpecUnknown, PID: 8}},
		"none":              {Runs{Spec: "old", PID: 7}.Seen(0), Runs{Spec: SpecUnknown}},
		"as-declared":       {Runs{PID: 7}.Seen(8), Runs{PID: 8}},
		"before-a-try":      {Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnseen}.Seen(8), Runs{Spec: SpecUnknown, PID: 7, Tried: TryUnseen}},
		"changes":           {Runs{PID: 7}.Redeclared("old"), Runs{Spec: "old", PID: 7}},
		"changes-again":     {Runs{Spec: "older", PID: 7}.Redeclared("old"), Runs{Spec: "older", PID: 7}},
		"changes-once-more": {Runs{PID: 7, Tried: TryWorked}.Redeclared("old"), Runs{Spec: SpecUnknown, Tried: TryEarlier}},
		"never-had-a-pid":   {Runs{Spec: "old"}.Seen(0), Runs{Spec: SpecUnknown}},
		"sent-and-changes":  {Runs{Spec: "older", PID: 7, Sent: true}.Redeclared("old"), Runs{Spec: "older", PID: 7, Sent: true}},
		"due-and-changes":   {Runs{Spec: "older", PID: 7, Tried: TryDue, Task: task}.Redeclared("old"), Runs{Spec: "older", PID: 7, Task: task}},
		"unseen-changes":    {Runs{PID: 7, Tried: TryUnseen, Task: task}.Redeclared("old"), Runs{Spec: SpecUnknown, Tried: TryEarlier, Task: task}},
		"unsure-changes":    {Runs{PID: 7, Tried: TryUnsure}.Redeclared("old"), Runs{Spec: SpecUnknown}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
}

// The operation is due if another declaration runs, or if it was tried and its record is kept.
func TestRuns_Due(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		runs Runs
		want bool
	}{
		"as-registered": {Runs{PID: 7}, false}, "as-declared": {Runs{Spec: "new", PID: 7}, false}, "another": {Runs{Spec: "old"}, true},
		"unknown": {Runs{Spec: SpecUnknown}, true}, "tried": {Runs{Tried: TryWorked}, true}, "tried-as-declared": {Runs{Spec: "new", Tried: TryDue}, true},
	} {
		if got := c.runs.Due("new"); got != c.want {
			t.Errorf("%s: due: %t", name, got)
		}
	}
}
