package hostedprocess_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// listedRow is a row of a listing of the namespace web, on no host where ip is "".
func listedRow(name, ip string) any {
	return map[string]any{
		"meta": map[string]any{"namespace": "web", "name": name, "labels": map[string]any{}},
		"host": map[string]any{"ip": ip, "bk_cloud_id": 0, "bk_supplier_id": 0}, "status": 1, "isauto": true, "pid": 11, "version": "",
	}
}

// listing makes the platform list these rows.
func listing(sim *providertest.Sim, rows ...any) {
	sim.Inject(simulator.Fault{API: "sync_proc_status", Replace: map[string]any{"data/proc_infos": rows, "data/count": len(rows)}})
}

// unplaced are rows beside those of nginx and redis, each on one host.
var unplaced = map[string]struct {
	row any
	// failsImport: it may be one of nginx.
	failsImport bool
	warns       string
	// aboutRedis: a listing of what begins with redis warns too.
	aboutRedis bool
}{
	"of-the-process": {listedRow("nginx", ""), true, `Namespace "web" has rows that name no host, of ["nginx"].`, false},
	"of-another":     {listedRow("redis", ""), false, `Namespace "web" has rows that name no host, of ["redis"].`, true},
	"of-a-longer-name": {
		listedRow("nginx-exporter", ""), false, `Namespace "web" has rows that name no host, of ["nginx-exporter"].`, false,
	},
	"of-no-name": {listedRow("", ""), true, `Namespace "web" has rows that name no host, of [""].`, true},
	"unreadable": {7, true, `Namespace "web" has rows that could not be read.`, true},
}

// An import that lacks a host leaves it to run for ever, so it goes on only where the
// rows without a host are surely of other processes.
func TestHostedProcessResource_importOfUnplaced(t *testing.T) {
	t.Parallel()
	for name, c := range unplaced {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Colleague(t, "web", "nginx", nil, 1)
			first := providertest.Address(1)
			listing(sim, listedRow("nginx", first[len("0:"):]), c.row, listedRow("redis", "10.0.0.2"))
			resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
			said := resource.Imports("web:nginx")
			if said.Failed() != c.failsImport {
				t.Fatalf("it says %s", said)
			}
			if !c.failsImport {
				if hosts := resource.Attribute("hosts"); !cmp.Equal(hosts, any(map[string]any{first: first})) {
					t.Errorf("hosts %v", hosts)
				}
				return
			}
			text := providertest.DiagnosticsText(said)
			for _, want := range []string{
				"ERROR: Unable to Import Hosted Process", c.warns, "Nothing was imported", "web:nginx@0:10.0.0.1,0:10.0.0.2",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("it does not say %q: %s", want, text)
				}
			}
			if resource.Attribute("hosts") != nil {
				t.Error("something was imported")
			}
		})
	}
}

// A listing goes on with what is known, and says that there is more.
func TestHostedProcessListResource_unplaced(t *testing.T) {
	t.Parallel()
	for name, c := range unplaced {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			listing(sim, listedRow("nginx", "10.0.0.1"), c.row, listedRow("redis", "10.0.0.2"))
			p := sim.Configured(t)
			for name, list := range map[string]struct {
				request tfprotov6.ListResourceRequest
				prefix  string
				want    []string
				warns   bool
			}{
				"names":         {tfprotov6.ListResourceRequest{}, "", []string{"web:nginx", "web:redis"}, true},
				"whole":         {tfprotov6.ListResourceRequest{IncludeResource: true}, "", []string{"web:nginx", "web:redis"}, true},
				"whole-limited": {tfprotov6.ListResourceRequest{IncludeResource: true, Limit: 1}, "", []string{"web:nginx"}, true},
				"prefix":        {tfprotov6.ListResourceRequest{IncludeResource: true}, "redis", []string{"web:redis"}, c.aboutRedis},
			} {
				config := map[string]any{"namespace": "web"}
				if list.prefix != "" {
					config["name_prefix"] = list.prefix
				}
				results, said := p.List(list.request, config)
				if diff := cmp.Diff(list.want, listedNames(results)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				warned := strings.Contains(said, "WARNING: Hosted Processes Listed In Part") && strings.Contains(said, c.warns)
				if warned != list.warns || (said != "") != list.warns || strings.Count(said, "WARNING") > 1 {
					t.Errorf("%s: it says %q", name, said)
				}
			}
		})
	}
}

// A name that steers a terminal is shown without what does, and listed as it is.
func TestHostedProcessListResource_printable(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	listing(sim, listedRow("ng\x1b[31minx\u202e", "10.0.0.1"))
	results, said := sim.Configured(t).List(tfprotov6.ListResourceRequest{}, map[string]any{"namespace": "web"})
	if want := []string{"web:ng[31minx"}; said != "" || !slices.Equal(listedNames(results), want) {
		t.Fatalf("got %q and %s, want %q", listedNames(results), said, want)
	}
	if identity, ok := results[0].Identity.(map[string]any); !ok || !maps.Equal(identity, map[string]any{"namespace": "web", "name": "ng\x1b[31minx\u202e"}) {
		t.Errorf("identity %q", results[0].Identity)
	}
}
