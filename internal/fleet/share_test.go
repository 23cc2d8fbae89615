package fleet_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// A step gets what the steps after it do not need, and its share where that is more.
func TestShare(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct{ left, own, later, want time.Duration }{
		"plenty":        {600 * s, 30 * s, 120 * s, 480 * s},
		"just-enough":   {150 * s, 30 * s, 120 * s, 30 * s},
		"too-little":    {50 * s, 30 * s, 120 * s, 10 * s},
		"nothing-later": {50 * s, 30 * s, 0, 50 * s},
		"time-is-up":    {-s, 30 * s, 120 * s, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				whole, cancel := context.WithTimeout(t.Context(), c.left)
				defer cancel()
				step, cancelStep := fleet.Share(whole, c.own, c.later)
				defer cancelStep()
				<-step.Done()
				if took := time.Since(began); took != c.want {
					t.Errorf("the step had %s, want %s", took, c.want)
				}
			})
		})
	}
}

func TestShare_unbounded(t *testing.T) {
	t.Parallel()
	step, cancel := fleet.Share(t.Context(), fleet.Quick, fleet.Quick)
	defer cancel()
	if deadline, bounded := step.Deadline(); bounded {
		t.Errorf("the step ends at %s", deadline)
	}
}
