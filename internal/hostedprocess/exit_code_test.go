package hostedprocess_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// If some hosts fail, CI sees the exit codes of the apply and of the plan after it. With a postcondition such an
// apply exits with 1, without taint.
//
// Promised in partial-failure.md: a create, on some hosts | ends with a warning, exit code 0
// Promised in partial-failure.md: an update, on any host | ends with an error, exit code 1
// Promised in partial-failure.md: unregistering a host that left `hosts` | ends with an error, exit code 1
// Promised in partial-failure.md: a destroy, on some hosts | ends with an error, exit code 1.
// Promised in partial-failure.md: A postcondition makes the apply fail with exit code 1 and taints nothing.
// Promised in faq.md: A `postcondition` makes the apply fail.
// Promised in faq.md: Exit codes 0 and 2 need `-detailed-exitcode`.
func TestAccExitCodes_partialFailure(t *testing.T) {
	t.Parallel()
	good := providertest.HostedConfig{Hosts: providertest.HostsConfig(3)}
	changed, fewer, asserted := good, good, good
	changed.Start = "./other.sh"
	fewer.Hosts = providertest.HostsConfig(2)
	asserted.More = `
  lifecycle {
    postcondition {
      condition     = length(self.out_of_sync) == 0
      error_message = "Not on every host: ${length(self.out_of_sync)} in out_of_sync."
    }
  }`
	for name, step := range map[string]struct {
		api           string
		before, after string // configurations; before is applied without faults
		command       string // apply by default
		code          int
		says          string
		again         int // the plan after the cause is removed and the command repeated
	}{
		"create":        {api: "register_proc_info", after: good.String()},
		"postcondition": {api: "register_proc_info", after: asserted.String(), code: 1, says: "Not on every host: 1 in out_of_sync."},
		"update":        {api: "update_proc_info", before: good.String(), after: changed.String(), code: 1},
		"hosts-leave":   {api: "unregister_proc_info", before: good.String(), after: fewer.String(), code: 1},
		"destroy":       {api: "unregister_proc_info", before: good.String(), after: good.String(), command: "destroy", code: 1, again: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, step.before)
			if step.before != "" {
				cli.Expect(0, "apply", "-auto-approve")
			}
			cli.Configure(step.after)
			command := []string{cmp.Or(step.command, "apply"), "-auto-approve"}
			sim.FailHosts(step.api, []int{3}, 65535, "no space left on device")
			out := words(cli.Expect(step.code, command...))
			providertest.Check(t, strings.Contains(out, step.says), "it said:\n%s", out)
			_, status := cli.InState()
			providertest.Check(t, status == "", "the resource is %s", status)
			cli.Expect(2, "plan", "-detailed-exitcode")
			sim.Repair()
			cli.Expect(0, command...)
			cli.Expect(step.again, "plan", "-detailed-exitcode")
		})
	}
}

// An import block, a configuration generated from it, and the spec filled in: no host whose fingerprint matches is called.
//
// Promised in import-and-adoption.md: writes a resource for an import block, and then ends with an error, because `spec` is required.
func TestAccGenerateConfig(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Labels: `{ team = "sre" }`}.String())
	cli.Expect(0, "apply", "-auto-approve")
	for _, file := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
		_ = os.Remove(filepath.Join(cli.Dir, file)) // as if Terraform had never managed it
	}
	sim.ResetCalls()
	cli.Configure("import {\n  to = bk_hosted_process.test\n  id = \"web:nginx\"\n}\n")

	out := cli.Expect(1, "plan", "-generate-config-out=generated.tf")
	providertest.Check(t, strings.Contains(out, "Must set a configuration value for the spec attribute"),
		"the plan that generates asks for something else than the spec:\n%s", out)
	generated, err := os.ReadFile(filepath.Join(cli.Dir, "generated.tf"))
	providertest.NoError(t, err)
	cli.Write("generated.tf", replaceLine(string(generated), "spec ", "  spec = "+providertest.SpecConfig("./start.sh")))
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")

	// The spec is read from the agents' files.
	cli.Env = append(cli.Env, "BK_VERIFY=agent", "BK_HOSTED_SPECS_JOB_SCOPE_ID=3")
	cli.Expect(0, "state", "rm", "bk_hosted_process.test")
	_ = os.Remove(filepath.Join(cli.Dir, "generated.tf"))
	cli.Expect(0, "plan", "-generate-config-out=verified.tf")
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")
	providertest.Same(t, "calls that change something", []string{}, sim.Changes())
}

