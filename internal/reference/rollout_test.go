package reference_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// Terraform drops a misspelt batch_size before the provider sees it; what is left
// is a rollout without waves.
func TestRollout_withoutWaves(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	for name, c := range map[string]struct {
		rollout map[string]any
		warned  bool
	}{
		"none":        {},
		"empty":       {rollout: map[string]any{}, warned: true},
		"no-batch":    {rollout: map[string]any{"max_failed_hosts": 1}, warned: true},
		"batch":       {rollout: map[string]any{"batch_size": 1}},
		"batch-later": {rollout: map[string]any{"batch_size": providertest.NotKnown{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := providertest.HostedConfigOf(map[string]string{"web-1": "0:10.0.0.1"})
			if c.rollout != nil {
				config["rollout"] = c.rollout
			}
			resp, err := p.Server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{
				TypeName: providertest.HostedType, Config: p.Dynamic(p.Schema.ResourceSchemas[providertest.HostedType], config),
			})
			if err != nil {
				t.Fatal(err)
			}
			said := providertest.DiagnosticsText(resp.Diagnostics)
			if warned := strings.HasPrefix(said, "WARNING: Rollout Without Waves"); warned != c.warned || (!warned && said != "") {
				t.Errorf("said %q", said)
			}
		})
	}
}
