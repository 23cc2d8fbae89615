package face_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// Rows of the gateway name their host by either name, by both or by none.
func TestRows_names(t *testing.T) {
	t.Parallel()
	for rows, want := range map[string]string{"": "bk_agent_id host", "host": "host", "agent": "bk_agent_id", "none": "", "both": "bk_agent_id host"} {
		c := simtest.TwoNames(t, func(sim *simulator.Server) {
			sim.RowsWithoutHost, sim.RowsWithoutAgentID = rows == "both", rows == "both"
		})
		c.Sim.Inject(simulator.Fault{API: "*proc_status*", Rows: rows})
		c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
		for _, row := range append(simtest.RowsOf(t, c.GatewaySync()), c.GatewayRows(simtest.Agents(simtest.ByAgent))...) {
			var got []string
			for _, member := range []string{"bk_agent_id", "host"} {
				if _, there := row[member]; there {
					got = append(got, member)
				}
			}
			simtest.Want(t, "members with "+rows, strings.Join(got, " "), want)
		}
	}
}

// The cached status shows the state before the last change.
func TestSetLag_beforeTheLastChange(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t)
	c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
	c.SwitchOn("POST", "status", `{"lag":-1}`)
	status := func() (text string) {
		for _, row := range c.GatewayRows(simtest.CloudHosts("10.0.0.1")) {
			text += fmt.Sprint(row["status"], row["isauto"])
		}
		return text
	}
	for _, step := range []struct {
		op   int
		want string
	}{
		{simulator.OpStart, "2 true"}, {simulator.OpUnhost, "1 true"}, {simulator.OpStop, ""}, {simulator.OpHost, ""}, {simulator.OpStart, "2 true"},
	} {
		c.Over(simtest.ByAgent, step.op, simulator.CodeOK)
		for range 3 {
			simtest.Want(t, fmt.Sprint("after op ", step.op), status(), step.want)
		}
	}
	c.Sim.SetLag(1)
	c.Over(simtest.ByAgent, simulator.OpUnhost, simulator.CodeOK)
	c.SwitchOn("POST", "status", `{"lag":0}`)
	simtest.Want(t, "up to date", status(), "")
}
