package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/canary"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// newSecretiveCLI is a CLI with canaries for credentials, which logs all that can be
// logged, and keeps what each command printed in its directory.
func newSecretiveCLI(t *testing.T, gateway bkapi.Gateway) (*providertest.Sim, *providertest.CLI) {
	t.Helper()
	sim := providertest.NewSim(t)
	sim.AppSecret = canary.Secret
	cli := providertest.NewCLI(t, sim, "")
	cli.Env = append(cli.Env, "BK_GATEWAY"+"="+string(gateway), "BK_APP_SECRET"+"="+canary.Secret, "BK_USERNAME"+"=", "GOTRACEBACK=system",
		"TF_LOG=TRACE", "TF_LOG_SDK=TRACE", "TF_LOG_SDK_FRAMEWORK=TRACE", "TF_LOG_SDK_PROTO=TRACE", "TF_LOG_PROVIDER_BK_GSE=TRACE",
		"TF_LOG_PATH="+filepath.Join(cli.Dir, "trace.log"))
	if gateway == bkapi.APIGW {
		sim.AccessToken = canary.AccessToken
		cli.Env = append(cli.Env, "BK_ACCESS_TOKEN"+"="+canary.AccessToken)
	} else {
		sim.Token = canary.Token
		cli.Env = append(cli.Env, "BK_TOKEN"+"="+canary.Token)
	}
	return sim, cli
}

func configureSwift(c *providertest.CLI, config string) {
	c.Configure(config)
	text := providertest.ReadFile(c.T, c.Dir, "main.tf")
	c.Write("main.tf", strings.Replace(text, `provider "bk" {}`, "provider \"bk\" {\n  retry_wait_min = \"1ms\"\n  retry_wait_max = \"1ms\"\n}", 1))
}

// keepOutput runs a command, wants an exit code, and keeps what is printed in a file.
func keepOutput(c *providertest.CLI, code int, name string, args ...string) {
	c.Write(name, c.Expect(code, args...))
}

// No credential gets into anything that Terraform prints, logs or stores. That holds if all succeeds, if
// the platform echoes requests, and if the provider's process dies.
func TestAccSecrets_stayInside(t *testing.T) {
	t.Parallel()
	spellings := slices.Sorted(maps.Keys(echoes(canary.Secret)))
	config := func(run string) string {
		return providertest.OperationConfig{
			Hosted: providertest.HostedConfig{Hosts: providertest.HostsConfig(len(spellings)), Start: "./start.sh --" + canary.Witness, More: `ensure = "registered"`}, Operation: "start",
			More: fmt.Sprintf("triggers = { run = %q }", run),
		}.String() + "\n" + `data "bk_process_status" "test" {
  meta  = bk_hosted_process.test.meta
  hosts = bk_hosted_process.test.hosts
  spec  = bk_hosted_process.test.spec
}

data "bk_hosted_specs" "test" {
  namespace  = "web"
  hosts      = bk_hosted_process.test.hosts
  depends_on = [bk_process_operation.test]
}
`
	}
	for _, gateway := range bkapi.Gateways() {
		t.Run(string(gateway), func(t *testing.T) {
			t.Parallel()
			sim, cli := newSecretiveCLI(t, gateway)
			// Credentials of the environment are not even in the raw protocol.
			raw := filepath.Join(cli.Dir, "protocol")
			providertest.NoError(t, os.Mkdir(raw, 0o700))
			cli.Env = append(cli.Env, "TF_LOG_SDK_PROTO_DATA_DIR="+raw, "BK_HOSTED_SPECS_JOB_SCOPE_ID=2", "BK_VERIFY=agent")
			configureSwift(cli, config("1"))
			keepOutput(cli, 0, "plan.txt", "plan", "-out", "plan.zip")
			keepOutput(cli, 0, "plan.json", "show", "-json", "plan.zip")
			keepOutput(cli, 0, "apply.txt", "apply", "plan.zip")
			keepOutput(cli, 0, "applied.json", "show", "-json")
			providertest.NoError(t, sim.EditProc(providertest.Address(1), "web", "nginx", map[string]any{"stopCmd": "./stop.sh -9"}))
			keepOutput(cli, 0, "drift.txt", "plan")

			// The platform says a credential back for each host, in one spelling each.
			secret := map[bkapi.Gateway]string{bkapi.ESB: canary.Token, bkapi.APIGW: canary.AccessToken}[gateway]
			for i, spelling := range spellings {
				echo := canary.Witness + echoes(canary.Secret)[spelling] + "\n" + canary.Witness + echoes(secret)[spelling]
				sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Hosts: []string{providertest.Address(i + 1)}, Code: new(65535), Message: echo})
				sim.Inject(simulator.Fault{Op: new(simulator.OpQuery), Hosts: []string{providertest.Address(i + 1)}, Code: new(0), Apply: true, Content: echo})
			}
			configureSwift(cli, config("2"))
			keepOutput(cli, 1, "failing-apply.txt", "apply", "-auto-approve")
			keepOutput(cli, 0, "state.json", "show", "-json")

			sim.ClearFaults()
			sim.Inject(simulator.Fault{HTTPStatus: 500, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>" + canary.Witness + echoes(canary.Secret)["page"] + echoes(secret)["dump"]})
			keepOutput(cli, 1, "failing-plan.txt", "plan")

			sim.ClearFaults()
			crash(cli, sim)
			texts := everythingIn(t, cli.Dir)
			for name, text := range texts {
				for _, found := range canary.In(text) {
					t.Errorf("%s: %s", name, found)
				}
				providertest.Check(t, !strings.Contains(text, simulator.SecretPassword) && !strings.Contains(text, simulator.SecretUserPwd),
					"%s: a secret of an agent's file", name)
			}
			if !strings.Contains(texts["applied.json"], `"written_at"`) || !strings.Contains(texts["drift.txt"], "hosted with stop_cmd") {
				t.Error("no agent's file was read")
			}
			// The control: what travels beside the credentials is found in all of these.
			for _, name := range []string{
				"plan.zip/tfplan", "plan.json", "terraform.tfstate", "state.json", "trace.log", "failing-apply.txt", "failing-plan.txt",
			} {
				if !strings.Contains(texts[name], canary.Witness) {
					t.Errorf("%s does not hold what it should (%d bytes)", name, len(texts[name]))
				}
			}
			if !slices.ContainsFunc(slices.Collect(maps.Keys(texts)), func(name string) bool {
				return strings.HasPrefix(name, "protocol/") && strings.Contains(texts[name], canary.Witness)
			}) {
				t.Error("the raw protocol is not there")
			}
			providertest.Says(t, texts["trace.log"], "calling API", "SIGQUIT: quit", "bkapi.(*Client).Call")
		})
	}
}

