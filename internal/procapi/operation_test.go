package procapi

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// An operation that does not exist is not taken for a start, whose number is 0.
func TestOpType(t *testing.T) {
	t.Parallel()
	for _, op := range append(fleet.Operations(), Query, fleet.Supervise, fleet.Unsupervise) {
		if number := OpType(op); number < 0 || number == 0 && op != fleet.Start {
			t.Errorf("%s has the number %d", op, number)
		}
	}
	for _, op := range []fleet.Operation{"", "stopp", "Start"} {
		if number := OpType(op); number >= 0 {
			t.Errorf("%q has the number %d", op, number)
		}
	}
}