// replaceLine replaces the line with this prefix.
func replaceLine(text, begins, replacement string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), begins) {
			lines[i] = replacement
		}
	}
	return strings.Join(lines, "\n")
}

// Processes start in the order of depends_on and stop in the reverse order, on each host, as by GSEKit's priorities.
func TestAccStartOrder(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, "")
	cli.Write("main.tf", providertest.ReadExample(t, "start-order/main.tf"))
	cli.Expect(0, "apply", "-auto-approve")
	order := func(op int) []string {
		var names []string
		for _, call := range sim.Calls().OfOp(op).Of("operate_*") {
			names = append(names, call.Name)
		}
		return names
	}
	providertest.Same(t, "starts", []string{"db", "server"}, order(simulator.OpStart))
	cli.Expect(0, "destroy", "-auto-approve")
	providertest.Same(t, "stops", []string{"server", "db"}, order(simulator.OpStop))
}

// A create after which no host is as declared ends with an error, and what it registered is in state, tainted. If it
// took over an earlier registration it only warns, because the taint would unregister that.
//
// Promised in partial-failure.md: hosting or starting on every host, so that a create leaves
// none as declared | ends with an error, exit code 1
// Promised in partial-failure.md: It ends with an error and is tainted, unless it took over an earlier registration.
func TestHostedProcess_startsNowhere(t *testing.T) {
	t.Parallel()
	for name, adopts := range map[string]bool{"registered": false, "taken-over": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				config := w.declares(3, map[string]any{"ensure": "running", "adopt_existing": true})
				if adopts {
					namespace, process := w.by.Process()
					w.sim.Colleague(t, namespace, process, nil, 1, 2, 3)
					w.do(w.sim.Host, 1, 2, 3)
					if w.by == job { // JOB's server says that it exists
						w.on("register_proc_info", simulator.Fault{Code: new(850), Times: 3})
					}
				}
				w.onOp(simulator.OpStart, simulator.Fault{Code: new(65535), Message: "exit status 1"})
				resource := w.object()
				w.play(resource, step{
					name: "starts nowhere", config: config, kind: providertest.PlanCreate, anyCalls: true, left: codesOf("not_running", 1, 2, 3), says: "exit status 1", fails: !adopts,
				})
				for n := 1; n <= 3; n++ {
					if p := w.at(n); resource.Tainted == adopts || p.Hosted != (adopts || w.by != esb) { // the ESB registers without hosting
						t.Errorf("tainted: %t; web-%d has %+v", resource.Tainted, n, p)
					}
				}
				undone := undoneOn(w.sim)
				again := step{name: "once it starts", befalls: (*world).repair, config: config, kind: providertest.PlanReplace, anyCalls: true}
				if adopts {
					again.kind = providertest.PlanUpdate
				}
				w.play(resource, again)
				if undone = append(undone, undoneOn(w.sim)...); adopts && len(undone) > 0 {
					t.Errorf("unregistered: %v", undone)
				}
				for n := 1; n <= 3; n++ {
					p := w.at(n)
					providertest.Check(t, p.Hosted && p.Running, "web-%d has %+v", n, p)
				}
			})
		})
	}
}

// The example of the guide on drift: a postcondition of the data source fails the plan for what the resource does
// not call drift.
//
// Promised in drift-in-ci.md: The postcondition of the data source is the way to make a plan fail (exit code 1) on a health check
//
// Promised in drift-in-ci.md: A host whose agent does not answer is `unknown` and fails this condition as well.
func TestAccExitCodes_healthCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	example := providertest.ReadExample(t, "guides/drift-in-ci/main.tf")
	cli := providertest.NewCLI(t, w.sim, "")
	fails := func() {
		t.Helper()
		out := cli.Expect(1, "plan", "-detailed-exitcode")
		providertest.Check(t, strings.Contains(out, "Not running everywhere"), "the postcondition did not fail:\n%s", out)
	}
	for _, config := range []string{example, strings.Replace(example, `ensure = "running"`, `ensure = "registered"`, 1)} {
		cli.Configure(config)
		cli.Expect(0, "apply", "-auto-approve")
	}
	w.do(w.sim.StopProcess, 1)
	fails()
	w.do(w.sim.StartProcess, 1)
	w.sim.SetReachable(providertest.Address(1), false)
	fails()
}

