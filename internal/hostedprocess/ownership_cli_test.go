package hostedprocess_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// run hosts and starts what is registered on a host, as somebody else.
func run(t *testing.T, sim *providertest.Sim, host int) {
	t.Helper()
	for _, act := range []func(string, string, string) error{sim.Host, sim.StartProcess} {
		if err := act(providertest.Address(host), "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
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
	for name, c := range map[string]struct{ own, dependent string }{
		"its-own":             {createFirst, ""},
		"that-of-a-dependent": {"", dependent("triggers_replace = bk_hosted_process.test.owner\n  " + createFirst)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(3), More: "ensure = \"running\"\n  " + c.own}.String()+c.dependent)
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
		})
	}
}

const createFirst = "lifecycle { create_before_destroy = true }"

// dependent is an object that depends on the process, or the process on it.
func dependent(more string) string {
	return "resource \"terraform_data\" \"dependent\" {\n  " + more + "\n}\n"
}

// A rename without a moved block is a create and a destroy, which come in either order. A
// dependent settles which: one that is replaced before it is destroyed has the destroy wait,
// and one that the new object depends on the create.
func TestAccOwnership_renamedWithoutMoved(t *testing.T) {
	t.Parallel()
	renamed := strings.NewReplacer(`"bk_hosted_process" "test"`, `"bk_hosted_process" "renamed"`, "process.test", "process.renamed")
	for name, c := range map[string]struct {
		before, after, more string
		letsGo              []string
	}{
		"create-first": {
			dependent("triggers_replace = [1, bk_hosted_process.test.owner]\n  " + createFirst),
			dependent("triggers_replace = [2, bk_hosted_process.test.owner]\n  " + createFirst), "", []string{},
		},
		"destroy-first": {
			dependent("input = bk_hosted_process.test.owner"), dependent("input = 2"),
			"depends_on = [terraform_data.dependent]", providertest.AddressList([]int{1, 2}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			process := providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "ensure = \"running\""}
			cli := providertest.NewCLI(t, sim, process.String()+c.before)
			cli.Expect(0, "apply", "-auto-approve")
			before := pids(t, sim, 2)
			sim.ResetCalls()
			process.More += "\n  " + c.more
			cli.Configure(renamed.Replace(process.String() + c.after))
			out := cli.Expect(0, "apply", "-auto-approve")
			if undone := letGo(sim); !slices.Equal(undone, c.letsGo) || strings.Contains(out, "Hosts Belong To Another Resource") != (len(undone) == 0) {
				t.Errorf("let go of %v, and said:\n%s", undone, out)
			}
			expectHosted(t, sim, 2)
			if after := pids(t, sim, 2); !slices.Equal(before, after) {
				t.Errorf("processes %v became %v", before, after)
			}
			cli.Expect(0, "plan", "-detailed-exitcode")
		})
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
	run(t, sim, 2)
	before, _ := sim.Process(providertest.Address(2), "web", "nginx")
	untouched := func() {
		t.Helper()
		if after, _ := sim.Process(providertest.Address(2), "web", "nginx"); !cmp.Equal(before, after) {
			t.Errorf("the colleague's process was %+v and is %+v", before, after)
		}
	}
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(1)}.String())
	cli.Expect(0, "apply", "-auto-approve")
	cli.Configure(providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "on_destroy = \"kill\""}.String())
	if out := words(cli.Expect(1, "apply", "-auto-approve")); !strings.Contains(out, "web-2 ("+providertest.Address(2)+"): the process is registered already") {
		t.Errorf("it is refused for something else:\n%s", out)
	}
	untouched()
	cli.Expect(0, "destroy", "-auto-approve")
	untouched()
}

// A destroy is over when the platform says so, whatever a file shows that lags, or whose
// rows name no host.
func TestAccOwnership_destroyRefused(t *testing.T) {
	t.Parallel()
	refused := simulator.Fault{EnvelopeCode: new(1306101), EnvelopeMessage: "no permission"}
	for name, c := range map[string]struct {
		fault   simulator.Fault
		says    string
		args    []string
		unnamed bool // rows name no host, of which the gateway alone has any; otherwise the file never hears of it
	}{
		"per-host":          {simulator.Fault{Code: new(117), Message: "agent is away"}, "agent is away", []string{"-refresh=false"}, false},
		"as-whole":          {simulator.Fault{HTTPStatus: 403, Body: `{"code": 1640301, "message": "app has no permission"}`}, "app has no permission", nil, false},
		"result-is-false":   {refused, "no permission", nil, false},
		"rows-without-host": {refused, "no permission", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.RegisterHosts = true // so its own registration is known by its time
			cli := providertest.NewCLI(t, sim, "")
			block := "provider \"bk\" {}\n"
			c.fault.API, c.fault.Op = providertest.FaultOn("unregister_proc_info")
			if c.unnamed {
				sim.RowsWithoutHost, sim.RowsWithoutAgentID = true, true
				block = providertest.ProviderBlock(`gateway = "apigw"`)
				c.fault.API, c.fault.Op = "operate_proc_multi", new(simulator.OpUnhost)
			} else {
				sim.FreezeStatus()
			}
			cli.ConfigureWith(block, providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String())
			cli.Expect(0, "apply", "-auto-approve")
			sim.Inject(c.fault)
			if out := words(cli.Expect(1, append([]string{"destroy", "-auto-approve"}, c.args...)...)); !strings.Contains(out, c.says) {
				t.Errorf("it is refused for something else:\n%s", out)
			}
			if out := cli.Expect(0, "state", "list"); !strings.Contains(out, "bk_hosted_process.test") {
				t.Error("the resource is forgotten")
			}
			expectHosted(t, sim, 2)
			sim.Mend()
			sim.ThawStatus()
			cli.Expect(0, "destroy", "-auto-approve")
			if left := sim.Processes(); slices.ContainsFunc(left, func(p simulator.Process) bool { return p.Registered || p.Hosted }) {
				t.Errorf("left behind: %+v", left)
			}
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
		if p := sim.Machine(providertest.Address(n)).Process("web", "nginx"); !p.Running || p.Hosted {
			t.Fatalf("what somebody unregistered is %+v", p)
		}
	}
	sim.ResetCalls()
	cli.Expect(0, "destroy", "-auto-approve")
	for _, m := range sim.Machines() {
		if p := m.Process("web", "nginx"); p.Running {
			t.Errorf("it goes on running: %+v", p)
		}
	}
	if stop, changes := "operate_proc_v2/1 "+providertest.Addresses(1, 2), sim.Changes(); !slices.Contains(changes, stop) {
		t.Errorf("%v were called, and not %s", changes, stop)
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
	if out := words(cli.Expect(0, "apply", "-auto-approve")); !strings.Contains(out, "Unreachable Hosts Forgotten") || !strings.Contains(out, "web-2 ("+providertest.Address(2)+"): ") {
		t.Errorf("the host is not named:\n%s", out)
	}
	cli.Expect(0, "plan", "-detailed-exitcode")
	sim.SetReachable(providertest.Address(1), false)
	if out := words(cli.Expect(0, "destroy", "-auto-approve")); !strings.Contains(out, "Unreachable Hosts Forgotten") || !strings.Contains(out, "web-1 ("+providertest.Address(1)+"): ") {
		t.Errorf("the destroy did not name the host:\n%s", out)
	}
	if out := cli.Expect(0, "state", "list"); out != "" {
		t.Errorf("state holds %s", out)
	}
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
