package control_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestControl_acts(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	const process = `"host":"0:10.0.0.1","namespace":"web","name":"nginx"`
	for _, step := range []struct{ act, more, state string }{
		{"register", `,"labels":{"team":"sre"},"spec":` + simtest.RegisterSpec, "R--"},
		{"host", "", "RH-"},
		{"start", "", "RHr"},
		{"kill", "", "RH-"},
		{"", "", "RHr"}, // a tick, in which the agent restarts it
		{"stop", "", "R--"},
		{"unregister", "", "---"},
	} {
		if step.act == "" {
			c.Switch("POST", "tick", "", 200, "")
		} else {
			c.Switch("POST", "act", `{"action":"`+step.act+`",`+process+step.more+`}`, 200, "")
		}
		c.WantState("after "+step.act, step.state)
		if step.act == "register" {
			c.Switch("GET", "processes", "", 200, `"registered": true`)
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
		c.Switch("POST", "act", acts[i][1], 200, "")
		c.Switch("GET", "proc_file?host=0:10.0.0.1", "", 200, want)
	}
}

func TestControl_faults(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Switch("POST", "faults", `{"op":2,"code":-1}`, 200, `"id": 1`)
	c.Switch("POST", "faults", `{"op":2,"code":-1}`, 200, `"id": 2`)
	c.Switch("GET", "faults", "", 200, `"id": 2`)
	c.Switch("DELETE", "faults?id=1", "", 200, "")
	c.Does(simulator.OpQuery, -1, "---")
	c.Switch("DELETE", "faults", "", 200, "")
	c.Does(simulator.OpQuery, 0, "---")
}

func TestControl_shows(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Do(simulator.OpQuery, "10.0.0.1")
	for path, want := range map[string]string{"tasks": `"polls": 1`, "executions": `"executions": []`, "calls": `"api": "operate_proc_v2"`, "violations": ""} {
		c.Switch("GET", path, "", 200, want)
	}
	c.Switch("DELETE", "violations", "", 200, "")
	c.Switch("DELETE", "calls", "", 200, "")
	simtest.Want(t, "calls", len(c.Sim.Calls()), 0)
}

func TestControl_agentsAndStatus(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Switch("PUT", "agents", `{"host":"0:10.0.0.1","reachable":false}`, 200, "")
	c.Does(simulator.OpQuery, 117, "---")
	c.Switch("PUT", "agents", `{"host":"0:10.0.0.1","reachable":true,"agent_id":"`+simtest.AgentA+`"}`, 200, "")
	c.Switch("PUT", "agents", `{"host":"0:10.0.0.1","agent_id":"x"}`, 400, "")
	c.Switch("PUT", "agents", `{"host":"`+simtest.AgentB+`"}`, 200, "")
	c.Switch("PUT", "agents", `{"host":"`+simtest.AgentB+`","agent_id":"`+simtest.AgentA+`"}`, 400, "")
	c.Call("register_proc_info", "10.0.0.1")
	simtest.Want(t, "rows", len(c.GatewayRows(simtest.Agents(simtest.AgentA, simtest.AgentB))), 1)
	c.Switch("POST", "status", `{"frozen":true}`, 200, "")
	c.Call("unregister_proc_info", "10.0.0.1")
	simtest.Want(t, "frozen rows", len(c.Rows("10.0.0.1")), 1)
	c.Switch("POST", "status", `{"frozen":false}`, 200, "")
	simtest.Want(t, "rows", len(c.Rows("10.0.0.1")), 0)
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
		c.Switch(test.method, test.path, test.body, test.status, "")
	}
}

func TestControl_indexIsTrue(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	_, index := c.SwitchOn("GET", "", "")
	bodies := regexp.MustCompile(`/_sim/faults -d '(.*)'`).FindAllStringSubmatch(index, -1)
	if len(bodies) < 15 || strings.Contains(index, "$SIM") || !strings.Contains(index, c.URL+"/_sim/act") {
		t.Fatalf("%d faults in the index:\n%s", len(bodies), index)
	}
	for _, body := range bodies {
		c.Switch("POST", "faults", body[1], 200, "")
	}
}

