package fleet_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

const (
	label    = "tf_spec"
	ownPrint = "v1-0123456789abcdef"
)

func carrying(fingerprint string) map[string]string {
	return map[string]string{"team": "sre", label: fingerprint}
}

// ownedBy returns labels with our fingerprint and an owner.
func ownedBy(owner string) map[string]string {
	labels := carrying(ownPrint)
	labels[label+"_owner"] = owner
	return labels
}

// desired returns a declaration with labels, a fingerprint and an owner.
func desired(ensure fleet.Ensure) fleet.Desired {
	return fleet.Desired{Ensure: ensure, FingerprintLabel: label, Fingerprint: ownPrint, Labels: map[string]string{"team": "sre"}, Owner: "us", HasSpec: true}
}

// row returns a cached status, and live what an agent reports, which has no labels.
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

// Each case is one host. live is nil if its agent must not be asked. All differences are reported, the most serious
// one first.
func TestInspect(t *testing.T) {
	t.Parallel()
	const (
		registered = fleet.EnsureRegistered
		hosted     = fleet.EnsureHosted
		running    = fleet.EnsureRunning
		silent     = fleet.Code("unreachable")
	)
	var (
		absent      = fleet.Status{State: fleet.Unregistered}
		unreachable = &fleet.Status{State: fleet.Unknown, Code: 117}
		bare        = map[string]string{"team": "sre"}
		says        = func(s fleet.Status) *fleet.Status { return &s }
	)

	for name, test := range map[string]struct {
		ensure fleet.Ensure
		cached fleet.Status
		live   *fleet.Status
		want   fleet.Code
		all    []fleet.Code // all differences, if there are more than want
	}{
		"registered/as-declared":       {registered, row(fleet.Stopped, false, 5), nil, "", nil},
		"registered/stopped-is-enough": {registered, row(fleet.Stopped, true, 5), nil, "", nil},
		"registered/gone":              {registered, absent, says(live(fleet.Stopped, false, 0)), fleet.NotRegistered, nil},
		"registered/gone-and-running":  {registered, absent, says(live(fleet.Running, false, 0)), fleet.NotRegistered, nil},
		"registered/lagging-hosted":    {registered, absent, says(live(fleet.Stopped, true, 0)), "", nil},
		"registered/lagging-time":      {registered, absent, says(live(fleet.Stopped, false, 9)), "", nil},
		"registered/unreachable":       {registered, absent, unreachable, silent, nil},
		"registered/agent-says-gone":   {registered, absent, says(live(fleet.Unregistered, false, 0)), fleet.NotRegistered, nil},
		"registered/unknown-on-file":   {registered, labelled(fleet.Status{State: fleet.Unknown}, ownedBy("us")), says(live(fleet.Stopped, false, 5)), "", nil},

		"hosted/as-declared":         {hosted, row(fleet.Stopped, true, 5), nil, "", nil},
		"hosted/hosting-not-on-file": {hosted, hostingUnknown(row(fleet.Stopped, false, 5)), nil, "", nil},
		"hosted/not-hosted":          {hosted, row(fleet.Running, false, 5), says(live(fleet.Running, false, 5)), fleet.NotHosted, nil},
		"hosted/lagging":             {hosted, row(fleet.Running, false, 5), says(live(fleet.Running, true, 5)), "", nil},
		"hosted/lagging-gone":        {hosted, absent, says(live(fleet.Running, true, 9)), "", nil},
		"hosted/agent-does-not-say":  {hosted, row(fleet.Running, false, 5), says(hostingUnknown(live(fleet.Running, false, 5))), fleet.NotHosted, nil},
		"hosted/gone":                {hosted, absent, says(live(fleet.Running, false, 0)), fleet.NotRegistered, nil},
		"hosted/late-registration":   {hosted, absent, says(live(fleet.Stopped, false, 9)), fleet.NotHosted, nil},
		"hosted/unreachable":         {hosted, row(fleet.Running, false, 5), unreachable, silent, nil},

		"running/as-declared":       {running, row(fleet.Running, true, 5), nil, "", nil},
		"running/stopped":           {running, row(fleet.Stopped, true, 5), says(live(fleet.Stopped, true, 5)), fleet.NotRunning, nil},
		"running/lagging":           {running, row(fleet.Stopped, true, 5), says(live(fleet.Running, true, 5)), "", nil},
		"running/not-hosted":        {running, row(fleet.Stopped, false, 5), says(live(fleet.Running, false, 5)), fleet.NotHosted, nil},
		"running/neither":           {running, row(fleet.Stopped, false, 5), says(live(fleet.Stopped, false, 5)), fleet.NotHosted, []fleet.Code{fleet.NotHosted, fleet.NotRunning}},
		"running/unknown-on-file":   {running, labelled(fleet.Status{State: fleet.Unknown}, ownedBy("us")), says(live(fleet.Running, true, 5)), "", nil},
		"running/unreachable":       {running, row(fleet.Stopped, true, 5), unreachable, silent, nil},
		"running/lagging-gone-down": {running, absent, says(live(fleet.Stopped, true, 9)), fleet.NotRunning, nil},

		"labels/none-in-answer":      {hosted, labelled(row(fleet.Running, true, 5), nil), nil, "", nil},
		"labels/empty":               {hosted, labelled(row(fleet.Running, true, 5), map[string]string{}), says(live(fleet.Running, true, 5)), fleet.Anew, []fleet.Code{fleet.Anew, fleet.OtherLabels}},
		"labels/without-fingerprint": {hosted, labelled(row(fleet.Running, true, 5), map[string]string{"team": "sre"}), says(live(fleet.Running, true, 5)), fleet.Anew, []fleet.Code{fleet.Anew}},
		"labels/other-fingerprint":   {hosted, labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 5)), fleet.OtherSpec, nil},
		"labels/other-version":       {hosted, labelled(row(fleet.Running, true, 5), carrying("v2-ffffffffffffffff")), nil, "", nil},
		"labels/other-version-down":  {running, labelled(row(fleet.Stopped, true, 5), carrying("v2-ffffffffffffffff")), says(live(fleet.Stopped, true, 5)), fleet.NotRunning, nil},
		"labels/one-more":            {hosted, labelled(row(fleet.Running, true, 5), map[string]string{"team": "sre", "x": "y", label: ownPrint, label + "_owner": "us"}), nil, "", nil},
		"labels/another-value":       {hosted, labelled(row(fleet.Running, true, 5), map[string]string{label: ownPrint, label + "_owner": "us", "team": "ops"}), says(live(fleet.Running, true, 5)), fleet.OtherLabels, nil},
		"labels/one-fewer":           {hosted, labelled(row(fleet.Running, true, 5), map[string]string{label: ownPrint}), says(live(fleet.Running, true, 5)), fleet.OtherLabels, nil},
		"labels/before-hosting":      {hosted, labelled(row(fleet.Running, false, 5), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, false, 5)), fleet.OtherSpec, []fleet.Code{fleet.OtherSpec, fleet.NotHosted}},
		"labels/stale":               {hosted, labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 6)), "", nil},
		"labels/stale-but-unhosted":  {hosted, labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, false, 6)), fleet.NotHosted, nil},
		"labels/agent-older":         {hosted, labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 4)), fleet.OtherSpec, nil},
		"labels/owner":               {hosted, labelled(row(fleet.Running, true, 5), ownedBy("us")), nil, "", nil},
		"labels/another-owner":       {hosted, labelled(row(fleet.Running, true, 5), ownedBy("them")), says(live(fleet.Running, true, 5)), "", nil},
		"labels/owner-lost":          {hosted, labelled(row(fleet.Running, true, 5), carrying(ownPrint)), says(live(fleet.Running, true, 5)), fleet.OtherLabels, nil},
		// Without a time in the cached status, nothing shows that the row is old.
		"labels/no-time-in-row": {hosted, labelled(row(fleet.Running, true, 0), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 6)), fleet.OtherSpec, nil},
		"labels/no-time-at-all": {hosted, labelled(row(fleet.Running, true, 0), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 0)), fleet.OtherSpec, nil},
		// The labels of an unregistered row are those of an earlier registration.
		"labels/of-an-unregistered-row": {hosted, labelled(row(fleet.Unregistered, false, 0), carrying("v1-ffffffffffffffff")), says(live(fleet.Running, true, 6)), "", nil},

		"all/as-desired":        {running, row(fleet.Running, true, 5), nil, "", nil},
		"all/found-well-after":  {running, row(fleet.Stopped, false, 5), says(live(fleet.Running, true, 5)), "", nil},
		"all/less-than-on-file": {running, row(fleet.Stopped, false, 5), says(live(fleet.Stopped, true, 5)), fleet.NotRunning, nil},
		"all/not-asked":         {running, labelled(row(fleet.Stopped, false, 5), bare), unreachable, silent, nil},
		"all/by-a-start":        {running, labelled(row(fleet.Running, true, 5), started()), says(live(fleet.Running, true, 5)), fleet.Started, []fleet.Code{fleet.Started}},
		"all/by-an-older-start": {running, labelled(row(fleet.Running, true, 5), started()), says(live(fleet.Running, true, 6)), "", nil},
		"all/at-once": {
			running, labelled(row(fleet.Stopped, false, 5), map[string]string{}), says(live(fleet.Stopped, false, 5)), fleet.Anew,
			[]fleet.Code{fleet.Anew, fleet.OtherLabels, fleet.NotHosted, fleet.NotRunning},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, wantCalls := &process{cached: answer(test.cached)}, "cached 1"
			want := fleet.Report{Drift: map[fleet.Host][]fleet.Code{}, Unreachable: map[fleet.Host]fleet.Status{}}
			if test.live != nil {
				p.live = answer(*test.live)
				wantCalls += ", live 1"
			}
			switch test.want {
			case "":
			case silent:
				want.Unreachable[host(1)] = *test.live
			default:
				if test.all == nil {
					test.all = []fleet.Code{test.want}
				}
				want.Drift[host(1)] = test.all
			}
			got, err := fleet.Inspect(t.Context(), p, hosts(1), desired(test.ensure), nil, nil, nil)
			fleettest.NoError(t, err)
			fleettest.Same(t, "report", want, got, byString, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(fleet.Report{}, "Cached", "Live"))
			p.wantCalls(t, wantCalls)
		})
	}
}

