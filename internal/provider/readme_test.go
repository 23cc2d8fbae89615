package provider_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// readme returns a configuration of the README, from what it begins with to its end.
func readme(t *testing.T, begin string) string {
	t.Helper()
	_, config, found := strings.Cut(providertest.ReadFile(t, "../../README.md"), begin)
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
	providertest.Says(t, cli.Expect(0, "plan"), `+ not_running = {`, `+ web-1 = "unregistered"`)
	cli.Configure(readme(t, `resource "bk_hosted_process" "web" {`))
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")
}
