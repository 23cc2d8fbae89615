package simulator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// prepare brings web:nginx on 10.0.0.1 into a state.
func prepare(c *client, want string) {
	c.t.Helper()
	if want[0] == 'R' {
		c.call("register_proc_info", "10.0.0.1")
	}
	switch want[1:] {
	case "H-":
		c.do(simulator.OpHost, "10.0.0.1")
	case "Hr":
		c.do(simulator.OpStart, "10.0.0.1")
	case "-r":
		c.do(simulator.OpStart, "10.0.0.1")
		c.do(simulator.OpUnhost, "10.0.0.1")
	}
	if got := state(c.sim, "10.0.0.1"); got != want {
		c.t.Fatalf("prepared %s, want %s", got, want)
	}
}

func TestOperation_effects(t *testing.T) {
	t.Parallel()
	const (
		start, stop, query, host, unhost = simulator.OpStart, simulator.OpStop, simulator.OpQuery, simulator.OpHost, simulator.OpUnhost
		restart, reload, kill            = simulator.OpRestart, simulator.OpReload, simulator.OpKill
	)
	tests := []struct {
		op   int
		from string
		code int
		to   string
	}{
		{start, "---", 0, "-Hr"}, {start, "R--", 0, "RHr"}, {start, "RH-", 0, "RHr"},
		{start, "RHr", 828, "RHr"}, {start, "R-r", 828, "R-r"},
		{stop, "RHr", 0, "R--"}, {stop, "-Hr", 0, "---"}, {stop, "R-r", 0, "R--"},
		{stop, "RH-", 829, "RH-"}, {stop, "---", 829, "---"},
		{query, "---", 0, "---"}, {query, "RHr", 0, "RHr"},
		{host, "---", 0, "-H-"}, {host, "R--", 0, "RH-"}, {host, "R-r", 0, "RHr"}, {host, "RHr", 0, "RHr"},
		{unhost, "RHr", 0, "R-r"}, {unhost, "-H-", 0, "---"}, {unhost, "R--", 0, "R--"},
		{unhost, "---", 829, "---"}, {unhost, "--r", 829, "--r"},
		{restart, "---", 0, "--r"}, {restart, "RHr", 0, "RHr"}, {restart, "R-r", 0, "R-r"}, {restart, "RH-", 0, "RHr"},
		{reload, "RHr", 0, "RHr"}, {reload, "R-r", 0, "R-r"}, {reload, "RH-", 836, "RH-"},
		{kill, "RHr", 0, "R--"}, {kill, "RH-", 829, "RH-"}, {kill, "---", 829, "---"},
		{5, "RHr", 832, "RHr"}, {6, "---", 832, "---"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("op-%d-from-%s", test.op, strings.ReplaceAll(test.from, "-", "o")), func(t *testing.T) {
			t.Parallel()
			c := newVirtual(t)
			prepare(c, test.from)
			v := c.do(test.op, "10.0.0.1")
			if got := state(c.sim, "10.0.0.1"); v.code != test.code || got != test.to {
				t.Errorf("op %d from %s: %d %q, then %s; want %d, then %s", test.op, test.from, v.code, v.message, got, test.code, test.to)
			}
			if v.code == simulator.CodeIllegalOp {
				if len(c.sim.Violations()) != 1 {
					t.Errorf("violations: %q", c.sim.Violations())
				}
				c.sim.ResetViolations()
			}
		})
	}
}

func TestOperation_firstGeneration(t *testing.T) {
	t.Parallel()
	tests := []struct {
		api, from string
		hosts     bool // RegisterHosts
		upserts   bool // UpdateUpserts
		code      int
		to        string
	}{
		{api: "register_proc_info", from: "---", to: "R--"},
		{api: "register_proc_info", from: "R--", code: 850, to: "R--"},
		{api: "register_proc_info", from: "-Hr", to: "RHr"},
		{api: "register_proc_info", from: "---", hosts: true, to: "RH-"},
		{api: "update_proc_info", from: "R--", to: "R--"},
		{api: "update_proc_info", from: "RHr", to: "RHr"},
		{api: "update_proc_info", from: "---", code: simulator.CodeNotRegistered, to: "---"},
		{api: "update_proc_info", from: "---", upserts: true, to: "R--"},
		{api: "unregister_proc_info", from: "RHr", to: "--r"},
		{api: "unregister_proc_info", from: "R--", to: "---"},
		{api: "unregister_proc_info", from: "---", code: 829, to: "---"},
	}
	for _, test := range tests {
		t.Run(test.api+"-from-"+strings.ReplaceAll(test.from, "-", "o"), func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{RegisterHosts: test.hosts, UpdateUpserts: test.upserts}
			sim.AddHost("0:10.0.0.1")
			c := newClient(t, sim)
			prepare(c, test.from)
			v := c.call(test.api, "10.0.0.1")
			if got := state(sim, "10.0.0.1"); v.code != test.code || got != test.to || v.content != "" {
				t.Errorf("%+v, then %s; want %d, then %s", v, got, test.code, test.to)
			}
		})
	}
}

