package control_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// turnedOn calls a switch of the control endpoint, whose answer contains want.
func turnedOn(c *simtest.Client, method, path, body, want string) {
	c.T.Helper()
	if status, got := c.SwitchOn(method, path, body); status != http.StatusOK || !strings.Contains(got, want) {
		c.T.Errorf("%s %s %s: HTTP %d: %s", method, path, body, status, got)
	}
}

func TestControl_acts(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	const process = `"host":"0:10.0.0.1","namespace":"web","name":"nginx"`
	for _, step := range []struct{ act, more, state string }{
		{"register", `,"labels":{"team":"sre"},"spec":` + simtest.RegisterSpec, "R--"},
		{"host", "", "RH-"},
		{"start", "", "RHr"},
		{"kill", "", "RH-"},
		{"stop", "", "R--"},
		{"unregister", "", "---"},
	} {
		turnedOn(c, "POST", "act", `{"action":"`+step.act+`",`+process+step.more+`}`, "")
		if got := simtest.State(c.Sim, "10.0.0.1"); got != step.state {
			t.Errorf("after %s: %s, want %s", step.act, got, step.state)
		}
		switch step.act {
		case "register":
			turnedOn(c, "GET", "processes", "", `"registered": true`)
		case "kill": // the agent restarts it
			turnedOn(c, "POST", "tick", "", "")
			simtest.Want(t, "after a tick", simtest.State(c.Sim, "10.0.0.1"), "RHr")
		}
	}
}

// Changes by hand of an agent's file take effect, and the endpoint accepts each act of the index.
func TestControl_procFile(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Do(simulator.OpHost, "10.0.0.1")
	_, index := c.SwitchOn("GET", "", "")
	acts := regexp.MustCompile(`/_sim/act -d '(.*_(?:entry|file)".*)'`).FindAllStringSubmatch(index, -1)
	wants := []string{`"memlmt":50`, `"valuekey":"web:old"`, "command not found", `"./stop`, `"./stop.sh -9"`, "web:old"}
	if len(acts) != len(wants) || !strings.Contains(index, strings.Join(simulator.OddFiles(), ", ")) {
		t.Fatalf("acts: %q", acts)
	}
	for i, want := range wants {
		turnedOn(c, "POST", "act", acts[i][1], "")
		turnedOn(c, "GET", "proc_file?host=0:10.0.0.1", "", want)
	}
}

func TestControl_faults(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	turnedOn(c, "POST", "faults", `{"op":2,"code":-1}`, `"id": 1`)
	turnedOn(c, "POST", "faults", `{"op":2,"code":-1}`, `"id": 2`)
	turnedOn(c, "GET", "faults", "", `"id": 2`)
	turnedOn(c, "DELETE", "faults?id=1", "", "")
	if v := c.Do(simulator.OpQuery, "10.0.0.1"); v.Code != -1 {
		t.Errorf("with a fault: %+v", v)
	}
	turnedOn(c, "DELETE", "faults", "", "")
	simtest.WantCode(t, "without one", c.Do(simulator.OpQuery, "10.0.0.1"), 0)
}

func TestControl_shows(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Do(simulator.OpQuery, "10.0.0.1")
	for path, want := range map[string]string{"tasks": `"polls": 1`, "executions": `"executions": []`, "calls": `"api": "operate_proc_v2"`, "violations": ""} {
		turnedOn(c, "GET", path, "", want)
	}
	turnedOn(c, "DELETE", "violations", "", "")
	turnedOn(c, "DELETE", "calls", "", "")
	if got := c.Sim.Calls(); len(got) != 0 {
		t.Errorf("calls: %v", got.APIs())
	}
}

func TestControl_agentsAndStatus(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	turnedOn(c, "PUT", "agents", `{"host":"0:10.0.0.1","reachable":false}`, "")
	simtest.WantCode(t, "without an agent", c.Do(simulator.OpQuery, "10.0.0.1"), 117)
	turnedOn(c, "POST", "status", `{"frozen":true}`, "")
	turnedOn(c, "POST", "status", `{"frozen":false}`, "")
}

func TestControl_mapsAgentIDs(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	for body, want := range map[string]int{
		`{"host":"0:10.0.0.1","agent_id":"` + simtest.AgentA + `"}`:             http.StatusOK,
		`{"host":"0:10.0.0.1","agent_id":"x"}`:                                  http.StatusBadRequest,
		`{"host":"` + simtest.AgentB + `"}`:                                     http.StatusOK,
		`{"host":"` + simtest.AgentB + `","agent_id":"` + simtest.AgentA + `"}`: http.StatusBadRequest,
	} {
		if status, got := c.SwitchOn("PUT", "agents", body); status != want {
			t.Errorf("%s: HTTP %d %s, want %d", body, status, got, want)
		}
	}
	c.Call("register_proc_info", "10.0.0.1")
	if rows := c.GatewayRows(simtest.Agents(simtest.AgentA, simtest.AgentB)); len(rows) != 1 {
		t.Errorf("rows: %v", rows)
	}
}

func TestControl_refuses(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	for _, test := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "nothing", "", 404},
		{"POST", "calls", "", 404},
		{"POST", "faults", `{"pendign":1}`, 400},
		{"POST", "faults", `{"drop":"now"}`, 400},
		{"POST", "faults", `{"hosts":["web-1"]}`, 400},
		{"POST", "faults", `{"chance":1.5}`, 400},
		{"POST", "act", `{"action":"dance"}`, 400},
		{"POST", "act", `{"action":"kill","host":"0:10.0.0.1","namespace":"web","name":"nginx"}`, 400},
		{"POST", "act", `{"action":"register","host":"0:10.9.9.9","namespace":"web","name":"nginx","spec":{}}`, 400},
		{"POST", "act", `{"action":"proc_file","host":"0:10.0.0.1","file":{"odd":"strange"}}`, 400},
		{"POST", "act", `{"action":"edit_entry","host":"0:10.0.0.1","namespace":"web","name":"nginx","fields":{}}`, 400},
		{"POST", "act", `{"action":"add_entry","host":"0:10.0.0.1"}`, 400},
		{"GET", "proc_file?host=web-1", "", 400},
		{"PUT", "agents", `{"host":"web-1"}`, 400},
	} {
		if status, body := c.SwitchOn(test.method, test.path, test.body); status != test.status {
			t.Errorf("%s %s %s: HTTP %d: %s", test.method, test.path, test.body, status, body)
		}
	}
}

// The endpoint accepts every fault in the index.
func TestControl_indexIsTrue(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	_, index := c.SwitchOn("GET", "", "")
	bodies := regexp.MustCompile(`/_sim/faults -d '(.*)'`).FindAllStringSubmatch(index, -1)
	if len(bodies) < 15 || strings.Contains(index, "$SIM") || !strings.Contains(index, c.URL+"/_sim/act") {
		t.Fatalf("%d faults in the index:\n%s", len(bodies), index)
	}
	for _, body := range bodies {
		if status, answer := c.SwitchOn("POST", "faults", body[1]); status != http.StatusOK {
			t.Errorf("%s: HTTP %d: %s", body[1], status, answer)
		}
	}
}
