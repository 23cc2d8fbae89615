package hostedprocess_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
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
			sim := providertest.NewSim(t)
			config := func(j providertest.JobConfig) string {
				j.Scope = c.scope
				return sim.JobProvider(fmt.Sprintf("job_api = %q", c.api)) + j.String()
			}
			unhosted := sim.JobStep(config(providertest.JobConfig{Hosts: providertest.HostsConfig(2)}), testJobResource, update, "operate_process/3 "+providertest.Addresses(2))
			unhosted.PreConfig = func() {
				if err := sim.Unhost(providertest.Address(2), "job", "/srv/web/nginx"); err != nil {
					t.Error(err)
				}
				sim.ResetCalls()
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					sim.JobStep(config(providertest.JobConfig{Hosts: providertest.HostsConfig(3)}), testJobResource, create, "operate_process/3 "+providertest.Addresses(1, 2, 3)),
					sim.JobStep(config(providertest.JobConfig{Hosts: providertest.HostsConfig(3)}), testJobResource, noop),
					sim.JobStep(config(providertest.JobConfig{Hosts: providertest.HostsConfig(3), Process: providertest.JobProcess("./other.sh")}), testJobResource, update,
						"operate_process/3 "+providertest.Addresses(1, 2, 3)),
					sim.JobStep(config(providertest.JobConfig{Hosts: providertest.HostsConfig(2)}), testJobResource, update,
						"operate_process/3 "+providertest.Addresses(1, 2), "operate_process/4 "+providertest.Addresses(3)),
					unhosted,
					{
						PreConfig: sim.ResetCalls, Config: config(providertest.JobConfig{Hosts: providertest.HostsConfig(2)}), Destroy: true,
						Check: sim.ExpectChanges("operate_process/4 " + providertest.Addresses(1, 2)),
					},
				},
			})
		})
	}
}

func TestAccJobHostedProcessResource_manageProc(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.JobProvider() + providertest.JobConfig{
		Hosts: providertest.HostsConfig(2), More: `registration_api = "manage_proc"`,
		Process: strings.Replace(providertest.JobProcess("./start.sh"), "type ", "proc_owner = \"sre\"\n    type ", 1),
	}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
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
	for name, c := range providertest.PartialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := sim.JobProvider() + providertest.JobConfig{Hosts: providertest.HostsConfig(c.Hosts)}.String()
			mended := sim.JobStep(config, testJobResource, plancheck.ResourceActionUpdate,
				"operate_process/3 "+providertest.Addresses(providertest.Failing(c.Hosts, c.Failing)...))
			mended.PreConfig = sim.Mend
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{
						PreConfig: func() {
							code := 117
							sim.Inject(simulator.Fault{API: "operate_process", Op: new(3), Code: &code, Hosts: providertest.AddressList(providertest.Failing(c.Hosts, c.Failing))})
						},
						Config:             config,
						ExpectNonEmptyPlan: true,
						Check:              resource.TestCheckResourceAttr(testJobResource, "out_of_sync.%", fmt.Sprint(c.Failing)),
					},
					mended,
				},
			})
		})
	}
}

func TestAccJobProcessOperationResource_lifecycle(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(operation, more string) string {
		j := providertest.JobConfig{Hosts: providertest.HostsConfig(3), More: `ensure = "registered"`}
		return sim.JobProvider() + j.String() + fmt.Sprintf(`
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
`, j.Reference(), operation, more, j.Reference())
	}
	started := sim.JobStep(config("start", ""), testJobOperation, plancheck.ResourceActionCreate,
		"operate_process/0 "+providertest.Addresses(1, 2, 3), "operate_process/3 "+providertest.Addresses(1, 2, 3))
	started.Check = resource.ComposeAggregateTestCheckFunc(started.Check,
		resource.TestCheckResourceAttr("data.bk_job_process_status.test", "running_count", "3"))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			started,
			sim.JobStep(config("restart", "rollout = { batch_size = 2 }"), testJobOperation, plancheck.ResourceActionUpdate,
				"operate_process/7 "+providertest.Addresses(1, 2), "operate_process/7 "+providertest.Addresses(3)),
		},
	})
}

