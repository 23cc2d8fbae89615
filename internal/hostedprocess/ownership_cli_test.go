package hostedprocess_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// pids are the process ids on machines 1 to n.
func pids(t *testing.T, sim *providertest.Sim, n int) []int {
	t.Helper()
	var found []int
	for _, host := range providertest.HostNumbers(n) {
		found = append(found, sim.Machine(providertest.Address(host)).Process("web", "nginx").PID)
	}
	return found
}

// expectHosted fails the test where hosts 1 to n are not hosted.
func expectHosted(t *testing.T, sim *providertest.Sim, n int) {
	t.Helper()
	for _, host := range providertest.HostNumbers(n) {
		if p, _ := sim.Process(providertest.Address(host), "web", "nginx"); !p.Hosted {
			t.Errorf("web-%d is not hosted: %+v", host, p)
		}
	}
}

// The new object of a replacement keeps what both are about.
//
// Promised in partial-failure.md: the destroy of the old one leaves them alone, with the warning
// *Hosts Belong To Another Resource*.
func TestAccOwnership_createBeforeDestroy(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := providertest.HostedConfig{Hosts: providertest.HostsConfig(3), More: "ensure = \"running\"\n  lifecycle { create_before_destroy = true }"}.String()
	cli := providertest.NewCLI(t, sim, config)
	cli.Expect(0, "apply", "-auto-approve")
	before := pids(t, sim, 3)
	cli.Expect(0, "taint", "bk_hosted_process.test")
	out := cli.Expect(0, "apply", "-auto-approve")
	if !strings.Contains(out, "Hosts Belong To Another Resource") {
		t.Errorf("the old object said nothing:\n%s", out)
	}
	expectHosted(t, sim, 3)
	if after := pids(t, sim, 3); !slices.Equal(before, after) {
		t.Errorf("processes %v became %v", before, after)
	}
	cli.Expect(0, "plan", "-detailed-exitcode")
	cli.Expect(0, "destroy", "-auto-approve")
	if left := sim.Processes(); slices.ContainsFunc(left, func(p simulator.Process) bool { return p.Hosted }) {
		t.Errorf("left behind: %+v", left)
	}
}

// Of two configurations that declare the same process, only the one that registered it
// last lets it go.
//
// Promised in large-fleets.md: it takes the registration over, which is of the very same
// declaration, and the other leaves the host alone with a warning.
func TestAccOwnership_twoConfigurations(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String()
	first, second := providertest.NewCLI(t, sim, config), providertest.NewCLI(t, sim, config)
	first.Expect(0, "apply", "-auto-approve")
	second.Expect(0, "apply", "-auto-approve")
	if out := first.Expect(0, "destroy", "-auto-approve"); !strings.Contains(out, "Hosts Belong To Another Resource") {
		t.Errorf("the first said nothing:\n%s", out)
	}
	expectHosted(t, sim, 2)
	second.Expect(0, "plan", "-detailed-exitcode")
	second.Expect(0, "destroy", "-auto-approve")
	if p, _ := sim.Process(providertest.Address(1), "web", "nginx"); p.Hosted || p.Registered {
		t.Errorf("left behind: %+v", p)
	}
}

// Of two configurations the first lets go of nothing, although the platform's file has not
// heard of the second.
//
// Promised in partial-failure.md: before hosts are let go their agents are asked when the process was registered.
func TestAccOwnership_overtakenUnheard(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "adopt_existing = true\n  timeouts = { delete = \"3s\" }"}.String()
	first, second := providertest.NewCLI(t, sim, config), providertest.NewCLI(t, sim, config)
	first.Expect(0, "apply", "-auto-approve")
	sim.FreezeStatus()
	second.Expect(0, "apply", "-auto-approve")
	if out := words(first.Expect(1, "destroy", "-auto-approve")); !strings.Contains(out, "whose that is cannot be told while") {
		t.Errorf("the first said nothing:\n%s", out)
	}
	expectHosted(t, sim, 2)
	sim.ThawStatus()
	if out := first.Expect(0, "destroy", "-auto-approve"); !strings.Contains(out, "Hosts Belong To Another Resource") {
		t.Errorf("the first said nothing:\n%s", out)
	}
	expectHosted(t, sim, 2)
}

