package provider_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Each object calls exactly the APIs that the table lists for it.
func TestAccEndpoints(t *testing.T) {
	t.Parallel()
	table, err := providertest.EndpointTable()
	if err != nil {
		t.Fatal(err)
	}
	const reference = `
  meta  = { namespace = "web", name = "nginx" }
  hosts = { web-1 = "0:10.0.0.2", web-2 = "0:10.0.0.3" }
`
	job := providertest.JobConfig{Hosts: providertest.HostsConfig(2)}
	owned := providertest.JobConfig{Hosts: providertest.HostsConfig(2), Process: strings.Replace(providertest.JobProcess("a"), "type ", "proc_owner = \"sre\"\n    type ", 1)}
	spec := "  spec = " + providertest.SpecConfig("./start.sh")
	// What drives an object through all that it can do.
	scenarios := map[string]func(*testing.T, *providertest.Sim) []resource.TestStep{
		"bk_hosted_process": func(t *testing.T, sim *providertest.Sim) []resource.TestStep {
			t.Helper()
			config := func(start string) string {
				return sim.JobProvider() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Start: start}.String()
			}
			return []resource.TestStep{
				{Config: config("./a.sh")},
				{Config: config("./b.sh")},
				{PreConfig: func() {
					if err := sim.Unhost(providertest.Address(2), "web", "nginx"); err != nil {
						t.Error(err)
					}
				}, Config: config("./b.sh")},
				{ResourceName: providertest.HostedAddress, ImportState: true, ImportStateId: "web:nginx"},
			}
		},
		"bk_process_operation": func(_ *testing.T, sim *providertest.Sim) []resource.TestStep {
			reference := reference
			if providertest.Gateway == bkapi.APIGW {
				// Whether an address and an agent id are one machine is asked.
				sim.AdmitAgents = true
				reference = strings.Replace(reference, "0:10.0.0.3", strings.Repeat("0a", 18), 1)
			}
			one := `{` + reference + spec + "\n  priority = 1\n}"
			other := strings.Replace(one, `"nginx"`, `"redis"`, 1)
			return []resource.TestStep{
				{Config: sim.JobProvider() + `resource "bk_process_operation" "test" {` + reference + spec + "\n  operation = \"start\"\n}"},
				{Config: sim.JobProvider() + "resource \"bk_process_operation\" \"test\" {\n  processes = {\n    one = " + one + "\n    other = " + other +
					"\n  }\n  operation = \"start\"\n  triggers = { run = 2 }\n}"},
			}
		},
		"bk_process_status": func(_ *testing.T, sim *providertest.Sim) []resource.TestStep {
			return []resource.TestStep{
				{Config: sim.JobProvider() + `data "bk_process_status" "test" {` + reference + spec + "\n}"},
				{Config: sim.JobProvider() + `data "bk_process_status" "test" {` + reference + "  mode = \"cached\"\n}"},
			}
		},
		"bk_registrations": func(_ *testing.T, sim *providertest.Sim) []resource.TestStep {
			return []resource.TestStep{{Config: sim.JobProvider() + `data "bk_registrations" "test" { namespace = "web" }`}}
		},
		"bk_job_hosted_process": func(_ *testing.T, sim *providertest.Sim) []resource.TestStep {
			owned.More = `registration_api = "manage_proc"`
			return []resource.TestStep{{Config: sim.JobProvider() + job.String()}, {Config: sim.JobProvider() + owned.String()}}
		},
		"bk_job_process_operation": func(_ *testing.T, sim *providertest.Sim) []resource.TestStep {
			one := "{" + job.Reference() + "  priority = 1\n}"
			other := strings.Replace(one, "/srv/web", "/srv/db", 1)
			return []resource.TestStep{
				{Config: sim.JobProvider() + "resource \"bk_job_process_operation\" \"test\" {\n" + job.Reference() + "  operation = \"start\"\n}"},
				{Config: sim.JobProvider() + "resource \"bk_job_process_operation\" \"test\" {\n  processes = {\n    one = " + one + "\n    other = " + other +
					"\n  }\n  operation = \"start\"\n  triggers = { run = 2 }\n}"},
			}
		},
		"bk_job_process_status": func(_ *testing.T, sim *providertest.Sim) []resource.TestStep {
			return []resource.TestStep{{Config: sim.JobProvider() + "data \"bk_job_process_status\" \"test\" {\n" + job.Reference() + "}"}}
		},
		"bk_hosts": func(t *testing.T, sim *providertest.Sim) []resource.TestStep {
			t.Helper()
			return cmdbSteps(t, sim, "bk_hosts")
		},
		"bk_cmdb_processes": func(t *testing.T, sim *providertest.Sim) []resource.TestStep {
			t.Helper()
			return cmdbSteps(t, sim, "bk_cmdb_processes")
		},
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(table)), slices.Sorted(maps.Keys(scenarios))); diff != "" {
		t.Errorf("objects of the table and of this test (-table +test):\n%s", diff)
	}
	for object, steps := range scenarios {
		t.Run(object, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: providertest.Factories, Steps: steps(t, sim)})
			called := make(map[string]bool)
			for _, api := range sim.Calls().APIs() {
				called[api] = true
			}
			gateway := providertest.Gateway
			if strings.HasPrefix(object, "bk_job_") {
				gateway = bkapi.ESB
			}
			if diff := cmp.Diff(table[object][gateway], slices.Sorted(maps.Keys(called))); diff != "" {
				t.Errorf("APIs (-table +called):\n%s", diff)
			}
		})
	}
}

// cmdbSteps read a data source in every scope, and once of a business that does not exist.
func cmdbSteps(t *testing.T, sim *providertest.Sim, typ string) []resource.TestStep {
	t.Helper()
	topology, err := simulator.ParseTopology([]byte(`{"businesses": [{"id": 3, "name": "game", "templates": [{"name": "web",
	  "processes": [{"bk_process_name": "nginx", "bk_func_name": "nginx", "work_path": "/srv", "pid_file": "/run/nginx.pid", "user": "root"}]}], "groups": [{"name": "all", "object": "host"}],
	  "sets": [{"name": "gz", "modules": [{"name": "nginx", "template": "web", "hosts": [{"ip": "10.3.0.1"}]}]}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	sim.Topology = topology
	var steps []resource.TestStep
	for _, scope := range []string{`topology = { env = "3" }`, `dynamic_group = "all"`, `service_template = "web"`} {
		steps = append(steps, resource.TestStep{Config: sim.JobProvider() + `data "` + typ + `" "test" {` + "\n  bk_biz_id = 3\n  " + scope + "\n}"})
	}
	return append(steps, resource.TestStep{
		Config:      sim.JobProvider() + `data "` + typ + `" "test" {` + "\n  bk_biz_id = 4\n  topology = {}\n}",
		ExpectError: regexp.MustCompile("There is no business 4"),
	})
}
