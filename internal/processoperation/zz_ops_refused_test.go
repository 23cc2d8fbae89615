package processoperation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A platform in trouble refuses what it is asked, once or twice. That does not say that a
// restart which is still under way is forgotten, and may be sent again.
func TestProcessOperation_underWayRefusedOnce(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			config := by.Reference("./start.sh", 1)
			config["operation"] = "restart"
			u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{1}))
			u.sim.Inject(simulator.Fault{API: "get_proc*", Op: new(simulator.OpRestart), EnvelopeCode: new(1306000), EnvelopeMessage: "system error", Times: 2})
			u.wakes()
			if _, said := u.Apply(config); len(said) > 0 {
				t.Errorf("said: %s", said)
			}
			if diff := cmp.Diff([]string(nil), u.sim.Changes(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("sent again (-want +got):\n%s", diff)
			}
		})
	}
}
