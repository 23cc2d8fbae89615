package hostedprocess_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// An import finds what was applied, except what the platform does not return.
//
// Promised in import-and-adoption.md: Hosts that aren't registered are named in a warning, and
// the next apply registers them. If none is registered, the import fails.
func TestHostedProcess_import(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		created := w.object()
		created.Applied(w.declares(2, labelled(map[string]any{"team": "sre"})))
		want, _ := providertest.Plain(t, created.State).(map[string]any)
		want["hosts"] = map[string]any{"0:10.0.0.2": "0:10.0.0.2", "0:10.0.0.3": "0:10.0.0.3"}
		for _, missing := range []string{"spec", "process", "labels_all", "rollout_plan"} {
			want[missing] = nil
		}
		for _, id := range []string{"web:nginx", "web:nginx@0:10.0.0.2,0:10.0.0.3", "web:nginx@0:10.0.0.2 = 0:10.0.0.2, 0:10.0.0.3,0:10.0.0.3"} {
			imported := w.object()
			said := imported.Imports(id)
			got, _ := providertest.Plain(t, imported.State).(map[string]any)
			got["process"] = nil // an import has no spec
			diff := cmp.Diff(want, got)
			providertest.Check(t, diff == "" && len(said) == 0, "%s (-want +got):\n%s\n%s", id, diff, said)
		}
		for id, says := range map[string]string{
			"web": `"web" is not an import id; an import id is`, "web:other": "Hosted Process Not Found", "web:nginx@10.0.0.1": "has no bk_cloud_id; did you mean \"0:10.0.0.1\"?",
			":nginx": `":nginx" is not an import id`, "web:": "is not an import id", "we b:nginx": "is not an import id", "web:nginx@": "names an empty address or key",
			"web:nginx@=0:10.0.0.2": "names an empty address or key", "web:nginx@a=": "names an empty address or key", "web:nginx@a=0:10.0.0.2,a=0:10.0.0.3": `gives the key "a" to two hosts`,
			"web:nginx@a=0:10.0.0.9,b=0:10.0.0.10": "is not registered on any of the hosts that the import names: a, b. Nothing was imported",
		} {
			said := w.object().Imports(id)
			providertest.Check(t, said.Failed() && strings.Contains(words(said.String()), says) && !strings.Contains(said.String(), "?."), "%s: said: %s", id, said)
		}
		odd := attribute("meta", map[string]any{"namespace": "team@web", "name": "nginx:8080"})
		w.object().Applied(w.declares(1, odd))
		for _, id := range []string{"team@web:nginx:8080", "team@web:nginx:8080@0:10.0.0.2"} {
			providertest.Silent(t, w.object().Imports(id))
		}
		imported := w.object()
		const missing = "is not registered on 1 of 2 hosts that the import names: b. They are in out_of_sync, and the next apply registers it there"
		if said := imported.Imports("web:nginx@a=0:10.0.0.2,b=0:10.0.0.9"); said.Failed() || !strings.Contains(words(said.String()), missing) {
			t.Errorf("said: %s", said)
		}
		providertest.Same(t, "out_of_sync", map[string]string{"b": "not_registered"}, codes(imported))
	})
}