func TestAccJob_validation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config providertest.JobConfig
		want   string
	}{
		"both-scopes":        {providertest.JobConfig{Scope: "bk_biz_id = 1\n  scope = { type = \"biz\", id = \"1\" }"}, `Exactly one of these attributes must be configured: \[scope,bk_biz_id\]`},
		"no-scope":           {providertest.JobConfig{Scope: "adopt_existing = false"}, `Exactly one of these attributes must be configured: \[scope,bk_biz_id\]`},
		"scope-type":         {providertest.JobConfig{Scope: `scope = { type = "country", id = "1" }`}, `must be one of`},
		"cpu-over-100":       {providertest.JobConfig{Process: strings.Replace(providertest.JobProcess("a"), "30", "150", 1)}, `cpu_lmt value must be between 0 and 100`},
		"no-cycle-time":      {providertest.JobConfig{Process: strings.Replace(providertest.JobProcess("a"), "type        = 1", "", 1)}, `process.cycle_time: a periodic process`},
		"no-pid-path":        {providertest.JobConfig{Process: strings.Replace(providertest.JobProcess("a"), `pid_path    = "/srv/web/nginx.pid"`, "", 1)}, `"pid_path" is required`},
		"no-owner":           {providertest.JobConfig{More: `registration_api = "manage_proc"`}, `manage_proc requires an owner`},
		"agent-id":           {providertest.JobConfig{Hosts: `{ a = "0200000007525400f355781710390005465c" }`}, `only GSE's API gateway accepts agent ids`},
		"running-and-no-typ": {providertest.JobConfig{Process: strings.Replace(providertest.JobProcess("a"), "type        = 1", "cycle_time = 5", 1), More: `ensure = "running"`}, `Only a resident process`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			if c.config.Hosts == "" {
				c.config.Hosts = providertest.HostsConfig(1)
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps:                    []resource.TestStep{{Config: sim.JobProvider() + c.config.String(), PlanOnly: true, ExpectError: providertest.Wrapped(c.want)}},
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
	sim := providertest.NewSim(t)
	sim.ManageProcBug = true
	config := sim.JobProvider() + providertest.JobConfig{
		Hosts: providertest.HostsConfig(2), More: "ensure = \"registered\"\n  registration_api = \"manage_proc\"",
		Process: strings.Replace(providertest.JobProcess("./start.sh"), "type ", "proc_owner = \"sre\"\n    type ", 1),
	}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{{
			Config:      config,
			ExpectError: providertest.Wrapped(`829, JOB answered[\s\S]*runs its operations 1 and 2 as stop and query; set registration_api to operate_process`),
		}},
	})
}

func TestAccJobHostedProcessResource_import(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.JobProvider() + providertest.JobConfig{Hosts: providertest.HostsConfig(1)}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config},
			{ResourceName: testJobResource, ImportState: true, ImportStateId: "web", ExpectError: providertest.Wrapped(`Write the resource and apply it`)},
		},
	})
}

// The name of the scope changes between releases of JOB; the business does not.
func TestAccJobHostedProcessResource_scopeRenamed(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(scope string) string {
		return sim.JobProvider() + providertest.JobConfig{Scope: scope, Hosts: providertest.HostsConfig(2)}.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config("bk_biz_id = 2")},
			sim.JobStep(config(`scope = { type = "biz", id = "2" }`), testJobResource, plancheck.ResourceActionUpdate),
			sim.JobStep(config(`scope = { type = "biz", id = "3" }`), testJobResource, plancheck.ResourceActionDestroyBeforeCreate,
				"operate_process/3 "+providertest.Addresses(1, 2), "operate_process/4 "+providertest.Addresses(1, 2)),
		},
	})
}

// A stop on every host ends hosting everywhere; the resource is mended in place.
func TestAccJobHostedProcessResource_stoppedEverywhere(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.JobProvider() + providertest.JobConfig{Hosts: providertest.HostsConfig(2)}.String()
	mended := sim.JobStep(config, testJobResource, plancheck.ResourceActionUpdate, "operate_process/3 "+providertest.Addresses(1, 2))
	mended.PreConfig = func() {
		for n := range 2 {
			if err := sim.Unhost(providertest.Address(n+1), "job", "/srv/web/nginx"); err != nil {
				t.Error(err)
			}
		}
		sim.ResetCalls()
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: providertest.Factories, Steps: []resource.TestStep{{Config: config}, mended}})
}

// JOB from 3.7 on does not have the endpoints.
func TestAccJob_removed(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.JobRemoved = true
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{{
			Config:      sim.JobProvider() + providertest.JobConfig{Hosts: providertest.HostsConfig(1)}.String(),
			ExpectError: providertest.Wrapped(`JOB has no process APIs as of release 3.7[\s\S]*bk_hosted_process`),
		}},
	})
	sim.ResetViolations()
}

// Over the gateway alone there is no JOB.
func TestAccJob_noESB(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	block := providertest.ProviderBlock(fmt.Sprintf(`gateway = "apigw", endpoint = %q, app_code = "a", app_secret = "b", username = "c"`, sim.URL))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{{
			Config: block + providertest.JobConfig{Hosts: providertest.HostsConfig(1)}.String(), PlanOnly: true, ExpectError: providertest.Wrapped(`Set job_endpoint to the URL of the ESB`),
		}},
	})
}

