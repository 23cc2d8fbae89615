package simulator_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestGateway_hostingIsRegistering(t *testing.T) {
	t.Parallel()
	c := newGateway(t)
	row := func() string {
		rows := c.gatewayRows(agents(agentA))
		if len(rows) == 0 {
			return "none"
		}
		return fmt.Sprint(rows[0]["flag"], rows[0]["status"], rows[0]["isauto"])
	}
	held := func() string {
		p, ok := c.sim.Process(agentA, "web", "nginx")
		return fmt.Sprint(ok, p.Registered, p.Hosted, p.Running)
	}
	for _, step := range []struct {
		op        int
		code      int
		row, held string
	}{
		{simulator.OpUnhost, 829, "none", "false false false false"},
		{simulator.OpHost, 0, "1 2 true", "true true true false"},
		{simulator.OpHost, 0, "1 2 true", "true true true false"},
		{simulator.OpStart, 0, "1 1 true", "true true true true"},
		{simulator.OpStop, 0, "2 2 false", "true true false false"},
		{simulator.OpUnhost, 0, "none", "false false false false"},
		{simulator.OpStart, 0, "1 1 true", "true false true true"},
		{simulator.OpUnhost, 0, "none", "true false false true"}, // it goes on running
		{simulator.OpUnhost, 829, "none", "true false false true"},
		{simulator.OpHost, 0, "1 1 true", "true true true true"},
		{simulator.OpKill, 0, "2 2 false", "true true false false"},
	} {
		v := c.gatewayOperate(step.op, agents(agentA), agentA)
		if v.code != step.code || row() != step.row || held() != step.held {
			t.Errorf("op %d: %d, row %s, held %s; want %d, %s, %s", step.op, v.code, row(), held(), step.code, step.row, step.held)
		}
	}
}

func TestGateway_hostingAgainReplaces(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		c := newGateway(t, func(sim *simulator.Server) { sim.HostingOnce = once })
		host := func(labels, user string) verdict {
			body := strings.Replace(gatewayBody(simulator.OpHost, labels, agents(agentA)), `"root"`, user, 1)
			id, _ := c.gateway("operate_proc_v2", body).data["task_id"].(string)
			return verdictOf(t, c.gatewayPoll(id).data, agentA+":web:nginx")
		}
		if v := host(`{"v":"1"}`, `"root"`); v.code != 0 {
			t.Errorf("first: %+v", v)
		}
		second := host(`{"v":"2"}`, `"www"`)
		p, _ := c.sim.Process(agentA, "web", "nginx")
		replaced := p.Labels["v"] == "2" && strings.Contains(string(p.Spec), `"user":"www"`)
		if replaced == once || (second.code == simulator.CodeAlreadyRegistered) != once {
			t.Errorf("once %v: %+v, then labels %v and spec %s", once, second, p.Labels, p.Spec)
		}
	}
}

func TestGateway_update(t *testing.T) {
	t.Parallel()
	c := newGateway(t)
	update := func() verdict {
		body := `{` + meta(`{"v":"2"}`) + `,` + agents(agentA) + `,"spec":` + registerSpec + `}`
		return verdictOf(t, c.gateway("update_proc_info", body).data, agentA+":web:nginx")
	}
	if v := update(); v.code != simulator.CodeNotRegistered {
		t.Errorf("before: %+v", v)
	}
	c.gatewayOperate(simulator.OpStart, agents(agentA), agentA)
	if v := update(); v.code != 0 {
		t.Errorf("after a start: %+v", v)
	}
	if p, _ := c.sim.Process(agentA, "web", "nginx"); p.Labels["v"] != "2" {
		t.Errorf("labels %v", p.Labels)
	}
}

