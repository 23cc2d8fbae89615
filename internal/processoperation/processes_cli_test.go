package processoperation_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Over JOB, a database that fails to start on a host holds back the server, the next apply
// goes on from there, and a destroy stops them in the other order.
func TestAccProcesses_job(t *testing.T) {
	t.Parallel()
	const create, update, noop = plancheck.ResourceActionCreate, plancheck.ResourceActionUpdate, plancheck.ResourceActionNoop
	const address = "bk_job_process_operation.test"
	sim := providertest.NewSim(t)
	process := func(name string) string {
		return fmt.Sprintf(`{ proc_name = %q, setup_path = "/srv", pid_path = "/srv/%[1]s.pid", start_cmd = "./start.sh", stop_cmd = "./stop.sh", type = 1 }`, name)
	}
	hosts := providertest.HostsConfig(2)
	config := sim.JobProvider() + providertest.JobConfig{Hosts: hosts, Process: process("db")}.String() + fmt.Sprintf(`
resource %q "test" {
  processes = {
    server = { bk_biz_id = 2, hosts = %s, process = %s, priority = 2 }
    db     = { declaration = bk_job_hosted_process.test.declaration, priority = 1 }
  }
  operation  = "start"
  on_destroy = "stop"
}
`, "bk_job_process_operation", hosts, process("server"))
	start, code := simulator.OpStart, 65535
	failed := sim.JobStep(config, address, create, "operate_process/0 "+providertest.Addresses(1, 2), "operate_process/3 "+providertest.Addresses(1, 2))
	prepare := failed.PreConfig
	failed.PreConfig = func() {
		prepare()
		sim.Inject(simulator.Fault{Op: &start, Name: "/srv/db", Hosts: []string{providertest.Address(2)}, Code: &code})
	}
	failed.ExpectNonEmptyPlan, failed.ConfigPlanChecks.PostApplyPostRefresh = true, nil
	mended := sim.JobStep(config, address, update, "operate_process/0 "+providertest.Addresses(1, 2), "operate_process/0 "+providertest.Addresses(2))
	again := mended.PreConfig
	mended.PreConfig = func() {
		sim.Mend()
		again()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps:                    []resource.TestStep{failed, mended, sim.JobStep(config, address, noop)},
		CheckDestroy:             sim.ExpectChanges("operate_process/1 "+providertest.Addresses(1, 2), "operate_process/1 "+providertest.Addresses(1, 2), "operate_process/4 "+providertest.Addresses(1, 2)),
	})
}
