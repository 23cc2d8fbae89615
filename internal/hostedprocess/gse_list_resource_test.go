package hostedprocess_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func listedNames(results []providertest.Listed) []string {
	names := make([]string, len(results))
	for i, result := range results {
		names[i] = result.Name
	}
	return names
}

func hosts(t *testing.T, l providertest.Listed) map[string]any {
	t.Helper()
	resource, _ := l.Resource.(map[string]any)
	hosts, ok := resource["hosts"].(map[string]any)
	if !ok {
		t.Fatalf("no hosts in %v", l.Resource)
	}
	return hosts
}

// Promised in reference: All of the namespace by default.
func TestHostedProcessListResource(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Colleague(t, "web", "nginx", map[string]string{"team": "sre", "managed_by": "terraform", "tf_spec": "v1-0123456789abcdef"}, 1, 2)
	sim.Colleague(t, "web", "nginx-exporter", nil, 1)
	sim.Colleague(t, "web", "redis", nil, 2, 3)
	sim.Colleague(t, "game", "nginx", nil, 1)
	settings := sim.Settings()
	settings["default_labels"] = map[string]string{"managed_by": "terraform"}
	p := providertest.NewProtocol(t)
	resp, err := p.Server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: p.Dynamic(p.Schema.Provider, settings)})
	p.Fine(err, resp.Diagnostics)

	type config = map[string]any
	for name, c := range map[string]struct {
		config config
		limit  int64
		want   []string
	}{
		"namespace":         {config{"namespace": "web"}, 100, []string{"web:nginx", "web:nginx-exporter", "web:redis"}},
		"no-limit":          {config{"namespace": "web"}, 0, []string{"web:nginx", "web:nginx-exporter", "web:redis"}},
		"prefix":            {config{"namespace": "web", "name_prefix": "nginx"}, 100, []string{"web:nginx", "web:nginx-exporter"}},
		"prefix-of-nothing": {config{"namespace": "web", "name_prefix": "x"}, 100, []string{}},
		"limit":             {config{"namespace": "web"}, 2, []string{"web:nginx", "web:nginx-exporter"}},
		"unknown-namespace": {config{"namespace": "nobody"}, 100, []string{}},
	} {
		for _, whole := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/include-resource-%t", name, whole), func(t *testing.T) {
				t.Parallel()
				results, said := p.List(tfprotov6.ListResourceRequest{Limit: c.limit, IncludeResource: whole}, c.config)
				providertest.Check(t, said == "", "%s", said)
				providertest.Same(t, "result", c.want, listedNames(results))
				for _, result := range results {
					namespace, process, _ := strings.Cut(result.Name, ":")
					providertest.Same(t, "identity", map[string]any{"namespace": namespace, "name": process}, result.Identity)
					providertest.Same(t, fmt.Sprintf("there is a resource: %v", result.Resource), whole, result.Resource != nil)
				}
			})
		}
	}
	t.Run("resource", func(t *testing.T) {
		t.Parallel()
		results, said := p.List(tfprotov6.ListResourceRequest{IncludeResource: true}, config{"namespace": "web"})
		if said != "" || len(results) != 3 {
			t.Fatalf("got %v and %s", results, said)
		}
		if diff := cmp.Diff(config{
			"id":    "web:nginx",
			"meta":  config{"namespace": "web", "name": "nginx", "labels": config{"team": "sre"}},
			"hosts": config{providertest.Address(1): providertest.Address(1), providertest.Address(2): providertest.Address(2)},
			"spec":  nil, "ensure": "hosted", "on_partial_create": "warn", "on_update": nil, "process": nil, "on_destroy": "unregister",
			"adopt_existing": nil, "forget_unreachable": nil, "max_unreachable_hosts": nil, "unreachable": config{}, "rollout": nil, "rollout_plan": nil, "safety": nil, "timeouts": nil, "verify": nil, "out_of_sync": config{}, "fingerprint": nil, "labels_all": nil, "bk_supplier_id": nil, "owner": nil,
		}, results[0].Resource); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		redis, _ := results[2].Resource.(config)
		providertest.Check(t, cmp.Equal(config{"namespace": "web", "name": "redis", "labels": nil}, redis["meta"]), "meta is %v", redis["meta"])
	})
}

