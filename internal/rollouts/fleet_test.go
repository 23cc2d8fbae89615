package rollouts

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/blueking/terraform-provider-bk/internal/provider"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // plans are short-lived
	providertest.Main(m)
}

type rollout struct {
	t        *testing.T
	sim      *providertest.Sim
	by       providertest.Face
	hosts    int
	kept     *providertest.Kept
	resource *providertest.Core
	config   map[string]any
	typ      string
	// namespace and name identify the process on the platform.
	namespace, name string
	clock           *providertest.Clock // for gates and pauses, nil for the real one
}

var faces = []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB}

// begun applies ./v1.sh with one host in each wave, starts the process on each host, and resets the recorded calls.
func begun(t *testing.T, by providertest.Face, hosts int, more map[string]any) *rollout {
	t.Helper()
	return begunAt(t, providertest.NewSim(t), by, hosts, more)
}

func begunAt(t *testing.T, sim *providertest.Sim, by providertest.Face, hosts int, more map[string]any) *rollout {
	t.Helper()
	r := newRollout(t, sim, by, providertest.OnCreate, hosts, map[string]any{"rollout": map[string]any{"batch_size": 1}, "on_update": "restart"})
	r.set(more)
	r.runs()
	return r
}

func newRollout(t *testing.T, sim *providertest.Sim, by providertest.Face, on providertest.Operation, hosts int, more map[string]any) *rollout {
	t.Helper()
	r := &rollout{t: t, sim: sim, by: by, hosts: hosts, kept: &providertest.Kept{}, config: by.Reference("./v1.sh", hosts), typ: by.TypeName(on)}
	r.namespace, r.name = by.Process()
	r.set(more)
	r.newProvider()
	return r
}

// runs creates the object, starts its process on each host, and resets the recorded calls.
func (r *rollout) runs() {
	r.t.Helper()
	r.resource.Applied(r.config)
	for n := 1; n <= r.hosts; n++ {
		providertest.NoError(r.t, r.sim.StartProcess(providertest.Address(n), r.namespace, r.name))
	}
	r.sim.ResetCalls()
}

type scenario struct {
	at    []providertest.Face
	hosts int
	more  map[string]any // more of the configuration
	play  func(*rollout)
}

func plays(t *testing.T, scenarios map[string]scenario) {
	t.Helper()
	for name, s := range scenarios {
		for _, by := range providertest.Through(t, name, s.at) {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				s.play(begun(t, by, s.hosts, s.more))
			})
		}
	}
}

// withLabels are the faces whose registrations carry labels. twoFaces have nothing in common, for what does not depend on the face.
var (
	withLabels = []providertest.Face{providertest.FaceESB, providertest.FaceGateway}
	twoFaces   = []providertest.Face{providertest.FaceESB, providertest.FaceJOB}
)

// newProvider starts a new provider for the next run.
func (r *rollout) newProvider() {
	r.t.Helper()
	if settings := r.sim.SettingsFor(r.by); r.clock == nil {
		r.resource = providertest.ConfiguredWith(r.t, settings).CoreOf(r.typ, r.kept)
	} else {
		r.resource = providertest.ConfiguredBy(r.t, r.clock, settings).CoreOf(r.typ, r.kept)
	}
}

func (r *rollout) declare(start string) {
	maps.Copy(r.config, r.by.Reference(start, r.hosts))
}

// apply applies the configuration. said is part of the error, or "" if none is expected. want, if given, is compared with seen.
func (r *rollout) apply(said string, want ...string) string {
	r.t.Helper()
	r.sim.ResetCalls()
	r.newProvider()
	_, diags := r.resource.Apply(r.config)
	providertest.Check(r.t, diags.Failed() == (said != "") && strings.Contains(diags.String(), said), "want %q, said: %s", said, diags)
	if len(want) > 0 {
		r.want(want...)
	}
	return diags.String()
}

func (r *rollout) update(start, said string, want ...string) string {
	r.t.Helper()
	r.declare(start)
	return r.apply(said, want...)
}

func (r *rollout) set(attributes map[string]any) { maps.Copy(r.config, attributes) }

