package hostedprocess_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// warnedAbove is how many hosts a resource may have before a plan warns.
const warnedAbove = 50000

// Fifty thousand hosts are fine. One more is fine as well, with a word about it.
//
// Promised in large-fleets.md: A resource with more than 50,000 hosts works, with a warning.
func TestHosts_many(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	addresses := make(map[string]string, warnedAbove+1)
	validate := func() string {
		resp, err := p.Server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{
			TypeName: providertest.HostedType, Config: p.Dynamic(p.Schema.ResourceSchemas[providertest.HostedType], providertest.HostedConfigOf(addresses)),
		})
		if err != nil {
			t.Fatal(err)
		}
		return providertest.DiagnosticsText(resp.Diagnostics)
	}
	for i := range warnedAbove {
		addresses[fmt.Sprint(i)] = fmt.Sprintf("0:10.%d.%d.%d", i>>16, i>>8&255, i&255)
	}
	if said := validate(); said != "" {
		t.Errorf("%d hosts: %s", warnedAbove, said)
	}
	addresses["one more"] = "0:10.255.0.1"
	if said := validate(); !strings.HasPrefix(said, "WARNING: Many Hosts") || !strings.Contains(said, "50001") || !strings.Contains(said, `"Large fleets"`) {
		t.Errorf("%d hosts: %q", warnedAbove+1, said)
	}
}

// Every host of the example is in one shard, and one more host changes one.
func TestAccExamples_largeFleets(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	text := providertest.ReadExample(t, "guides/large-fleets/main.tf")
	cli := providertest.NewCLI(t, sim, text)
	cli.Expect(0, "apply", "-auto-approve")
	if n := len(sim.Processes()); n != 1000 {
		t.Errorf("%d hosts are registered", n)
	}
	cli.Expect(0, "plan", "-detailed-exitcode")

	cli.Configure(strings.Replace(text, "range(1000)", "range(1001)", 1))
	sim.ResetCalls()
	if out := cli.Expect(0, "apply", "-auto-approve"); !strings.Contains(out, "0 added, 1 changed, 0 destroyed") {
		t.Errorf("one more host changed more than one shard:\n%s", out)
	}
	register, _ := providertest.FaultOn("register_proc_info")
	if n := sim.Calls().Of(register).On("0:10.20.4.1"); len(n) == 0 {
		t.Error("the new host was not registered")
	}
}
