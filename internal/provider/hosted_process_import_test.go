package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"
)

func TestAccHostedProcessResource_importByIdentity(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.providerConfig() + hostedConfig{hosts: `{ "0:10.0.0.2" = "0:10.0.0.2", "0:10.0.0.3" = "0:10.0.0.3" }`}.String()
	resource.Test(t, resource.TestCase{
		// Identity is in Terraform from 1.12 on, and in OpenTofu from 1.12 on.
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_12_0)},
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectIdentity(testResource, map[string]knownvalue.Check{
					"namespace": knownvalue.StringExact("web"), "name": knownvalue.StringExact("nginx"),
				})},
			},
			{
				ResourceName: testResource, ImportState: true, ImportStateKind: resource.ImportBlockWithResourceIdentity,
				// The first plan after an import shows the spec as set.
				ExpectNonEmptyPlan: true,
			},
		},
	})
}
