package processoperation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// Promised in rolling-restart.md: The apply ends with an error that counts the hosts that
// failed, those whose outcome is unknown and those that were not tried apart.
func TestRunFailed(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 2)
	o := operation{Target: reference.Target{Title: diagnose.ProcessTitle("web", "nginx"), Hosts: inventory}, name: fleet.Restart}
	got := runFailed(o, 2, fleet.Results{hosts[0]: {
		Verdict: fleet.Failed, Code: 65535, Meaning: "the command failed", Message: "sh: ./restart.sh: not found", TaskID: "GSETASK:7", RequestID: "r7",
	}}, diagnose.RetriedAlone)
	if got.Summary() != "Unable to Restart Process" {
		t.Errorf("summary %q", got.Summary())
	}
	want := `Process "nginx" in namespace "web": restart on 2 hosts: 1 done, 1 failed.

  h01 (0:10.0.0.1): 65535, the command failed
      sh: ./restart.sh: not found

Task: GSETASK:7
Request: r7

Fix the cause and apply again: only these hosts are called.`
	if diff := cmp.Diff(want, got.Detail()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
