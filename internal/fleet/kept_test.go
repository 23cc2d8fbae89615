package fleet_test

import (
	"context"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// verifier is a process whose agents' files can be read.
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

// What agents keep is one more thing that is compared. What could not be read shows nothing.
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
			got, err := fleet.Inspect(t.Context(), p, hosts(1), want, nil, nil)
			fleettest.NoError(t, err)
			fleettest.Same(t, "differs", c.differs, got.Differs[host(1)])
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

// Nothing is read that was not asked for.
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
			_, err := fleet.Inspect(t.Context(), p, hosts(1), want, nil, nil)
			fleettest.NoError(t, err)
			if p.calls[0] != "cached 1" || len(p.calls) > 2 || len(p.calls) == 2 && p.calls[1] != "live 1" {
				t.Errorf("calls: %q", p.calls)
			}
		})
	}
}

// A host that is adopted is not registered if it is as declared already, and nobody's.
func TestChange_AsFound(t *testing.T) {
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, change := desired(fleet.EnsureRunning), fleet.Change{Register: hosts(1, 2), Settle: hosts(3), Order: hosts(1, 2, 3), Adopt: true}
			want.Verify = true
			if c.spoil != nil {
				c.spoil(&change, &want)
			}
			p := verifier{&process{cached: answer(c.cached), live: answer(live(fleet.Running, true, 5))}, c.kept}
			change = change.AsFound(t.Context(), p, want)
			if len(change.Register)+len(change.Settle) != 3 || (len(change.Register) == 0) != c.found {
				t.Fatalf("registered are %v, settled %v", change.Register, change.Settle)
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