// A destroy fails while a start or a hosting is under way that could bring back what it unregisters.
//
// Promised in changing-hosts.md: the host stays in state: *an earlier apply has sent what would host or start it there, and
// the platform has not said that this is over*.
func TestHostedProcess_destroyedUnderWay(t *testing.T) {
	t.Parallel()
	hour := simulator.Fault{Takes: time.Hour}
	for name, c := range map[string]struct {
		faces   []providertest.Face
		op      int // that stays under way
		befalls func(*world, *providertest.Core) map[string]any
	}{
		"created": {each, simulator.OpStart, func(w *world, _ *providertest.Core) map[string]any {
			w.onOp(simulator.OpStart, hour)
			return w.declares(2, attribute("ensure", "running"))
		}},
		"gone": {each, simulator.OpStart, func(w *world, _ *providertest.Core) map[string]any {
			w.onOp(simulator.OpStart, hour)
			return w.declares(2, map[string]any{"ensure": "running", "forget_unreachable": true, "timeouts": map[string]any{"delete": "3s"}})
		}},
		"rolled-back": {each[1:], simulator.OpHost, func(w *world, resource *providertest.Core) map[string]any {
			back := attribute("rollout", map[string]any{"batch_size": 1, "on_failure": "rollback"})
			resource.Applied(w.declares(2, back))
			w.on("update_proc_info", once(away), 2)
			w.on("update_proc_info", after(hour), 1)
			return w.changed(2, back)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, c.faces, func(w *world) {
				var hours, polls atomic.Int64
				w.sim.Now = func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) }
				cut := w.sim.CutAt(func(call simulator.Call) bool {
					return call.API == w.by.ResultAPI() && call.Op == c.op && polls.Add(1)%5 == 0
				})
				resource := w.object()
				cut.Apply(resource, c.befalls(w, resource))
				resource.Tainted = false
				w.sim.ResetCalls()
				said := cut.Apply(resource, nil)
				if !said.Failed() || !strings.Contains(said.String(), "the platform has not said that this is over") || len(resource.Reasons("hosts")) != 2 || len(w.sim.Changes()) > 0 {
					t.Errorf("called %v; said: %s", w.sim.Changes(), said)
				}
				if name == "gone" {
					w.sim.SetReachable(providertest.Address(1), false)
					w.sim.SetReachable(providertest.Address(2), false)
					if _, said := resource.Apply(nil); said.Failed() || !tells(said, "Unreachable Hosts Forgotten … web-1 (0:10.0.0.2), web-2 (0:10.0.0.3): ") || !resource.State.IsNull() {
						t.Errorf("said: %s", said)
					}
					return
				}
				hours.Add(2)
				w.play(resource, step{name: "it is over", anyCalls: true})
				w.expectNothing()
			})
		})
	}
}

// A key of for_each that is gone is protected, and nothing can be applied to it first. Each way out that the error names
// works: a moved block if its hosts have a new key, and otherwise to undo the change, to apply the setting, and to change
// it again.
func TestAccSafety_keyGone(t *testing.T) {
	t.Parallel()
	const a, b, c = `web-1 = "0:10.0.0.2"`, `web-2 = "0:10.0.0.3"`, `web-3 = "0:10.0.0.4"`
	config := func(protected bool, keys, more string) string {
		return fmt.Sprintf(`
resource "bk_hosted_process" "test" {
  for_each = %s
  meta     = { namespace = "web", name = "nginx" }
  hosts    = each.value
  spec     = %s
  safety   = { deletion_protection = %t }
}
%s`, keys, providertest.SpecConfig("./start.sh"), protected, more)
	}
	moved := func(to string) string {
		return fmt.Sprintf("moved {\n  from = bk_hosted_process.test[\"a\"]\n  to   = bk_hosted_process.test[%q]\n}\n", to)
	}
	both, one, renamed := fmt.Sprintf("{ a = { %s\n%s }, b = { %s } }", a, b, c), fmt.Sprintf("{ b = { %s\n%s\n%s } }", a, b, c), fmt.Sprintf("{ n = { %s\n%s }, b = { %s } }", a, b, c)
	const says = "Where its key is gone from for_each, undo that first. Or, if a new key has its hosts, add a `moved` block to that key"
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, config(true, both, ""))
	cli.Expect(0, "apply", "-auto-approve")
	for _, more := range []string{"", moved("b")} { // b is not new, so Terraform moves nothing
		cli.Configure(config(true, one, more))
		out := words(cli.Expect(1, "plan"))
		providertest.Check(t, strings.Contains(out, says), "it said:\n%s", out)
	}
	sim.ResetCalls()
	cli.Configure(config(true, renamed, moved("n")))
	cli.Expect(0, "apply", "-auto-approve")
	sim.Changed(t)

	cli.Configure(config(false, renamed, ""))
	cli.Expect(0, "apply", "-auto-approve")
	cli.Configure(config(false, one, ""))
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")
	expectHosted(t, sim, 3)
}