// 1,200 rows are two pages. Both are read: a host of any process may be on either.
func TestHostedProcessListResource_pages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request tfprotov6.ListResourceRequest
		pages   int
	}{
		"names":         {tfprotov6.ListResourceRequest{Limit: 100}, 2},
		"names-limited": {tfprotov6.ListResourceRequest{Limit: 1}, 2},
		"whole-limited": {tfprotov6.ListResourceRequest{Limit: 1, IncludeResource: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Colleague(t, "web", "nginx", nil, providertest.HostNumbers(1200)...)
			p := sim.Configured(t)
			results, said := p.List(c.request, map[string]any{"namespace": "web"})
			providertest.Check(t, said == "", "%s", said)
			if diff := cmp.Diff([]string{"web:nginx"}, listedNames(results)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			providertest.Same(t, "pages that were read", c.pages, len(sim.Calls().Of("sync_proc_status")))
			if c.request.IncludeResource {
				hosts := hosts(t, results[0])
				providertest.Check(t, len(hosts) == 1200, "%d hosts", len(hosts))
			}
		})
	}
}

// Only the files of agents that host a listed process are read.
func TestHostedProcessListResource_limitedSpecs(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Colleague(t, "web", "nginx", nil, 1, 2)
	sim.Colleague(t, "web", "redis", nil, 2, 3)
	p := sim.Configured(t, map[string]any{"verify": "agent", "hosted_specs": map[string]any{"job_scope": map[string]any{"id": "3"}}})
	results, said := p.List(tfprotov6.ListResourceRequest{Limit: 1, IncludeResource: true}, map[string]any{"namespace": "web"})
	providertest.Check(t, said == "", "%s", said)
	providertest.Same(t, "listed", []string{"web:nginx"}, listedNames(results))
	var read []string
	for _, call := range sim.Calls() {
		if strings.Contains(call.API, "execute_script") {
			read = append(read, call.Hosts...)
		}
	}
	slices.Sort(read)
	providertest.Same(t, "agents whose files were read", providertest.AddressList([]int{1, 2}), read)
}

// A row that appears between two reads moves the others. A row that is then listed twice counts once.
func TestHostedProcessListResource_changes(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Colleague(t, "web", "nginx", nil, providertest.HostNumbers(1200)[1:]...)
	var once sync.Once
	moving := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sim.ServeHTTP(w, r)
		once.Do(func() { sim.Colleague(t, "web", "nginx", nil, 1) })
	}))
	t.Cleanup(moving.Close)
	p := (&providertest.Sim{Server: sim.Server, URL: moving.URL}).Configured(t)
	results, said := p.List(tfprotov6.ListResourceRequest{IncludeResource: true}, map[string]any{"namespace": "web"})
	providertest.Check(t, said == "", "%s", said)
	if diff := cmp.Diff([]string{"web:nginx"}, listedNames(results)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	// The new row precedes what was read already, so it is found when all pages are read again.
	hosts := hosts(t, results[0])
	providertest.Check(t, len(hosts) == 1200, "%d hosts", len(hosts))
}

func TestHostedProcessListResource_fails(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Colleague(t, "web", "nginx", nil, providertest.HostNumbers(1200)...)
	code := 1306201
	sim.Inject(simulator.Fault{API: "sync_proc_status", Skip: 1, EnvelopeCode: &code, EnvelopeMessage: "third-party error"})
	p := sim.Configured(t)
	results, said := p.List(tfprotov6.ListResourceRequest{IncludeResource: true}, map[string]any{"namespace": "web"})
	providertest.Check(t, len(results) == 0, "the hosts of one page were returned as all: %v", listedNames(results))
	for _, want := range []string{"ERROR: Unable to List Hosted Processes", `The processes of namespace "web" could not be listed.`, "from row 1000", "third-party error"} {
		providertest.Check(t, strings.Contains(said, want), "it does not say %q: %s", want, said)
	}

	if _, said = providertest.NewProtocol(t).List(tfprotov6.ListResourceRequest{}, map[string]any{"namespace": "web"}); !strings.Contains(said, "Provider Not Configured Yet") {
		t.Errorf("without a provider block it says %q", said)
	}
	resp, err := p.Server.ValidateListResourceConfig(t.Context(), &tfprotov6.ValidateListResourceConfigRequest{
		TypeName: providertest.HostedType, Config: p.Dynamic(p.Schema.ListResourceSchemas[providertest.HostedType], map[string]any{"namespace": "a:b"}),
	})
	providertest.NoError(t, err)
	text := providertest.DiagnosticsText(resp.Diagnostics)
	providertest.Check(t, strings.Contains(text, `Attribute namespace: a name must not contain ":"`), "a bad namespace gives %q", text)
}