func started() map[string]string {
	return desired(fleet.EnsureRunning).StartLabels()
}

// answer returns the same status for every host.
func answer(s fleet.Status) func([]fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return func(hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
		statuses := make(map[fleet.Host]fleet.Status)
		for _, h := range hosts {
			statuses[h] = s
		}
		return statuses, nil
	}
}

// Only agents of suspected hosts are asked. After an import there is no spec to ask with, so the cached status
// decides. A deadline leaves hosts unreachable, with what is known of them, and does not fail the refresh.
func TestInspect_severalHosts(t *testing.T) {
	t.Parallel()
	absent, down := fleet.Status{State: fleet.Unregistered}, row(fleet.Stopped, false, 5)
	away := fleet.Status{State: fleet.Unknown, Code: 115, Message: "still in progress"}
	late := fleet.Status{State: fleet.Unknown, Message: "the agent did not answer in time"}
	for name, c := range map[string]struct {
		cached      byStatus // the others are healthy
		live        func([]fleet.Host) (map[fleet.Host]fleet.Status, error)
		spoil       func(*fleet.Desired)
		calls       string
		drift       map[int][]fleet.Code
		unreachable byStatus
	}{
		"suspects": {
			cached: byStatus{2: absent, 4: down, 5: absent},
			live: func([]fleet.Host) (map[fleet.Host]fleet.Status, error) { // host 5 is missing
				return map[fleet.Host]fleet.Status{host(2): live(fleet.Stopped, false, 0), host(4): live(fleet.Running, true, 5)}, nil
			},
			calls: "cached 1 2 3 4 5, live 2 4 5", drift: map[int][]fleet.Code{2: {fleet.NotRegistered}}, unreachable: byStatus{5: late},
		},
		"no-spec": {
			cached: byStatus{2: absent, 3: down}, spoil: func(d *fleet.Desired) { d.HasSpec = false },
			calls: "cached 1 2 3 4 5", drift: map[int][]fleet.Code{2: {fleet.NotRegistered}, 3: {fleet.NotHosted}},
		},
		"no-fingerprint": { // neither spec nor labels count
			cached: byStatus{1: labelled(row(fleet.Running, true, 5), carrying("v1-ffffffffffffffff"))},
			spoil:  func(d *fleet.Desired) { d.FingerprintLabel = "" }, calls: "cached 1 2 3 4 5",
		},
		"deadline": {cached: byStatus{2: absent, 3: away}, live: cannotSay(context.DeadlineExceeded), calls: "cached 1 2 3 4 5, live 2 3", unreachable: byStatus{2: late, 3: away}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, want := &process{cached: says(c.cached), live: c.live}, desired(fleet.EnsureHosted)
			if c.spoil != nil {
				c.spoil(&want)
			}
			got, err := fleet.Inspect(t.Context(), p, hosts(1, 2, 3, 4, 5), want, nil, nil, nil)
			fleettest.NoError(t, err)
			p.wantCalls(t, c.calls)
			fleettest.Same(t, "drift", c.drift, byNumber(got.Drift), cmpopts.EquateEmpty())
			fleettest.Same(t, "unreachable", c.unreachable, byNumber(got.Unreachable), cmpopts.EquateEmpty())
		})
	}
}

