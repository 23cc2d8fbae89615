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

// unapplied is a resource that was imported and never applied, so that nobody knows
// its spec: two hosts of a process that somebody registered, hosts and runs.
func unapplied(t *testing.T, s *providertest.Sim, settings map[string]any) *providertest.Core {
	t.Helper()
	providertest.ConfiguredWith(t, settings).CoreOf(providertest.HostedType, &providertest.Kept{}).Applied(providertest.FaceESB.Reference("./start.sh", 2))
	for n := 1; n <= 2; n++ {
		if err := s.StartProcess(providertest.Address(n), "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	resource := providertest.ConfiguredWith(t, settings).CoreOf(providertest.HostedType, &providertest.Kept{})
	if said := resource.Imports("web:nginx"); len(said) > 0 {
		t.Fatal(said)
	}
	s.ResetCalls()
	return resource
}

// A destroy of what was imported and never applied unregisters it, and operates
// nothing: there is no spec to do it with. The gateway does not unregister without one
// either, and the resource stays.
func TestHostedProcess_destroyUnapplied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		face      providertest.Face
		onDestroy string
		want      []string
		said      string
	}{
		"esb":            {providertest.FaceESB, "unregister", []string{"unregister_proc_info " + providertest.Addresses(1, 2)}, ""},
		"esb-repeated":   {providertest.FaceESB, "unregister", []string{"unregister_proc_info " + providertest.Address(1), "unregister_proc_info " + providertest.Addresses(1, 2)}, ""},
		"esb-stop":       {providertest.FaceESB, "stop", []string{"unregister_proc_info " + providertest.Addresses(1, 2)}, ""},
		"esb-kill":       {providertest.FaceESB, "kill", []string{"unregister_proc_info " + providertest.Addresses(1, 2)}, ""},
		"gateway":        {providertest.FaceGateway, "unregister", []string{}, "this gateway wants the spec"},
		"gateway-stop":   {providertest.FaceGateway, "stop", []string{}, "this gateway wants the spec"},
		"gateway-killed": {providertest.FaceGateway, "kill", []string{}, "this gateway wants the spec"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := unapplied(t, sim, sim.SettingsFor(c.face))
			set(resource, "on_destroy", c.onDestroy)
			if name == "esb-repeated" { // on one host it took effect, and said that it was in progress
				sim.Inject(simulator.Fault{API: "unregister_proc_info", Code: new(115), Apply: true, Times: 1})
			}

			said := resource.DestroyUnrefreshed()

			if said.Failed() != (c.said != "") || !strings.Contains(said.String(), c.said) {
				t.Errorf("said: %s", said)
			}
			if resource.State.IsNull() != (c.said == "") {
				t.Errorf("state is %s", resource.State)
			}
			if diff := cmp.Diff(c.want, sim.Changes()); diff != "" {
				t.Errorf("calls that change something (-want +got):\n%s", diff)
			}
			for n := 1; n <= 2; n++ {
				process, _ := sim.Process(providertest.Address(n), "web", "nginx")
				if !process.Running || process.Hosted != (c.said != "") {
					t.Errorf("%s is %+v", providertest.Address(n), process)
				}
			}
		})
	}
}

