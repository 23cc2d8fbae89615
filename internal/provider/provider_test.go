package provider_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// A plan passes while the provider's settings are unknown. An operation that needs a call names what is
// missing. A client that supports deferral gets one; others do not.
func TestUnconfigured(t *testing.T) {
	t.Parallel()
	for name, deferral := range map[string]bool{"deferral": true, "no-deferral": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := providertest.NewProtocol(t)
			settings := merged((&providertest.Sim{}).Settings(), map[string]any{"endpoint": providertest.NotKnown{}})
			configured, err := p.Server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{
				Config: p.Dynamic(p.Schema.Provider, settings), ClientCapabilities: &tfprotov6.ConfigureProviderClientCapabilities{DeferralAllowed: deferral},
			})
			p.Fine(err, configured.Diagnostics)

			const missing = "are not known until apply: endpoint."
			config := providertest.Invocation("restart", 2, nil)
			providertest.Same(t, "said of the action", "", p.ValidateAction(providertest.ActionType, config))
			planned, err := p.Server.PlanAction(t.Context(), &tfprotov6.PlanActionRequest{
				ActionType: providertest.ActionType, Config: p.Dynamic(p.Schema.ActionSchemas[providertest.ActionType].Schema, config),
			})
			p.Fine(err, planned.Diagnostics)
			if deferred := planned.Deferred != nil && planned.Deferred.Reason == tfprotov6.DeferredReasonProviderConfigUnknown; deferred != deferral {
				t.Errorf("the action was deferred: %t", deferred)
			}
			progress, end := p.Invoke(t.Context(), providertest.ActionType, config)
			providertest.Says(t, end, missing)
			results, said := p.List(tfprotov6.ListResourceRequest{}, map[string]any{"namespace": "web"})
			providertest.Says(t, said, missing)
			providertest.Check(t, len(progress)+len(results) == 0, "progress %q, listed %v", progress, results)
			// Functions need no provider.
			if got, fault := p.Call("host", "10.0.0.1", 0); got != "0:10.0.0.1" {
				t.Errorf("a function gave %v and %q", got, fault)
			}
		})
	}
}

// Promised in security-model.md: The provider warns of such an endpoint, and follows no redirect.
func TestProvider_warnsOfPlainHTTP(t *testing.T) {
	t.Parallel()
	const (
		secure  = "https://paas.example.com"
		plain   = "http://paas.example.com"
		warning = "WARNING: Credentials Sent in the Clear\n\nConnections to the %s http"
	)
	for name, test := range map[string]struct {
		endpoint, job any
		warned        []string // attributes with a warning
	}{
		"https":        {secure, nil, nil},
		"plain":        {plain, nil, []string{"endpoint"}},
		"plain-port":   {plain + ":8080/path", nil, []string{"endpoint"}},
		"upper-case":   {"HTTP://PAAS.EXAMPLE.COM", nil, []string{"endpoint"}},
		"plain-job":    {secure, plain, []string{"job_endpoint"}},
		"both":         {plain, plain, []string{"endpoint", "job_endpoint"}},
		"private":      {"http://10.0.0.1", nil, []string{"endpoint"}},
		"any-address":  {"http://0.0.0.0", nil, []string{"endpoint"}},
		"lookalike":    {"http://localhost.example.com", nil, []string{"endpoint"}},
		"address-like": {"http://127.0.0.1.example.com", nil, []string{"endpoint"}},
		"localhost":    {"http://localhost:8091", "http://localhost:8091", nil},
		"loopback":     {"http://127.0.0.1:8091", "http://127.0.0.2", nil},
		"loopback-6":   {"http://[::1]:8091", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := providertest.NewProtocol(t).Configure(credentials(map[string]any{"endpoint": test.endpoint, "job_endpoint": test.job}))
			if got := strings.Count(said, "WARNING"); got != len(test.warned) || strings.Contains(said, "ERROR") {
				t.Errorf("%d warnings, want %d: %s", got, len(test.warned), said)
			}
			for _, attribute := range test.warned {
				providertest.Says(t, strings.ReplaceAll(said, "HTTP://", "http://"), fmt.Sprintf(warning, attribute))
			}
		})
	}
}

