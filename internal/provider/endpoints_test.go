package provider

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// Each object calls exactly the APIs that the table lists for it.
func TestAccEndpoints(t *testing.T) {
	t.Parallel()
	table, err := endpointTable()
	if err != nil {
		t.Fatal(err)
	}
	const reference = `
  meta  = { namespace = "web", name = "nginx" }
  hosts = { web-1 = "0:10.0.0.2", web-2 = "0:10.0.0.3" }
`
	job := jobConfig{hosts: hostsConfig(2)}
	owned := jobConfig{hosts: hostsConfig(2), process: strings.Replace(jobProcess("a"), "type ", "proc_owner = \"sre\"\n    type ", 1)}
	spec := "  spec = " + specConfig("./start.sh")
	// What drives an object through all that it can do.
	scenarios := map[string]func(*testing.T, *testSim) []resource.TestStep{
		"bk_hosted_process": func(t *testing.T, sim *testSim) []resource.TestStep {
			t.Helper()
			config := func(start string) string {
				return sim.jobProvider() + hostedConfig{hosts: hostsConfig(2), start: start}.String()
			}
			return []resource.TestStep{
				{Config: config("./a.sh")},
				{Config: config("./b.sh")},
				{PreConfig: func() {
					if err := sim.Unhost(testAddress(2), "web", "nginx"); err != nil {
						t.Error(err)
					}
				}, Config: config("./b.sh")},
				{ResourceName: testResource, ImportState: true, ImportStateId: "web:nginx"},
			}
		},
		"bk_process_operation": func(_ *testing.T, sim *testSim) []resource.TestStep {
			return []resource.TestStep{{Config: sim.jobProvider() + `resource "bk_process_operation" "test" {` + reference + spec + "\n  operation = \"start\"\n}"}}
		},
		"bk_process_status": func(_ *testing.T, sim *testSim) []resource.TestStep {
			return []resource.TestStep{
				{Config: sim.jobProvider() + `data "bk_process_status" "test" {` + reference + spec + "\n}"},
				{Config: sim.jobProvider() + `data "bk_process_status" "test" {` + reference + "  mode = \"cached\"\n}"},
			}
		},
		"bk_job_hosted_process": func(_ *testing.T, sim *testSim) []resource.TestStep {
			owned.more = `registration_api = "manage_proc"`
			return []resource.TestStep{{Config: sim.jobProvider() + job.String()}, {Config: sim.jobProvider() + owned.String()}}
		},
		"bk_job_process_operation": func(_ *testing.T, sim *testSim) []resource.TestStep {
			return []resource.TestStep{{Config: sim.jobProvider() + "resource \"bk_job_process_operation\" \"test\" {\n" + job.reference() + "  operation = \"start\"\n}"}}
		},
		"bk_job_process_status": func(_ *testing.T, sim *testSim) []resource.TestStep {
			return []resource.TestStep{{Config: sim.jobProvider() + "data \"bk_job_process_status\" \"test\" {\n" + job.reference() + "}"}}
		},
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(table)), slices.Sorted(maps.Keys(scenarios))); diff != "" {
		t.Errorf("objects of the table and of this test (-table +test):\n%s", diff)
	}
	for object, steps := range scenarios {
		t.Run(object, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: testFactories, Steps: steps(t, sim)})
			called := make(map[string]bool)
			for _, api := range sim.Calls().APIs() {
				called[api] = true
			}
			gateway := testGateway
			if strings.HasPrefix(object, "bk_job_") {
				gateway = bkapi.ESB
			}
			if diff := cmp.Diff(table[object][gateway], slices.Sorted(maps.Keys(called))); diff != "" {
				t.Errorf("APIs (-table +called):\n%s", diff)
			}
		})
	}
}
