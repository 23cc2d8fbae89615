package hostedprocess_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestAccHostedProcessResource_importByIdentity(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: `{ "0:10.0.0.2" = "0:10.0.0.2", "0:10.0.0.3" = "0:10.0.0.3" }`}.String()
	resource.Test(t, resource.TestCase{
		// Identity is in Terraform from 1.12 on, and in OpenTofu from 1.12 on.
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectIdentity(providertest.HostedAddress, map[string]knownvalue.Check{
					"namespace": knownvalue.StringExact("web"), "name": knownvalue.StringExact("nginx"),
				})},
			},
			{
				ResourceName: providertest.HostedAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithResourceIdentity,
				// The first plan after an import shows the spec as set.
				ExpectNonEmptyPlan: true,
			},
		},
	})
}
