package provider_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func newExampleCLI(t *testing.T, sim *providertest.Sim, dir string) *providertest.CLI {
	t.Helper()
	cli := providertest.NewCLI(t, sim, "")
	examples := filepath.Join(t.TempDir(), "examples")
	providertest.NoError(t, os.CopyFS(examples, os.DirFS(filepath.Join("..", "..", "examples"))))
	cli.Dir = filepath.Join(examples, dir)
	return cli
}

func TestAccModule_simulator(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := newExampleCLI(t, sim, "modules/hosted-service")
	providertest.Says(t, cli.Expect(0, "test", "-test-directory=tests/simulator"), "Success! 6 passed, 0 failed.")
	sim.ExpectOperated(t, map[int]int{
		simulator.OpStart:   3, // each host once
		simulator.OpRestart: 6, // none on create; two each for a new hash, a new command, and both at once
	})
	for _, p := range sim.Processes() {
		providertest.Check(t, !p.Registered && !p.Running, "left behind on %s: %+v", p.Host, p)
	}
}

// The modules are installed from a repository at a tag, with the module that they use.
func TestAccModule_fromGit(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSimOf(t, exampleTopology)
	cli := newExampleCLI(t, sim, "demo")
	repository := filepath.Dir(cli.Dir)
	for _, args := range [][]string{{"init", "-q"}, {"add", "modules"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "modules"}, {"tag", "v1.2.3"}} {
		git := exec.CommandContext(t.Context(), "git", args...)
		git.Dir = repository
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	cli.Configure(strings.ReplaceAll(`
module "cmdb" {
  source    = "SOURCE/cmdb-service?ref=v1.2.3"
  bk_biz_id = 3
  topology  = { set = "gz-1" }
  name      = "nginx"
  directory = "/usr/sbin"
  commands  = { start = "./nginx", stop = "./nginx -s quit", restart = "./nginx -s stop; ./nginx" }
  rollout   = { healthy = { stable_for = "1s" } }
}
module "windows" {
  source    = "SOURCE/windows-service?ref=v1.2.3"
  namespace = "lobby"
  name      = "GameServer"
  hosts     = { win-1 = "0:10.0.0.9" }
  binary    = "game.exe"
  directory = "D:\\game"
  rollout   = { healthy = { stable_for = "1s" } }
}
output "healthy" { value = [module.cmdb.healthy, module.windows.healthy] }
`, "SOURCE", "git::file://"+repository+"//modules"))
	cli.Expect(0, "get")
	cli.Expect(0, "apply", "-auto-approve")
	providertest.Same(t, "healthy", "[true,true]", cli.Output("healthy"))
	sim.ExpectOperated(t, onlyOp(simulator.OpStart, 3))
	cli.Expect(0, "plan", "-detailed-exitcode")
}

// Processes are started in order, also on a host that joins. A process whose command changes is restarted
// alone. Triggers restart all of them, the last one first.
func TestAccModule_ordered(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := newExampleCLI(t, sim, "demo")
	apply := func(start, more string) {
		sim.ResetCalls()
		cli.Configure(strings.NewReplacer("START", start, "MORE", more).Replace(`
module "lobby" {
  source    = "../modules/ordered-service"
  namespace = "lobby"
  hosts     = { for n in [MORE] : "game-${n}" => "0:10.0.0.${n}" }
  triggers  = { hosts = "MORE" }
  processes = {
    game = { priority = 2, directory = "/data/game", commands = { start = "START", stop = "./stop.sh", restart = "START again" } }
    db   = { priority = 1, directory = "/data/db", commands = { start = "./start.sh", stop = "./stop.sh", restart = "./restart.sh" } }
  }
  rollout = { waves = ["100%"], healthy = { stable_for = "1s" } }
}
`))
		cli.Expect(0, "get")
		cli.Expect(0, "apply", "-auto-approve")
	}
	apply("./start.sh", "1, 2")
	wantOrder(t, sim, simulator.OpStart, "db", "game")
	wantOrder(t, sim, simulator.OpRestart)
	apply("./start.sh 2", "1, 2")
	wantOrder(t, sim, simulator.OpStart)
	wantOrder(t, sim, simulator.OpRestart, "game")
	apply("./start.sh 2", "1, 2, 3")
	wantOrder(t, sim, simulator.OpStart, "db", "game")
	wantOrder(t, sim, simulator.OpRestart, "game", "db")
	sim.ExpectOperated(t, map[int]int{simulator.OpStart: 2, simulator.OpRestart: 4})
	cli.Expect(0, "plan", "-detailed-exitcode")
}

func TestAccModule_twoTeams(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := newExampleCLI(t, sim, "two-teams")
	cli.Expect(0, "get")
	cli.Expect(0, "apply", "-auto-approve")
	sim.ExpectOperated(t, map[int]int{simulator.OpStart: 6, simulator.OpRestart: 0})
	providertest.Same(t, "not running", `{"arena":{},"lobby":{}}`, cli.Output("not_running"))
	cli.Expect(0, "plan", "-detailed-exitcode")
}

// moduleFiles are the blocks of a module, by their type and labels, as in "variable rollout".
type moduleFiles map[string]*hclsyntax.Body

func readModules(t *testing.T) map[string]moduleFiles {
	t.Helper()
	modules := make(map[string]moduleFiles)
	for _, file := range providertest.Glob(t, "../../examples/modules/*/*.tf") {
		parsed, diags := hclparse.NewParser().ParseHCLFile(file)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		name := filepath.Base(filepath.Dir(file))
		if modules[name] == nil {
			modules[name] = make(moduleFiles)
		}
		body, _ := parsed.Body.(*hclsyntax.Body)
		for _, block := range body.Blocks {
			modules[name][strings.Join(append([]string{block.Type}, block.Labels...), " ")] = block.Body
		}
	}
	return modules
}

// mentions reports whether the value of an attribute uses a variable, or the local value with its name.
func mentions(body *hclsyntax.Body, attribute string) bool {
	set := body.Attributes[attribute]
	return set != nil && slices.ContainsFunc(set.Expr.Variables(), func(to hcl.Traversal) bool {
		step, _ := append(to, nil)[1].(hcl.TraverseAttr)
		return (to.RootName() == "var" || to.RootName() == "local") && step.Name == attribute
	})
}

func typeOf(variable *hclsyntax.Body) string {
	if variable == nil || variable.Attributes["type"] == nil {
		return ""
	}
	return hcl.ExprAsKeyword(variable.Attributes["type"].Expr)
}

// Each module has every release setting of the resource. It passes it to the resource: by a variable of
// the same name and type, or through the module that it uses.
func TestModules_haveEverySetting(t *testing.T) {
	t.Parallel()
	modules := readModules(t)
	for name, module := range modules {
		for _, a := range providertest.NewProtocol(t).Schema.ResourceSchemas["bk_hosted_process"].Block.Attributes {
			if !a.Optional {
				continue
			}
			want := "string"
			switch {
			case a.NestedType != nil:
				want = "any"
			case a.Type.Is(tftypes.Bool):
				want = "bool"
			}
			if got := typeOf(module["variable "+a.Name]); got != want {
				t.Errorf("%s: the type of the variable %s is %q, want %q", name, a.Name, got, want)
			}
			if hosted := module["resource bk_hosted_process this"]; hosted != nil && !mentions(hosted, a.Name) {
				t.Errorf("%s: %s does not reach the resource", name, a.Name)
			}
		}
		service := module["module service"]
		if service == nil {
			continue
		}
		for block := range modules["hosted-service"] {
			if kind, variable, _ := strings.Cut(block, " "); kind == "variable" && service.Attributes[variable] == nil {
				t.Errorf("%s: %s does not reach the module hosted-service", name, variable)
			}
		}
	}
}

// checkedFields are variables of type any, or parts of them, and their fields.
var checkedFields = []struct{ variable, schema, at, suffix string }{
	{"rollout", "resource bk_hosted_process", "rollout", ""},
	{"rollout.healthy", "resource bk_hosted_process", "rollout.healthy", ""},
	{"safety", "resource bk_hosted_process", "safety", ""},
	{"timeouts", "resource bk_hosted_process", "timeouts", ""},
	{"commands", "resource bk_hosted_process", "spec.control", "_cmd"},
	{"limits", "resource bk_hosted_process", "spec.resource", ""},
	{"monitor", "resource bk_hosted_process", "spec.monitor_policy", ""},
	{"processes.db.commands", "resource bk_hosted_process", "spec.control", "_cmd"},
	{"processes.db.limits", "resource bk_hosted_process", "spec.resource", ""},
	{"processes.db.monitor", "resource bk_hosted_process", "spec.monitor_policy", ""},
	{"topology", "data bk_hosts", "topology", ""},
	{"filter", "data bk_hosts", "filter", ""},
}

// Terraform drops attributes that an object type does not have, so these variables have type any. Each
// accepts the fields of the schema, and names valid fields when it rejects another.
func TestModules_refuseFieldsThatDoNotExist(t *testing.T) {
	t.Parallel()
	blocks := providertest.NewProtocol(t).Blocks()
	for name, module := range readModules(t) {
		checked := make(map[string]bool)
		for _, row := range checkedFields {
			path := strings.Split(row.variable, ".")
			variable := module["variable "+path[0]]
			if variable == nil || typeOf(variable) != "any" {
				continue
			}
			checked[path[0]] = true
			var known []string
			providertest.EachAttribute(blocks[row.schema].Block.Attributes, func(at string, _ *tfprotov6.SchemaAttribute) {
				if field, inside := strings.CutPrefix(at, row.at+"."); inside && !strings.Contains(field, ".") {
					known = append(known, strings.TrimSuffix(field, row.suffix))
				}
			})
			for _, field := range known {
				if said := refused(t, variable, path, field); said != "" {
					t.Errorf("%s: %s.%s is refused: %s", name, row.variable, field, said)
				}
			}
			said := refused(t, variable, path, "nope")
			for _, word := range append(known, "nope") {
				providertest.Check(t, strings.Contains(said, word), "%s: what is said of %s.nope lacks %s: %s", name, row.variable, word, said)
			}
		}
		for block, body := range module {
			if variable, is := strings.CutPrefix(block, "variable "); is && typeOf(body) == "any" && !checked[variable] {
				t.Errorf("%s: the fields of %s are not known", name, variable)
			}
			if strings.HasPrefix(block, "variable ") && body.Attributes["type"] != nil {
				if call, is := body.Attributes["type"].Expr.(*hclsyntax.FunctionCallExpr); is && call.Name == "object" {
					t.Errorf("%s: %s has an object type, which drops fields", name, block)
				}
			}
		}
	}
}

// refused is a variable's error for an object with a field at the end of a path.
func refused(t *testing.T, variable *hclsyntax.Body, path []string, field string) string {
	t.Helper()
	value := cty.ObjectVal(map[string]cty.Value{field: cty.StringVal("1")})
	for _, name := range slices.Backward(path) {
		value = cty.ObjectVal(map[string]cty.Value{name: value})
	}
	scope := &hcl.EvalContext{Variables: map[string]cty.Value{"var": value}, Functions: map[string]function.Function{
		"flatten": stdlib.FlattenFunc, "join": stdlib.JoinFunc, "keys": stdlib.KeysFunc, "length": stdlib.LengthFunc, "setsubtract": stdlib.SetSubtractFunc, "try": tryfunc.TryFunc,
	}}
	var said []string
	for _, block := range variable.Blocks {
		holds, diags := block.Body.Attributes["condition"].Expr.Value(scope)
		message, more := block.Body.Attributes["error_message"].Expr.Value(scope)
		if diags = append(diags, more...); diags.HasErrors() {
			t.Fatal(diags)
		}
		if holds.False() {
			said = append(said, message.AsString())
		}
	}
	return strings.Join(said, " ")
}

// Each module is installed from a copy of their directory by the path that the guide shows, those that are made of others too.
func TestAccModules_byPath(t *testing.T) {
	t.Parallel()
	modules := filepath.Join(t.TempDir(), "modules")
	providertest.NoError(t, os.CopyFS(modules, os.DirFS(filepath.Join("..", "..", "examples", "modules"))))
	for _, guide := range []string{"modules", "zh-modules"} {
		text := providertest.ReadFile(t, filepath.Join("..", "..", "templates", "guides"), guide+".md.tmpl")
		for _, module := range providertest.Glob(t, filepath.Join(modules, "*")) {
			source := strings.Replace(regexp.MustCompile(`"/path/to/modules[^"]*"`).FindString(text), "cmdb-service", filepath.Base(module), 1)
			source = strings.Replace(source, "/path/to/modules", filepath.ToSlash(modules), 1)
			cli := providertest.NewEmptyCLI(t)
			cli.Write("main.tf", fmt.Sprintf("module \"service\" {\n  source = %s\n}\n", source))
			cli.Expect(0, "get")
		}
	}
}

// The modules made from hosted-service have its files, so they have the same inputs.
func TestModules_shareTheirFiles(t *testing.T) {
	t.Parallel()
	for copied, from := range map[string][]string{"cmdb-service": {"settings.tf", "variables.tf"}, "windows-service": {"settings.tf", "hosts.tf"}} {
		for _, file := range from {
			read := func(module string) string {
				return providertest.ReadExample(t, fmt.Sprintf("modules/%s/%s", module, file))
			}
			providertest.Same(t, file+" of hosted-service and "+copied, read("hosted-service"), read(copied))
		}
	}
}
