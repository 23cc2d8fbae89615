package provider_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

var describedDefault = regexp.MustCompile("Defaults to `([^`]*)`")

// leftOut shows the effect of an attribute that is not set.
type leftOut struct {
	described string // the default, as in descriptions
	// same is a value with the effect of the default, other one with another effect.
	same, other any
	// outcome is the effect of a value; nil leaves the attribute unset.
	outcome func(t *testing.T, typ string, value any) string
}

// durations are settings whose default a test would have to wait for.
var durations = map[string]bool{"request_timeout": true, "retry_wait_min": true, "retry_wait_max": true, "rollout.healthy.within": true}

// leftOutOf are attributes with a default in the code that uses them, by name.
var leftOutOf = map[string]leftOut{
	"adopt_existing":      {"false", false, true, onExisting},
	"forget_unreachable":  {"false", false, true, onDeadHosts},
	"run_on_create":       {"true", true, false, onFirstRun},
	"max_failed_hosts":    {"0", "0", "1", inWavesThatFail},
	"on_update":           {"register", "register", "restart", onUpdate(false)},
	"on_failure":          {"stop", "stop", "rollback", onUpdate(true)},
	"deletion_protection": {"false", false, true, onDestroy},
	"mode":                {"live", "live", "cached", readWith("mode")},
	"address":             {"auto", "auto", "ip", readWith("address")},
	"key":                 {"{bk_host_innerip}", "{bk_host_innerip}", "{bk_host_id}", readWith("key")},
	"group_by":            {"module", "module", "name", readWith("group_by")},
	"min_hosts":           {"1", 1, 0, readWith("min_hosts")},
	"os":                  {"linux", "linux", "windows", onSystem},
}

// The default in an attribute's description is the effect of leaving it unset.
//
// Promised in limits.md: over all resources of a provider block | 8 |.
// Promised in faq.md: `esb` is the default.
func TestDefaults_asDescribed(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	seen := make(map[string]bool)
	described := func(typ string, schema *tfprotov6.Schema, check func(name, value string)) {
		providertest.EachAttribute(schema.Block.Attributes, func(at string, a *tfprotov6.SchemaAttribute) {
			match := describedDefault.FindStringSubmatch(a.Description)
			name := at[strings.LastIndex(at, ".")+1:]
			row, listed := leftOutOf[name]
			switch {
			case match == nil:
			case strings.HasPrefix(at, "timeouts.") || durations[at]:
				// The text is made from the duration in the code, for which a test cannot wait.
			case !listed:
				check(at, match[1])
			case match[1] != row.described:
				t.Errorf("%s: the default of %s is %s, not %s", typ, at, row.described, match[1])
			default:
				seen[name] = true
				t.Run(typ+"-"+at, func(t *testing.T) {
					t.Parallel()
					none := row.outcome(t, typ, nil)
					if same := row.outcome(t, typ, row.same); same != none {
						t.Errorf("%s = %v does:\n%s\nand without it:\n%s", at, row.same, same, none)
					}
					if other := row.outcome(t, typ, row.other); other == none {
						t.Errorf("%s = %v does the same as without it:\n%s", at, row.other, none)
					}
				})
			}
		})
	}
	for block, schema := range p.Blocks() {
		kind, typ, _ := strings.Cut(block, " ")
		switch kind {
		case "provider":
			described(block, schema, func(name, _ string) {
				shows := func(row settingRow) bool { return row.setting == name && row.byDefault != "" }
				if !slices.ContainsFunc(slices.Collect(maps.Values(settingRows)), shows) {
					t.Errorf("no row of settingRows shows the default of %s", name)
				}
			})
		case "resource":
			plan, said := p.CoreOf(typ, &providertest.Kept{}).Plan(declaring(typ, nil))
			if said.Failed() {
				t.Fatal(typ, said)
			}
			described(typ, schema, func(name, value string) {
				if got := fmt.Sprint(plan.Planned(t)[name]); !strings.Contains(got, `<"`+value+`">`) {
					t.Errorf("%s: %s is planned as %s, want %s", typ, name, got, value)
				}
			})
		default:
			described(block, schema, func(name, value string) { t.Errorf("%s: nothing shows that %s is %s", block, name, value) })
		}
	}
	for name := range leftOutOf {
		providertest.Check(t, seen[name], "no description has a default of %s", name)
	}
}