func TestGateway_rows(t *testing.T) {
	t.Parallel()
	for _, without := range []bool{false, true} {
		c := newGateway(t, func(sim *simulator.Server) { sim.RowsWithoutHost = without })
		c.sim.AddAgent(agentB, "3:10.0.0.2")
		for _, id := range []string{agentA, agentB} {
			c.gatewayOperate(simulator.OpHost, agents(id), id)
		}
		c.gatewayOperate(simulator.OpHost, cloudHosts("10.0.0.1"), "0:10.0.0.1")

		rows := c.gatewayRows(agents(agentA, agentB))
		rows = append(rows, c.gatewayRows(cloudHosts("10.0.0.1"))...)
		var got []string
		for _, row := range rows {
			got = append(got, fmt.Sprint(row["bk_agent_id"], " ", row["host"]))
		}
		want := []string{agentA + " <nil>", agentB + " map[bk_cloud_id:3 ip:10.0.0.2]", " map[bk_cloud_id:0 ip:10.0.0.1]"}
		if without {
			want = []string{agentA + " <nil>", agentB + " <nil>", " <nil>"}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		page := c.gateway("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`)
		if n := len(gatewayRowsOf(t, page)); n != 3 || page.data["count"] != 3.0 {
			t.Errorf("sync: %v", page.data)
		}
	}
}

// The same machine under two names is two hosts, until both are known.
func TestAgentID_twoSelectors(t *testing.T) {
	t.Parallel()
	for _, mapped := range []bool{false, true} {
		c := newGateway(t)
		if mapped {
			c.sim.AddAgent(agentA, "0:10.0.0.1")
		}
		c.call("register_proc_info", "10.0.0.1")
		c.do(simulator.OpStart, "10.0.0.1")
		rows := c.gatewayRows(agents(agentA))
		if (len(rows) == 1) != mapped {
			t.Errorf("mapped %v: rows %v", mapped, rows)
		}
		want := 0
		if mapped {
			want = simulator.CodeAlreadyRunning
		}
		if v := c.gatewayOperate(simulator.OpStart, agents(agentA), agentA); v.code != want {
			t.Errorf("mapped %v: start by agent id: %+v", mapped, v)
		}
		if n := len(c.sim.Processes()); (n == 1) != mapped {
			t.Errorf("mapped %v: %d processes", mapped, n)
		}
		v := c.gatewayOperate(simulator.OpQuery, agents(agentA), agentA)
		if !strings.Contains(v.text(), agentA) || strings.Contains(v.text(), "10.0.0.1") != mapped {
			t.Errorf("mapped %v: content %s", mapped, v.text())
		}
		if p, ok := c.sim.Process(agentA, "web", "nginx"); !ok || (p.Host == "0:10.0.0.1") != mapped {
			t.Errorf("mapped %v: %+v", mapped, p)
		}
	}
}

func TestAgentID_keys(t *testing.T) {
	t.Parallel()
	c := newGateway(t)
	c.sim.AddAgent(agentB, "0:10.0.0.2")
	for _, test := range []struct{ fault, selector, key string }{
		{"", agents(agentA), agentA},
		{"", agents(agentB), agentB},
		{"", cloudHosts("10.0.0.2"), "0:10.0.0.2"},
		{"address", agents(agentB), "0:10.0.0.2"},
		{"address", agents(agentA), agentA}, // it has no address
		{"agent", cloudHosts("10.0.0.2"), agentB},
		{"agent", cloudHosts("10.0.0.1"), "0:10.0.0.1"}, // it has no agent id
		{"agent", agents(agentB), agentB},
	} {
		c.sim.ClearFaults()
		c.sim.Inject(simulator.Fault{Keys: test.fault})
		if v := c.gatewayOperate(simulator.OpQuery, test.selector, test.key); v.code != 0 {
			t.Errorf("%+v: %+v", test, v)
		}
	}
	started := c.gateway("operate_proc_v2", gatewayBody(simulator.OpQuery, "{}", agents(agentA, agentA)))
	id, _ := started.data["task_id"].(string)
	c.sim.ClearFaults()
	if data := c.gatewayPoll(id).data; len(data) != 1 {
		t.Errorf("an agent id that is given twice: %v", data)
	}
}

func TestAgentID_faultsAndSwitches(t *testing.T) {
	t.Parallel()
	c := newGateway(t)
	c.sim.AddAgent(agentB, "0:10.0.0.2")
	query := func(selector, key string) verdict { return c.gatewayOperate(simulator.OpQuery, selector, key) }

	code := 65535
	c.sim.Inject(simulator.Fault{Hosts: []string{agentB}, Code: &code})
	if a, b := query(agents(agentA), agentA), query(cloudHosts("10.0.0.2"), "0:10.0.0.2"); a.code != 0 || b.code != code {
		t.Errorf("a fault by agent id: %+v, %+v", a, b)
	}
	c.sim.ClearFaults()

	c.sim.Inject(simulator.Fault{Queued: 1})
	started := c.gateway("operate_proc_v2", gatewayBody(simulator.OpQuery, "{}", agents(agentA)))
	id, _ := started.data["task_id"].(string)
	queued := c.gatewayPoll(id)
	if _, has := queued.body["result"]; has || queued.status != http.StatusOK || queued.code != simulator.CodeTaskQueued || queued.data != nil {
		t.Errorf("queued: %v", queued.body)
	}
	c.sim.ClearFaults()

	envelopeCode := 1010000
	c.sim.Inject(simulator.Fault{EnvelopeCode: &envelopeCode, EnvelopeMessage: "no", Times: 1})
	got := c.gatewayPoll(id)
	if _, has := got.body["result"]; has || got.code != envelopeCode || got.message != "no" {
		t.Errorf("envelope: %v", got.body)
	}

	c.sim.SetReachable(agentA, false)
	if v := query(agents(agentA), agentA); v.code != simulator.CodeAgentAbnormal {
		t.Errorf("unreachable: %+v", v)
	}
	if v := query(agents("02"), "02"); v.code != simulator.CodeAgentAbnormal {
		t.Errorf("unknown agent id: %+v", v)
	}
	if err := c.sim.Host(agentB, "web", "nginx"); err != nil {
		t.Error(err)
	}
	if p, _ := c.sim.Process("0:10.0.0.2", "web", "nginx"); !p.Hosted {
		t.Errorf("hosted by agent id: %+v", p)
	}

	call := c.sim.Calls().On(agentB)
	if len(call) != 0 {
		t.Errorf("calls that named %s: %v", agentB, call.APIs())
	}
	last := c.sim.Calls().On(agentA).Last()
	if last.Face != "apigw" || !reflect.DeepEqual(last.Hosts, []string{agentA}) {
		t.Errorf("call: %+v", last)
	}
	if auth := last.Header["X-Bkapi-Authorization"]; !strings.Contains(auth, `"bk_app_secret":"***"`) || !strings.Contains(auth, `"admin"`) {
		t.Errorf("header: %s", auth)
	}
}

func TestAgentID_admitted(t *testing.T) {
	t.Parallel()
	c := newGateway(t, func(sim *simulator.Server) { sim.AdmitAgents = true })
	if v := c.gatewayOperate(simulator.OpHost, agents("any-id"), "any-id"); v.code != 0 {
		t.Errorf("an agent id: %+v", v)
	}
	if v := c.gatewayOperate(simulator.OpHost, cloudHosts("10.9.9.9"), "0:10.9.9.9"); v.code != simulator.CodeAgentAbnormal {
		t.Errorf("an address: %+v", v)
	}
}

func TestAgentID_survivesARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	live := func() *client {
		c := newGateway(t, func(sim *simulator.Server) { sim.StateFile = file })
		c.sim.AddAgent(agentB, "0:10.0.0.2")
		if err := c.sim.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := live()
	first.gatewayOperate(simulator.OpHost, agents(agentA), agentA)
	first.gatewayOperate(simulator.OpStart, agents(agentB), agentB)
	want := first.sim.Processes()
	if err := first.sim.Close(); err != nil {
		t.Fatal(err)
	}
	second := live()
	if got := second.sim.Processes(); len(got) != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if rows := second.gatewayRows(agents(agentA, agentB)); len(rows) != 2 {
		t.Errorf("rows %v", rows)
	}
}

func TestAgentID_bad(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{{"short", "0:10.0.0.1"}, {agentA, "web-1"}, {agentA, agentB}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("AddAgent(%q, %q) does not panic", test[0], test[1])
				}
			}()
			(&simulator.Server{}).AddAgent(test[0], test[1])
		}()
	}
}