// If a host is listed twice, in any order, the later registration is imported. If the other has another supplier id,
// a warning names it.
func TestHostedProcess_importTwoRows(t *testing.T) {
	t.Parallel()
	row := func(host, supplier, at int) any {
		return map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx", "labels": map[string]any{"s": fmt.Sprint(supplier)}}, "status": 1, "isauto": true, "pid": 11, "version": "", "register_time": at,
			"host": map[string]any{"ip": fmt.Sprintf("10.0.0.%d", host), "bk_cloud_id": 0, "bk_supplier_id": supplier},
		}
	}
	gone := row(2, 0, 1000)
	gone.(map[string]any)["status"] = 0 //nolint:forcetypeassert // it is one
	const warning = "under more than one bk_supplier_id. The later registration is imported, and this resource leaves the earlier one alone: "
	for name, c := range map[string]struct {
		rows                 []any
		host, label, earlier string
	}{
		"later-first":        {[]any{row(2, 5, 2000), row(2, 0, 1000)}, "0:5:10.0.0.2", "5", "0:0:10.0.0.2"},
		"later-last":         {[]any{row(2, 0, 1000), row(2, 5, 2000)}, "0:5:10.0.0.2", "5", "0:0:10.0.0.2"},
		"providers-is-later": {[]any{row(2, 5, 1000), row(2, 0, 2000)}, "0:10.0.0.2", "0", "0:5:10.0.0.2"},
		"three":              {[]any{row(2, 0, 1000), row(2, 5, 3000), row(2, 7, 2000)}, "0:5:10.0.0.2", "5", "0:0:10.0.0.2, 0:7:10.0.0.2"},
		"gone-before":        {[]any{gone, row(2, 0, 2000)}, "0:10.0.0.2", "0", ""},
		"row-twice":          {[]any{row(2, 0, 1000), row(2, 0, 2000)}, "0:10.0.0.2", "0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, esb)
			w.sim.Registered(t, 1)
			w.sim.Inject(simulator.Fault{API: "sync_proc_status", Replace: map[string]any{"data/proc_infos": c.rows, "data/count": len(c.rows)}})
			object := w.object()
			said := words(object.Imports("web:nginx").String())
			providertest.Same(t, "hosts", map[string]string{"0:10.0.0.2": c.host}, object.Reasons("hosts"))
			listed, listing := w.open().List(tfprotov6.ListResourceRequest{IncludeResource: true}, map[string]any{"namespace": "web"})
			providertest.Check(t, len(listed) == 1, "listed: %v", listed)
			for _, one := range listed {
				resource, _ := one.Resource.(map[string]any)
				meta, _ := resource["meta"].(map[string]any)
				providertest.Same(t, "listed", []any{map[string]any{"0:10.0.0.2": c.host}, map[string]any{"s": c.label}}, []any{resource["hosts"], meta["labels"]})
			}
			for _, said := range []string{said, words(listing)} {
				providertest.Check(t, strings.Contains(said, warning) == (c.earlier != "") && strings.Contains(said, c.earlier), "said: %s", said)
			}
		})
	}
}

// Labels that are the same on every host are imported. A warning names those that differ.
//
// Promised in import-and-adoption.md: Others, such as the `bk_process_id` that GSEKit writes, are
// left out of state, and a warning names them.
func TestHostedProcessResource_importLabels(t *testing.T) {
	t.Parallel()
	gsekit := func(n int) map[string]string {
		return map[string]string{"team": "sre", "bk_process_id": fmt.Sprint(100 + n)}
	}
	for name, c := range map[string]struct {
		labels []map[string]string // by host
		want   map[string]string
		said   string // the warning; none if empty
	}{
		"same":        {[]map[string]string{{"team": "sre"}, {"team": "sre"}}, map[string]string{"team": "sre"}, ""},
		"none":        {[]map[string]string{nil, nil}, nil, ""},
		"differ":      {[]map[string]string{gsekit(1), gsekit(2)}, map[string]string{"team": "sre"}, "on all of its hosts: bk_process_id. meta.labels"},
		"one-has-it":  {[]map[string]string{{"team": "sre"}, nil}, nil, "on all of its hosts: team. meta.labels"},
		"one-empty":   {[]map[string]string{{"team": ""}, nil}, nil, "on all of its hosts: team. meta.labels"},
		"two-of-them": {[]map[string]string{{"b": "1"}, {"a": "2"}}, nil, "on all of its hosts: a, b. meta.labels"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, esb)
			for i, labels := range c.labels {
				w.sim.Colleague(t, "web", "nginx", labels, i+1)
			}
			resource := w.object()
			said := resource.Imports("web:nginx")
			meta, _ := resource.Attribute("meta").(map[string]any)
			providertest.Same(t, "labels", c.want, providertest.Texts(meta["labels"]))
			providertest.Check(t, (len(said) > 0) == (c.said != "") && !said.Failed() && strings.Contains(said.String(), c.said), "%s", said)
		})
	}
}

// If the fingerprints of an import differ, each import of it has the same one.
func TestHostedProcess_importFingerprints(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	for n := 1; n <= 4; n++ {
		w.sim.Colleague(t, "web", "nginx", map[string]string{"tf_spec": fmt.Sprint("print-", n)}, n)
	}
	for range 10 {
		imported := w.object()
		imported.Imports("web:nginx")
		providertest.Same(t, "fingerprint", any("print-4"), imported.Attribute("fingerprint"))
	}
}