// What the second configuration registered and let go of runs on: the first, which has seen
// that it was the second's, neither stops it nor says nothing.
//
// Promised in partial-failure.md: the warning is *Hosts Last Registered By Another Resource*.
func TestAccOwnership_overtakenAndLetGo(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "ensure = \"running\"\n  on_destroy = \"stop\""}.String()
	first, second := providertest.NewCLI(t, sim, config), providertest.NewCLI(t, sim, strings.Replace(config, "\"stop\"", "\"unregister\"", 1))
	first.Expect(0, "apply", "-auto-approve")
	second.Expect(0, "apply", "-auto-approve")
	first.Expect(0, "apply", "-auto-approve") // which changes nothing
	second.Expect(0, "destroy", "-auto-approve")
	if out := words(first.Expect(0, "destroy", "-auto-approve")); !strings.Contains(out, "Hosts Last Registered By Another Resource") || !strings.Contains(out, "web-2") {
		t.Errorf("the first said nothing:\n%s", out)
	}
	for _, m := range sim.Machines() {
		if p := m.Process("web", "nginx"); !p.Running {
			t.Errorf("it was stopped: %+v", p)
		}
	}
}

// A tainted object that is replaced does not let go of what another configuration has
// registered since; also where state is of a release that did not keep the owner in it,
// which a plan adds without a change.
func TestAccOwnership_taintedAndTakenOver(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "on_destroy = \"stop\""}.String()
	first, second := providertest.NewCLI(t, sim, config), providertest.NewCLI(t, sim, config)
	first.Expect(0, "apply", "-auto-approve")
	owner := regexp.MustCompile(`"owner": ?"\w+",`) // older OpenTofus write no space
	first.EditState(func(text string) string { return owner.ReplaceAllString(text, "") })
	first.Expect(0, "plan", "-detailed-exitcode")
	first.Expect(0, "taint", "bk_hosted_process.test")
	second.Expect(0, "apply", "-auto-approve")
	sim.ResetCalls()
	if out := first.Expect(0, "apply", "-auto-approve"); !strings.Contains(out, "Hosts Belong To Another Resource") {
		t.Errorf("nothing was said:\n%s", out)
	}
	if undone := letGo(sim); len(undone) > 0 {
		t.Errorf("let go of %v", undone)
	}
	first.Expect(0, "taint", "bk_hosted_process.test")
	first.Expect(0, "apply", "-auto-approve")
	if undone := letGo(sim); len(undone) == 0 {
		t.Error("what is its own was not let go")
	}
}

// A host that is added is judged as at create: somebody else's stays theirs.
func TestAccOwnership_addedHost(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	theirs := map[string]string{"team": "other"}
	sim.Colleague(t, "web", "nginx", theirs, 2)
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(1)}.String())
	cli.Expect(0, "apply", "-auto-approve")
	cli.Configure(providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String())
	cli.Expect(1, "apply", "-auto-approve")
	if p, _ := sim.Process(providertest.Address(2), "web", "nginx"); p.Labels["team"] != "other" || p.Labels["tf_spec"] != "" {
		t.Errorf("the colleague's registration is %+v now", p)
	}
	cli.Expect(0, "destroy", "-auto-approve")
	if p, _ := sim.Process(providertest.Address(2), "web", "nginx"); !p.Registered {
		t.Errorf("the colleague's registration is gone: %+v", p)
	}
}

