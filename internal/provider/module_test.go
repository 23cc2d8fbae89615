package provider_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
		if p.Registered || p.Running {
			t.Errorf("left behind on %s: %+v", p.Host, p)
		}
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