// A row of a registration that is gone has labels, and none of them is imported.
func TestHostedProcess_importLeftover(t *testing.T) {
	t.Parallel()
	row := func(host, status int, owner string) any {
		return map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx", "labels": map[string]any{"tf_spec_owner": owner, "team": owner}}, "status": status, "isauto": status > 0, "pid": 11, "version": "",
			"host": map[string]any{"ip": fmt.Sprintf("10.0.0.%d", host), "bk_cloud_id": 0},
		}
	}
	w := newWorld(t, esb)
	w.sim.Registered(t, 2)
	w.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": []any{row(2, 1, "mine"), row(3, 0, "gone")}}})
	object := w.object()
	object.Imports("web:nginx@a=0:10.0.0.2,b=0:10.0.0.3")
	providertest.Same(t, "owner", any("mine"), object.Attribute("owner"))
	meta, _ := object.Attribute("meta").(map[string]any)
	providertest.Same(t, "labels", map[string]string{"team": "mine"}, providertest.Texts(meta["labels"]))
	providertest.Same(t, "out_of_sync", map[string]string{"b": "not_registered"}, codes(object))
}

// Hosts can be imported under the configuration's keys, which the first plan does not change. If keys do change, a
// warning says that no host leaves.
//
// Promised in import-and-adoption.md: The first plan then shows every key as changed. A changed key calls nothing, and a warning says so.
func TestHostedProcessResource_importKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		registered int
		id, said   string
	}{
		"by-address": {3, "web:nginx", `3 of 3 hosts of an import have other keys in the configuration: "0:10.0.0.2" becomes "web-1"`},
		"with-keys":  {3, "web:nginx@web-1=0:10.0.0.2,web-2=0:10.0.0.3,web-3=0:10.0.0.4", ""},
		"some-keys":  {3, "web:nginx@web-1=0:10.0.0.2,0:10.0.0.3,web-3=0:10.0.0.4", `1 of 3 hosts of an import have other keys in the configuration: "0:10.0.0.3" becomes "web-2"`},
		"and-leaves": {4, "web:nginx@web-1=0:10.0.0.2,b=0:10.0.0.3,web-3=0:10.0.0.4,web-4=0:10.0.0.5", "Of the 4 hosts that were imported, 1 leave"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, esb)
			w.sim.Registered(t, c.registered)
			resource := w.object()
			providertest.Silent(t, resource.Imports(c.id))
			config := w.declares(3)
			_, said := resource.Plan(config)
			providertest.Check(t, (len(said) > 0) == (c.said != "") && !said.Failed() && strings.Contains(said.String(), c.said), "the first plan: %s", said)
			resource.Apply(config)
			resource.Settled(config)
		})
	}
}

// Each way to import works with a configuration that refers to the imported spec, and restarts no process.
func TestAccHostedProcessResource_importRoads(t *testing.T) {
	t.Parallel()
	const dependents = `
resource "bk_process_operation" "test" {
  process       = bk_hosted_process.test.process
  operation     = "restart"
  run_on_create = false
}

resource "bk_process_operation" "parts" {
  meta          = bk_hosted_process.test.meta
  hosts         = bk_hosted_process.test.hosts
  spec          = bk_hosted_process.test.spec
  operation     = "restart"
  run_on_create = false
}
`
	config := providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "adopt_existing = true"}.String() + dependents + providertest.StatusConfig(providertest.WithSpec)
	for road, imports := range map[string]func(*providertest.CLI){
		"command": func(cli *providertest.CLI) { cli.Expect(0, "import", providertest.HostedAddress, "web:nginx") },
		"block": func(cli *providertest.CLI) {
			cli.Write("import.tf", "import {\n  to = bk_hosted_process.test\n  id = \"web:nginx@web-1=0:10.0.0.2,web-2=0:10.0.0.3\"\n}\n")
		},
	} {
		t.Run(road, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, esb)
			w.sim.Registered(t, 2)
			w.do(w.sim.StartProcess, 1, 2)
			before := pids(w.sim, 2)
			cli := providertest.NewCLI(t, w.sim, config)
			imports(cli)
			cli.Expect(2, "plan", "-detailed-exitcode")
			cli.Expect(0, "apply", "-auto-approve")
			cli.Expect(0, "plan", "-detailed-exitcode")
			after := pids(w.sim, 2)
			providertest.Check(t, slices.Equal(before, after) && w.at(1).Running && w.at(2).Running, "processes %v became %v", before, after)
			providertest.Same(t, "hosts that were restarted", 0, w.sim.Calls().OfOp(simulator.OpRestart).HostCalls("operate_*"))
		})
	}
}

