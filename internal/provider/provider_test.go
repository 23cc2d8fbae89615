package provider_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
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
			if len(progress)+len(results) > 0 {
				t.Errorf("progress %q, listed %v", progress, results)
			}
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