func faceOf(typ string) providertest.Face {
	if strings.Contains(typ, "bk_job_") {
		return providertest.FaceJOB
	}
	return providertest.FaceESB
}

func declaring(typ string, more map[string]any) map[string]any {
	config := faceOf(typ).Reference("./start.sh", 3)
	if strings.HasSuffix(typ, "operation") {
		config["operation"] = "restart"
	}
	return merged(config, more)
}

func with(name string, value any) map[string]any {
	if value == nil {
		return nil
	}
	return map[string]any{name: value}
}

func stageFor(t *testing.T, typ string) (*providertest.Sim, *providertest.Core) {
	t.Helper()
	sim := providertest.NewSim(t)
	p := providertest.ConfiguredWith(t, sim.SettingsFor(faceOf(typ)))
	if p.Schema.ResourceSchemas[typ] == nil {
		return sim, &providertest.Core{Protocol: p}
	}
	return sim, p.CoreOf(typ, &providertest.Kept{})
}

func onExisting(t *testing.T, typ string, value any) string {
	t.Helper()
	sim, resource := stageFor(t, typ)
	target := faceOf(typ).Target(providertest.OnCreate)
	sim.Inject(simulator.Fault{API: target.API, Op: target.Op, Hosts: []string{providertest.Address(2)}, Code: new(850), Times: 1})
	resource.Apply(declaring(typ, with("adopt_existing", value)))
	return fmt.Sprint(slices.Sorted(maps.Keys(resource.Reasons("out_of_sync"))))
}

func onDeadHosts(t *testing.T, typ string, value any) string {
	t.Helper()
	sim, resource := stageFor(t, typ)
	resource.Applied(declaring(typ, with("forget_unreachable", value)))
	sim.SetReachable(providertest.Address(2), false)
	said := resource.DestroyUnrefreshed()
	return fmt.Sprint(said.Failed(), resource.Reasons("hosts"))
}

func onFirstRun(t *testing.T, typ string, value any) string {
	t.Helper()
	sim, resource := stageFor(t, typ)
	startedBy(t, sim, typ)
	resource.Apply(declaring(typ, with("run_on_create", value)))
	return fmt.Sprint(sim.Calls().OfOp(simulator.OpRestart).HostCalls("operate_*"))
}

func inWavesThatFail(t *testing.T, typ string, value any) string {
	t.Helper()
	sim, resource := stageFor(t, typ)
	more := map[string]any{"rollout": merged(map[string]any{"batch_size": 1}, with("max_failed_hosts", value))}
	api := "*"
	if strings.HasSuffix(typ, "hosted_process") {
		api = faceOf(typ).Target(providertest.OnCreate).API
	} else {
		startedBy(t, sim, typ)
	}
	sim.Inject(simulator.Fault{API: api, Hosts: []string{providertest.Address(1)}, Code: new(65535)})
	if action, is := strings.CutPrefix(typ, "action "); is {
		resource.Invoke(t.Context(), action, declaring(typ, more))
	} else {
		resource.Apply(declaring(typ, more))
	}
	return fmt.Sprint(sim.Changes())
}

func onDestroy(t *testing.T, typ string, value any) string {
	t.Helper()
	_, resource := stageFor(t, typ)
	resource.Applied(declaring(typ, map[string]any{"safety": merged(map[string]any{"max_removed_hosts": "100%"}, with("deletion_protection", value))}))
	said := resource.DestroyUnrefreshed()
	return fmt.Sprint(said.Failed(), resource.State.IsNull())
}

