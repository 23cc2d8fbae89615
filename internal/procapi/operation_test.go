package procapi

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Source: operate_proc_v2 and operate_process, `op_type`. Operations that run a command are not sent
// again after a lost answer.
func TestOpType(t *testing.T) {
	t.Parallel()
	for op, want := range map[fleet.Operation]struct {
		number     int
		repeatable bool
	}{
		fleet.Start: {0, false}, fleet.Stop: {1, false}, Query: {2, true}, fleet.Supervise: {3, true}, fleet.Unsupervise: {4, true},
		fleet.Restart: {7, false}, fleet.Reload: {8, false}, fleet.Kill: {9, false},
	} {
		if got := OpType(op); got != want.number || Repeatable(op) != want.repeatable {
			t.Errorf("%s: got %d and %t, want %d and %t", op, got, Repeatable(op), want.number, want.repeatable)
		}
	}
}