// listedRow returns a row of a listing of the namespace web, without a host if ip is "".
func listedRow(name, ip string) map[string]any {
	return map[string]any{
		"meta": map[string]any{"namespace": "web", "name": name, "labels": map[string]any{}},
		"host": map[string]any{"ip": ip, "bk_cloud_id": 0, "bk_supplier_id": 0}, "status": 1, "isauto": true, "pid": 11, "version": "",
	}
}

func listing(sim *providertest.Sim, rows ...any) {
	sim.Inject(simulator.Fault{API: "sync_proc_status", Replace: map[string]any{"data/proc_infos": rows, "data/count": len(rows)}})
}

// unplaced are rows that are listed beside those of nginx and redis, which have one host each.
var unplaced = map[string]struct {
	row any
	// failsImport: the row may be one of nginx.
	failsImport bool
	warns       string
	// aboutRedis: a listing with the prefix redis warns too.
	aboutRedis bool
}{
	"of-the-process":   {listedRow("nginx", ""), true, `Namespace "web" has rows that name no host, of ["nginx"].`, false},
	"of-another":       {listedRow("redis", ""), false, `Namespace "web" has rows that name no host, of ["redis"].`, true},
	"of-a-longer-name": {listedRow("nginx-exporter", ""), false, `Namespace "web" has rows that name no host, of ["nginx-exporter"].`, false},
	"of-no-name":       {listedRow("", ""), true, `Namespace "web" has rows that name no host, of [""].`, true},
	"unreadable":       {7, true, `Namespace "web" has rows that could not be read.`, true},
}

// A host that an import lacks would never be unregistered, so the import fails if a row without a host may be of its process.
func TestHostedProcessResource_importOfUnplaced(t *testing.T) {
	t.Parallel()
	for name, c := range unplaced {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, esb)
			w.sim.Colleague(t, "web", "nginx", nil, 1)
			first := providertest.Address(1)
			listing(w.sim, listedRow("nginx", first[len("0:"):]), c.row, listedRow("redis", "10.0.0.2"), with(listedRow("nginx", "10.0.0.9"), "status", 0))
			resource, hosts := w.object(), map[string]string{first: first}
			said := resource.Imports("web:nginx")
			if c.failsImport {
				hosts = nil
				for _, want := range []string{"ERROR: Unable to Import Hosted Process", c.warns, "Nothing was imported", "web:nginx@0:10.0.0.1,0:10.0.0.2"} {
					providertest.Check(t, strings.Contains(said.String(), want), "it does not say %q: %s", want, said)
				}
			}
			diff := cmp.Diff(hosts, resource.Reasons("hosts"), cmpopts.EquateEmpty())
			providertest.Check(t, diff == "" && said.Failed() == c.failsImport, "hosts (-want +got):\n%s\nsaid: %s", diff, said)
		})
	}
}

// A listing returns the processes that it can place, and warns that there may be more.
func TestHostedProcessListResource_unplaced(t *testing.T) {
	t.Parallel()
	for name, c := range unplaced {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			listing(sim, listedRow("nginx", "10.0.0.1"), c.row, listedRow("redis", "10.0.0.2"), with(listedRow("redis-old", "10.0.0.2"), "status", 0)) // unregistered
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
				providertest.Same(t, name, list.want, listedNames(results))
				warned := strings.Contains(said, "WARNING: Hosted Processes Listed In Part") && strings.Contains(said, c.warns)
				providertest.Check(t, warned == list.warns && (said != "") == list.warns && strings.Count(said, "WARNING") <= 1, "%s: it says %q", name, said)
			}
		})
	}
}

// Control characters of a name are not displayed, but the identity has them.
func TestHostedProcessListResource_printable(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	listing(sim, listedRow("ng\x1b[31minx\u202e", "10.0.0.1"))
	results, said := sim.Configured(t).List(tfprotov6.ListResourceRequest{}, map[string]any{"namespace": "web"})
	if want := []string{"web:ng[31minx"}; said != "" || !slices.Equal(listedNames(results), want) {
		t.Fatalf("got %q and %s, want %q", listedNames(results), said, want)
	}
	identity, ok := results[0].Identity.(map[string]any)
	providertest.Check(t, ok && maps.Equal(identity, map[string]any{"namespace": "web", "name": "ng\x1b[31minx\u202e"}), "identity %q", results[0].Identity)
}