func TestInspect_errors(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for name, test := range map[string]struct {
		process process
		want    error
		says    string
		calls   string
	}{
		"cached":  {process{cached: cannotSay(down)}, down, "reading the cached status", "cached 1 2"},
		"live":    {process{cached: answer(fleet.Status{State: fleet.Unregistered}), live: cannotSay(down)}, down, "asking the agents of 2 hosts", "cached 1 2, live 1 2"},
		"context": {process{cached: cannotSay(context.Canceled)}, context.Canceled, "reading the cached status", "cached 1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &test.process
			_, err := fleet.Inspect(t.Context(), p, hosts(1, 2), desired(fleet.EnsureHosted), nil, nil, nil)
			fleettest.Check(t, errors.Is(err, test.want) && strings.Contains(err.Error(), test.says), "got %v, want %q and %v", err, test.says, test.want)
			p.wantCalls(t, test.calls)
		})
	}
}

func TestDeclared_AllLabels(t *testing.T) {
	t.Parallel()
	own := map[string]string{"team": "sre"}
	for name, c := range map[string]struct {
		desired fleet.Desired
		want    map[string]string
	}{
		"with":            {fleet.Desired{FingerprintLabel: label, Fingerprint: ownPrint, Labels: own}, carrying(ownPrint)},
		"without-others":  {fleet.Desired{FingerprintLabel: label, Fingerprint: ownPrint}, map[string]string{label: ownPrint}},
		"turned-off":      {fleet.Desired{Fingerprint: ownPrint, Labels: own}, own},
		"turned-off-none": {fleet.Desired{Fingerprint: ownPrint}, nil},
	} {
		diff := cmp.Diff(c.want, c.desired.AllLabels())
		fleettest.Check(t, diff == "" && len(own) <= 1, "%s: the desired labels are %v (-want +got):\n%s", name, own, diff)
	}
}

