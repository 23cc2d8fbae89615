package provider

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const (
	testJobResource  = "bk_job_hosted_process.test"
	testJobOperation = "bk_job_process_operation.test"
)

// The life of a process over both generations of JOB and both kinds of scope.
func TestAccJobHostedProcessResource_lifecycle(t *testing.T) {
	t.Parallel()
	const create, update, noop = plancheck.ResourceActionCreate, plancheck.ResourceActionUpdate, plancheck.ResourceActionNoop
	for name, c := range map[string]struct{ api, scope string }{
		"jobv3-scope":   {"jobv3", `scope = { type = "biz_set", id = "9" }`},
		"job-bk-biz-id": {"job", `bk_biz_id = 2`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			config := func(j jobConfig) string {
				j.scope = c.scope
				return sim.jobProvider(fmt.Sprintf("job_api = %q", c.api)) + j.String()
			}
			unhosted := sim.jobStep(config(jobConfig{hosts: hostsConfig(2)}), testJobResource, update, "operate_process/3 "+addresses(2))
			unhosted.PreConfig = func() {
				if err := sim.Unhost(testAddress(2), "job", "/srv/web/nginx"); err != nil {
					t.Error(err)
				}
				sim.ResetCalls()
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{
					sim.jobStep(config(jobConfig{hosts: hostsConfig(3)}), testJobResource, create, "operate_process/3 "+addresses(1, 2, 3)),
					sim.jobStep(config(jobConfig{hosts: hostsConfig(3)}), testJobResource, noop),
					sim.jobStep(config(jobConfig{hosts: hostsConfig(3), process: jobProcess("./other.sh")}), testJobResource, update,
						"operate_process/3 "+addresses(1, 2, 3)),
					sim.jobStep(config(jobConfig{hosts: hostsConfig(2)}), testJobResource, update,
						"operate_process/3 "+addresses(1, 2), "operate_process/4 "+addresses(3)),
					unhosted,
					{
						PreConfig: sim.ResetCalls, Config: config(jobConfig{hosts: hostsConfig(2)}), Destroy: true,
						Check: sim.expectChanges("operate_process/4 " + addresses(1, 2)),
					},
				},
			})
		})
	}
}

func TestAccJobHostedProcessResource_manageProc(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.jobProvider() + jobConfig{
		hosts: hostsConfig(2), more: `registration_api = "manage_proc"`,
		process: strings.Replace(jobProcess("./start.sh"), "type ", "proc_owner = \"sre\"\n    type ", 1),
	}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config},
			{
				Config: config, Destroy: true,
				Check: func(*terraform.State) error {
					if n := sim.Calls().Count("manage_proc"); n != 2 {
						return fmt.Errorf("manage_proc was called %d times, want 2: %v", n, sim.Calls().APIs())
					}
					return nil
				},
			},
		},
	})
}

func TestAccJobHostedProcessResource_partialCreate(t *testing.T) {
	t.Parallel()
	for name, c := range partialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			config := sim.jobProvider() + jobConfig{hosts: hostsConfig(c.hosts)}.String()
			mended := sim.jobStep(config, testJobResource, plancheck.ResourceActionUpdate,
				"operate_process/3 "+addresses(failing(c.hosts, c.failing)...))
			mended.PreConfig = sim.mend
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{
					{
						PreConfig: func() {
							code := 117
							sim.Inject(simulator.Fault{API: "operate_process", Op: new(3), Code: &code, Hosts: testAddresses(failing(c.hosts, c.failing))})
						},
						Config:             config,
						ExpectNonEmptyPlan: true,
						Check:              resource.TestCheckResourceAttr(testJobResource, "out_of_sync.%", fmt.Sprint(c.failing)),
					},
					mended,
				},
			})
		})
	}
}

func TestAccJobProcessOperationResource_lifecycle(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := func(operation, more string) string {
		j := jobConfig{hosts: hostsConfig(3), more: `ensure = "registered"`}
		return sim.jobProvider() + j.String() + fmt.Sprintf(`
resource "bk_job_process_operation" "test" {
%s
  operation  = %q
  %s
  depends_on = [bk_job_hosted_process.test]
}

data "bk_job_process_status" "test" {
%s
  depends_on = [bk_job_process_operation.test]
}
`, j.reference(), operation, more, j.reference())
	}
	started := sim.jobStep(config("start", ""), testJobOperation, plancheck.ResourceActionCreate,
		"operate_process/0 "+addresses(1, 2, 3), "operate_process/3 "+addresses(1, 2, 3))
	started.Check = resource.ComposeAggregateTestCheckFunc(started.Check,
		resource.TestCheckResourceAttr("data.bk_job_process_status.test", "running_count", "3"))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			started,
			sim.jobStep(config("restart", "rollout = { batch_size = 2 }"), testJobOperation, plancheck.ResourceActionUpdate,
				"operate_process/7 "+addresses(1, 2), "operate_process/7 "+addresses(3)),
		},
	})
}