// onUpdate changes the command of a running process, in waves of one host. With fails, the second wave
// fails.
func onUpdate(fails bool) func(t *testing.T, typ string, value any) string {
	return func(t *testing.T, typ string, value any) string {
		t.Helper()
		sim, resource := stageFor(t, typ)
		rollout := map[string]any{"batch_size": 1}
		config := declaring(typ, map[string]any{"rollout": rollout})
		resource.Applied(config)
		startedBy(t, sim, typ)
		maps.Copy(config, faceOf(typ).Reference("./other.sh", 3))
		if fails {
			maps.Copy(rollout, with("on_failure", value))
			target := faceOf(typ).Target(providertest.OnUpdate)
			sim.Inject(simulator.Fault{API: target.API, Op: target.Op, Hosts: []string{providertest.Address(2)}, Code: new(65535), Times: 1})
		} else {
			maps.Copy(config, with("on_update", value))
		}
		resource.Apply(config)
		return fmt.Sprint(sim.Changes(), slices.Sorted(maps.Keys(resource.Reasons("out_of_sync"))))
	}
}

func startedBy(t *testing.T, sim *providertest.Sim, typ string) {
	t.Helper()
	namespace, name := faceOf(typ).Process()
	for n := 1; n <= 3; n++ {
		host := providertest.Address(n)
		providertest.NoError(t, sim.Host(host, namespace, name), sim.StartProcess(host, namespace, name))
	}
	sim.ResetCalls()
}

func onSystem(t *testing.T, _ string, system any) string {
	t.Helper()
	s := newSettingScene(t)
	s.begin(s.Settings(map[string]any{"gateway": "apigw"}))
	return s.scriptOf(system)
}

func readWith(attribute string) func(t *testing.T, typ string, value any) string {
	return func(t *testing.T, typ string, value any) string {
		t.Helper()
		typ = strings.TrimPrefix(typ, "data ")
		if typ == "bk_process_status" {
			sim, p := stageFor(t, typ)
			_, said := p.ReadData(typ, declaring(typ, with(attribute, value)))
			return fmt.Sprint(said, sim.Calls().APIs())
		}
		sim := providertest.NewSimOf(t, `{"businesses": [{"id": 3, "name": "shop",
		  "templates": [{"name": "web", "processes": [{"bk_process_name": "web", "bk_func_name": "web", "user": "shop", "priority": 1, "proc_num": 1,
		    "work_path": "/opt/web", "pid_file": "/run/web.pid", "start_cmd": "./start.sh"}]}],
		  "sets": [{"name": "gz", "modules": [{"name": "web", "template": "web", "hosts": [{"count": 2, "ip": "10.0.1.1"}]}, {"name": "empty"}]}]}]}`)
		settings := sim.SettingsFor(providertest.FaceGateway)
		settings["cmdb_endpoint"] = sim.CMDBEndpoint()
		module := map[bool]string{true: "empty", false: "web"}[attribute == "min_hosts"]
		config := merged(map[string]any{"bk_biz_id": 3, "topology": map[string]any{"module": module}}, with(attribute, value))
		read, said := providertest.ConfiguredWith(t, settings).ReadData(typ, config)
		delete(read, attribute)
		return fmt.Sprint(read, said)
	}
}

// Each attribute has a description, in Markdown. It must be short; longer text belongs into a guide.
func TestDescriptions_areShort(t *testing.T) {
	t.Parallel()
	const most = 45
	p := providertest.NewProtocol(t)
	for block, schema := range p.Blocks() {
		providertest.EachAttribute(schema.Block.Attributes, func(at string, a *tfprotov6.SchemaAttribute) {
			if words := len(strings.Fields(a.Description)); words == 0 || words > most || a.DescriptionKind != tfprotov6.StringKindMarkdown {
				t.Errorf("%s.%s has %d words, of at most %d, in %s: %s", block, at, words, most, a.DescriptionKind, a.Description)
			}
		})
	}
}