// A destroy is over when the platform says so, whatever a file that lags shows.
func TestAccOwnership_destroyRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault simulator.Fault
		says  string
	}{
		"per-host": {simulator.Fault{Code: new(117), Message: "agent is away"}, "agent is away"},
		"as-whole": {simulator.Fault{HTTPStatus: 403, Body: `{"code": 1640301, "message": "app has no permission"}`}, "app has no permission"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.RegisterHosts = true // so its own registration is known by its time
			cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String())
			sim.FreezeStatus() // the file never hears of it
			cli.Expect(0, "apply", "-auto-approve")
			c.fault.API, c.fault.Op = providertest.FaultOn("unregister_proc_info")
			sim.Inject(c.fault)
			if out := words(cli.Expect(1, "destroy", "-auto-approve", "-refresh=false")); !strings.Contains(out, c.says) {
				t.Errorf("it is refused for something else:\n%s", out)
			}
			if out := cli.Expect(0, "state", "list"); !strings.Contains(out, "bk_hosted_process.test") {
				t.Error("the resource is forgotten")
			}
			expectHosted(t, sim, 2)
			sim.Mend()
			sim.ThawStatus()
			cli.Expect(0, "destroy", "-auto-approve")
		})
	}
}

// What is to be stopped before it goes is stopped, also where somebody unregistered it.
func TestAccOwnership_stopsWhatWasUnregistered(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "ensure = \"running\"\n  on_destroy = \"stop\""}.String())
	cli.Expect(0, "apply", "-auto-approve")
	for n := 1; n <= 2; n++ {
		if err := sim.Unregister(providertest.Address(n), "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	cli.Expect(0, "destroy", "-auto-approve")
	for _, m := range sim.Machines() {
		if p := m.Process("web", "nginx"); p.Running {
			t.Errorf("it goes on running: %+v", p)
		}
	}
}

// A machine that is gone for good can be let go, and not by mistake.
//
// Promised in partial-failure.md: the apply ends with an error, and the host stays in `hosts`
// Promised in partial-failure.md: With it, hosts that leave `hosts` or are destroyed, and whose
// agents do not answer, go from state with a warning that names them.
// Promised in reference: Let hosts that leave `hosts`, or are destroyed, go from state
// although their agent does not answer, with a warning that names them.
// Promised in reference: Without it such a host stays in state, and the apply fails.
func TestAccOwnership_forgetUnreachable(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	more := "forget_unreachable = true"
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String())
	cli.Expect(0, "apply", "-auto-approve")
	sim.SetReachable(providertest.Address(2), false)
	cli.Configure(providertest.HostedConfig{Hosts: providertest.HostsConfig(1)}.String())
	if out := cli.Expect(1, "apply", "-auto-approve"); !strings.Contains(strings.Join(strings.Fields(out), " "), "forget_unreachable = true") {
		t.Errorf("the way out is not named:\n%s", out)
	}
	cli.Configure(providertest.HostedConfig{Hosts: providertest.HostsConfig(1), More: more}.String())
	if out := cli.Expect(0, "apply", "-auto-approve"); !strings.Contains(out, "Unreachable Hosts Forgotten") || !strings.Contains(out, "web-2") {
		t.Errorf("the host is not named:\n%s", out)
	}
	cli.Expect(0, "plan", "-detailed-exitcode")
}

// A changed default label is a line of the plan, also while a host is out of sync.
//
// Promised in rolling-restart.md: It changes with every change of `spec` or labels, default
// labels among them:.
func TestAccOwnership_labelsInThePlan(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := providertest.HostedConfig{Hosts: providertest.HostsConfig(3)}.String()
	cli := providertest.NewCLI(t, sim, config)
	sim.FailHosts("register_proc_info", []int{3}, 117, "agent is away")
	if out := cli.Expect(0, "apply", "-auto-approve"); !strings.Contains(out, "agent is away") {
		t.Fatalf("no host is out of sync:\n%s", out)
	}
	cli.ConfigureWith("provider \"bk\" {\n  default_labels = { tier = \"gold\" }\n}\n", config)
	out := cli.Expect(2, "plan", "-detailed-exitcode")
	for _, line := range []string{"labels_all", `"gold"`, "fingerprint"} {
		if !strings.Contains(out, line) {
			t.Errorf("the plan does not show %s:\n%s", line, out)
		}
	}
	sim.Mend()
	cli.Expect(0, "apply", "-auto-approve")
	for n := 1; n <= 3; n++ {
		if p, _ := sim.Process(providertest.Address(n), "web", "nginx"); p.Labels["tier"] != "gold" {
			t.Errorf("web-%d is registered with %v", n, p.Labels)
		}
	}
}

