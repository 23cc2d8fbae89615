package hostedprocess_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// The new object of a replacement keeps what both are about.
//
// Promised in partial-failure.md: the destroy of the old one leaves them alone, without a warning.
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
			before := pids(sim, 3)
			cli.Expect(0, "taint", "bk_hosted_process.test")
			out := cli.Expect(0, "apply", "-auto-approve")
			if strings.Contains(out, "Hosts Belong To Another Resource") {
				t.Errorf("the old object said:\n%s", out)
			}
			expectHosted(t, sim, 3)
			if after := pids(sim, 3); !slices.Equal(before, after) {
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
			before := pids(sim, 2)
			sim.ResetCalls()
			process.More += "\n  " + c.more
			cli.Configure(renamed.Replace(process.String() + c.after))
			out := cli.Expect(0, "apply", "-auto-approve")
			if undone := letGo(sim); !slices.Equal(undone, c.letsGo) || strings.Contains(out, "Hosts Belong To Another Resource") {
				t.Errorf("let go of %v, and said:\n%s", undone, out)
			}
			expectHosted(t, sim, 2)
			if after := pids(sim, 2); !slices.Equal(before, after) {
				t.Errorf("processes %v became %v", before, after)
			}
			cli.Expect(0, "plan", "-detailed-exitcode")
		})
	}
}
