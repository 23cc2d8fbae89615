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

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// What CI sees when some hosts fail: the exit code of the apply, and that of the
// plan after it.
//
// Promised in partial-failure.md: a create, on some hosts | ends with a warning, exit code 0
// Promised in partial-failure.md: an update, on any host | ends with an error, exit code 1
// Promised in partial-failure.md: unregistering a host that left `hosts` | ends with an error,
// exit code 1
// Promised in partial-failure.md: a destroy, on some hosts | ends with an error, exit code 1.
// Promised in reference: a later run that fails ends with an error too, and taints nothing.
func TestAccExitCodes_partialFailure(t *testing.T) {
	t.Parallel()
	for size, c := range providertest.PartialCases {
		good := providertest.HostedConfig{Hosts: providertest.HostsConfig(c.Hosts), More: `ensure = "registered"`}
		changed, fewer := good, good
		changed.Start = "./other.sh"
		fewer.Hosts = providertest.HostsConfig(c.Hosts - c.Failing)
		operation := func(trigger string) string {
			return providertest.OperationConfig{Hosted: good, Operation: "start", More: fmt.Sprintf("triggers = { t = %q }", trigger)}.String()
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
				sim := providertest.NewSim(t)
				cli := providertest.NewCLI(t, sim, step.before)
				if step.before != "" {
					cli.Expect(0, "apply", "-auto-approve")
				}
				cli.Configure(step.after)
				command := []string{cmp.Or(step.command, "apply"), "-auto-approve"}
				sim.FailHosts(step.api, providertest.Failing(c.Hosts, c.Failing), 65535, "no space left on device")
				cli.Expect(step.code, command...)
				cli.Expect(step.plan, "plan", "-detailed-exitcode")
				sim.Mend()
				cli.Expect(0, command...)
				cli.Expect(step.again, "plan", "-detailed-exitcode")
			})
		}
	}
}

// Everything failed: an error, and nothing in state.
//
// Promised in partial-failure.md: a create, on every host | ends with an error, exit code 1 |
// nothing | a create.
func TestAccExitCodes_totalFailure(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(5)}.String())
	sim.FailHosts("register_proc_info", providertest.HostNumbers(5), 65535, "no space left on device")
	cli.Expect(1, "apply", "-auto-approve")
	if out := cli.Expect(0, "state", "list"); strings.Contains(out, "bk_hosted_process") {
		t.Errorf("state holds %s", out)
	}
	cli.Expect(2, "plan", "-detailed-exitcode")
}

// An import block, a configuration generated from it, and the spec filled in: no
// host whose fingerprint matches is called.
//
// Promised in reference: `plan -generate-config-out=web.tf` writes the resource of such an
// import block, and then ends with an error, because the platform returns no spec.
func TestAccGenerateConfig(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Labels: `{ team = "sre" }`}.String())
	cli.Expect(0, "apply", "-auto-approve")
	for _, file := range []string{"terraform.tfstate", "terraform.tfstate.backup"} {
		_ = os.Remove(filepath.Join(cli.Dir, file)) // as if it had never been ours
	}
	sim.ResetCalls()
	cli.Configure("import {\n  to = bk_hosted_process.test\n  id = \"web:nginx\"\n}\n")

	out := cli.Expect(1, "plan", "-generate-config-out=generated.tf")
	if !strings.Contains(out, "Must set a configuration value for the spec attribute") {
		t.Errorf("the plan that generates asks for something else than the spec:\n%s", out)
	}
	generated, err := os.ReadFile(filepath.Join(cli.Dir, "generated.tf"))
	if err != nil {
		t.Fatal(err)
	}
	cli.Write("generated.tf", replaceLine(string(generated), "spec ", "  spec = "+providertest.SpecConfig("./start.sh")))
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")
	if diff := gocmp.Diff([]string{}, sim.Changes()); diff != "" {
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
	if diff := gocmp.Diff([]string{"db", "server"}, order(simulator.OpStart)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	cli.Expect(0, "destroy", "-auto-approve")
	if diff := gocmp.Diff([]string{"server", "db"}, order(simulator.OpStop)); diff != "" {
		t.Errorf("stops (-want +got):\n%s", diff)
	}
}

// A create after which no host is as declared is red, and what it registered is
// remembered. One that took over what was there before is not: a taint would let go of it.
//
// Promised in partial-failure.md: hosting or starting on every host, so that a create leaves
// none as declared | ends with an error, exit code 1
// Promised in partial-failure.md: it ends with an error and is tainted, unless it took over what
// was there before.
func TestAccExitCodes_createNowhere(t *testing.T) {
	t.Parallel()
	for name, adopts := range map[string]bool{"registered": false, "taken-over": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := providertest.HostedConfig{Hosts: providertest.HostsConfig(3), More: "ensure = \"running\"\n  adopt_existing = true"}
			if adopts {
				sim.Colleague(t, "web", "nginx", nil, 1, 2, 3)
				for _, host := range providertest.AddressList(providertest.HostNumbers(3)) {
					if err := sim.Host(host, "web", "nginx"); err != nil {
						t.Fatal(err)
					}
				}
			}
			cli := providertest.NewCLI(t, sim, config.String())
			sim.FailOperation(simulator.OpStart, providertest.HostNumbers(3), 65535, "exit status 1")
			cli.Expect(map[bool]int{false: 1, true: 0}[adopts], "apply", "-auto-approve")
			if _, status := cli.InState(); (status == "tainted") == adopts {
				t.Errorf("the status in state is %q", status)
			}
			undone := letGo(sim)
			sim.Mend()
			cli.Expect(0, "apply", "-auto-approve")
			if undone = append(undone, letGo(sim)...); (len(undone) == 0) != adopts {
				t.Errorf("let go of %v", undone)
			}
			expectHosted(t, sim, 3)
			cli.Expect(0, "plan", "-detailed-exitcode")
		})
	}
}

