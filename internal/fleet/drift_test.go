package fleet_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

const (
	label    = "tf_spec"
	ownPrint = "v1-0123456789abcdef"
)

// carrying are labels with a fingerprint.
func carrying(fingerprint string) map[string]string {
	return map[string]string{"team": "sre", label: fingerprint}
}

// ownedBy are labels with the fingerprint and an owner.
func ownedBy(owner string) map[string]string {
	labels := carrying(ownPrint)
	labels[label+"_owner"] = owner
	return labels
}

// desired has labels, a fingerprint and an owner besides.
func desired(ensure fleet.Ensure) fleet.Desired {
	return fleet.Desired{
		Ensure: ensure, FingerprintLabel: label, Fingerprint: ownPrint,
		Labels: map[string]string{"team": "sre"}, Owner: "us", HasSpec: true,
	}
}

// row is a cached status; live is what an agent says, which has no labels.
func row(state fleet.State, hosted bool, registered int64) fleet.Status {
	return fleet.Status{State: state, Hosted: hosted, HostedKnown: true, Labels: ownedBy("us"), RegisterTime: registered}
}

func live(state fleet.State, hosted bool, registered int64) fleet.Status {
	return fleet.Status{State: state, Hosted: hosted, HostedKnown: true, RegisterTime: registered}
}

func labelled(s fleet.Status, labels map[string]string) fleet.Status {
	s.Labels = labels
	return s
}

func hostingUnknown(s fleet.Status) fleet.Status {
	s.Hosted, s.HostedKnown = false, false
	return s
}

