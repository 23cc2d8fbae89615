package fleet

import "testing"

func TestTrace_repeats(t *testing.T) {
	t.Parallel()
	const ours = "O"
	registeredAs := func(fingerprint string) map[string]string {
		return map[string]string{"tf_spec": fingerprint, "tf_spec_owner": ours}
	}
	before := Desired{FingerprintLabel: "tf_spec", Fingerprint: "v1-old", Owner: ours}
	want := before
	want.Fingerprint = "v1-new"
	row := func(fingerprint string, pid, registered int64) Status {
		return Status{State: Running, Labels: registeredAs(fingerprint), PID: pid, RegisterTime: registered}
	}
	live := func(pid, registered, started int64) Status {
		return Status{State: Running, PID: pid, RegisterTime: registered, StartTime: started}
	}
	known := func(file Status) Trace { return Trace{PID: 7, RegisterTime: 100, File: file} }
	lost := func(file Status) Trace { return Trace{Lost: true, File: file} }
	comesBack := before
	comesBack.Earlier = []string{"v1-new"}
	unlabelled := Desired{}
	same := func(t *testing.T, what string, want, got repetition) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	for name, c := range map[string]struct {
		trace           Trace
		live            Status
		restart, reload repetition
	}{
		"stopped":                              {known(row("v1-new", 7, 100)), Status{State: Stopped, PID: -1}, notYet, notYet},
		"nothing-happened":                     {known(row("v1-old", 7, 100)), live(7, 100, 90), notYet, notYet},
		"registered-and-not-restarted":         {known(row("v1-new", 7, 200)), live(7, 200, 90), notYet, notKnown},
		"restarted-after-its-registration":     {known(row("v1-new", 8, 200)), live(8, 200, 201), already, already},
		"restarted-in-its-second":              {known(row("v1-new", 8, 200)), live(8, 200, 200), notKnown, notKnown},
		"restarted,-which-registered":          {known(row("v1-new-started", 8, 200)), live(8, 200, 199), notKnown, notKnown},
		"restarted-and-the-file-lags":          {known(row("v1-old", 7, 100)), live(8, 200, 201), notKnown, notKnown},
		"restarted-and-the-time-is-kept":       {known(row("v1-new", 8, 100)), live(8, 100, 201), notKnown, notKnown},
		"restarted,-time-kept,-the-file-lags":  {known(row("v1-old", 7, 100)), live(8, 100, 201), notKnown, notYet},
		"revived-and-the-file-shows-it":        {known(row("v1-old", 8, 100)), live(8, 100, 150), notYet, notYet},
		"registered-at-a-console":              {known(row("v1-other", 7, 200)), live(7, 200, 90), notYet, notYet},
		"lost-and-nothing-happened":            {lost(row("v1-old", 7, 100)), live(7, 100, 90), notYet, notYet},
		"lost-and-restarted":                   {lost(row("v1-new", 8, 200)), live(8, 200, 201), notKnown, notKnown},
		"lost-and-the-file-lags":               {lost(row("v1-old", 7, 100)), live(8, 200, 201), notKnown, notKnown},
		"lost-and-nothing-in-the-file":         {lost(Status{State: Unregistered}), live(7, 100, 90), notKnown, notKnown},
		"lost-and-started-since-the-file-was":  {lost(row("v1-old", 7, 100)), live(8, 100, 150), notKnown, notYet},
		"did-not-get-it,-and-runs-on":          {Trace{PID: 7, Ran: true, File: row("v1-old", 7, 100)}, live(7, 100, 90), already, notYet},
		"did-not-get-it,-and-another-runs":     {Trace{PID: 7, Ran: true, File: row("v1-old", 8, 100)}, live(8, 100, 150), notYet, notYet},
		"due,-and-started-since":               {Trace{PID: 7, RegisterTime: 100, Registered: true, File: row("v1-new", 8, 100)}, live(8, 100, 101), already, notKnown},
		"due,-and-not-started-since":           {Trace{RegisterTime: 100, Registered: true, File: row("v1-new", 8, 100)}, live(8, 100, 100), notKnown, notKnown},
		"an-agent-that-tells-no-times":         {Trace{PID: 7, File: row("v1-old", 7, 0)}, live(7, 0, 0), notYet, notYet},
		"an-agent-that-tells-no-times-another": {Trace{PID: 7, File: row("v1-new", 8, 0)}, live(8, 0, 0), notKnown, notKnown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, "restart", c.restart, c.trace.repeats(Restart, want, before, c.live))
			same(t, "reload", c.reload, c.trace.repeats(Reload, want, before, c.live))
		})
	}
	t.Run("a-declaration-that-comes-back", func(t *testing.T) {
		t.Parallel()
		old := known(row("v1-new", 7, 100)) // it may be from the first time
		same(t, "the process of before", notYet, old.repeats(Restart, want, comesBack, live(7, 100, 90)))
		same(t, "another process", notKnown, old.repeats(Restart, want, comesBack, live(8, 100, 150)))
		same(t, "another process, and the row is of the declaration before", notYet,
			known(row("v1-old", 8, 100)).repeats(Restart, want, comesBack, live(8, 100, 150)))
		same(t, "to reload", notYet, old.repeats(Reload, want, comesBack, live(7, 100, 90)))
	})
	t.Run("without-labels", func(t *testing.T) {
		t.Parallel()
		same(t, "known", notYet, (Trace{PID: 7}).repeats(Restart, unlabelled, unlabelled, live(8, 0, 0)))
		same(t, "lost", notKnown, lost(Status{}).repeats(Restart, unlabelled, unlabelled, live(8, 0, 0)))
	})
}