func (r *rollout) label(team string) {
	r.set(map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx", "labels": map[string]any{"team": team}}})
}

func (r *rollout) fail(hosts ...int) { r.sim.Inject(failing(simulator.OpRestart, hosts...)) }

func (r *rollout) failOnce(host int) {
	fault := failing(simulator.OpRestart, host)
	fault.Times = 1
	r.sim.Inject(fault)
}

func failing(op int, hosts ...int) simulator.Fault {
	return simulator.Fault{API: "operate_*", Op: &op, Hosts: providertest.AddressList(hosts), Code: new(simulator.CodeCommandFailed), Message: "no such file"}
}

// rest stops the process on a host and leaves it hosted.
func (r *rollout) rest(host int) {
	r.t.Helper()
	providertest.NoError(r.t, r.sim.StopProcess(providertest.Address(host), r.namespace, r.name))
	providertest.NoError(r.t, r.sim.Host(providertest.Address(host), r.namespace, r.name))
}

// seen returns for each host the registered version and what reached its agent in the last apply, such as "v2 restart".
func (r *rollout) seen() []string {
	seen := make([]string, r.hosts)
	for n := 1; n <= r.hosts; n++ {
		process := r.sim.Machine(providertest.Address(n)).Process(r.namespace, r.name)
		text := ""
		for _, entry := range process.Entries {
			for _, version := range []string{"v1", "v2", "v3"} {
				if strings.Contains(entry.Spec, "./"+version+".sh") {
					text += version
				}
			}
		}
		for _, o := range process.Operations {
			if o.Action == "start" || o.Action == "restart" || o.Action == "reload" {
				text += " " + o.Action
				if o.Times > 1 {
					text += fmt.Sprintf(" %d times", o.Times)
				}
			}
		}
		if !process.Running {
			text += " down"
		}
		seen[n-1] = text
	}
	return seen
}

func (r *rollout) want(want ...string) {
	r.t.Helper()
	providertest.Same(r.t, "what is registered on each host and reached it", want, r.seen())
}

func (r *rollout) wantLeft(want map[string]string) {
	r.t.Helper()
	got := make(map[string]string)
	for key, reason := range r.resource.Reasons("out_of_sync") {
		got[key], _, _ = strings.Cut(reason, ":")
	}
	providertest.Same(r.t, "out_of_sync", want, got)
}

func (r *rollout) wantReasons(attribute string, want map[string]string) {
	r.t.Helper()
	providertest.Same(r.t, attribute, want, r.resource.Reasons(attribute))
	providertest.Check(r.t, !r.resource.State.IsNull(), "nothing is in state")
}

func (r *rollout) wantExecuted(action string, want ...int) {
	r.t.Helper()
	var hosts []string
	for _, e := range r.sim.Executions() {
		if e.Action == action {
			hosts = append(hosts, e.Host)
		}
	}
	slices.Sort(hosts)
	providertest.Same(r.t, action+" on hosts", providertest.AddressList(want), hosts)
}

func (r *rollout) wantPlanned(want string) {
	r.t.Helper()
	providertest.Same(r.t, "rollout_plan", any(want), r.resource.Attribute("rollout_plan"))
}

func (r *rollout) wantSettled() {
	r.t.Helper()
	r.newProvider()
	r.sim.ResetCalls()
	if kind, said := r.resource.Apply(r.config); kind != providertest.PlanNothing || len(said) > 0 || len(r.sim.Changes()) > 0 {
		r.t.Errorf("something was left to do: %s %v\n%s", kind, r.sim.Changes(), said)
	}
	r.wantLeft(map[string]string{})
}

func shownIn(t *testing.T, guide string, n int) []string {
	t.Helper()
	text := providertest.ReadFile(t, "../../templates/guides", guide+".md.tmpl")
	var shown []string
	for _, output := range regexp.MustCompile("(?s)\n\n```\n(.*?)\n```\n").FindAllStringSubmatch(text, -1) {
		shown = append(shown, output[1])
	}
	if len(shown) != n {
		t.Fatalf("the guide shows %d outputs, want %d", len(shown), n)
	}
	return shown
}

func playSteps(t *testing.T, steps ...resource.TestStep) {
	t.Helper()
	clock := new(providertest.Clock)
	resource.Test(t, resource.TestCase{Steps: steps, ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
		"bk": func() (tfprotov6.ProviderServer, error) {
			options := provider.DefaultOptions("test")
			options.Clock = clock
			return provider.NewServer(options), nil
		},
	}})
}