func TestDeclared_Ours(t *testing.T) {
	t.Parallel()
	turnedOff := desired(fleet.EnsureHosted)
	turnedOff.FingerprintLabel = ""
	nameless := desired(fleet.EnsureHosted)
	nameless.Owner = ""
	for name, test := range map[string]struct {
		desired fleet.Desired
		status  fleet.Status
		want    bool
	}{
		"ours":         {desired(fleet.EnsureHosted), row(fleet.Stopped, false, 5), true},
		"unregistered": {desired(fleet.EnsureHosted), row(fleet.Unregistered, false, 5), false},
		"other":        {desired(fleet.EnsureHosted), labelled(row(fleet.Stopped, false, 5), carrying("v1-ffffffffffffffff")), false},
		"no-labels":    {desired(fleet.EnsureHosted), labelled(row(fleet.Stopped, false, 5), nil), false},
		"turned-off":   {turnedOff, row(fleet.Stopped, false, 5), false},
		// What an operation hosts has no owner label, and neither has what early releases registered.
		"no-owner-label":    {desired(fleet.EnsureHosted), labelled(row(fleet.Stopped, false, 5), carrying(ownPrint)), false},
		"no-owner-declared": {nameless, labelled(row(fleet.Stopped, false, 5), carrying(ownPrint)), true},
		"another-owner":     {desired(fleet.EnsureHosted), labelled(row(fleet.Stopped, false, 5), ownedBy("another")), true},
	} {
		fleettest.Same(t, name, test.want, test.desired.Ours(test.status))
	}
}