// Every row is one host; live is nil where the host must not be asked.
func TestInspect(t *testing.T) {
	t.Parallel()
	const (
		registered = fleet.EnsureRegistered
		hosted     = fleet.EnsureHosted
		running    = fleet.EnsureRunning
		silent     = fleet.Code("unreachable")
	)
	absent := fleet.Status{State: fleet.Unregistered}
	unreachable := &fleet.Status{State: fleet.Unknown, Code: 117}
	says := func(s fleet.Status) *fleet.Status { return &s }

	tests := map[string]struct {
		ensure fleet.Ensure
		cached fleet.Status
		live   *fleet.Status
		want   fleet.Code
	}{
		"registered/as-declared":       {registered, row(fleet.Stopped, false, 5), nil, ""},
		"registered/stopped-is-enough": {registered, row(fleet.Stopped, true, 5), nil, ""},
		"registered/gone":              {registered, absent, says(live(fleet.Stopped, false, 0)), fleet.NotRegistered},
		"registered/gone-and-running":  {registered, absent, says(live(fleet.Running, false, 0)), fleet.NotRegistered},
		"registered/lagging-hosted":    {registered, absent, says(live(fleet.Stopped, true, 0)), ""},
		"registered/lagging-time":      {registered, absent, says(live(fleet.Stopped, false, 9)), ""},
		"registered/unreachable":       {registered, absent, unreachable, silent},
		"registered/agent-says-gone":   {registered, absent, says(live(fleet.Unregistered, false, 0)), fleet.NotRegistered},
		"registered/unknown-on-file":   {registered, labelled(fleet.Status{State: fleet.Unknown}, ownedBy("us")), says(live(fleet.Stopped, false, 5)), ""},

		"hosted/as-declared":         {hosted, row(fleet.Stopped, true, 5), nil, ""},
		"hosted/hosting-not-on-file": {hosted, hostingUnknown(row(fleet.Stopped, false, 5)), nil, ""},
		"hosted/not-hosted":          {hosted, row(fleet.Running, false, 5), says(live(fleet.Running, false, 5)), fleet.NotHosted},
		"hosted/lagging":             {hosted, row(fleet.Running, false, 5), says(live(fleet.Running, true, 5)), ""},
		"hosted/lagging-gone":        {hosted, absent, says(live(fleet.Running, true, 9)), ""},
		"hosted/agent-does-not-say":  {hosted, row(fleet.Running, false, 5), says(hostingUnknown(live(fleet.Running, false, 5))), fleet.NotHosted},
		"hosted/gone":                {hosted, absent, says(live(fleet.Running, false, 0)), fleet.NotRegistered},
		"hosted/late-registration":   {hosted, absent, says(live(fleet.Stopped, false, 9)), fleet.NotHosted},
		"hosted/unreachable":         {hosted, row(fleet.Running, false, 5), unreachable, silent},

		"running/as-declared":       {running, row(fleet.Running, true, 5), nil, ""},
		"running/stopped":           {running, row(fleet.Stopped, true, 5), says(live(fleet.Stopped, true, 5)), fleet.NotRunning},
		"running/lagging":           {running, row(fleet.Stopped, true, 5), says(live(fleet.Running, true, 5)), ""},
		"running/not-hosted":        {running, row(fleet.Stopped, false, 5), says(live(fleet.Running, false, 5)), fleet.NotHosted},
		"running/neither":           {running, row(fleet.Stopped, false, 5), says(live(fleet.Stopped, false, 5)), fleet.NotHosted},
		"running/unknown-on-file":   {running, labelled(fleet.Status{State: fleet.Unknown}, ownedBy("us")), says(live(fleet.Running, true, 5)), ""},
		"running/unreachable":       {running, row(fleet.Stopped, true, 5), unreachable, silent},
		"running/lagging-gone-down": {running, absent, says(live(fleet.Stopped, true, 9)), fleet.NotRunning},

		"labels/none-in-answer":      {hosted, labelled(row(fleet.Running, true, 5), nil), nil, ""},
		"labels/empty":               {hosted, labelled(row(fleet.Running, true, 5), map[string]string{}), says(live(fleet.Running, true, 5)), fleet.OtherSpec},
		"labels/without-fingerprint": {hosted, labelled(row(fleet.Running, true, 5), map[string]string{"team": "sre"}), says(live(fleet.Running, true, 5)), fleet.OtherSpec},
		"labels/other-fingerprint":   {hosted, labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 5)), fleet.OtherSpec},
		"labels/other-version":       {hosted, labelled(row(fleet.Running, true, 5), carrying("v2-ffffffffffffffff")), nil, ""},
		"labels/other-version-down":  {running, labelled(row(fleet.Stopped, true, 5), carrying("v2-ffffffffffffffff")), says(live(fleet.Stopped, true, 5)), fleet.NotRunning},
		"labels/one-more":            {hosted, labelled(row(fleet.Running, true, 5), map[string]string{"team": "sre", "x": "y", label: ownPrint, label + "_owner": "us"}), nil, ""},
		"labels/another-value":       {hosted, labelled(row(fleet.Running, true, 5), map[string]string{label: ownPrint, label + "_owner": "us", "team": "ops"}), says(live(fleet.Running, true, 5)), fleet.OtherLabels},
		"labels/one-fewer":           {hosted, labelled(row(fleet.Running, true, 5), map[string]string{label: ownPrint}), says(live(fleet.Running, true, 5)), fleet.OtherLabels},
		"labels/before-hosting":      {hosted, labelled(row(fleet.Running, false, 5), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, false, 5)), fleet.OtherSpec},
		"labels/stale":               {hosted, labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 6)), ""},
		"labels/stale-but-unhosted":  {hosted, labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, false, 6)), fleet.NotHosted},
		"labels/agent-older":         {hosted, labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 4)), fleet.OtherSpec},
		"labels/owner":               {hosted, labelled(row(fleet.Running, true, 5), ownedBy("us")), nil, ""},
		"labels/another-owner":       {hosted, labelled(row(fleet.Running, true, 5), ownedBy("them")), says(live(fleet.Running, true, 5)), ""},
		"labels/owner-lost":          {hosted, labelled(row(fleet.Running, true, 5), carrying(ownPrint)), says(live(fleet.Running, true, 5)), fleet.OtherLabels},
		// Without a time in the cached status, nothing says that the row is an old one.
		"labels/no-time-on-file": {hosted, labelled(row(fleet.Running, true, 0), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 6)), fleet.OtherSpec},
		"labels/no-time-at-all":  {hosted, labelled(row(fleet.Running, true, 0), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 0)), fleet.OtherSpec},
		// The labels of a row that says "unregistered" are those of the past.
		"labels/of-an-unregistered-row": {hosted, labelled(row(fleet.Unregistered, false, 0), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 6)), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{cached: answer(test.cached)}
			want := fleet.Report{
				Drift: map[fleet.Host]fleet.Code{}, Unreachable: map[fleet.Host]fleet.Status{},
			}
			wantCalls := []string{"cached 1"}
			if test.live != nil {
				p.live = answer(*test.live)
				wantCalls = append(wantCalls, "live 1")
			}
			switch test.want {
			case "":
			case silent:
				want.Unreachable[host(1)] = *test.live
			default:
				want.Drift[host(1)] = test.want
			}
			got, err := fleet.Inspect(t.Context(), p, hosts(1), desired(test.ensure), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, byString, cmpopts.IgnoreFields(fleet.Report{}, "Differs", "Cached", "Live")); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			p.wantCalls(t, wantCalls...)
		})
	}
}