// The guide about a release that goes wrong shows what its example prints, and each of its ways out works.
//
// Promised in bad-release.md: the apply ends with an error, and no second wave begins.
func TestAccExamples_badRelease(t *testing.T) {
	t.Parallel()
	shown := shownIn(t, "bad-release", 2)
	stopped, tookBack := shown[0], shown[1]
	for name, c := range map[string]struct {
		shown    string
		rollback bool
		next     string // the release after the bad one
	}{
		"back":     {stopped, false, "1.4"},
		"on":       {stopped, false, "1.6"},
		"rollback": {tookBack, true, "1.6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Inject(simulator.Fault{API: "operate_*", Command: "1.5", Op: new(simulator.OpRestart), Dies: 2, Revived: true})
			example := sim.ProviderConfig() + providertest.ReadExample(t, "guides/bad-release/main.tf")
			if c.rollback {
				example = strings.Replace(example, "rollout = {", "rollout = {\n    on_failure = \"rollback\"", 1)
			}
			release := func(release string) resource.TestStep {
				return resource.TestStep{Config: example, ConfigVariables: config.Variables{"release": config.StringVariable(release)}}
			}
			failing := release("1.5")
			failing.ExpectError = regexp.MustCompile(pattern(c.shown))
			playSteps(t, release("1.4"), failing, release(c.next))
			if back := sim.Calls().OfOp(simulator.OpRestart); name == "back" {
				last := back[len(back)-1]
				providertest.Check(t, len(back) == 2 && len(last.Hosts) == 1 && last.Hosts[0] == "0:10.0.0.7",
					"%d restarts, the last one of %v; want the canary's, there and back", len(back), last.Hosts)
			}
			for n := 1; n <= 200; n++ {
				p, _ := sim.Process("0:10.0.0."+providertest.HostKey(n)[len("web-"):], "web", "nginx")
				providertest.Check(t, p.Running && providertest.StartsWith(p, "./start.sh "+c.next), "host %d is %+v", n, p)
			}
		})
	}
}

// The recipe for production takes a bad release back, and refuses to lose hosts or itself.
//
// Promised in safe-rollouts.md: The apply takes the canary back to 1.4 and ends with an error.
// Promised in safe-rollouts.md: A plan that removes more hosts than `max_removed_hosts` ends with an error that names them.
// Promised in safe-rollouts.md: makes waves of 10, 20, 40, 80 and 49 hosts here.
func TestAccExamples_safeRollouts(t *testing.T) {
	t.Parallel()
	shown := shownIn(t, "safe-rollouts", 3) // the plan, a release that is taken back, and too many hosts
	sim := providertest.NewSim(t)
	switches := regexp.MustCompile(`/_sim/faults" -d '(.*)'`).FindAllStringSubmatch(providertest.ReadFile(t, "../../templates/guides", "safe-rollouts.md.tmpl"), -1)
	providertest.Check(t, len(switches) == 2, "the guide shows %d switches of the simulator, want 2", len(switches))
	for _, one := range switches {
		var fault simulator.Fault
		providertest.NoError(t, json.Unmarshal([]byte(one[1]), &fault))
		sim.Inject(fault)
	}
	example := sim.ProviderConfig() + providertest.ReadExample(t, "guides/safe-rollouts/main.tf")
	fewer := strings.Replace(example, "range(1, 201)", "range(1, 151)", 1)
	step := func(example, release string, protected bool) resource.TestStep {
		return resource.TestStep{Config: example, ConfigVariables: config.Variables{"release": config.StringVariable(release), "deletion_protection": config.BoolVariable(protected)}}
	}
	planned, bad, tooFew, destroyed := step(example, "1.6", true), step(example, "1.5", true), step(fewer, "1.6", true), step(example, "1.6", true)
	words := regexp.MustCompile(`- (register .*)\n +\+ (register .*)\n +(in .*)\n`).FindStringSubmatch(shown[0])
	planned.Check = resource.TestCheckResourceAttr("bk_hosted_process.web", "rollout_plan", words[2]+"\n"+words[3])
	bad.ExpectError, tooFew.ExpectError = regexp.MustCompile(pattern(shown[1])), regexp.MustCompile(pattern(shown[2]))
	destroyed.Destroy, destroyed.ExpectError = true, regexp.MustCompile("Deletion Protected")
	first, last := step(example, "1.4", true), step(strings.Replace(example, `"10%"`, `"100%"`, 1), "1.6", false)
	first.Check = resource.TestCheckResourceAttr("bk_hosted_process.web", "rollout_plan", words[1]+"\n"+words[3])
	playSteps(t, first, bad, planned, tooFew, destroyed, last)
	restarts := sim.Calls().OfOp(simulator.OpRestart)
	providertest.Check(t, len(restarts) == 8, "%d restarts, want the canary's, there and back, and those of six waves", len(restarts))
}