func TestOperation_unknownHost(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	if v := c.call("register_proc_info", "10.9.9.9"); v.code != simulator.CodeAgentAbnormal {
		t.Errorf("register: %+v", v)
	}
	if v := c.do(simulator.OpQuery, "10.9.9.9"); v.code != simulator.CodeAgentAbnormal {
		t.Errorf("query: %+v", v)
	}
}

func TestOperation_specDecides(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		op       int
		old, new string
		code     int
		message  string
		to       string
	}{
		"no-start-command":     {simulator.OpStart, `"start_cmd":"./start.sh",`, ``, 65535, "start_cmd is not given", "---"},
		"no-restart-command":   {simulator.OpRestart, `"restart_cmd":"./restart.sh",`, ``, 65535, "restart_cmd is not given", "---"},
		"one-shot":             {simulator.OpStart, `"auto_type":1`, `"auto_type":2`, 836, "start check failed: process is not running", "---"},
		"no-time-for-check":    {simulator.OpStart, `"auto_type":1`, `"auto_type":1,"start_check_secs":0`, 836, "start check failed: process is not running", "--r"},
		"no-time-for-commands": {simulator.OpStart, `"op_timeout":60`, `"op_timeout":0`, 65535, "start_cmd timed out after 0s", "---"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newVirtual(t)
			id := c.operateWith(test.op, strings.Replace(operateSpec, test.old, test.new, 1), "10.0.0.1")
			v := c.result(id, "10.0.0.1")
			if got := state(c.sim, "10.0.0.1"); v.code != test.code || v.message != test.message || got != test.to {
				t.Errorf("%d %q, then %s", v.code, v.message, got)
			}
		})
	}
}

func TestOperation_content(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)

	stopped := instance(t, c.do(simulator.OpQuery, "10.0.0.1"))
	if stopped["pid"] != -1.0 || stopped["isAuto"] != false || stopped["register_time"] != 0.0 || stopped["processName"] != "nginx" {
		t.Errorf("never started: %v", stopped)
	}

	v := c.do(simulator.OpStart, "10.0.0.1")
	if !strings.Contains(v.text(), "\n") || !strings.Contains(v.text(), `"isAuto": true`) || !strings.Contains(v.text(), `"setupPath": "/opt/nginx"`) {
		t.Errorf("start: %s", v.text())
	}
	running := instance(t, c.do(simulator.OpQuery, "10.0.0.1"))
	if pid, _ := running["pid"].(float64); pid <= 1 || running["isAuto"] != true || running["register_time"] == 0.0 {
		t.Errorf("running: %v", running)
	}

	// A stop that had nothing to do leaves hosting on, and says so.
	if err := c.sim.KillProcess("0:10.0.0.1", "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	if v := c.do(simulator.OpStop, "10.0.0.1"); v.code != 829 || !strings.Contains(v.text(), `"isAuto": true`) {
		t.Errorf("stop of a dead process: %+v", v)
	}
}

func TestOperation_registerTimeGrows(t *testing.T) {
	t.Parallel()
	stands := time.Unix(1_700_000_000, 0)
	sim := &simulator.Server{Now: func() time.Time { return stands }}
	sim.AddHost("0:10.0.0.1")
	c := newClient(t, sim)
	last := int64(0)
	for i, do := range []func(){
		func() { c.call("register_proc_info", "10.0.0.1") },
		func() { c.call("update_proc_info", "10.0.0.1") },
		func() { c.do(simulator.OpHost, "10.0.0.1") },
		func() { c.do(simulator.OpStart, "10.0.0.1") },
		func() { c.call("unregister_proc_info", "10.0.0.1"); c.call("register_proc_info", "10.0.0.1") },
	} {
		do()
		p, _ := sim.Process("0:10.0.0.1", "web", "nginx")
		row := c.rows("10.0.0.1")["10.0.0.1"]
		live := instance(t, c.do(simulator.OpQuery, "10.0.0.1"))
		if p.RegisterTime <= last || row["register_time"] != float64(p.RegisterTime) || live["register_time"] != float64(p.RegisterTime) {
			t.Errorf("step %d: %d after %d, row %v, query %v", i, p.RegisterTime, last, row["register_time"], live["register_time"])
		}
		last = p.RegisterTime
	}
	if last < stands.Unix()+4 {
		t.Errorf("register_time %d, want at least 4 steps after %d", last, stands.Unix())
	}
}