// unapplied returns a resource that was imported and never applied, so its spec is unknown. Its process is
// registered, hosted and running on two hosts.
func (w *world) unapplied() *providertest.Core {
	w.Helper()
	w.object().Applied(w.declares(2))
	w.do(w.sim.StartProcess, 1, 2)
	resource := w.object()
	providertest.Silent(w, resource.Imports("web:nginx"))
	w.sim.ResetCalls()
	return resource
}

// Destroying a resource that was imported and never applied unregisters it, but stops nothing, because there is no
// spec. The gateway cannot unregister without a spec either, so the resource stays.
func TestHostedProcess_destroyUnapplied(t *testing.T) {
	t.Parallel()
	all := on("unregister_proc_info", 1, 2)
	for _, ending := range fleet.OnDestroys() {
		for name, c := range map[string]struct {
			by    providertest.Face
			calls []string
			says  string
		}{
			"esb":          {esb, []string{all}, ""},
			"esb-repeated": {esb, []string{on("unregister_proc_info", 1), all}, ""},
			"gateway":      {gateway, nil, "this gateway wants the spec"},
		} {
			t.Run(fmt.Sprintf("%s/%s", name, ending), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, c.by)
				resource := w.unapplied()
				set(resource, "on_destroy", string(ending))
				if len(c.calls) > 1 { // it took effect on one host, with code 115
					w.on("unregister_proc_info", once(simulator.Fault{Code: new(115), Apply: true}))
				}

				said := resource.DestroyUnrefreshed()

				if said.Failed() != (c.says != "") || !strings.Contains(said.String(), c.says) || resource.State.IsNull() == said.Failed() {
					t.Errorf("said: %s; state is %s", said, resource.State)
				}
				providertest.Same(t, "calls that change something", c.calls, w.sim.Changes())
				for n := 1; n <= 2; n++ {
					p := w.at(n)
					providertest.Check(t, p.Running && p.Hosted == said.Failed(), "web-%d is %+v", n, p)
				}
			})
		}
	}
}

// unregister_proc_info does not find a process that was only hosted. Without a spec the process cannot be unhosted,
// so the destroy fails, with or without a row.
func TestHostedProcess_destroyUnappliedHosting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb) // the gateway has no unregister_proc_info
	w.do(w.sim.Host, 1, 2)
	resource := w.object()
	providertest.Silent(t, resource.Imports("web:nginx"))
	before := resource.Reasons("hosts")
	w.sim.Inject(simulator.Fault{API: "*_proc_status*", Hosts: []string{providertest.Address(2)}, Missing: -1})

	said := resource.DestroyUnrefreshed()

	providertest.Fails(t, said, "the agent may still host the process", "on 2 of 2 hosts")
	hosts := resource.Reasons("hosts")
	providertest.Check(t, cmp.Equal(hosts, before) && len(hosts) == 2, "hosts of the state: %v", hosts)
	expectHosted(t, w.sim, 2)
}

// A refresh after an import also names a host whose row has no status. Without a spec its agent cannot be asked, and
// the host is neither drift nor gone.
func TestHostedProcess_unknownAfterImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	w.settings["max_hosts_per_request"] = 1
	resource := w.unapplied()
	w.on("get_proc_status_v2", simulator.Fault{Replace: map[string]any{"data/proc_infos/*/status": nil}}, 2)

	said := resource.Refresh()

	for _, want := range []string{"Agents Not Reachable", "on 1 of 2 hosts", "\n  " + providertest.Address(2) + ": the platform's row has no status\n"} {
		providertest.Check(t, strings.Contains(said.String(), want) && !said.Failed(), "%q is not in: %s", want, said)
	}
	left := resource.Reasons("out_of_sync")
	providertest.Check(t, len(left) == 0 && !resource.State.IsNull(), "out_of_sync is %v in %s", left, resource.State)
	calls := w.sim.Calls().Of("operate_*")
	providertest.Check(t, len(calls) == 0, "agents were asked without a spec: %v", calls.APIs())
}

