package provider_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// unconfigured is a provider with an unknown endpoint.
func unconfigured(t *testing.T, deferral bool) *providertest.Protocol {
	t.Helper()
	p := providertest.NewProtocol(t)
	settings := (&providertest.Sim{}).Settings()
	settings["endpoint"] = providertest.NotKnown{}
	resp, err := p.Server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{
		Config:             p.Dynamic(p.Schema.Provider, settings),
		ClientCapabilities: &tfprotov6.ConfigureProviderClientCapabilities{DeferralAllowed: deferral},
	})
	p.Fine(err, resp.Diagnostics)
	return p
}

// A plan passes while the provider's settings are unknown. An operation that needs a call names what is
// missing.
func TestUnconfigured(t *testing.T) {
	t.Parallel()
	p := unconfigured(t, false)
	config := providertest.Invocation("restart", 2, nil)
	if said := p.ValidateAction(providertest.ActionType, config) + p.PlanAction(providertest.ActionType, config); said != "" {
		t.Errorf("the plan of an action said %s", said)
	}
	progress, end := p.Invoke(t.Context(), providertest.ActionType, config)
	if len(progress) > 0 || !strings.Contains(end, "are not known until apply: endpoint.") {
		t.Errorf("progress %q, ended with %q", progress, end)
	}
	results, said := p.List(tfprotov6.ListResourceRequest{}, map[string]any{"namespace": "web"})
	if len(results) > 0 || !strings.Contains(said, "are not known until apply: endpoint.") {
		t.Errorf("the list gave %v and said %q", results, said)
	}
	// Functions need no provider.
	if got, fault := p.Call("host", "10.0.0.1", 0); got != "0:10.0.0.1" {
		t.Errorf("a function gave %v and %q", got, fault)
	}
}

// A client that supports deferral gets one; others do not.
func TestUnconfigured_deferral(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		p := unconfigured(t, allowed)
		config := p.Dynamic(p.Schema.ActionSchemas[providertest.ActionType].Schema, providertest.Invocation("restart", 2, nil))
		resp, err := p.Server.PlanAction(t.Context(), &tfprotov6.PlanActionRequest{ActionType: providertest.ActionType, Config: config})
		p.Fine(err, resp.Diagnostics)
		if deferred := resp.Deferred != nil && resp.Deferred.Reason == tfprotov6.DeferredReasonProviderConfigUnknown; deferred != allowed {
			t.Errorf("with deferral %t, the action was deferred: %t", allowed, deferred)
		}
	}
}