// managed is a JOB process that is registered by manage_proc.
func managed(t *testing.T, sim *providertest.Sim) (*providertest.Core, map[string]any) {
	t.Helper()
	config := providertest.FaceJOB.Reference("./start.sh", 1)
	config["ensure"], config["registration_api"] = "registered", "manage_proc"
	process, _ := config["process"].(map[string]any)
	process["proc_owner"] = "sre"
	return providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceJOB)).CoreOf("bk_job_hosted_process", &providertest.Kept{}), config
}

// A manage_proc that asks in place of what it is to do has success to tell. Where no agent
// confirms it, the host stays in state.
func TestJobHostedProcessResource_manageProcUnconfirmed(t *testing.T) {
	t.Parallel()
	const says = "the agent has not confirmed it: some releases run its operations 1 and 2 as stop and query; set registration_api to operate_process"
	for name, fault := range map[string]simulator.Fault{
		"query-refused":     {EnvelopeCode: new(1210001), EnvelopeMessage: "GSE error"},
		"query-bad-gateway": {HTTPStatus: http.StatusBadGateway},
		"agent-away":        {Code: new(117)},
		"hosting-unsaid":    {ContentShape: "no-isauto"},
		"unreadable":        {ContentShape: "broken"},
	} {
		fault.API, fault.Op = "operate_process", new(simulator.OpQuery)
		t.Run("create/"+name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			hosted, config := managed(t, sim)
			sim.Inject(simulator.Fault{API: "manage_proc", Code: new(0)})
			sim.Inject(fault)
			_, said := hosted.Apply(config)
			if !said.Failed() || !strings.Contains(said.String(), says) || hosted.State.IsNull() || hosted.Reasons("out_of_sync")["web-1"] == "" {
				t.Errorf("out_of_sync %v; said: %s", hosted.Reasons("out_of_sync"), said)
			}
		})
		t.Run("destroy/"+name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			hosted, config := managed(t, sim)
			hosted.Applied(config)
			sim.Inject(simulator.Fault{API: "manage_proc", Code: new(0)})
			sim.Inject(fault)
			said := hosted.DestroyUnrefreshed()
			if !said.Failed() || !strings.Contains(said.String(), says) || hosted.State.IsNull() {
				t.Errorf("said: %s", said)
			}
			if process, _ := sim.Process(providertest.Address(1), "job", "/srv/web/nginx"); !process.Hosted {
				t.Error("it is not hosted")
			}
		})
	}
}

// Over JOB the server says whether somebody hosts the process already, of a host that is
// added as at create: what is theirs is neither replaced nor let go.
func TestJobHostedProcessResource_addedHost(t *testing.T) {
	t.Parallel()
	const by = providertest.FaceJOB
	sim := providertest.NewSim(t)
	namespace, name := by.Process()
	sim.Colleague(t, namespace, name, nil, 2)
	for _, act := range []func(string, string, string) error{sim.Host, sim.StartProcess} {
		if err := act(providertest.Address(2), namespace, name); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := sim.Process(providertest.Address(2), namespace, name)
	sim.Inject(simulator.Fault{API: "operate_process", Op: new(simulator.OpHost), Hosts: []string{providertest.Address(2)}, Code: new(850)})
	kill := map[string]any{"on_destroy": "kill"}
	resource := hostedBy(t, sim, by)
	resource.Applied(fleetOf(by, 1, kill))
	_, said := resource.Apply(fleetOf(by, 2, kill))
	if reasons := resource.Reasons("out_of_sync"); !said.Failed() || len(reasons) != 1 || !strings.HasPrefix(reasons["web-2"], "registered_by_other: 850") {
		t.Errorf("out_of_sync is %v; said: %s", reasons, said)
	}
	if _, said := resource.Apply(nil); said.Failed() {
		t.Error(said)
	}
	if after, _ := sim.Process(providertest.Address(2), namespace, name); !cmp.Equal(before, after) {
		t.Errorf("the colleague's process was %+v and is %+v", before, after)
	}
}

// A value that is not known and names nothing makes no other process: nothing is replaced, and
// what is protected stays.
func TestJobHostedProcess_unknownCommand(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	process := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceJOB)).CoreOf("bk_job_hosted_process", &providertest.Kept{})
	config := func(start any) map[string]any {
		c := providertest.FaceJOB.Reference("", 2)
		c["process"].(map[string]any)["start_cmd"] = start //nolint:forcetypeassert // as Reference makes it
		c["safety"] = map[string]any{"deletion_protection": true, "max_removed_hosts": "0"}
		return c
	}
	process.Applied(config("./a.sh"))
	plan, said := process.Plan(config(providertest.NotKnown{}))
	if len(said) > 0 {
		t.Fatal(said)
	}
	if id := plan.Planned(t)["id"]; plan.Action != providertest.PlanUpdate || !id.IsKnown() {
		t.Errorf("planned %s of %s", plan.Action, id)
	}
}
