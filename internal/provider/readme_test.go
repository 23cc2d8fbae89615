package provider_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// readme returns a configuration of the README, from what it begins with to its end.
func readme(t *testing.T, begin string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, config, found := strings.Cut(string(text), begin)
	config, _, ended := strings.Cut(config, "```")
	if !found || !ended {
		t.Fatalf("the README has no configuration with %s", begin)
	}
	return begin + config
}

// The first configuration of the README works as described.
func TestAccReadme_configurations(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, readme(t, `data "bk_process_status" "nginx" {`))
	for _, want := range []string{`+ not_running = {`, `+ web-1 = "unregistered"`} {
		if plan := cli.Expect(0, "plan"); !strings.Contains(plan, want) {
			t.Errorf("the first plan does not say %s:\n%s", want, plan)
		}
	}
	cli.Configure(readme(t, `resource "bk_hosted_process" "web" {`))
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")
}

// A change by another user on a host shows in the plan, with its reason.
//
// Promised in README.md: the plan says which host and why, and with
// `-detailed-exitcode` it exits with 2.
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
	if strings.Contains(plan, `"web-4"`) || strings.Contains(plan, "+ register 2 hosts") {
		t.Errorf("web-4 is as declared:\n%s", plan)
	}
}
