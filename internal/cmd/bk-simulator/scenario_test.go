package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// What a scenario declares is what the simulator starts with, and only that.
func TestRun_scenario(t *testing.T) {
	t.Parallel()
	const steps = `,"steps":[{"say":"away","fault":{"unreachable":"117"}}]}`
	var log simtest.Buffer
	scenario := put(t, "scenario.json", `{"title":"t","simulator":{"hosts":"0:10.0.0.1"}`+steps)
	r := start(t, &log, "-quiet", "-app-code", "app", "-app-secret", "shh", "-scenario", scenario)
	simtest.WantIn(t, "answer", r.send(http.MethodPost, simtest.ESB("register_proc_info"), registration), `"error_code":117`)
	simtest.Want(t, "log", log.String(), "scenario: 1 of 1: away\n")
	for want, text := range map[string]string{
		`scenario.json:2: "titel" is not known here; did you mean "title"?`:           "{\n\"titel\":\"t\"}",
		`simulator: a scenario cannot set "root", only admit, hosts, row-label, with`: `{"title":"t","simulator":{"root":"/"}` + steps,
		`simulator: admit: `:  `{"title":"t","simulator":{"admit":"10"}` + steps,
		"no host is declared": `{"title":"t"` + steps,
	} {
		var stderr simtest.Buffer
		if err := run(t.Context(), []string{"-scenario", put(t, "scenario.json", text)}, io.Discard, &stderr); err == nil || !strings.Contains(stderr.String(), want) {
			t.Errorf("want %s: %v: %s", want, err, stderr.String())
		}
	}
}

// Hosts of a topology are those of the process service and of CMDB.
func TestRun_topology(t *testing.T) {
	t.Parallel()
	sim := served(t, "-topology", put(t, "topology.json", `{"businesses":[{"id":3,"name":"shop","sets":[{"name":"gz","modules":[{"name":"nginx","hosts":[{"ip":"10.0.0.1","agent_id":"`+simtest.AgentA+`"}]}]}]}]}`))
	simtest.Must(t, sim.Register(simtest.AgentA, "web", "nginx", nil, ""), sim.CMDB().Remove("0:10.0.0.1"))
}
