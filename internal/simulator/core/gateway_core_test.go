package core_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestGateway_hostingIsRegistering(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	row := func() string {
		rows := c.GatewayRows(simtest.Agents(simtest.AgentA))
		if len(rows) == 0 {
			return "none"
		}
		return fmt.Sprint(rows[0]["flag"], rows[0]["status"], rows[0]["isauto"])
	}
	held := func() string {
		p, ok := c.Sim.Process(simtest.AgentA, "web", "nginx")
		return fmt.Sprint(ok, p.Registered, p.Hosted, p.Running)
	}
	for _, step := range []struct {
		what      string
		op, code  int
		row, held string
	}{
		{"unhost what is not there", simulator.OpUnhost, 829, "none", "false false false false"},
		{"host", simulator.OpHost, 0, "1 2 true", "true true true false"},
		{"host again", simulator.OpHost, 0, "1 2 true", "true true true false"},
		{"start", simulator.OpStart, 0, "1 1 true", "true true true true"},
		{"stop", simulator.OpStop, 0, "2 2 false", "true true false false"},
		{"unhost", simulator.OpUnhost, 0, "none", "false false false false"},
		{"start what is not hosted", simulator.OpStart, 0, "1 1 true", "true false true true"},
		{"unhost what goes on running", simulator.OpUnhost, 0, "none", "true false false true"},
		{"unhost what runs alone", simulator.OpUnhost, 829, "none", "true false false true"},
		{"host what runs", simulator.OpHost, 0, "1 1 true", "true true true true"},
		{"kill", simulator.OpKill, 0, "2 2 false", "true true false false"},
	} {
		v := c.GatewayOperate(step.op, simtest.Agents(simtest.AgentA), simtest.AgentA)
		if v.Code != step.code || row() != step.row || held() != step.held {
			t.Errorf("%s: %d, row %s, held %s; want %d, %s, %s", step.what, v.Code, row(), held(), step.code, step.row, step.held)
		}
	}
}

func TestGateway_hostingAgainReplaces(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{false, true} {
		c := simtest.NewGateway(t, func(sim *simulator.Server) { sim.HostingOnce = once })
		host := func(labels, user string) simtest.Verdict {
			body := strings.Replace(simtest.GatewayBody(simulator.OpHost, labels, simtest.Agents(simtest.AgentA)), `"root"`, user, 1)
			id, _ := c.Gateway("operate_proc_v2", body).Data["task_id"].(string)
			return simtest.VerdictOf(t, c.GatewayPoll(id).Data, simtest.AgentA+":web:nginx")
		}
		if v := host(`{"v":"1"}`, `"root"`); v.Code != 0 {
			t.Errorf("first: %+v", v)
		}
		second := host(`{"v":"2"}`, `"www"`)
		p, _ := c.Sim.Process(simtest.AgentA, "web", "nginx")
		replaced := p.Labels["v"] == "2" && strings.Contains(string(p.Spec), `"user":"www"`)
		if replaced == once || (second.Code == simulator.CodeAlreadyRegistered) != once {
			t.Errorf("once %v: %+v, then labels %v and spec %s", once, second, p.Labels, p.Spec)
		}
	}
}

// Hosting and unhosting have a content, unless the platform sends none.
func TestGateway_hostingContent(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		c := simtest.NewGateway(t, func(sim *simulator.Server) { sim.HostingSilent = silent })
		for _, op := range []int{simulator.OpHost, simulator.OpUnhost} {
			v := c.GatewayOperate(op, simtest.Agents(simtest.AgentA), simtest.AgentA)
			says := strings.Contains(v.Text(), `"value": [`) && strings.Contains(v.Text(), `"bk_agent_id": "`+simtest.AgentA+`"`) &&
				strings.Contains(v.Text(), fmt.Sprintf(`"isAuto": %v`, op == simulator.OpHost))
			if v.Code != 0 || says == silent || silent && v.Text() != "" {
				t.Errorf("op %d, silent %v: %+v", op, silent, v)
			}
		}
	}
}

