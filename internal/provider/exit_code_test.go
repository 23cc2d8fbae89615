package provider

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// What CI sees when some hosts fail: the exit code of the apply, and that of the
// plan after it.
func TestAccExitCodes_partialFailure(t *testing.T) {
	t.Parallel()
	for size, c := range partialCases {
		good := hostedConfig{hosts: hostsConfig(c.hosts), more: `ensure = "registered"`}
		changed, fewer := good, good
		changed.start = "./other.sh"
		fewer.hosts = hostsConfig(c.hosts - c.failing)
		operation := func(trigger string) string {
			return operationConfig{hosted: good, operation: "start", more: fmt.Sprintf("triggers = { t = %q }", trigger)}.String()
		}
		for name, step := range map[string]struct {
			api           string
			before, after string // configurations; before is applied while all is well
			command       string // apply by default
			code, plan    int
			again         int // the plan after the cause is mended and the command repeated
		}{
			"create":        {api: "register_proc_info", after: good.String(), code: 0, plan: 2},
			"update":        {api: "update_proc_info", before: good.String(), after: changed.String(), code: 1, plan: 2},
			"hosts-leave":   {api: "unregister_proc_info", before: good.String(), after: fewer.String(), code: 1, plan: 2},
			"destroy":       {api: "unregister_proc_info", before: good.String(), after: good.String(), command: "destroy", code: 1, plan: 2, again: 2},
			"operation":     {api: "operate_proc_v2", before: good.String(), after: operation("a"), code: 0, plan: 2},
			"operation-two": {api: "operate_proc_v2", before: operation("a"), after: operation("b"), code: 1, plan: 2},
		} {
			t.Run(size+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := newSim(t)
				cli := newCLI(t, sim, step.before)
				if step.before != "" {
					cli.expect(0, "apply", "-auto-approve")
				}
				cli.configure(step.after)
				command := []string{cmp.Or(step.command, "apply"), "-auto-approve"}
				sim.inject(step.api, failing(c.hosts, c.failing), 65535, "no space left on device")
				cli.expect(step.code, command...)
				cli.expect(step.plan, "plan", "-detailed-exitcode")
				sim.mend()
				cli.expect(0, command...)
				cli.expect(step.again, "plan", "-detailed-exitcode")
			})
		}
	}
}

// Everything failed: an error, and nothing in state.
func TestAccExitCodes_totalFailure(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	cli := newCLI(t, sim, hostedConfig{hosts: hostsConfig(5)}.String())
	sim.inject("register_proc_info", hostNumbers(5), 65535, "no space left on device")
	cli.expect(1, "apply", "-auto-approve")
	if out := cli.expect(0, "state", "list"); strings.Contains(out, "bk_hosted_process") {
		t.Errorf("state holds %s", out)
	}
	cli.expect(2, "plan", "-detailed-exitcode")
}

// An import block, a configuration generated from it, and the spec filled in: no
// host whose fingerprint matches is called.
func TestAccGenerateConfig(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	cli := newCLI(t, sim, hostedConfig{hosts: hostsConfig(2), labels: `{ team = "sre" }`}.String())
	cli.expect(0, "apply", "-auto-approve")
	for _, file := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
		_ = os.Remove(filepath.Join(cli.dir, file)) // as if it had never been ours
	}
	sim.ResetCalls()
	cli.configure("import {\n  to = bk_hosted_process.test\n  id = \"web:nginx\"\n}\n")

	out := cli.expect(1, "plan", "-generate-config-out=generated.tf")
	if !strings.Contains(out, "Must set a configuration value for the spec attribute") {
		t.Errorf("the plan that generates asks for something else than the spec:\n%s", out)
	}
	generated, err := os.ReadFile(filepath.Join(cli.dir, "generated.tf"))
	if err != nil {
		t.Fatal(err)
	}
	cli.write("generated.tf", replaceLine(string(generated), "spec ", "  spec = "+specConfig("./start.sh")))
	cli.expect(0, "apply", "-auto-approve")
	cli.expect(0, "plan", "-detailed-exitcode")
	if diff := gocmp.Diff([]string{}, sim.changes()); diff != "" {
		t.Errorf("calls that change something (-want +got):\n%s", diff)
	}
}

// replaceLine puts a text in the place of the line that begins so.
func replaceLine(text, begins, replacement string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), begins) {
			lines[i] = replacement
		}
	}
	return strings.Join(lines, "\n")
}

// Processes start in the order of depends_on and stop in the reverse order, host
// for host, as GSEKit's priorities do.
func TestAccStartOrder(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	cli := newCLI(t, sim, "")
	cli.write("main.tf", readExample(t, "start-order/main.tf"))
	cli.expect(0, "apply", "-auto-approve")
	order := func(op int) []string {
		var names []string
		for _, call := range sim.Calls().OfOp(op).Of("operate_*") {
			names = append(names, call.Name)
		}
		return names
	}
	if diff := gocmp.Diff([]string{"db", "server"}, order(simulator.OpStart)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	cli.expect(0, "destroy", "-auto-approve")
	if diff := gocmp.Diff([]string{"server", "db"}, order(simulator.OpStop)); diff != "" {
		t.Errorf("stops (-want +got):\n%s", diff)
	}
}