// A start command that exits 1 on every host, at each way into the platform. What the process
// was taken over from goes on hosting it.
func TestHostedProcess_startsNowhere(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
		for name, adopts := range map[string]bool{"registered": false, "taken-over": true} {
			t.Run(string(by)+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				namespace, process := by.Process()
				config := fleetOf(by, 3, map[string]any{"ensure": "running", "adopt_existing": true})
				if adopts {
					sim.Colleague(t, namespace, process, nil, 1, 2, 3)
					for _, host := range providertest.AddressList(providertest.HostNumbers(3)) {
						if err := sim.Host(host, namespace, process); err != nil {
							t.Fatal(err)
						}
					}
					if by == providertest.FaceJOB { // where it is the server's to say
						sim.Inject(simulator.Fault{API: "operate_process", Op: new(simulator.OpHost), Code: new(850), Times: 3})
					}
				}
				sim.Inject(simulator.Fault{API: "operate_proc*", Op: new(simulator.OpStart), Code: new(65535), Message: "exit status 1"})
				resource := hostedBy(t, sim, by)

				_, said := resource.Apply(config)

				if said.Failed() == adopts || resource.Tainted == adopts || !strings.Contains(said.String(), "exit status 1") {
					t.Errorf("tainted: %t; said: %s", resource.Tainted, said)
				}
				want := map[string]string{"web-1": "not_running", "web-2": "not_running", "web-3": "not_running"}
				reasons := resource.Reasons("out_of_sync")
				for key, reason := range reasons {
					reasons[key], _, _ = strings.Cut(reason, ":")
				}
				if diff := gocmp.Diff(want, reasons); diff != "" {
					t.Errorf("out_of_sync (-want +got):\n%s", diff)
				}
				for _, host := range providertest.AddressList(providertest.HostNumbers(3)) {
					if p, _ := sim.Process(host, namespace, process); p.Hosted != (adopts || by != providertest.FaceESB) { // the ESB registers without hosting
						t.Errorf("%s has %+v", host, p)
					}
				}
			})
		}
	}
}

// The example of the guide on drift: what the resource does not call drift fails the plan
// all the same, by the postcondition of the data source.
//
// Promised in drift-in-ci.md: The postcondition of the data source is the way to make a plan
// fail (exit code 1) on a health check
//
// Promised in drift-in-ci.md: A host whose agent does not answer is `unknown` and fails this
// condition as well.
func TestAccExitCodes_healthCheck(t *testing.T) {
	t.Parallel()
	example := providertest.ReadExample(t, "guides/drift-in-ci/main.tf")
	for name, c := range map[string]struct {
		config string
		ail    func(sim *providertest.Sim)
	}{
		"stopped": {
			strings.Replace(example, `ensure = "running"`, `ensure = "registered"`, 1),
			func(sim *providertest.Sim) {
				if err := sim.StopProcess(providertest.Address(1), "web", "nginx"); err != nil {
					t.Error(err)
				}
			},
		},
		"agent-away": {
			example,
			func(sim *providertest.Sim) { sim.SetReachable(providertest.Address(1), false) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, "")
			cli.Configure(example)
			cli.Expect(0, "apply", "-auto-approve")
			cli.Configure(c.config)
			cli.Expect(0, "apply", "-auto-approve")
			c.ail(sim)
			if out := cli.Expect(1, "plan", "-detailed-exitcode"); !strings.Contains(out, "Not running everywhere") {
				t.Errorf("the postcondition says nothing:\n%s", out)
			}
		})
	}
}

// A destroy does not end well while a start would bring back what it lets go of.
//
// Promised in partial-failure.md: the host stays in state: *an earlier apply has sent what would host or start it there, and
// the platform has not said that this is over*.
func TestAccExitCodes_underWay(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	var hours atomic.Int64
	sim.Now = func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) }
	sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpStart), Takes: time.Hour})
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{
		Hosts: providertest.HostsConfig(2), More: "ensure = \"running\"\n  timeouts = { create = \"8s\", delete = \"8s\" }",
	}.String())
	cli.Expect(1, "apply", "-auto-approve")
	if out := cli.Expect(1, "destroy", "-auto-approve"); !strings.Contains(strings.Join(strings.Fields(out), " "), "the platform has not said that this is over") {
		t.Errorf("it said:\n%s", out)
	}
	hours.Add(2)
	cli.Expect(0, "destroy", "-auto-approve")
	for _, p := range sim.Processes() {
		if p.Registered || p.Hosted {
			t.Errorf("left behind: %+v", p)
		}
	}
}