// The agent of a host in doubt is asked, even if the cached status shows nothing wrong. Labels of a registration
// older than the agent's are dropped.
func TestInspect_inDoubt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live   int64
		labels map[string]string
	}{
		"as-in-the-row": {5, ownedBy("us")},
		"since-the-row": {6, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{cached: answer(row(fleet.Running, true, 5)), live: answer(live(fleet.Running, true, c.live))}
			got, err := fleet.Inspect(t.Context(), p, hosts(1, 2), desired(fleet.EnsureHosted), map[fleet.Host]bool{host(2): true}, nil, nil)
			if err != nil || len(got.Drift) > 0 || !maps.Equal(got.Cached[host(2)].Labels, c.labels) || got.Cached[host(1)].Labels == nil {
				t.Errorf("got %+v, %v", got, err)
			}
			p.wantCalls(t, "cached 1 2", "live 2")
		})
	}
}

// Agents that did not answer before are asked for no longer than Quick, and apart from the others.
func TestInspect_silent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		silent map[fleet.Host]bool
		calls  string
		takes  time.Duration
	}{
		"none": {nil, "cached 1 2, live 1 2", 2 * time.Minute},
		"one":  {map[fleet.Host]bool{host(2): true}, "cached 1 2, live 2, live 1", 2 * time.Minute},
		"all":  {map[fleet.Host]bool{host(1): true, host(2): true}, "cached 1 2, live 1 2", fleet.Quick},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &process{cached: answer(row(fleet.Stopped, true, 5)), live: answer(fleet.Status{State: fleet.Unknown, Away: true, Late: true}), waits: true}
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				begun := time.Now()
				got, err := fleet.Inspect(ctx, p, hosts(1, 2), desired(fleet.EnsureRunning), nil, c.silent, nil)
				if took := time.Since(begun); err != nil || len(got.Drift) > 0 || len(got.Unreachable) != 2 || took != c.takes {
					t.Errorf("after %s: %+v, %v", took, got, err)
				}
				p.wantCalls(t, c.calls)
			})
		})
	}
}

// verifier is a process that can read the agents' own files.
type verifier struct {
	*process

	kept fleet.Hosting
}

var _ fleet.Verifier = verifier{}

func (v verifier) Hosting(_ context.Context, hosts []fleet.Host) map[fleet.Host]fleet.Hosting {
	v.record("hosting", hosts)
	kept := make(map[fleet.Host]fleet.Hosting)
	for _, h := range hosts {
		kept[h] = v.kept
	}
	return kept
}

var (
	verified   = fleet.Hosting{Hosted: true}
	otherwise  = fleet.Hosting{Hosted: true, Differs: []fleet.Difference{{Field: "control.stop_cmd", Declared: "./stop.sh", Hosted: "kill"}}}
	nothing    = fleet.Hosting{}
	unreadable = fleet.Hosting{Why: "no permission", Hosted: true, Differs: otherwise.Differs}
)

