package hostedprocess_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A host is unregistered with the supplier id that it was registered with, whatever the
// provider block says by then.
func TestHostedProcess_supplierOfBefore(t *testing.T) {
	t.Parallel()
	providertest.ESBOnly(t, "the gateway knows no supplier ids")
	for name, destroy := range map[string]bool{"destroyed": true, "leaves": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			kept := &providertest.Kept{}
			config := providertest.FaceESB.Reference("./start.sh", 2)
			sim.Configured(t, map[string]any{"bk_supplier_id": 3}).CoreOf(providertest.HostedType, kept).Applied(config)
			sim.ResetCalls()
			later := sim.Configured(t, map[string]any{"bk_supplier_id": 5}).CoreOf(providertest.HostedType, kept)
			if destroy {
				if said := later.DestroyUnrefreshed(); len(said) > 0 {
					t.Error(said)
				}
			} else {
				config["hosts"] = providertest.HostsOf(1)
				later.Applied(config)
			}
			calls := sim.Calls().Of("unregister_proc_info")
			if len(calls) == 0 {
				t.Fatal("nothing was unregistered")
			}
			for _, call := range calls {
				if body := string(call.Body); !strings.Contains(body, `"bk_supplier_id":3`) || strings.Contains(body, `"bk_supplier_id":5`) {
					t.Errorf("sent %s", body)
				}
			}
		})
	}
}

// Registering at the gateway is hosting, which sends op_timeout: a change of it reaches
// the platform, although no registration of the ESB would carry it.
func TestHostedProcess_opTimeoutReachesTheGateway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gateway string
		sent    bool
	}{"esb": {"esb", false}, "gateway": {"apigw", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := sim.Configured(t, map[string]any{"gateway": c.gateway}).CoreOf(providertest.HostedType, &providertest.Kept{})
			config := providertest.FaceESB.Reference("./start.sh", 2)
			spec, _ := config["spec"].(map[string]any)
			policy, _ := spec["monitor_policy"].(map[string]any)
			policy["op_timeout"] = 30
			resource.Applied(config)
			sim.ResetCalls()
			policy["op_timeout"] = 90
			resource.Applied(config)
			sent := false
			for _, call := range sim.Calls().Of("operate_proc_multi") {
				sent = sent || strings.Contains(string(call.Body), `"op_timeout":90`)
			}
			if sent != c.sent {
				t.Errorf("sent to the platform: %t, want %t; calls: %v", sent, c.sent, sim.Calls())
			}
			if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
				t.Errorf("there was something left to do: %s %s", kind, said)
			}
		})
	}
}

// Labels that the platform adds by itself are no drift.
func TestHostedProcess_labelsOfThePlatform(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := providertest.FaceESB.Reference("./start.sh", 2)
	resource.Applied(config)
	sim.SetRowLabels(map[string]string{"bk_biz_id": "3"})
	if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
		t.Errorf("%s %s", kind, said)
	}
}

// A fleet that was registered with one bk_supplier_id is unregistered with it.
func TestAccRegisteredWith_supplierOfBefore(t *testing.T) {
	t.Parallel()
	providertest.ESBOnly(t, "the gateway knows no supplier ids")
	sim := providertest.NewSim(t)
	config := providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String()
	cli := providertest.NewCLI(t, sim, "")
	cli.ConfigureWith(providertest.ProviderBlock("bk_supplier_id = 3"), config)
	cli.Expect(0, "apply", "-auto-approve")
	cli.ConfigureWith(providertest.ProviderBlock("bk_supplier_id = 5"), config)
	sim.ResetCalls()
	cli.Expect(0, "destroy", "-auto-approve")
	for _, call := range sim.Calls().Of("unregister_proc_info") {
		if body := string(call.Body); !strings.Contains(body, `"bk_supplier_id":3`) || strings.Contains(body, `"bk_supplier_id":5`) {
			t.Errorf("sent %s", body)
		}
	}
	if left := sim.Processes(); slices.ContainsFunc(left, func(p simulator.Process) bool { return p.Registered || p.Hosted }) {
		t.Errorf("left behind: %+v", left)
	}
}

// Through the gateway a changed op_timeout is a line of the plan, and reaches the platform.
func TestAccRegisteredWith_opTimeout(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(seconds string) string {
		return strings.ReplaceAll(providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String(), "{ auto_type = 1 }", "{ auto_type = 1, op_timeout = "+seconds+" }")
	}
	cli := providertest.NewCLI(t, sim, "")
	block := providertest.ProviderBlock(`gateway = "apigw"`)
	cli.ConfigureWith(block, config("30"))
	cli.Expect(0, "apply", "-auto-approve")
	cli.ConfigureWith(block, config("90"))
	cli.Expect(0, "apply", "-auto-approve")
	for n := 1; n <= 2; n++ {
		if p, _ := sim.Process(providertest.Address(n), "web", "nginx"); !strings.Contains(string(p.Spec), `"op_timeout":90`) {
			t.Errorf("web-%d is registered with %s", n, p.Spec)
		}
	}
	cli.Expect(0, "plan", "-detailed-exitcode")
}

// Labels that the platform adds are no drift; one that was declared and is gone is.
func TestAccRegisteredWith_labels(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Labels: `{ team = "sre" }`}.String())
	cli.Expect(0, "apply", "-auto-approve")
	sim.SetRowLabels(map[string]string{"bk_biz_id": "3"})
	cli.Expect(0, "plan", "-detailed-exitcode")
	p, _ := sim.Process(providertest.Address(2), "web", "nginx")
	delete(p.Labels, "team")
	if err := sim.Register(providertest.Address(2), "web", "nginx", p.Labels, string(p.Spec)); err != nil {
		t.Fatal(err)
	}
	if out := cli.Expect(2, "plan", "-detailed-exitcode"); !strings.Contains(out, "other_labels") {
		t.Errorf("the plan does not tell:\n%s", out)
	}
}