func TestControl_upgradesAgents(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, simtest.EntryPerName)
	c.Switch("POST", "act", `{"action":"upgrade","host":"0:10.0.0.1","agent_id":"`+simtest.AgentA+`"}`, 200, "{}")
	c.Switch("POST", "act", `{"action":"register","host":"`+simtest.AgentA+`","namespace":"web","name":"nginx"}`, 200, "")
	for _, want := range []string{`"host": "0:10.0.0.1"`, `"agent_id": "` + simtest.AgentA + `"`, `"registered": true`, `"operations": []`} {
		c.Switch("GET", "machines", "", 200, want)
	}
	c.Switch("POST", "act", `{"action":"upgrade","host":"0:10.0.0.2","agent_id":"`+simtest.AgentA+`"}`, 400, "") // another's
}

func TestControl_cmdb(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, `{"businesses":[{"name":"shop","sets":[{"name":"gz","modules":[{"name":"nginx","processes":[{"bk_process_name":"nginx"}],"hosts":[{"ip":"10.0.0.1"}]},{"name":"bare"}]}]}]}`)
	for _, step := range []struct{ change, modules string }{
		{`{"action":"add","module":"shop/gz/nginx","hosts":{"ip":"10.0.0.2"}}`, `"shop/gz/nginx": ["0:10.0.0.1","0:10.0.0.2"]`},
		{`{"action":"share","module":"shop/gz/bare","host":"0:10.0.0.2"}`, `"shop/gz/bare": ["0:10.0.0.2"]`},
		{`{"action":"remove","host":"0:10.0.0.1"}`, `"shop/gz/nginx": ["0:10.0.0.2"]`},
		{`{"action":"change_process","module":"shop/gz/nginx","process":"nginx","fields":{"proc_num":4}}`, ""},
		{`{"action":"change_host","host":"0:10.0.0.2","fields":{"bk_os_type":null}}`, ""},
		{`{"action":"empty","module":"shop/gz/nginx"}`, `"shop/gz/nginx": []`},
	} {
		c.Switch("POST", "cmdb", step.change, http.StatusOK, "")
		_, got := c.SwitchOn("GET", "cmdb", "")
		if got = strings.NewReplacer("\n", "", "  ", "", `", "`, `","`).Replace(got); !strings.Contains(got, step.modules) {
			t.Errorf("%s: %s", step.change, got)
		}
	}
	c.Switch("POST", "cmdb", `{"action":"fill"}`, http.StatusBadRequest, `"fill" is unknown`)
	c.Switch("POST", "cmdb", `{"action":"empty","module":"shop/gz/none"}`, http.StatusBadRequest, "does not exist")
	c.Switch("POST", "cmdb", `{"action":"empty","modul":"shop/gz/nginx"}`, http.StatusBadRequest, "unknown field")
	c.Switch("POST", "cmdb", `{"action":"change_host","host":"0:10.0.0.1"}`, http.StatusBadRequest, "no host is declared")
}

type listener struct {
	t  *testing.T
	in *bufio.Scanner
}

func listen(c *simtest.Client) *listener {
	c.T.Helper()
	req, err := http.NewRequestWithContext(c.T.Context(), http.MethodGet, c.URL+"/_sim/stream", nil)
	simtest.Must(c.T, err)
	resp, err := http.DefaultClient.Do(req)
	simtest.Must(c.T, err)
	c.T.Cleanup(func() { _ = resp.Body.Close() })
	simtest.Want(c.T, "content type", resp.Header.Get("Content-Type"), "text/event-stream; charset=utf-8")
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 1<<20)
	return &listener{c.T, in}
}

// next reads up to the next event with a name, and returns its data.
func (l *listener) next(name string, into any) string {
	l.t.Helper()
	for l.in.Scan() {
		if l.in.Text() != "event: "+name {
			continue
		}
		l.in.Scan()
		data := strings.TrimPrefix(l.in.Text(), "data: ")
		if err := json.Unmarshal([]byte(data), into); err != nil {
			l.t.Fatalf("%s: %v: %s", name, err, data)
		}
		return data
	}
	l.t.Fatalf("the stream ended before %s: %v", name, l.in.Err())
	return ""
}