// The spec in the agent's file is compared too. A file that could not be read shows nothing.
func TestInspect_kept(t *testing.T) {
	t.Parallel()
	asDeclared, bare := row(fleet.Running, true, 5), labelled(row(fleet.Running, true, 5), map[string]string{"team": "sre"})
	other := labelled(asDeclared, carrying("v1-ffffffffffffffff"))
	up, down := live(fleet.Running, true, 5), live(fleet.Running, false, 5)
	for name, c := range map[string]struct {
		kept         fleet.Hosting
		cached, live fleet.Status
		asked        bool
		differs      []fleet.Code
	}{
		"as-declared":                    {verified, asDeclared, up, false, nil},
		"other-fields":                   {otherwise, asDeclared, up, true, []fleet.Code{fleet.HostedOtherwise}},
		"other-fields-and-fingerprint":   {otherwise, other, up, true, []fleet.Code{fleet.HostedOtherwise, fleet.OtherSpec}},
		"fields-do-not-excuse-the-print": {verified, other, up, true, []fleet.Code{fleet.OtherSpec}},
		"no-fingerprint":                 {verified, bare, up, false, nil},
		"no-fingerprint-other-fields":    {otherwise, bare, up, true, []fleet.Code{fleet.HostedOtherwise}},
		"no-fingerprint-other-labels":    {verified, labelled(bare, map[string]string{}), up, true, []fleet.Code{fleet.OtherLabels}},
		"no-entry":                       {nothing, asDeclared, down, true, []fleet.Code{fleet.NotHosted}},
		"no-entry-by-now-one":            {nothing, asDeclared, up, true, nil},
		"no-entry-agent-does-not-say":    {nothing, hostingUnknown(asDeclared), hostingUnknown(up), true, []fleet.Code{fleet.NotHosted}},
		"unreadable":                     {unreadable, asDeclared, up, false, nil},
		"unreadable-without-fingerprint": {unreadable, bare, up, false, nil},
		"unreadable-other-fingerprint":   {unreadable, other, up, true, []fleet.Code{fleet.OtherSpec}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := desired(fleet.EnsureRunning)
			want.Verify = true
			p := verifier{&process{cached: answer(c.cached), live: answer(c.live)}, c.kept}
			got, err := fleet.Inspect(t.Context(), p, hosts(1), want, nil, nil, nil)
			fleettest.NoError(t, err)
			fleettest.Same(t, "differs", c.differs, got.Drift[host(1)])
			if calls := []string{"cached 1", "hosting 1", "live 1"}; c.asked {
				p.wantCalls(t, calls...)
			} else {
				p.wantCalls(t, calls[:2]...)
			}
			fields := got.Cached[host(1)].Kept.Fields()
			fleettest.Check(t, (len(fields) > 0) == (c.kept.Why == "" && len(c.kept.Differs) > 0), "the fields are %v", fields)
		})
	}
}

func TestInspect_keptUnread(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fleet.Desired){
		"labels-alone": func(d *fleet.Desired) { d.Verify = false },
		"no-spec":      func(d *fleet.Desired) { d.HasSpec = false },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := desired(fleet.EnsureRunning)
			want.Verify = true
			spoil(&want)
			p := verifier{&process{}, otherwise}
			_, err := fleet.Inspect(t.Context(), p, hosts(1), want, nil, nil, nil)
			fleettest.NoError(t, err)
			if p.calls[0] != "cached 1" || len(p.calls) > 2 || len(p.calls) == 2 && p.calls[1] != "live 1" {
				t.Errorf("calls: %q", p.calls)
			}
		})
	}
}

// An adopted host is not registered again if it is already as declared and has no owner.
func TestChange_FindAlike(t *testing.T) {
	t.Parallel()
	bare := labelled(row(fleet.Running, true, 5), map[string]string{"team": "sre"})
	for name, c := range map[string]struct {
		kept   fleet.Hosting
		cached fleet.Status
		spoil  func(*fleet.Change, *fleet.Desired)
		found  bool
	}{
		"as-declared":       {verified, bare, nil, true},
		"other-spec":        {otherwise, bare, nil, false},
		"not-hosted":        {nothing, bare, nil, false},
		"unreadable":        {fleet.Hosting{Why: "no permission", Hosted: true}, bare, nil, false},
		"another-owner":     {verified, labelled(bare, ownedBy("them")), nil, false},
		"own-fingerprint":   {verified, labelled(bare, carrying(ownPrint)), nil, false},
		"other-labels":      {verified, labelled(bare, map[string]string{}), nil, false},
		"labels-not-known":  {verified, labelled(bare, nil), nil, false},
		"no-row":            {verified, fleet.Status{State: fleet.Unregistered, Labels: bare.Labels}, nil, false},
		"row-not-known":     {verified, fleet.Status{State: fleet.Unknown, Labels: bare.Labels}, nil, false},
		"older-row":         {verified, labelled(row(fleet.Running, true, 4), bare.Labels), nil, false},
		"not-adopted":       {verified, bare, func(c *fleet.Change, _ *fleet.Desired) { c.Adopt = false }, false},
		"labels-are-enough": {verified, bare, func(_ *fleet.Change, d *fleet.Desired) { d.Verify = false }, false},
		"renamed": {verified, bare, func(c *fleet.Change, _ *fleet.Desired) {
			c.Rename = func(context.Context, []fleet.Host) fleet.Results { return nil }
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, change := desired(fleet.EnsureRunning), fleet.Change{Register: hosts(1, 2), Settle: hosts(3), Order: hosts(1, 2, 3), Adopt: true}
			want.Verify = true
			if c.spoil != nil {
				c.spoil(&change, &want)
			}
			p := verifier{&process{cached: answer(c.cached), live: answer(live(fleet.Running, true, 5))}, c.kept}
			change = change.FindAlike(t.Context(), p, want)
			if len(change.Hosts()) != 3 || (len(change.AsFound) == 2) != c.found || c.spoil != nil && len(p.calls) > 0 {
				t.Fatalf("registered are %v, adopted as found %v; calls: %v", change.Register, change.AsFound, p.calls)
			}
			if !c.found {
				return
			}
			p.calls = nil
			r := fleet.NewReconciliation(p, want, change)
			failures := r.Run(t.Context()).Failures()
			fleettest.Check(t, len(failures) == 0, "failures: %v", failures)
			p.wantCalls(t, "live 1 2 3")
			fleettest.Same(t, "the time of the registration is kept as", int64(5), r.Found().Registered[host(1)])
		})
	}
}