// crash kills the provider in the middle of a call, in a way in which it prints the stacks of all that it is doing.
func crash(c *providertest.CLI, sim *providertest.Sim) {
	sim.ResetCalls()
	sim.Inject(simulator.Fault{Delay: time.Hour})
	cmd, out := c.Command(c.T.Context(), "plan")
	providertest.NoError(c.T, cmd.Start())
	providertest.Eventually(c.T, "a call", func() bool { return len(sim.Calls()) > 0 })
	for _, pid := range childrenOf(c.T, cmd.Process.Pid) {
		process, err := os.FindProcess(pid)
		if err == nil {
			err = process.Signal(syscall.SIGQUIT)
		}
		providertest.Check(c.T, err == nil, "%s", err)
	}
	if err := cmd.Wait(); err == nil {
		c.T.Errorf("the plan went well without a provider:\n%s", out)
	}
	c.Write("crash.txt", out.String())
}

func childrenOf(t *testing.T, parent int) []int {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc to find the provider's process")
	}
	var children []int
	for _, stat := range providertest.Glob(t, "/proc/[0-9]*/stat") {
		text, err := os.ReadFile(stat)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		providertest.NoError(t, err)
		// The name is in brackets and may hold anything; state and parent follow.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			providertest.NoError(t, err)
			children = append(children, pid)
		}
	}
	return children
}

// What is wrong with a configuration is said without a line of it that holds a secret.
func TestAccSecrets_ofTheSource(t *testing.T) {
	t.Parallel()
	const process = `
resource "bk_process_operation" "test" {
  operation = "restart"
  %s
  spec = {
    identity       = { proc_name = "nginx", setup_path = "/srv/web", pid_path = "/run/nginx.pid", user = "root" }
    monitor_policy = { auto_type = 1 }
    control = {
      start_cmd = "./start.sh --password=` + canary.Begin + `"
    }
  }
}
`
	_, cli := newSecretiveCLI(t, bkapi.ESB)
	cli.Configure(fmt.Sprintf(process, "process   = \""+canary.Begin+"\""))
	out := cli.Expect(1, "plan")
	providertest.Says(t, out, "process is set, and holds meta, hosts and spec; leave out spec.")
	for _, found := range canary.In(out) {
		t.Errorf("the plan prints %s", found)
	}
}
