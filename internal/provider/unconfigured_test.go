package provider

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// unconfigured is a provider whose endpoint another resource has yet to give.
func unconfigured(t *testing.T, deferral bool) *protocol {
	t.Helper()
	p := newProtocol(t)
	settings := (&testSim{}).settings()
	settings["endpoint"] = notKnown{}
	resp, err := p.server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{
		Config:             p.dynamic(p.schema.Provider, settings),
		ClientCapabilities: &tfprotov6.ConfigureProviderClientCapabilities{DeferralAllowed: deferral},
	})
	p.fine(err, resp.Diagnostics)
	return p
}

// A plan waits for what it does not know of the provider; what must be called
// says what is missing.
func TestUnconfigured(t *testing.T) {
	t.Parallel()
	p := unconfigured(t, false)
	config := invocation("restart", 2, nil)
	if said := p.validateAction(testAction, config) + p.planAction(testAction, config); said != "" {
		t.Errorf("the plan of an action said %s", said)
	}
	progress, end := p.invoke(t.Context(), testAction, config)
	if len(progress) > 0 || !strings.Contains(end, "are not known before apply: endpoint.") {
		t.Errorf("the action told %q and ended with %q", progress, end)
	}
	results, said := p.list(tfprotov6.ListResourceRequest{}, map[string]any{"namespace": "web"})
	if len(results) > 0 || !strings.Contains(said, "are not known before apply: endpoint.") {
		t.Errorf("the list gave %v and said %q", results, said)
	}
	// Functions need no provider.
	if got, fault := p.call("host", "10.0.0.1", 0); got != "0:10.0.0.1" {
		t.Errorf("a function gave %v and %q", got, fault)
	}
}

// A client that can defer is told to; one that cannot is not.
func TestUnconfigured_deferral(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		p := unconfigured(t, allowed)
		config := p.dynamic(p.schema.ActionSchemas[testAction].Schema, invocation("restart", 2, nil))
		resp, err := p.server.PlanAction(t.Context(), &tfprotov6.PlanActionRequest{ActionType: testAction, Config: config})
		p.fine(err, resp.Diagnostics)
		if deferred := resp.Deferred != nil && resp.Deferred.Reason == tfprotov6.DeferredReasonProviderConfigUnknown; deferred != allowed {
			t.Errorf("with deferral %t, the action was deferred: %t", allowed, deferred)
		}
	}
}
