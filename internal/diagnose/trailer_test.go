package diagnose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// Of calls whose end was not seen there is one paragraph: why, what that means, what to do.
func TestRowsInDoubt(t *testing.T) {
	t.Parallel()
	const doubt, up, slower = "The operation may have run.", "Time ran out.", "If the platform is just slow, raise the timeouts of this object, or rollout.wave_timeout."
	inventory, hosts := fleettest.Inventory(t, 2)
	stuck := fleet.Outcome{Verdict: fleet.Pending, Code: 115, Err: context.DeadlineExceeded}
	for name, c := range map[string]struct {
		outcome fleet.Outcome
		want    string
	}{
		"no-verdict":  {stuck, up + " " + doubt + " " + slower + "\n"},
		"never-sent":  {fleet.Outcome{Verdict: fleet.NotTried, Err: context.DeadlineExceeded}, up + " " + slower + "\n"},
		"lost":        {fleet.Outcome{Verdict: fleet.Lost}, doubt + "\n"},
		"interrupted": {fleet.Outcome{Verdict: fleet.Pending, Err: context.Canceled}, doubt + "\n"},
		"failed":      {fleet.Outcome{Verdict: fleet.Failed, Code: 117}, ""},
	} {
		text := RowsInDoubt(inventory, fleet.Results{hosts[0]: c.outcome, hosts[1]: {Verdict: fleet.Failed, Code: 4711}}, doubt)
		if _, got, _ := strings.Cut(text, "\n\n"); got != c.want {
			t.Errorf("%s: after the rows it says %q, want %q", name, got, c.want)
		}
	}
}

// What went wrong before time ran out is found in whatever it is wrapped in.
func TestTroubled(t *testing.T) {
	t.Parallel()
	canceled, refused := &bkapi.Error{Kind: bkapi.KindCanceled, Attempts: 1}, &bkapi.Error{Kind: bkapi.KindRefused, Attempts: 1}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"none":           {nil, false},
		"time-alone":     {canceled, false},
		"refused":        {refused, true},
		"wrapped":        {fmt.Errorf("on web-1: %w", refused), true},
		"joined":         {errors.Join(canceled, refused), true},
		"joined-wrapped": {fmt.Errorf("on web-1: %w", errors.Join(canceled, fmt.Errorf("before: %w", refused))), true},
		"time-joined":    {errors.Join(canceled, context.DeadlineExceeded), false},
		"tried-again":    {&bkapi.Error{Kind: bkapi.KindCanceled, Attempts: 2}, true},
	} {
		if got := Troubled(c.err); got != c.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