func TestAccJob_validation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config jobConfig
		want   string
	}{
		"both-scopes":        {jobConfig{scope: "bk_biz_id = 1\n  scope = { type = \"biz\", id = \"1\" }"}, `Exactly one of these attributes must be configured: \[scope,bk_biz_id\]`},
		"no-scope":           {jobConfig{scope: "adopt_existing = false"}, `Exactly one of these attributes must be configured: \[scope,bk_biz_id\]`},
		"scope-type":         {jobConfig{scope: `scope = { type = "country", id = "1" }`}, `must be one of`},
		"cpu-over-100":       {jobConfig{process: strings.Replace(jobProcess("a"), "30", "150", 1)}, `cpu_lmt value must be between 0 and 100`},
		"no-cycle-time":      {jobConfig{process: strings.Replace(jobProcess("a"), "type        = 1", "", 1)}, `process.cycle_time: a periodic process`},
		"no-pid-path":        {jobConfig{process: strings.Replace(jobProcess("a"), `pid_path    = "/srv/web/nginx.pid"`, "", 1)}, `"pid_path" is required`},
		"no-owner":           {jobConfig{more: `registration_api = "manage_proc"`}, `manage_proc requires an owner`},
		"agent-id":           {jobConfig{hosts: `{ a = "0200000007525400f355781710390005465c" }`}, `only understood by GSE's API gateway`},
		"running-and-no-typ": {jobConfig{process: strings.Replace(jobProcess("a"), "type        = 1", "cycle_time = 5", 1), more: `ensure = "running"`}, `Only a resident process`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			if c.config.hosts == "" {
				c.config.hosts = hostsConfig(1)
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps:                    []resource.TestStep{{Config: sim.jobProvider() + c.config.String(), PlanOnly: true, ExpectError: wrapped(c.want)}},
			})
			if calls := sim.Calls(); len(calls) > 0 {
				t.Errorf("calls were made for a configuration that is refused: %v", calls.APIs())
			}
		})
	}
}

// The releases whose code is public run manage_proc's operations as stop and query.
// That is found out, and not taken for success.
func TestAccJobHostedProcessResource_manageProcBug(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	sim.ManageProcBug = true
	config := sim.jobProvider() + jobConfig{
		hosts: hostsConfig(2), more: "ensure = \"registered\"\n  registration_api = \"manage_proc\"",
		process: strings.Replace(jobProcess("./start.sh"), "type ", "proc_owner = \"sre\"\n    type ", 1),
	}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{{
			Config:      config,
			ExpectError: wrapped(`829, JOB answered[\s\S]*runs its operations 1 and 2 as stop and query; set registration_api to operate_process`),
		}},
	})
}

func TestAccJobHostedProcessResource_import(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.jobProvider() + jobConfig{hosts: hostsConfig(1)}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config},
			{ResourceName: testJobResource, ImportState: true, ImportStateId: "web", ExpectError: wrapped(`Write the resource and apply it`)},
		},
	})
}

// The name of the scope changes between releases of JOB; the business does not.
func TestAccJobHostedProcessResource_scopeRenamed(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := func(scope string) string {
		return sim.jobProvider() + jobConfig{scope: scope, hosts: hostsConfig(2)}.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config("bk_biz_id = 2")},
			sim.jobStep(config(`scope = { type = "biz", id = "2" }`), testJobResource, plancheck.ResourceActionUpdate),
			sim.jobStep(config(`scope = { type = "biz", id = "3" }`), testJobResource, plancheck.ResourceActionDestroyBeforeCreate,
				"operate_process/3 "+addresses(1, 2), "operate_process/4 "+addresses(1, 2)),
		},
	})
}

// A stop on every host ends hosting everywhere; the resource is mended in place.
func TestAccJobHostedProcessResource_stoppedEverywhere(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.jobProvider() + jobConfig{hosts: hostsConfig(2)}.String()
	mended := sim.jobStep(config, testJobResource, plancheck.ResourceActionUpdate, "operate_process/3 "+addresses(1, 2))
	mended.PreConfig = func() {
		for n := range 2 {
			if err := sim.Unhost(testAddress(n+1), "job", "/srv/web/nginx"); err != nil {
				t.Error(err)
			}
		}
		sim.ResetCalls()
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: testFactories, Steps: []resource.TestStep{{Config: config}, mended}})
}

// JOB from 3.7 on does not have the endpoints.
func TestAccJob_removed(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	sim.JobRemoved = true
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{{
			Config:      sim.jobProvider() + jobConfig{hosts: hostsConfig(1)}.String(),
			ExpectError: wrapped(`JOB has no process APIs from release 3.7 on[\s\S]*bk_hosted_process`),
		}},
	})
	sim.ResetViolations()
}

// Over the gateway alone there is no JOB.
func TestAccJob_noESB(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	block := providerBlock(fmt.Sprintf(`gateway = "apigw", endpoint = %q, app_code = "a", app_secret = "b", username = "c"`, sim.url))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{{
			Config: block + jobConfig{hosts: hostsConfig(1)}.String(), PlanOnly: true, ExpectError: wrapped(`Set job_endpoint to the ESB`),
		}},
	})
}
