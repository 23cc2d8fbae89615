package control_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestControl_switches(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	on := func(method, path, body, want string) {
		t.Helper()
		if status, got := c.SwitchOn(method, path, body); status != http.StatusOK || !strings.Contains(got, want) {
			t.Errorf("%s %s: HTTP %d: %s", method, path, status, got)
		}
	}
	process := `"host":"0:10.0.0.1","namespace":"web","name":"nginx"`

	on("POST", "act", `{"action":"register",`+process+`,"labels":{"team":"sre"},"spec":`+simtest.RegisterSpec+`}`, "")
	on("GET", "processes", "", `"registered": true`)
	on("POST", "act", `{"action":"host",`+process+`}`, "")
	on("POST", "act", `{"action":"start",`+process+`}`, "")
	if got := simtest.State(c.Sim, "10.0.0.1"); got != "RHr" {
		t.Errorf("state %s", got)
	}
	on("POST", "act", `{"action":"kill",`+process+`}`, "")
	on("POST", "tick", "", "")
	if got := simtest.State(c.Sim, "10.0.0.1"); got != "RHr" {
		t.Errorf("after kill and tick: %s", got)
	}
	on("POST", "act", `{"action":"stop",`+process+`}`, "")
	on("POST", "act", `{"action":"unregister",`+process+`}`, "")
	if got := simtest.State(c.Sim, "10.0.0.1"); got != "---" {
		t.Errorf("in the end: %s", got)
	}

	on("POST", "faults", `{"op":2,"code":-1}`, `"id": 1`)
	on("POST", "faults", `{"op":2,"code":-1}`, `"id": 2`)
	on("DELETE", "faults?id=1", "", "")
	if v := c.Do(simulator.OpQuery, "10.0.0.1"); v.Code != -1 {
		t.Errorf("with a fault: %+v", v)
	}
	on("DELETE", "faults", "", "")
	on("GET", "tasks", "", `"polls": 1`)
	on("GET", "executions", "", `"executions": []`)
	on("GET", "calls", "", `"api": "operate_proc_v2"`)
	on("DELETE", "calls", "", "")
	if got := c.Sim.Calls(); len(got) != 0 {
		t.Errorf("calls: %v", got.APIs())
	}
	on("PUT", "agents", `{"host":"0:10.0.0.1","reachable":false}`, "")
	if v := c.Do(simulator.OpQuery, "10.0.0.1"); v.Code != 117 {
		t.Errorf("without an agent: %+v", v)
	}
	on("POST", "status", `{"frozen":true}`, "")
	on("POST", "status", `{"frozen":false}`, "")
	on("GET", "violations", "", "")
	on("DELETE", "violations", "", "")
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
		{"PUT", "agents", `{"host":"web-1"}`, 400},
	} {
		if status, body := c.SwitchOn(test.method, test.path, test.body); status != test.status {
			t.Errorf("%s %s %s: HTTP %d: %s", test.method, test.path, test.body, status, body)
		}
	}
}

// Every fault in the index is one that the endpoint takes.
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
