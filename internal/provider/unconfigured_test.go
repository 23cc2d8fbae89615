package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// A plan passes while the provider's settings are unknown. An operation that needs a call names what is
// missing. A client that supports deferral gets one; others do not.
func TestUnconfigured(t *testing.T) {
	t.Parallel()
	for name, deferral := range map[string]bool{"deferral": true, "no-deferral": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := providertest.NewProtocol(t)
			settings := merged((&providertest.Sim{}).Settings(), map[string]any{"endpoint": providertest.NotKnown{}})
			configured, err := p.Server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{
				Config: p.Dynamic(p.Schema.Provider, settings), ClientCapabilities: &tfprotov6.ConfigureProviderClientCapabilities{DeferralAllowed: deferral},
			})
			p.Fine(err, configured.Diagnostics)

			const missing = "are not known until apply: endpoint."
			config := providertest.Invocation("restart", 2, nil)
			providertest.Same(t, "said of the action", "", p.ValidateAction(providertest.ActionType, config))
			planned, err := p.Server.PlanAction(t.Context(), &tfprotov6.PlanActionRequest{
				ActionType: providertest.ActionType, Config: p.Dynamic(p.Schema.ActionSchemas[providertest.ActionType].Schema, config),
			})
			p.Fine(err, planned.Diagnostics)
			if deferred := planned.Deferred != nil && planned.Deferred.Reason == tfprotov6.DeferredReasonProviderConfigUnknown; deferred != deferral {
				t.Errorf("the action was deferred: %t", deferred)
			}
			progress, end := p.Invoke(t.Context(), providertest.ActionType, config)
			providertest.Says(t, end, missing)
			results, said := p.List(tfprotov6.ListResourceRequest{}, map[string]any{"namespace": "web"})
			providertest.Says(t, said, missing)
			if len(progress)+len(results) > 0 {
				t.Errorf("progress %q, listed %v", progress, results)
			}
			// Functions need no provider.
			if got, fault := p.Call("host", "10.0.0.1", 0); got != "0:10.0.0.1" {
				t.Errorf("a function gave %v and %q", got, fault)
			}
		})
	}
}