// A host whose agent does not show the registration now is registered like any other.
func TestChange_FindAlike_agents(t *testing.T) {
	t.Parallel()
	bare := labelled(row(fleet.Running, true, 5), map[string]string{"team": "sre"})
	want := desired(fleet.EnsureRunning)
	want.Verify = true
	p := verifier{&process{cached: answer(bare), live: func([]fleet.Host) (map[fleet.Host]fleet.Status, error) {
		return map[fleet.Host]fleet.Status{host(1): live(fleet.Running, true, 5), host(2): {State: fleet.Unknown, Away: true}, host(3): live(fleet.Running, true, 6)}, nil // and none of host 4
	}}, verified}
	change := fleet.Change{Register: hosts(1, 2, 3, 4), Adopt: true}.FindAlike(t.Context(), p, want)
	fleettest.Same(t, "adopted as found", hosts(1), change.AsFound, byString)
	fleettest.Same(t, "to register", hosts(2, 3, 4), change.Register, byString)
}

// A registration of the same object has the declared spec if its fingerprint is that of the spec with its labels. Labels
// that the platform has added do not count.
func TestDesired_Alike(t *testing.T) {
	t.Parallel()
	spec, other := map[string]any{"cmd": "new"}, map[string]any{"cmd": "old"}
	madeFor := func(spec any, labels map[string]string) string {
		fingerprint, err := fleet.Fingerprint(spec, labels)
		fleettest.Check(t, err == nil, "%v", err)
		return fingerprint
	}
	two, more := map[string]string{"team": "two"}, map[string]string{"team": "two", "tier": "web"}
	d := fleet.Desired{FingerprintLabel: "tf_spec", Owner: "me", Labels: map[string]string{"team": "one"}}
	for name, c := range map[string]struct {
		fingerprint, owner string
		labels             map[string]string
		want               bool
	}{
		"other-value":      {madeFor(spec, two), "me", two, true},
		"another-label":    {madeFor(spec, more), "me", more, true},
		"of-the-platform":  {madeFor(spec, two), "me", map[string]string{"team": "two", "bk_platform": "1"}, true},
		"started":          {madeFor(spec, two) + "-started", "me", two, true},
		"other-spec":       {madeFor(other, two), "me", two, false},
		"another-owner":    {madeFor(spec, two), "another", two, false},
		"no-owner":         {madeFor(spec, two), "", two, false},
		"no-fingerprint":   {"", "me", two, false},
		"labels-of-others": {madeFor(spec, two), "me", map[string]string{"team": "three"}, false},
	} {
		labels := map[string]string{"tf_spec": c.fingerprint, "tf_spec_owner": c.owner}
		maps.Copy(labels, c.labels)
		if got := d.Alike(fleet.Status{State: fleet.Running, Labels: labels}, spec); got != c.want {
			t.Errorf("%s: alike: %t", name, got)
		}
	}
}