func TestOperation_whichSpecIsKept(t *testing.T) {
	t.Parallel()
	for _, replaces := range []bool{false, true} {
		t.Run(fmt.Sprintf("start-replaces-%t", replaces), func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{StartReplaces: replaces}
			sim.AddHost("0:10.0.0.1")
			c := newClient(t, sim)
			kept := func() string {
				p, _ := sim.Process("0:10.0.0.1", "web", "nginx")
				if (p.Labels["from"] == "operate") != strings.Contains(string(p.Spec), "alive_monitor_policy") {
					t.Errorf("labels %v do not go with spec %s", p.Labels, p.Spec)
				}
				return p.Labels["team"] + p.Labels["from"]
			}
			c.call("register_proc_info", "10.0.0.1")
			want := map[bool]string{false: "sre", true: "operate"}[replaces]
			if c.do(simulator.OpStart, "10.0.0.1"); kept() != want {
				t.Errorf("after a start: %q, want %q", kept(), want)
			}
			if c.do(simulator.OpHost, "10.0.0.1"); kept() != "operate" {
				t.Errorf("after hosting: %q", kept())
			}
			if c.call("update_proc_info", "10.0.0.1"); kept() != "sre" {
				t.Errorf("after an update: %q", kept())
			}
		})
	}
}

func TestOperation_multi(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	item := func(op int, ip string) string {
		return fmt.Sprintf(`{%s,%s,"op_type":%d,"spec":%s}`, meta("{}"), cloudHosts(ip), op, operateSpec)
	}
	env := c.send("operate_proc_multi", `{"proc_operate_req":[`+item(0, "10.0.0.1")+`,`+item(3, "10.0.0.2")+`]}`)
	id, _ := env.Data["task_id"].(string)
	data := c.poll(id).Data
	if verdictOf(t, data, "0:10.0.0.1:web:nginx").code != 0 || verdictOf(t, data, "0:10.0.0.2:web:nginx").code != 0 {
		t.Errorf("results: %v", data)
	}
	if a, b := state(c.sim, "10.0.0.1"), state(c.sim, "10.0.0.2"); a != "-Hr" || b != "-H-" {
		t.Errorf("states %s and %s", a, b)
	}
}

func TestOperation_supervision(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	kill := func() {
		t.Helper()
		if err := c.sim.KillProcess("0:10.0.0.1", "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	c.do(simulator.OpStart, "10.0.0.1")
	before, _ := c.sim.Process("0:10.0.0.1", "web", "nginx")
	if kill(); state(c.sim, "10.0.0.1") != "-H-" {
		t.Errorf("killed: %s", state(c.sim, "10.0.0.1"))
	}
	c.sim.Tick()
	if after, _ := c.sim.Process("0:10.0.0.1", "web", "nginx"); !after.Running || after.PID == before.PID {
		t.Errorf("not revived: %+v", after)
	}

	c.do(simulator.OpUnhost, "10.0.0.1")
	c.call("register_proc_info", "10.0.0.1")
	kill()
	if c.sim.Tick(); state(c.sim, "10.0.0.1") != "R--" {
		t.Errorf("revived although nobody hosts it: %s", state(c.sim, "10.0.0.1"))
	}

	c.do(simulator.OpHost, "10.0.0.1")
	if c.sim.Tick(); state(c.sim, "10.0.0.1") != "RH-" {
		t.Errorf("hosting a stopped process started it: %s", state(c.sim, "10.0.0.1"))
	}
}

func TestOperation_hostingStarts(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{HostingStarts: true}
	sim.AddHost("0:10.0.0.1")
	c := newClient(t, sim)
	c.do(simulator.OpHost, "10.0.0.1")
	if sim.Tick(); state(sim, "10.0.0.1") != "-Hr" {
		t.Errorf("not started: %s", state(sim, "10.0.0.1"))
	}
}

// Only a resident process (auto_type 1) that may be retried is brought back.
func TestOperation_policyDecidesRevival(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{
		`"auto_type":1`:                   "-Hr",
		`"auto_type":0`:                   "-H-",
		`"auto_type":1,"start_retries":0`: "-H-",
	} {
		c := newVirtual(t)
		c.operateWith(simulator.OpStart, strings.Replace(operateSpec, `"auto_type":1`, policy, 1), "10.0.0.1")
		if err := c.sim.KillProcess("0:10.0.0.1", "web", "nginx"); err != nil {
			t.Fatal(err)
		}
		if c.sim.Tick(); state(c.sim, "10.0.0.1") != want {
			t.Errorf("%s: %s, want %s", policy, state(c.sim, "10.0.0.1"), want)
		}
	}
}
