package processstatus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

func TestStatusUnknown(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 3)
	got := statusUnknown(diagnose.ProcessTitle("web", "nginx"), inventory, map[fleet.Host]fleet.Status{hosts[0]: {State: fleet.Running}, hosts[1]: {State: fleet.Unknown, Message: "the agent had not answered"}})
	if got.Severity() != diag.SeverityWarning || got.Summary() != "Process Status Unknown" {
		t.Errorf("%s %q", got.Severity(), got.Summary())
	}
	want := `Process "nginx" in namespace "web" has an unknown status on 1 of 3 hosts.` +
		"\n\n  h02 (0:10.0.0.2): the agent had not answered\n\nCheck the agents on these hosts."
	if diff := cmp.Diff(want, got.Detail()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