// pattern returns a pattern for what a guide shows, wherever the CLI wraps it and whatever the ids of the run.
func pattern(shown string) string {
	var words []string
	for _, word := range strings.Fields(shown) {
		words = append(words, regexp.QuoteMeta(word))
	}
	return strings.Join(words, `[\s│]+`)
}

// What the module hosted-service reports about a bad release and a scrapped machine is what its
// README shows. A release is rolled out although an agent is unreachable.
func TestAccModule_readme(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Inject(simulator.Fault{API: "operate_*", Command: "1.6", Op: new(simulator.OpRestart), Dies: 2, Revived: true})
	module := sim.ProviderConfig()
	for _, file := range []string{"main", "hosts", "variables", "settings", "outputs"} {
		module += providertest.ReadExample(t, "modules/hosted-service/"+file+".tf")
	}
	step := func(release string, scrapped, forget bool, away int) resource.TestStep {
		hosts := make(map[string]config.Variable)
		for n := 1; n <= 8; n++ {
			hosts[fmt.Sprintf("10.0.0.%d", n)] = config.StringVariable(fmt.Sprintf("0:10.0.0.%d", n))
		}
		if scrapped {
			delete(hosts, "10.0.0.3")
		}
		return resource.TestStep{Config: module, ConfigVariables: config.Variables{
			"namespace": config.StringVariable("lobby"), "name": config.StringVariable("game"), "directory": config.StringVariable("/data/game"),
			"hosts": config.MapVariable(hosts), "forget_unreachable": config.BoolVariable(forget), "max_unreachable_hosts": config.IntegerVariable(away),
			"commands": config.ObjectVariable(map[string]config.Variable{
				"start": config.StringVariable("./game.sh start " + release), "restart": config.StringVariable("./game.sh restart " + release), "stop": config.StringVariable("./game.sh stop"),
			}),
		}}
	}
	bad, away, scrapped := step("1.6", false, false, 0), step("1.7", false, false, 1), step("1.7", true, false, 1)
	shown := regexp.MustCompile("(?s)\nError: (.*?)\n(?:```|\n\\$ )").FindAllStringSubmatch(providertest.ReadExample(t, "modules/hosted-service/README.md"), -1)
	if len(shown) != 2 {
		t.Fatalf("the README shows %d errors, want 2", len(shown))
	}
	for i, failing := range []*resource.TestStep{&bad, &scrapped} {
		// Lines between paragraphs are left out. How many PIDs are seen depends on the machine.
		text := strings.ReplaceAll(pattern(strings.ReplaceAll(shown[i][1], "\n\n", " PARAGRAPH ")), "PARAGRAPH", "(?s:.*)")
		failing.ExpectError = regexp.MustCompile(regexp.MustCompile(`seen:(.*?)\d+`).ReplaceAllString(text, `seen:$1\d+`))
	}
	away.PreConfig = func() { sim.SetReachable("0:10.0.0.3", false) }
	playSteps(t, step("1.5", false, false, 0), bad, away, scrapped, step("1.7", true, true, 1))
	for n := 1; n <= 8; n++ {
		p, _ := sim.Process(fmt.Sprintf("0:10.0.0.%d", n), "lobby", "game")
		if gone := n == 3; p.Running != gone || p.Hosted != gone || gone && !providertest.StartsWith(p, "./game.sh start 1.5") {
			t.Errorf("after the destroy host %d is %+v", n, p)
		}
	}
}
