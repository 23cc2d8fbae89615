package provider_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// What somebody else did to a host shows in the plan, each with its reason.
//
// Promised in README.md: the plan says which host and why, and exits with 2.
func TestAccReadme_drift(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(4), More: `ensure = "running"`}.String())
	cli.Expect(0, "apply", "-auto-approve")
	for n, act := range map[int]func(host, namespace, name string) error{
		1: sim.StopProcess, 2: sim.Unregister,
		3: func(host, namespace, name string) error {
			return sim.Register(host, namespace, name, map[string]string{"tf_spec": "v1-0123456789abcdef"}, "{}")
		},
	} {
		if err := act(providertest.Address(n), "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	plan := cli.Expect(2, "plan", "-detailed-exitcode")
	for _, line := range []string{
		`"web-1" = "not_hosted: not running, not hosted"`, `"web-2" = "unregistered: the platform no longer knows the process here"`, `"web-3" = "other_spec: registered with another spec"`,
	} {
		if !strings.Contains(plan, line) {
			t.Errorf("there is no %s in\n%s", line, plan)
		}
	}
	if strings.Contains(plan, "web-4") {
		t.Errorf("web-4 is as declared:\n%s", plan)
	}
}
