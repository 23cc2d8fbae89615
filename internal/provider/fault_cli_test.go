package provider

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// cliCells are the cells that run through a real CLI as well, by fault: one of each
// way to end.
var cliCells = map[string][]operation{
	"403":          {onCreate, onRead},
	"agent-away":   {onCreate, onUpdate, onDelete},
	"closed-after": {onOperate},
	"unregistered": {onRead},
}

// onCLI tells whether a cell is among them.
func (f fault) onCLI(o operation) bool { return slices.Contains(cliCells[f.name], o) }

// What the driver of TestFaultMatrix takes Terraform to do is what a CLI does: exit
// codes, state and the next plan.
func TestAccFaultMatrix(t *testing.T) {
	t.Parallel()
	for _, c := range matrixCells() {
		if c.by != face(testGateway) || !c.fault.onCLI(c.on) {
			continue
		}
		t.Run(c.fault.name+"/"+c.on.path(), func(t *testing.T) {
			t.Parallel()
			(&faultRun{t: t, sim: newSim(t), face: c.by, on: c.on, fault: c.fault, cell: c.cell}).throughCLI()
		})
	}
}

func (r *faultRun) throughCLI() {
	r.t.Helper()
	cli := newCLI(r.t, r.sim, r.hcl(onCreate))
	if !r.on.first() {
		cli.expect(0, "apply", "-auto-approve")
	}
	cli.configure(r.hcl(r.on))
	r.sim.ResetCalls()
	r.inject()

	said := unwrapped(cli.expect(r.exitCode(), r.command()...))
	if r.cell.ending != drifts && !strings.Contains(said, r.says()) {
		r.t.Errorf("does not say %q:\n%s", r.says(), said)
	}
	r.expectTries()
	if r.on != onRead {
		attributes := cli.attributes(r.face.typeName(r.on))
		r.expectState(texts(attributes["hosts"]), texts(attributes[r.reasonsName()]))
	}

	acted := r.acted()
	r.mend()
	plan := []string{"plan", "-detailed-exitcode"}
	if r.on == onDelete {
		plan = append(plan, "-destroy")
	}
	next := 2
	if r.nextPlan(acted) == planNothing {
		next = 0
	}
	cli.expect(next, plan...)
	if next == 0 {
		return
	}
	apply := []string{"apply", "-auto-approve"}
	if r.on == onDelete {
		apply[0] = "destroy"
	}
	cli.expect(0, apply...)
	if diff := gocmp.Diff(r.nextTouched(acted), r.touched()); diff != "" {
		r.t.Errorf("hosts that the next apply changes (-want +got):\n%s\ncalls: %v", diff, r.sim.changes())
	}
	r.expectConverged()
	cli.expect(0, plan...)
}

// command is what meets the fault.
func (r *faultRun) command() []string {
	switch r.on {
	case onRead:
		return []string{"plan", "-detailed-exitcode"}
	case onDelete:
		return []string{"destroy", "-auto-approve"}
	default:
		return []string{"apply", "-auto-approve"}
	}
}

func (r *faultRun) exitCode() int {
	switch r.cell.ending {
	case fails, stays, taints:
		return 1
	case drifts:
		return 2
	default:
		return 0
	}
}

// hcl is the configuration of an operation.
func (r *faultRun) hcl(o operation) string {
	start := "./start.sh"
	if o == onUpdate {
		start = "./other.sh"
	}
	if o == onOperate {
		return fmt.Sprintf(`
resource "bk_process_operation" "test" {
  meta      = { namespace = "web", name = "nginx" }
  hosts     = %s
  spec      = %s
  operation = "start"
}
`, hostsConfig(matrixHosts), specConfig(start))
	}
	return hostedConfig{hosts: hostsConfig(matrixHosts), start: start, more: `ensure = "registered"`}.String()
}

// attributes are those of the one resource of a type in state, none where there is
// none.
func (c *testCLI) attributes(typ string) map[string]any {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		c.t.Fatal(err)
	}
	var state struct {
		Resources []struct {
			Type      string
			Instances []struct {
				Status     string
				Attributes map[string]any
			}
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		c.t.Fatal(err)
	}
	for _, resource := range state.Resources {
		for _, instance := range resource.Instances {
			if instance.Status != "" {
				c.t.Errorf("%s is %s", typ, instance.Status)
			}
			if resource.Type == typ {
				return instance.Attributes
			}
		}
	}
	return nil
}
