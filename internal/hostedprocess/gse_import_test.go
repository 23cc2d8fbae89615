package hostedprocess_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// An import finds what was applied, but for what the platform does not tell.
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
		for _, untold := range []string{"spec", "process", "labels_all", "rollout_plan"} {
			want[untold] = nil
		}
		for _, id := range []string{"web:nginx", "web:nginx@0:10.0.0.2,0:10.0.0.3"} {
			imported := w.object()
			said := imported.Imports(id)
			got, _ := providertest.Plain(t, imported.State).(map[string]any)
			got["process"] = nil // without the spec
			if diff := cmp.Diff(want, got); diff != "" || len(said) > 0 {
				t.Errorf("%s (-want +got):\n%s\n%s", id, diff, said)
			}
		}
		for id, says := range map[string]string{
			"web": `"web" is not an import id; an import id is`, "web:other": "Hosted Process Not Found", "web:nginx@10.0.0.1": "has no bk_cloud_id",
			"web:nginx@a=0:10.0.0.9,b=0:10.0.0.10": "is not registered on any of the hosts that the import names: a, b. Nothing was imported",
		} {
			if said := w.object().Imports(id); !said.Failed() || !strings.Contains(words(said.String()), says) {
				t.Errorf("%s: said: %s", id, said)
			}
		}
		imported := w.object()
		const missing = "is not registered on 1 of 2 hosts that the import names: b. They are in out_of_sync, and the next apply registers it there"
		if said := imported.Imports("web:nginx@a=0:10.0.0.2,b=0:10.0.0.9"); said.Failed() || !strings.Contains(words(said.String()), missing) {
			t.Errorf("said: %s", said)
		}
		if left, _ := imported.Attribute("out_of_sync").(map[string]any); len(left) != 1 || left["b"] == nil {
			t.Errorf("out_of_sync: %v", left)
		}
	})
}

// Labels that every host has in the same way are imported. What differs from host to host
// is named, and no host's value becomes that of all.
//
// Promised in import-and-adoption.md: Others, such as the `bk_process_id` that GSEKit writes, are
// left out of state, and a warning names them with their values.
func TestHostedProcessResource_importLabels(t *testing.T) {
	t.Parallel()
	gsekit := func(n int) map[string]string {
		return map[string]string{"team": "sre", "bk_process_id": fmt.Sprint(100 + n)}
	}
	for name, c := range map[string]struct {
		labels []map[string]string // by host
		want   map[string]string
		said   string // the row of the warning; none if empty
	}{
		"same":        {[]map[string]string{{"team": "sre"}, {"team": "sre"}}, map[string]string{"team": "sre"}, ""},
		"none":        {[]map[string]string{nil, nil}, nil, ""},
		"differ":      {[]map[string]string{gsekit(1), gsekit(2)}, map[string]string{"team": "sre"}, `  bk_process_id: "101" on 0:10.0.0.2; "102" on 0:10.0.0.3` + "\n"},
		"one-has-it":  {[]map[string]string{{"team": "sre"}, nil}, nil, `  team: "sre" on 0:10.0.0.2; not set on 0:10.0.0.3` + "\n"},
		"two-of-them": {[]map[string]string{{"a": "1"}, {"b": "2"}}, nil, "  a: \"1\" on 0:10.0.0.2; not set on 0:10.0.0.3\n  b: \"2\" on 0:10.0.0.3; not set on 0:10.0.0.2\n"},
		"many-values": {
			[]map[string]string{gsekit(1), gsekit(2), gsekit(3), gsekit(4), gsekit(5), gsekit(6), gsekit(7)},
			map[string]string{"team": "sre"}, `"105" on 0:10.0.0.6; and 2 more values` + "\n",
		},
		"by-ranges": {[]map[string]string{{"zone": "a"}, {"zone": "a"}, {"zone": "a"}, {"zone": "b"}}, nil, `  zone: "a" on 0:10.0.0.2…0:10.0.0.4; "b" on 0:10.0.0.5` + "\n"},
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
			if diff := cmp.Diff(c.want, providertest.Texts(meta["labels"])); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if (len(said) > 0) != (c.said != "") || said.Failed() || !strings.Contains(said.String(), c.said) {
				t.Errorf("%s", said)
			}
		})
	}
}

// Hosts can be imported under keys of one's own, and the first plan has no line for them
// then; where it has, it says that no host leaves for that.
//
// Promised in import-and-adoption.md: The first plan then shows every key as changed. A changed
// key calls nothing, and a warning says so.
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
			if said := resource.Imports(c.id); len(said) > 0 {
				t.Fatal(said)
			}
			config := w.declares(3)
			_, said := resource.Plan(config)
			if (len(said) > 0) != (c.said != "") || said.Failed() || !strings.Contains(said.String(), c.said) {
				t.Errorf("the first plan: %s", said)
			}
			resource.Apply(config)
			if plan, said := resource.Plan(config); plan.Action != providertest.PlanNothing || len(said) > 0 {
				t.Errorf("the plan after the apply: %s %s", plan.Action, said)
			}
		})
	}
}

// On every road an import works with a configuration that refers to the spec of what is
// imported, and nothing that runs is restarted.
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
			if after := pids(w.sim, 2); !slices.Equal(before, after) || !w.at(1).Running || !w.at(2).Running {
				t.Errorf("processes %v became %v", before, after)
			}
			if got := w.sim.Calls().OfOp(simulator.OpRestart).HostCalls("operate_*"); got != 0 {
				t.Errorf("%d hosts were restarted", got)
			}
		})
	}
}