// started are the labels that a start has left.
func started() map[string]string {
	return desired(fleet.EnsureRunning).StartLabels()
}

// All that differs is told, and the same decides as if it were alone.
func TestInspect_differs(t *testing.T) {
	t.Parallel()
	bare := map[string]string{"team": "sre"}
	for name, c := range map[string]struct {
		cached, live fleet.Status
		decides      fleet.Code
		differs      []fleet.Code
	}{
		"as-desired":        {row(fleet.Running, true, 5), live(fleet.Running, true, 5), "", nil},
		"found-well-after":  {row(fleet.Stopped, false, 5), live(fleet.Running, true, 5), "", nil},
		"gone":              {fleet.Status{State: fleet.Unregistered}, live(fleet.Stopped, false, 0), fleet.NotRegistered, []fleet.Code{fleet.NotRegistered}},
		"stopped":           {row(fleet.Stopped, true, 5), live(fleet.Stopped, true, 5), fleet.NotRunning, []fleet.Code{fleet.NotRunning}},
		"neither":           {row(fleet.Stopped, false, 5), live(fleet.Stopped, false, 5), fleet.NotHosted, []fleet.Code{fleet.NotHosted, fleet.NotRunning}},
		"less-than-on-file": {row(fleet.Stopped, false, 5), live(fleet.Stopped, true, 5), fleet.NotRunning, []fleet.Code{fleet.NotRunning}},
		"other-spec":        {labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff")), live(fleet.Running, true, 5), fleet.OtherSpec, []fleet.Code{fleet.OtherSpec}},
		"anew":              {labelled(row(fleet.Running, true, 5), bare), live(fleet.Running, true, 5), fleet.OtherSpec, []fleet.Code{fleet.Anew}},
		"by-a-start":        {labelled(row(fleet.Running, true, 5), started()), live(fleet.Running, true, 5), fleet.OtherLabels, []fleet.Code{fleet.Started}},
		"by-an-older-start": {labelled(row(fleet.Running, true, 5), started()), live(fleet.Running, true, 6), "", nil},
		"all-at-once": {
			labelled(row(fleet.Stopped, false, 5), map[string]string{}), live(fleet.Stopped, false, 5), fleet.OtherSpec,
			[]fleet.Code{fleet.Anew, fleet.OtherLabels, fleet.NotHosted, fleet.NotRunning},
		},
		"not-asked": {labelled(row(fleet.Stopped, false, 5), bare), fleet.Status{State: fleet.Unknown}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fleet.Inspect(t.Context(), &process{cached: answer(c.cached), live: answer(c.live)}, hosts(1), desired(fleet.EnsureRunning), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if drift := got.Drift[host(1)]; drift != c.decides {
				t.Errorf("it is %q that decides, want %q", drift, c.decides)
			}
			if diff := cmp.Diff(c.differs, got.Differs[host(1)]); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

// answer gives every host the same status.
func answer(s fleet.Status) func([]fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return func(hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
		statuses := make(map[fleet.Host]fleet.Status)
		for _, h := range hosts {
			statuses[h] = s
		}
		return statuses, nil
	}
}

func TestInspect_asksSuspectsOnly(t *testing.T) {
	t.Parallel()
	p := &process{
		cached: says(map[int]fleet.Status{2: {State: fleet.Unregistered}, 4: row(fleet.Stopped, false, 5), 5: {State: fleet.Unregistered}}),
		live: func([]fleet.Host) (map[fleet.Host]fleet.Status, error) {
			return map[fleet.Host]fleet.Status{
				host(2): live(fleet.Stopped, false, 0),
				host(4): live(fleet.Running, true, 5),
			}, nil // and host 5 is left out
		},
	}
	got, err := fleet.Inspect(t.Context(), p, hosts(1, 2, 3, 4, 5), desired(fleet.EnsureHosted), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.wantCalls(t, "cached 1 2 3 4 5", "live 2 4 5")
	if diff := cmp.Diff(map[int]fleet.Code{2: fleet.NotRegistered}, byNumber(got.Drift)); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int]fleet.Status{5: {State: fleet.Unknown, Message: "the agent did not answer in time"}}, byNumber(got.Unreachable)); diff != "" {
		t.Errorf("unreachable (-want +got):\n%s", diff)
	}
}

// After an import there is no spec to ask with, so the cached status must do.
func TestInspect_withoutSpec(t *testing.T) {
	t.Parallel()
	p := &process{cached: says(map[int]fleet.Status{2: {State: fleet.Unregistered}, 3: row(fleet.Running, false, 5)})}
	want := desired(fleet.EnsureHosted)
	want.HasSpec = false
	got, err := fleet.Inspect(t.Context(), p, hosts(1, 2, 3), want, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.wantCalls(t, "cached 1 2 3")
	if diff := cmp.Diff(map[int]fleet.Code{2: fleet.NotRegistered, 3: fleet.NotHosted}, byNumber(got.Drift)); diff != "" {
		t.Errorf("drift (-want +got):\n%s", diff)
	}
}

func TestInspect_withoutFingerprint(t *testing.T) {
	t.Parallel()
	p := &process{cached: answer(labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff")))}
	want := desired(fleet.EnsureHosted)
	want.FingerprintLabel = ""
	got, err := fleet.Inspect(t.Context(), p, hosts(1), want, nil, nil)
	if err != nil || len(got.Drift) > 0 {
		t.Errorf("got %v, %v, want no drift: neither spec nor labels count", got.Drift, err)
	}
	p.wantCalls(t, "cached 1")
}

// A deadline in the middle leaves hosts unreachable, with what is known of them:
// it is no reason to fail a refresh.
func TestInspect_deadline(t *testing.T) {
	t.Parallel()
	away := fleet.Status{State: fleet.Unknown, Code: 115, Message: "still in progress"}
	p := &process{cached: says(map[int]fleet.Status{2: {State: fleet.Unregistered}, 3: away}), live: cannotSay(context.DeadlineExceeded)}
	got, err := fleet.Inspect(t.Context(), p, hosts(1, 2, 3), desired(fleet.EnsureHosted), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]fleet.Status{2: {State: fleet.Unknown, Message: "the agent did not answer in time"}, 3: away}
	if diff := cmp.Diff(want, byNumber(got.Unreachable)); diff != "" || len(got.Drift) > 0 {
		t.Errorf("drift %v, unreachable (-want +got):\n%s", got.Drift, diff)
	}
}

func TestInspect_errors(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	tests := map[string]struct {
		process process
		want    error
		says    string
		calls   []string
	}{
		"cached":  {process{cached: cannotSay(down)}, down, "reading the cached status", []string{"cached 1 2"}},
		"live":    {process{cached: answer(fleet.Status{State: fleet.Unregistered}), live: cannotSay(down)}, down, "asking the agents of 2 hosts", []string{"cached 1 2", "live 1 2"}},
		"context": {process{cached: cannotSay(context.Canceled)}, context.Canceled, "reading the cached status", []string{"cached 1 2"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &test.process
			if _, err := fleet.Inspect(t.Context(), p, hosts(1, 2), desired(fleet.EnsureHosted), nil, nil); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q and %v", err, test.says, test.want)
			}
			p.wantCalls(t, test.calls...)
		})
	}
}

func TestDeclared_AllLabels(t *testing.T) {
	t.Parallel()
	own := func() map[string]string { return map[string]string{"team": "sre"} }
	tests := map[string]struct {
		desired fleet.Desired
		want    map[string]string
	}{
		"with":            {fleet.Desired{FingerprintLabel: label, Fingerprint: ownPrint, Labels: own()}, carrying(ownPrint)},
		"without-others":  {fleet.Desired{FingerprintLabel: label, Fingerprint: ownPrint}, map[string]string{label: ownPrint}},
		"turned-off":      {fleet.Desired{Fingerprint: ownPrint, Labels: own()}, own()},
		"turned-off-none": {fleet.Desired{Fingerprint: ownPrint}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := maps.Clone(test.desired.Labels)
			if diff := cmp.Diff(test.want, test.desired.AllLabels()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, test.desired.Labels); diff != "" {
				t.Errorf("the desired labels were changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeclared_Ours(t *testing.T) {
	t.Parallel()
	turnedOff := desired(fleet.EnsureHosted)
	turnedOff.FingerprintLabel = ""
	nameless := desired(fleet.EnsureHosted)
	nameless.Owner = ""
	tests := map[string]struct {
		desired fleet.Desired
		status  fleet.Status
		want    bool
	}{
		"ours":         {desired(fleet.EnsureHosted), row(fleet.Stopped, false, 5), true},
		"unregistered": {desired(fleet.EnsureHosted), row(fleet.Unregistered, false, 5), false},
		"other":        {desired(fleet.EnsureHosted), labelled(row(fleet.Stopped, false, 5), carrying("v1-ffffffffffffffff")), false},
		"no-labels":    {desired(fleet.EnsureHosted), labelled(row(fleet.Stopped, false, 5), nil), false},
		"turned-off":   {turnedOff, row(fleet.Stopped, false, 5), false},
		// An operation hosts under no owner, and so did a release that had none.
		"names-nobody":        {desired(fleet.EnsureHosted), labelled(row(fleet.Stopped, false, 5), carrying(ownPrint)), false},
		"we-have-no-name":     {nameless, labelled(row(fleet.Stopped, false, 5), carrying(ownPrint)), true},
		"names-another-of-us": {desired(fleet.EnsureHosted), labelled(row(fleet.Stopped, false, 5), ownedBy("another")), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.desired.Ours(test.status); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestEnsures_askMoreEach(t *testing.T) {
	t.Parallel()
	down := row(fleet.Stopped, false, 5)
	want := []fleet.Code{"", fleet.NotHosted, fleet.NotHosted}
	var got []fleet.Code
	for _, ensure := range fleet.Ensures() {
		report, err := fleet.Inspect(t.Context(), &process{cached: answer(down), live: answer(live(fleet.Stopped, false, 5))}, hosts(1), desired(ensure), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, report.Drift[host(1)])
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A host in doubt is asked for, however well it looks in the cached status, and labels of an earlier
// registration than the agent's are nobody's proof.
func TestInspect_inDoubt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live   int64
		labels map[string]string
	}{
		"as-on-file":     {5, ownedBy("us")},
		"since-the-file": {6, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{cached: answer(row(fleet.Running, true, 5)), live: answer(live(fleet.Running, true, c.live))}
			got, err := fleet.Inspect(t.Context(), p, hosts(1, 2), desired(fleet.EnsureHosted), map[fleet.Host]bool{host(2): true}, nil)
			if err != nil || len(got.Drift) > 0 || !maps.Equal(got.Cached[host(2)].Labels, c.labels) || got.Cached[host(1)].Labels == nil {
				t.Errorf("got %+v, %v", got, err)
			}
			p.wantCalls(t, "cached 1 2", "live 2")
		})
	}
}