// Values from the environment get the same warnings as the configuration's.
func TestProvider_warnsOfEnvironment(t *testing.T) {
	t.Setenv("BK_ENDPOINT", "http://paas.example.com")
	t.Setenv("BK_JOB_ENDPOINT", "http://job.example.com")
	t.Setenv("BK_INSECURE_SKIP_VERIFY", "true")
	providertest.Says(t, providertest.NewProtocol(t).Configure(credentials(map[string]any{})),
		"Connections to the endpoint http://paas.example.com are not encrypted", "Connections to the job_endpoint http://job.example.com are not encrypted", "Certificate Not Verified")
}

// Every object of the provider has a page, every page has an object, and both have an example. Objects
// that an older Terraform lacks say since which version they exist.
func TestDocs_everyObject(t *testing.T) {
	t.Parallel()
	served := providertest.NewProtocol(t).Schema
	for kind, c := range map[string]struct {
		objects []string
		example string // below examples/<kind>/<object>
		needs   string // text on each page
	}{
		"resources":      {names(served.ResourceSchemas), "resource.tf", ""},
		"data-sources":   {names(served.DataSourceSchemas), "data-source.tf", ""},
		"actions":        {names(served.ActionSchemas), "action.tf", "Needs Terraform 1.14 or later"},
		"list-resources": {names(served.ListResourceSchemas), "list-resource.tfquery.hcl", "Needs Terraform 1.14 or later"},
		"functions":      {names(served.Functions), "function.tf", "Needs Terraform 1.8 or later"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var pages []string
			for _, object := range c.objects {
				file := filepath.Join("..", "..", "docs", kind, strings.TrimPrefix(object, "bk_")+".md")
				pages = append(pages, file)
				page, example := providertest.ReadFile(t, file), providertest.ReadExample(t, filepath.Join(kind, object, c.example))
				if !strings.Contains(page, strings.TrimSpace(example)) || !strings.Contains(page, c.needs) {
					t.Errorf("%s does not show its example, or does not say %q", file, c.needs)
				}
			}
			providertest.Same(t, "pages of what is served, and rendered by make generate", pages, providertest.Glob(t, "../../docs/"+kind+"/*"))
		})
	}
}

func names[T any](schemas map[string]T) []string { return slices.Sorted(maps.Keys(schemas)) }

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

// permitted is an object that makes every call it can make.
type permitted struct {
	*providertest.Protocol
	sim *providertest.Sim
	by  providertest.Face
}

func (p permitted) applied(on providertest.Operation, configs ...map[string]any) {
	p.T.Helper()
	resource := p.CoreOf(p.by.TypeName(on), &providertest.Kept{})
	for _, config := range append(configs, nil) {
		if _, said := resource.Apply(config); len(said) > 0 {
			p.T.Error(said)
		}
	}
}

func (p permitted) read(typ string, config map[string]any, says string) {
	p.T.Helper()
	_, said := p.ReadData(typ, config)
	providertest.Check(p.T, (len(said) > 0) == (says != "") && strings.Contains(said.String(), says), "said: %s", said)
}

func (p permitted) hosts() {
	config := p.by.Reference("./a.sh", 2)
	verified := p.by.Reference("./b.sh", 2)
	verified["verify"] = "agent"
	p.applied(providertest.OnCreate, config, p.by.Reference("./b.sh", 2), verified)
	resource := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	resource.Applied(config)
	providertest.NoError(p.T, p.sim.Unhost(providertest.Address(2), "web", "nginx"))
	resource.Applied(config)
	if said := p.CoreOf(providertest.HostedType, &providertest.Kept{}).Imports("web:nginx"); said.Failed() {
		p.T.Error(said)
	}
}

func (p permitted) hostsByJob() {
	owned := p.by.Reference("./start.sh", 2)
	owned["registration_api"] = "manage_proc"
	process, _ := owned["process"].(map[string]any)
	process["proc_owner"] = "sre"
	p.applied(providertest.OnCreate, p.by.Reference("./start.sh", 2), owned)
}

func (p permitted) operates() {
	process := func(name string) map[string]any {
		config := p.by.Reference("./start.sh", 2)
		if hosts, ok := config["hosts"].(map[string]string); ok && p.by == providertest.FaceGateway {
			// The platform is asked whether an address and an agent id are one machine.
			p.sim.AdmitAgents = true
			hosts["web-2"] = strings.Repeat("0a", 18)
		}
		if p.by == providertest.FaceJOB {
			of, _ := config["process"].(map[string]any)
			of["proc_name"], of["setup_path"], of["pid_path"] = name, "/srv/"+name, "/srv/"+name+"/it.pid"
			return config
		}
		config["meta"] = map[string]any{"namespace": "web", "name": name}
		return config
	}
	one, first, second := process("nginx"), process("nginx"), process("redis")
	one["operation"], first["priority"], second["priority"] = "start", 1, 1
	p.applied(providertest.OnOperate, one, map[string]any{
		"operation": "start", "triggers": map[string]string{"run": "2"}, "processes": map[string]any{"one": first, "other": second},
	})
}