func TestGateway_update(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t, func(sim *simulator.Server) { sim.UpdateRefuses = true })
	update := func() simtest.Verdict {
		body := `{` + simtest.Meta(`{"v":"2"}`) + `,` + simtest.Agents(simtest.AgentA) + `,"spec":` + simtest.RegisterSpec + `}`
		return simtest.VerdictOf(t, c.Gateway("update_proc_info", body).Data, simtest.AgentA+":web:nginx")
	}
	if v := update(); v.Code != simulator.CodeNotRegistered {
		t.Errorf("before: %+v", v)
	}
	c.GatewayOperate(simulator.OpStart, simtest.Agents(simtest.AgentA), simtest.AgentA)
	if v := update(); v.Code != 0 {
		t.Errorf("after a start: %+v", v)
	}
	if p, _ := c.Sim.Process(simtest.AgentA, "web", "nginx"); p.Labels["v"] != "2" {
		t.Errorf("labels %v", p.Labels)
	}
}

func TestGateway_rows(t *testing.T) {
	t.Parallel()
	for _, without := range []bool{false, true} {
		c := simtest.NewGateway(t, func(sim *simulator.Server) { sim.RowsWithoutHost = without })
		c.Sim.AddAgent(simtest.AgentB, "3:10.0.0.2")
		for _, id := range []string{simtest.AgentA, simtest.AgentB} {
			c.GatewayOperate(simulator.OpHost, simtest.Agents(id), id)
		}
		c.GatewayOperate(simulator.OpHost, simtest.CloudHosts("10.0.0.1"), "0:10.0.0.1")

		rows := c.GatewayRows(simtest.Agents(simtest.AgentA, simtest.AgentB))
		rows = append(rows, c.GatewayRows(simtest.CloudHosts("10.0.0.1"))...)
		var got []string
		for _, row := range rows {
			got = append(got, fmt.Sprint(row["bk_agent_id"], " ", row["host"]))
		}
		want := []string{simtest.AgentA + " map[bk_cloud_id:0 ip:]", simtest.AgentB + " map[bk_cloud_id:3 ip:10.0.0.2]", " map[bk_cloud_id:0 ip:10.0.0.1]"}
		if without {
			want = []string{simtest.AgentA + " <nil>", simtest.AgentB + " <nil>", " <nil>"}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		page := c.Gateway("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`)
		if n := len(simtest.GatewayRowsOf(t, page)); n != 3 || page.Data["count"] != 3.0 {
			t.Errorf("sync: %v", page.Data)
		}
	}
}

// The same machine under two names is two hosts, until both are known.
func TestAgentID_twoSelectors(t *testing.T) {
	t.Parallel()
	for _, mapped := range []bool{false, true} {
		c := simtest.NewGateway(t)
		if mapped {
			c.Sim.AddAgent(simtest.AgentA, "0:10.0.0.1")
		}
		c.Call("register_proc_info", "10.0.0.1")
		c.Do(simulator.OpStart, "10.0.0.1")
		rows := c.GatewayRows(simtest.Agents(simtest.AgentA))
		if (len(rows) == 1) != mapped {
			t.Errorf("mapped %v: rows %v", mapped, rows)
		}
		want := 0
		if mapped {
			want = simulator.CodeAlreadyRunning
		}
		if v := c.GatewayOperate(simulator.OpStart, simtest.Agents(simtest.AgentA), simtest.AgentA); v.Code != want {
			t.Errorf("mapped %v: start by agent id: %+v", mapped, v)
		}
		if n := len(c.Sim.Processes()); (n == 1) != mapped {
			t.Errorf("mapped %v: %d processes", mapped, n)
		}
		v := c.GatewayOperate(simulator.OpQuery, simtest.Agents(simtest.AgentA), simtest.AgentA)
		if !strings.Contains(v.Text(), simtest.AgentA) || strings.Contains(v.Text(), "10.0.0.1") != mapped {
			t.Errorf("mapped %v: content %s", mapped, v.Text())
		}
		if p, ok := c.Sim.Process(simtest.AgentA, "web", "nginx"); !ok || (p.Host == "0:10.0.0.1") != mapped {
			t.Errorf("mapped %v: %+v", mapped, p)
		}
	}
}

func TestAgentID_keys(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	c.Sim.AddAgent(simtest.AgentB, "0:10.0.0.2")
	for _, test := range []struct{ fault, selector, key string }{
		{"", simtest.Agents(simtest.AgentA), simtest.AgentA},
		{"", simtest.Agents(simtest.AgentB), simtest.AgentB},
		{"", simtest.CloudHosts("10.0.0.2"), "0:10.0.0.2"},
		{"address", simtest.Agents(simtest.AgentB), "0:10.0.0.2"},
		{"address", simtest.Agents(simtest.AgentA), simtest.AgentA}, // it has no address
		{"agent", simtest.CloudHosts("10.0.0.2"), simtest.AgentB},
		{"agent", simtest.CloudHosts("10.0.0.1"), "0:10.0.0.1"}, // it has no agent id
		{"agent", simtest.Agents(simtest.AgentB), simtest.AgentB},
	} {
		c.Sim.ClearFaults()
		c.Sim.Inject(simulator.Fault{Keys: test.fault})
		if v := c.GatewayOperate(simulator.OpQuery, test.selector, test.key); v.Code != 0 {
			t.Errorf("%+v: %+v", test, v)
		}
	}
	started := c.Gateway("operate_proc_v2", simtest.GatewayBody(simulator.OpQuery, "{}", simtest.Agents(simtest.AgentA, simtest.AgentA)))
	id, _ := started.Data["task_id"].(string)
	c.Sim.ClearFaults()
	if data := c.GatewayPoll(id).Data; len(data) != 1 {
		t.Errorf("an agent id that is given twice: %v", data)
	}
}

func TestAgentID_faultsAndSwitches(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	c.Sim.AddAgent(simtest.AgentB, "0:10.0.0.2")
	query := func(selector, key string) simtest.Verdict { return c.GatewayOperate(simulator.OpQuery, selector, key) }

	code := 65535
	c.Sim.Inject(simulator.Fault{Hosts: []string{simtest.AgentB}, Code: &code})
	if a, b := query(simtest.Agents(simtest.AgentA), simtest.AgentA), query(simtest.CloudHosts("10.0.0.2"), "0:10.0.0.2"); a.Code != 0 || b.Code != code {
		t.Errorf("a fault by agent id: %+v, %+v", a, b)
	}
	c.Sim.ClearFaults()

	c.Sim.Inject(simulator.Fault{Queued: 1})
	started := c.Gateway("operate_proc_v2", simtest.GatewayBody(simulator.OpQuery, "{}", simtest.Agents(simtest.AgentA)))
	id, _ := started.Data["task_id"].(string)
	queued := c.GatewayPoll(id)
	if _, has := queued.Body["result"]; has || queued.Status != http.StatusOK || queued.Code != simulator.CodeTaskQueued || queued.Data != nil {
		t.Errorf("queued: %v", queued.Body)
	}
	c.Sim.ClearFaults()

	envelopeCode := 1010000
	c.Sim.Inject(simulator.Fault{EnvelopeCode: &envelopeCode, EnvelopeMessage: "no", Times: 1})
	got := c.GatewayPoll(id)
	if _, has := got.Body["result"]; has || got.Code != envelopeCode || got.Message != "no" {
		t.Errorf("envelope: %v", got.Body)
	}

	c.Sim.SetReachable(simtest.AgentA, false)
	if v := query(simtest.Agents(simtest.AgentA), simtest.AgentA); v.Code != simulator.CodeAgentAbnormal {
		t.Errorf("unreachable: %+v", v)
	}
	if v := query(simtest.Agents("02"), "02"); v.Code != simulator.CodeAgentAbnormal {
		t.Errorf("unknown agent id: %+v", v)
	}
	if err := c.Sim.Host(simtest.AgentB, "web", "nginx"); err != nil {
		t.Error(err)
	}
	if p, _ := c.Sim.Process("0:10.0.0.2", "web", "nginx"); !p.Hosted {
		t.Errorf("hosted by agent id: %+v", p)
	}

	call := c.Sim.Calls().On(simtest.AgentB)
	if len(call) != 0 {
		t.Errorf("calls that named %s: %v", simtest.AgentB, call.APIs())
	}
	last := c.Sim.Calls().On(simtest.AgentA).Last()
	if last.Face != "apigw" || !reflect.DeepEqual(last.Hosts, []string{simtest.AgentA}) {
		t.Errorf("call: %+v", last)
	}
	if auth := last.Header["X-Bkapi-Authorization"]; !strings.Contains(auth, `"bk_app_secret":"***"`) || !strings.Contains(auth, `"admin"`) {
		t.Errorf("header: %s", auth)
	}
}

func TestAgentID_admitted(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t, func(sim *simulator.Server) { sim.AdmitAgents = true })
	if v := c.GatewayOperate(simulator.OpHost, simtest.Agents("any-id"), "any-id"); v.Code != 0 {
		t.Errorf("an agent id: %+v", v)
	}
	if v := c.GatewayOperate(simulator.OpHost, simtest.CloudHosts("10.9.9.9"), "0:10.9.9.9"); v.Code != simulator.CodeAgentAbnormal {
		t.Errorf("an address: %+v", v)
	}
}

func TestAgentID_survivesARestart(t *testing.T) {
	t.Parallel()
	live := simtest.Lives(t, func(sim *simulator.Server) {
		sim.AddHost(simtest.AgentA)
		sim.AddAgent(simtest.AgentB, "0:10.0.0.2")
	})
	first := live()
	first.GatewayOperate(simulator.OpHost, simtest.Agents(simtest.AgentA), simtest.AgentA)
	first.GatewayOperate(simulator.OpStart, simtest.Agents(simtest.AgentB), simtest.AgentB)
	want := first.Sim.Processes()
	second := live()
	if got := second.Sim.Processes(); len(got) != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if rows := second.GatewayRows(simtest.Agents(simtest.AgentA, simtest.AgentB)); len(rows) != 2 {
		t.Errorf("rows %v", rows)
	}
}

// An agent id is opaque: hosts are declared and found with any characters in it.
func TestAgentID_opaque(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{
		"shortest": strings.Repeat("z", 16), "longest": strings.Repeat("Z", 64), "real": "02000000005254008d6e1691487566400_v2", "signs": "agent/of-host.nr=1~",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewGateway(t, func(sim *simulator.Server) { sim.AddAgent(id, "0:10.0.0.2") })
			if v := c.GatewayOperate(simulator.OpHost, simtest.Agents(id), id); v.Code != 0 {
				t.Errorf("got %+v", v)
			}
			if p, found := c.Sim.Process(id, "web", "nginx"); !found || !p.Hosted {
				t.Errorf("got %+v", p)
			}
			rows := c.GatewayRows(simtest.Agents(id))
			if len(rows) != 1 || rows[0]["bk_agent_id"] != id {
				t.Errorf("rows %v", rows)
			}
		})
	}
}

func TestAgentID_bad(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{
		{"short", "0:10.0.0.1"}, {strings.Repeat("z", 15), "0:10.0.0.1"}, {strings.Repeat("z", 65), "0:10.0.0.1"},
		{"agent-of-a-host:1", "0:10.0.0.1"}, {"agent of a host 1", "0:10.0.0.1"}, {simtest.AgentA, "web-1"}, {simtest.AgentA, simtest.AgentB},
	} {
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