// The first apply after an import compares each host with the cached status. What differs is registered again, what matches is left alone,
// and what is missing is registered.
//
// Promised in import-and-adoption.md: Every other host is registered again, with your spec.
// Promised in import-and-adoption.md: A host whose fingerprint matches isn't called.
func TestHostedProcess_firstApplyAfterImport(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.object().Applied(w.declares(2))
		w.sim.Colleague(t, "web", "nginx", map[string]string{"owner": "other-team"}, 2)
		resource := w.object()
		said := resource.Imports("web:nginx@web-1=0:10.0.0.2,web-2=0:10.0.0.3,web-3=0:10.0.0.4")
		providertest.Check(t, !said.Failed() && strings.Contains(said.String(), "on all of its hosts: owner. meta.labels"), "said: %s", said)
		w.play(resource, step{
			name: "applied", config: w.declares(3), calls: []string{on("operate_proc_v2/3", 3), on("register_proc_info", 3), on("update_proc_info", 2)},
		})
	})
}

// A host that another resource has taken over since the import, and that leaves in the first apply, is not unregistered.
func TestHostedProcess_leavesAfterImport(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.colleague(1, 3)
		imported, other := w.object(), w.object()
		imported.Imports("web:nginx@web-1=0:10.0.0.2,web-3=0:10.0.0.4")
		other.Applied(w.declares(0, attribute("hosts", addresses(3)), attribute("adopt_existing", true)))
		w.play(imported, step{
			name: "applied", config: w.declares(1), calls: []string{on("update_proc_info", 1)}, says: "Hosts Belong To Another Resource",
		})
		providertest.Check(t, w.at(3).Registered && w.at(3).Hosted, "web-3 has %+v", w.at(3))
	})
}

// No interrupted apply can precede the first one after an import, so that one restarts what it changes.
func TestHostedProcess_restartsAfterImport(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		w.hosted(1)
		w.do(w.sim.StartProcess, 1)
		resource := w.object()
		resource.Imports("web:nginx@web-1=0:10.0.0.2")
		w.play(resource, step{name: "applied", config: w.changed(1, attribute("on_update", "restart")), calls: []string{on("operate_proc_v2/7", 1), on("update_proc_info", 1)}})
	})
}

// A registration without an owner gets one with the first update after its import, which is also in state.
func TestHostedProcessResource_importWithoutOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	w.sim.Colleague(t, "web", "nginx", nil, 1)
	resource := w.object()
	resource.Imports("web:nginx@web-1=0:10.0.0.2")
	mark := resource.Attribute("fingerprint")
	providertest.Check(t, mark == nil, "imported with the fingerprint %q, and the registration has none", mark)
	resource.Applied(w.declares(1))
	owner := resource.Attribute("owner")
	providertest.Check(t, owner != nil && owner == w.at(1).Labels["tf_spec_owner"], "the owner is %v in state, and registered with %v", owner, w.at(1).Labels)
}

// An earlier registration under another supplier id is removed as the warning of an import says, and the process is
// hosted afterwards, although its agent has stopped hosting it.
func TestHostedProcess_importEarlierRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	w.colleague(1)
	rows := make([]any, 2)
	for i, supplier := range []int{0, 5} {
		row := listedRow("nginx", "10.0.0.2")
		row["register_time"] = 2000 - supplier
		row["host"].(map[string]any)["bk_supplier_id"] = supplier //nolint:forcetypeassert // it is one
		rows[i] = row
	}
	listing(w.sim, rows...)
	object, earlier := w.object(), w.object()
	said := object.Imports("web:nginx")
	providertest.Check(t, !said.Failed() && tells(said, "leaves the earlier one alone: 0:5:10.0.0.2. To remove an earlier one, import it by that address into a resource of its own, and "+
		"destroy that. An agent hosts one process, and may stop hosting it then: plan this resource afterwards, and apply what that finds."), "said: %s", said)
	w.repair()
	config := w.declares(0, attribute("hosts", addresses(1)))
	object.Apply(config)
	providertest.Silent(t, earlier.Imports("web:nginx@0:5:10.0.0.2"))
	earlier.Destroyed()
	object.Protocol = w.open()
	object.Apply(config)
	object.Settled(config)
	providertest.Check(t, w.at(1).Hosted && w.at(1).Running, "it is %+v", w.at(1))
}