// A machine that is called otherwise is the same machine: nothing is stopped, started,
// restarted or unhosted for good.
func TestAccOwnership_renamed(t *testing.T) {
	t.Parallel()
	for name, perName := range map[string]bool{"one-entry": false, "entry-per-name": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.EntryPerName = perName
			agents := []string{"0200000007525400f355781710390005465c", "0200000007525400f355781710390005465d"}
			byAgent := "{\n"
			for i, id := range agents {
				sim.AddAgent(id, providertest.Address(i+1))
				byAgent += fmt.Sprintf("web-%d = %q\n", i+1, id)
			}
			byAgent += "}"
			provider := "provider \"bk\" {\n  gateway = \"apigw\"\n}\n"
			process := func(hosts string) string {
				return providertest.HostedConfig{Hosts: hosts, More: "ensure = \"running\"\n  on_destroy = \"stop\""}.String() + `
resource "bk_process_operation" "restart" {
  meta      = bk_hosted_process.test.meta
  hosts     = bk_hosted_process.test.hosts
  spec      = bk_hosted_process.test.spec
  operation = "restart"
}
`
			}
			cli := providertest.NewCLI(t, sim, "")
			cli.ConfigureWith(provider, process(providertest.HostsConfig(2)))
			cli.Expect(0, "apply", "-auto-approve")
			before := pids(t, sim, 2)
			for _, hosts := range []string{byAgent, providertest.HostsConfig(2)} {
				sim.ResetCalls()
				cli.ConfigureWith(provider, process(hosts))
				cli.Expect(0, "apply", "-auto-approve")
				if after := pids(t, sim, 2); !slices.Equal(before, after) {
					t.Errorf("processes %v became %v", before, after)
				}
				for _, m := range sim.Machines() {
					for _, p := range m.Processes {
						if !p.Hosted || !p.Running {
							t.Errorf("it is %+v", p)
						}
					}
				}
				cli.Expect(0, "plan", "-detailed-exitcode")
			}
			cli.ConfigureWith(provider, process("{ web-1 = \""+providertest.Address(1)+"\", twin = \""+agents[0]+"\" }"))
			if out := cli.Expect(1, "apply", "-auto-approve"); !strings.Contains(strings.Join(strings.Fields(out), " "), "name each machine once") {
				t.Errorf("said:\n%s", out)
			}
		})
	}
}

// A machine that another configuration has registered since by its agent id goes on running
// what that one declares, although the platform keeps an entry for its address as well.
func TestAccOwnership_theOtherName(t *testing.T) {
	t.Parallel()
	const agent = "0200000007525400f355781710390005465c"
	sim := providertest.NewSim(t)
	sim.EntryPerName = true
	sim.AddAgent(agent, providertest.Address(1))
	cli := func(hosts string) *providertest.CLI {
		c := providertest.NewCLI(t, sim, "")
		c.ConfigureWith(providertest.ProviderBlock(`gateway = "apigw"`), providertest.HostedConfig{
			Hosts: hosts, More: "ensure = \"running\"\n  on_destroy = \"kill\"\n  adopt_existing = true",
		}.String())
		c.Expect(0, "apply", "-auto-approve")
		return c
	}
	first := cli(providertest.HostsConfigOf(1))
	second := cli(fmt.Sprintf("{ a = %q }", agent))
	before := pids(t, sim, 1)
	if out := words(first.Expect(0, "destroy", "-auto-approve")); !strings.Contains(out, "Machines Belong To Another Resource") || !strings.Contains(out, "since, as "+agent) {
		t.Errorf("the first said nothing:\n%s", out)
	}
	expectHosted(t, sim, 1)
	if after := pids(t, sim, 1); !slices.Equal(before, after) {
		t.Errorf("processes %v became %v", before, after)
	}
	second.Expect(0, "plan", "-detailed-exitcode")
}