// Of a process that was only hosted unregister_proc_info knows nothing. Without a spec
// it cannot be unhosted, and so it is not said to be gone, whether there is a row of it or not.
func TestHostedProcess_destroyUnappliedHosting(t *testing.T) {
	t.Parallel()
	providertest.ESBOnly(t, "the gateway has no unregister_proc_info")
	sim := providertest.NewSim(t)
	for n := 1; n <= 2; n++ {
		if err := sim.Host(providertest.Address(n), "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	if said := resource.Imports("web:nginx"); len(said) > 0 {
		t.Fatal(said)
	}
	before := resource.Attribute("hosts")
	sim.Inject(simulator.Fault{API: "*_proc_status*", Hosts: []string{providertest.Address(2)}, Missing: -1})

	said := resource.DestroyUnrefreshed()

	if !said.Failed() || !strings.Contains(said.String(), "its agent may host the process") || !strings.Contains(said.String(), "on 2 of 2 hosts") {
		t.Errorf("said: %s", said)
	}
	if hosts := resource.Attribute("hosts"); !cmp.Equal(hosts, before) {
		t.Errorf("hosts of the state: %v", hosts)
	}
	for _, process := range sim.Processes() {
		if !process.Hosted {
			t.Errorf("unhosted: %+v", process)
		}
	}
}

// A host of which the file does not tell is named after an import as well, where the
// agent cannot be asked for want of a spec; and it is neither drift nor gone.
func TestHostedProcess_unknownAfterImport(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	settings := sim.SettingsFor(providertest.FaceESB)
	settings["max_hosts_per_request"] = 1
	resource := unapplied(t, sim, settings)
	sim.Inject(simulator.Fault{
		API: "get_proc_status_v2", Hosts: []string{providertest.Address(2)}, Replace: map[string]any{"data/proc_infos/*/status": nil},
	})

	said := resource.Refresh()

	if said.Failed() || !strings.Contains(said.String(), "Agents Not Reachable") {
		t.Errorf("said: %s", said)
	}
	for _, row := range []string{"on 1 of 2 hosts", "\n  " + providertest.Address(2) + ": the platform's row has no status\n"} {
		if !strings.Contains(said.String(), row) {
			t.Errorf("%q is not in: %s", row, said)
		}
	}
	if left := resource.Reasons("out_of_sync"); len(left) > 0 || resource.State.IsNull() {
		t.Errorf("out_of_sync is %v in %s", left, resource.State)
	}
	if calls := sim.Calls().Of("operate_*"); len(calls) > 0 {
		t.Errorf("agents were asked without a spec: %v", calls.APIs())
	}
}

// The first apply after an import compares each host with what the platform has on
// file: what differs is registered again, what matches is left alone, and what is
// missing is registered.
//
// Promised in import-and-adoption.md: Every other host is registered again, with your spec.
func TestHostedProcess_firstApplyAfterImport(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(2), "spec": providertest.WholeSpec("./a.sh"),
	}
	if _, said := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{}).Apply(config); len(said) > 0 {
		t.Fatal(said)
	}
	sim.Colleague(t, "web", "nginx", map[string]string{"owner": "other-team"}, 2)
	config["hosts"] = providertest.HostsOf(3)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	if said := resource.Imports("web:nginx@" + providertest.Address(1) + "," + providertest.Address(2) + "," + providertest.Address(3)); said.Failed() || !strings.Contains(said.String(), `owner: "other-team" on 0:10.0.0.3; not set on 0:10.0.0.2`) {
		t.Fatal(said)
	}
	sim.ResetCalls()

	kind, said := resource.Apply(config)

	if kind != providertest.PlanUpdate || said.Failed() {
		t.Errorf("%s\n%s", kind, said)
	}
	want := providertest.OnGateway([]string{"operate_proc_v2/3 " + providertest.Addresses(3), "register_proc_info " + providertest.Addresses(3), "update_proc_info " + providertest.Addresses(2)})
	if diff := cmp.Diff(want, sim.Changes()); diff != "" {
		t.Errorf("calls that change something (-want +got):\n%s", diff)
	}
	sim.ResetCalls()
	if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 || len(sim.Changes()) > 0 {
		t.Errorf("something was left to do: %s %v\n%s", kind, sim.Changes(), said)
	}
}

// What names no owner gets one with the first update after its import, and state has it.
func TestHostedProcessResource_importWithoutOwner(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Colleague(t, "web", "nginx", nil, 1)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	resource.Imports("web:nginx")
	resource.Applied(providertest.HostedConfigOf(map[string]string{providertest.Address(1): providertest.Address(1)}))
	p, _ := sim.Process(providertest.Address(1), "web", "nginx")
	if owner := resource.Attribute("owner"); owner == nil || owner != p.Labels["tf_spec_owner"] {
		t.Errorf("the owner is %v in state, and registered with %v", owner, p.Labels)
	}
}