func (p permitted) asks() {
	config := p.by.Reference("./start.sh", 2)
	p.read(p.by.TypeName(providertest.OnStatus), config, "")
	if p.by != providertest.FaceJOB {
		p.read(p.by.TypeName(providertest.OnStatus), map[string]any{"meta": config["meta"], "hosts": config["hosts"], "mode": "cached"}, "")
	}
}

const oneModule = `{"businesses": [{"id": 3, "name": "game", "templates": [{"name": "web",
  "processes": [{"bk_process_name": "nginx", "bk_func_name": "nginx", "work_path": "/srv", "pid_file": "/run/nginx.pid", "user": "root"}]}], "groups": [{"name": "all", "object": "host"}],
  "sets": [{"name": "gz", "modules": [{"name": "nginx", "template": "web", "hosts": [{"ip": "10.3.0.1"}]}]}]}]}`

// looksUp reads a data source in every scope, and once for a business that does not exist.
func (p permitted) looksUp(typ string) {
	for _, scope := range []map[string]any{{"topology": map[string]any{"env": "3"}}, {"dynamic_group": "all"}, {"service_template": "web"}} {
		scope["bk_biz_id"] = 3
		p.read(typ, scope, "")
	}
	if typ == "bk_cmdb_processes" { // it has another way if the first is refused
		p.sim.Inject(simulator.Fault{API: "list_process_related_info", EnvelopeCode: new(9900403), Times: 1})
		p.read(typ, map[string]any{"bk_biz_id": 3, "topology": map[string]any{}}, "")
	}
	p.read(typ, map[string]any{"bk_biz_id": 4, "topology": map[string]any{}}, "There is no business 4")
}

// Each object calls exactly the APIs that the table lists for it, as does the Chinese one.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	table, err := providertest.EndpointTable()
	providertest.NoError(t, err)
	chinese, err := providertest.EndpointTableInChinese()
	providertest.NoError(t, err)
	providertest.Same(t, "table in Chinese", table, chinese)
	scenarios := map[string]func(permitted){
		"bk_hosted_process": permitted.hosts, "bk_job_hosted_process": permitted.hostsByJob,
		"bk_process_operation": permitted.operates, "bk_job_process_operation": permitted.operates,
		"bk_process_status": permitted.asks, "bk_job_process_status": permitted.asks,
		"bk_registrations": func(p permitted) { p.read("bk_registrations", map[string]any{"namespace": "web"}, "") },
		"bk_hosted_specs": func(p permitted) {
			p.sim.Registered(p.T, 1)
			p.read("bk_hosted_specs", map[string]any{"namespace": "web", "hosts": providertest.HostsOf(1)}, "")
		},
		"bk_hosts":          func(p permitted) { p.looksUp("bk_hosts") },
		"bk_cmdb_processes": func(p permitted) { p.looksUp("bk_cmdb_processes") },
	}
	providertest.Same(t, "objects of the table, and of this test", names(table), names(scenarios))
	for object, drive := range scenarios {
		faces := map[providertest.Face]bkapi.Gateway{providertest.FaceESB: bkapi.ESB, providertest.FaceGateway: bkapi.APIGW}
		if strings.HasPrefix(object, "bk_job_") {
			faces = map[providertest.Face]bkapi.Gateway{providertest.FaceJOB: bkapi.ESB}
		}
		for by, gateway := range faces {
			t.Run(object+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSimOf(t, oneModule)
				settings := sim.SettingsFor(by)
				settings["hosted_specs"] = map[string]any{"job_scope": map[string]any{"id": "2"}}
				if by == providertest.FaceGateway {
					settings["cmdb_endpoint"] = sim.URL + "/api/bk-cmdb/prod"
				}
				drive(permitted{providertest.ConfiguredWith(t, settings), sim, by})
				providertest.Same(t, "APIs of the table, and called", table[object][gateway], slices.Compact(slices.Sorted(slices.Values(sim.Calls().APIs()))))
			})
		}
	}
}