type fleetEvent struct {
	Cells []struct {
		ID         int
		Host, Name string
		Running    bool
		Places     []string
		Last       struct {
			Action string
			Code   int
		}
	}
	Gone []int
}

func TestStream_sendsChanges(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, `{"businesses":[{"name":"shop","sets":[{"name":"gz","modules":[{"name":"web","hosts":[{"count":3,"ip":"10.0.0.9"}]}]}]}]}`)
	c.Call("register_proc_info", "10.0.0.9")
	l := listen(c)
	var fleet fleetEvent
	l.next("fleet", &fleet)
	var hosts []string
	for _, cell := range fleet.Cells {
		hosts = append(hosts, fmt.Sprint(cell.Host, cell.Places, cell.Name, cell.Last.Action))
	}
	// Hosts without a process come first. Both groups are sorted by address.
	simtest.Want(t, "cells", hosts, []string{"0:10.0.0.10[shop/gz/web]", "0:10.0.0.11[shop/gz/web]", "0:10.0.0.9[shop/gz/web]nginxregister"})
	registered := fleet.Cells[2]
	c.Do(simulator.OpStart, "10.0.0.9")
	l.next("fleet", &fleet)
	if len(fleet.Cells) != 1 || fleet.Cells[0].ID != registered.ID || !fleet.Cells[0].Running || fleet.Cells[0].Last.Action != "start" {
		t.Errorf("after a start: %+v", fleet)
	}
	var calls struct {
		Calls []struct {
			API         string
			Hosts, Code int
			Done        bool
		}
	}
	l.next("calls", &calls)
	got := calls.Calls
	simtest.Check(t, len(got) > 0 && got[0].API == "operate_proc_v2" && got[0].Hosts == 1 && got[0].Done, "calls: %+v", got)
	c.Sim.Inject(simulator.Fault{Hosts: []string{"0:10.0.0.10"}, Unreachable: "117"})
	days := l.next("days", &struct{}{})
	want := `"id":1,"fault":{"hosts":["0:10.0.0.10"],"unreachable":"117"},"machines":["0:10.0.0.10"],"struck":0`
	simtest.Check(t, strings.Contains(days, want), "days: %s", days)
	c.Call("register_proc_info", "10.0.0.10")
	l.next("fleet", &fleet)
	simtest.Check(t, len(fleet.Cells) == 1 && fleet.Cells[0].Last.Code == simulator.CodeAgentAbnormal && len(fleet.Gone) == 1,
		"after a register that failed: %+v", fleet)
	fleet = fleetEvent{}
	simtest.Must(t, c.Sim.Unregister("0:10.0.0.9", "web", "nginx"), c.Sim.StopProcess("0:10.0.0.9", "web", "nginx"))
	l.next("fleet", &fleet)
	simtest.Check(t, slices.Contains(fleet.Gone, registered.ID), "after it went: %+v", fleet)

	// A simulator that ends does not wait for viewers.
	simtest.Must(t, c.Sim.Close())
	for l.in.Scan() {
	}
}

// A call is returned with both bodies, without any secret.
func TestControl_showsAnExchange(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Call("register_proc_info", "10.0.0.1")
	for _, want := range []string{`"api": "register_proc_info"`, `"bk_app_secret": "***"`, `"request": {`, `"response": {`, `"error_code": 0`} {
		c.Switch("GET", "calls?seq=1", "", 200, want)
	}
	c.Sim.Inject(simulator.Fault{HTTPStatus: 200, Body: `{"data":[{"bk_token":"hidden"}]}`})
	c.BodyOf("get_proc_status_v2", "{"+simtest.Credentials+`,"meta":{"namespace":"web","name":"nginx"},`+simtest.CloudHosts("10.0.0.1")+`}`)
	if _, body := c.SwitchOn("GET", "calls?seq=2", ""); strings.Contains(body, "hidden") || strings.Contains(body, "s3cret") || !strings.Contains(body, `"bk_token": "***"`) {
		t.Errorf("a secret: %s", body)
	}
	c.Switch("GET", "calls?seq=99", "", 404, "")
	c.Switch("GET", "calls?seq=x", "", 400, "")
}
