package provider_test

import (
	"fmt"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A value that another resource computes is unknown in the plan, in an object or in the provider block. If it is
// then equal, no host is called; if it differs, one apply is sufficient.
func TestAccUnknown(t *testing.T) {
	t.Parallel()
	const release = "terraform_data.u.output"
	for name, c := range map[string]struct {
		settings string
		hosted   providertest.HostedConfig
	}{
		"command":  {hosted: providertest.HostedConfig{Start: "./start.sh ${" + release + "}", More: "on_update = \"restart\"\n  rollout = { batch_size = 1 }"}},
		"provider": {settings: "app_secret = replace(\"" + simulator.DefaultAppSecret + "\", " + release + ", " + release + ")\n  default_labels = { release = " + release + " }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, "")
			c.hosted.Hosts = providertest.HostsConfig(2)
			for i, step := range []struct {
				release, again string
				calls          bool
			}{{"a", "1", true}, {"a", "2", false}, {"b", "2", true}} {
				cli.ConfigureWith("provider \"bk\" {\n  "+c.settings+"\n}\n", fmt.Sprintf("resource \"terraform_data\" \"u\" {\n  input = %q\n  triggers_replace = %q\n}\n", step.release, step.again)+c.hosted.String())
				sim.ResetCalls()
				cli.Expect(0, "apply", "-auto-approve")
				if changes := sim.Changes(); (len(changes) > 0) != step.calls {
					t.Errorf("apply %d called: %q", i+1, changes)
				}
				cli.Expect(0, "plan", "-detailed-exitcode")
			}
		})
	}
}
