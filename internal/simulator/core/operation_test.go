package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// prepare brings web:nginx on 10.0.0.1 into a state.
func prepare(c *simtest.Client, want string) {
	c.T.Helper()
	if want[0] == 'R' {
		c.Call("register_proc_info", "10.0.0.1")
	}
	switch want[1:] {
	case "H-":
		c.Do(simulator.OpHost, "10.0.0.1")
	case "Hr":
		c.Do(simulator.OpStart, "10.0.0.1")
	case "-r":
		c.Do(simulator.OpStart, "10.0.0.1")
		c.Do(simulator.OpUnhost, "10.0.0.1")
	}
	if got := simtest.State(c.Sim, "10.0.0.1"); got != want {
		c.T.Fatalf("prepared %s, want %s", got, want)
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
		{restart, "---", 0, "-Hr"}, {restart, "RHr", 0, "RHr"}, {restart, "R-r", 0, "RHr"}, {restart, "RH-", 0, "RHr"},
		{reload, "RHr", 0, "RHr"}, {reload, "R-r", 0, "R-r"}, {reload, "RH-", 836, "RH-"},
		{kill, "RHr", 0, "R--"}, {kill, "RH-", 829, "RH-"}, {kill, "---", 829, "---"},
		{5, "RHr", 832, "RHr"}, {6, "---", 832, "---"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("op-%d-from-%s", test.op, strings.ReplaceAll(test.from, "-", "o")), func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			prepare(c, test.from)
			v := c.Do(test.op, "10.0.0.1")
			if got := simtest.State(c.Sim, "10.0.0.1"); v.Code != test.code || got != test.to {
				t.Errorf("op %d from %s: %d %q, then %s; want %d, then %s", test.op, test.from, v.Code, v.Message, got, test.code, test.to)
			}
			if v.Code == simulator.CodeIllegalOp {
				if len(c.Sim.Violations()) != 1 {
					t.Errorf("violations: %q", c.Sim.Violations())
				}
				c.Sim.ResetViolations()
			}
		})
	}
}

// Some platforms may leave the hosting as it was.
func TestOperation_restartKeepsHosting(t *testing.T) {
	t.Parallel()
	for from, to := range map[string]string{"---": "--r", "R-r": "R-r", "RHr": "RHr"} {
		c := simtest.NewVirtual(t, &simulator.Server{RestartKeepsHosting: true})
		prepare(c, from)
		v := c.Do(simulator.OpRestart, "10.0.0.1")
		if got := simtest.State(c.Sim, "10.0.0.1"); v.Code != 0 || got != to {
			t.Errorf("from %s: %+v, then %s", from, v, got)
		}
	}
}

func TestOperation_firstGeneration(t *testing.T) {
	t.Parallel()
	tests := []struct {
		api, from string
		hosts     bool // RegisterHosts
		refuses   bool // UpdateRefuses
		code      int
		to        string
	}{
		{api: "register_proc_info", from: "---", to: "R--"},
		{api: "register_proc_info", from: "R--", code: 850, to: "R--"},
		{api: "register_proc_info", from: "-Hr", to: "RHr"},
		{api: "register_proc_info", from: "---", hosts: true, to: "RH-"},
		{api: "update_proc_info", from: "R--", to: "R--"},
		{api: "update_proc_info", from: "RHr", to: "RHr"},
		{api: "update_proc_info", from: "---", refuses: true, code: simulator.CodeNotRegistered, to: "---"},
		{api: "update_proc_info", from: "---", to: "R--"},
		{api: "unregister_proc_info", from: "RHr", to: "--r"},
		{api: "unregister_proc_info", from: "R--", to: "---"},
		{api: "unregister_proc_info", from: "---", code: 829, to: "---"},
	}
	for _, test := range tests {
		t.Run(test.api+"-from-"+strings.ReplaceAll(test.from, "-", "o"), func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t, &simulator.Server{RegisterHosts: test.hosts, UpdateRefuses: test.refuses})
			prepare(c, test.from)
			v := c.Call(test.api, "10.0.0.1")
			if got := simtest.State(c.Sim, "10.0.0.1"); v.Code != test.code || got != test.to || v.Content != "" {
				t.Errorf("%+v, then %s; want %d, then %s", v, got, test.code, test.to)
			}
		})
	}
}

func TestOperation_unknownHost(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	if v := c.Call("register_proc_info", "10.9.9.9"); v.Code != simulator.CodeAgentAbnormal {
		t.Errorf("register: %+v", v)
	}
	if v := c.Do(simulator.OpQuery, "10.9.9.9"); v.Code != simulator.CodeAgentAbnormal {
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
		"one-shot":             {simulator.OpStart, `"auto_type":1`, `"auto_type":2`, 836, "start check failed: process is not running", "-H-"},
		"one-shot-again":       {simulator.OpRestart, `"auto_type":1`, `"auto_type":2`, 836, "start check failed: process is not running", "-H-"},
		"no-time-for-check":    {simulator.OpStart, `"auto_type":1`, `"auto_type":1,"start_check_secs":0`, 836, "start check failed: process is not running", "--r"},
		"no-time-for-commands": {simulator.OpStart, `"op_timeout":60`, `"op_timeout":0`, 65535, "start_cmd timed out after 0s", "---"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			id := c.OperateWith(test.op, strings.Replace(simtest.OperateSpec, test.old, test.new, 1), "10.0.0.1")
			v := c.Result(id, "10.0.0.1")
			if got := simtest.State(c.Sim, "10.0.0.1"); v.Code != test.code || v.Message != test.message || got != test.to {
				t.Errorf("%d %q, then %s", v.Code, v.Message, got)
			}
		})
	}
}

func TestOperation_content(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)

	stopped := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1"))
	if stopped["pid"] != -1.0 || stopped["isAuto"] != false || stopped["register_time"] != 0.0 || stopped["processName"] != "nginx" {
		t.Errorf("never started: %v", stopped)
	}

	v := c.Do(simulator.OpStart, "10.0.0.1")
	if !strings.Contains(v.Text(), "\n") || !strings.Contains(v.Text(), `"isAuto": true`) || !strings.Contains(v.Text(), `"setupPath": "/opt/nginx"`) {
		t.Errorf("start: %s", v.Text())
	}
	running := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1"))
	if pid, _ := running["pid"].(float64); pid <= 1 || running["isAuto"] != true || running["register_time"] == 0.0 {
		t.Errorf("running: %v", running)
	}

	// A stop that had nothing to do leaves hosting on, and its result shows that.
	if err := c.Sim.KillProcess("0:10.0.0.1", "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	if v := c.Do(simulator.OpStop, "10.0.0.1"); v.Code != 829 || !strings.Contains(v.Text(), `"isAuto": true`) {
		t.Errorf("stop of a dead process: %+v", v)
	}
}

func TestOperation_registerTimeGrows(t *testing.T) {
	t.Parallel()
	fixed := time.Unix(1_700_000_000, 0)
	c := simtest.NewVirtual(t, &simulator.Server{Now: func() time.Time { return fixed }})
	last := int64(0)
	for i, do := range []func(){
		func() { c.Call("register_proc_info", "10.0.0.1") },
		func() { c.Call("update_proc_info", "10.0.0.1") },
		func() { c.Do(simulator.OpHost, "10.0.0.1") },
		func() { c.Do(simulator.OpStart, "10.0.0.1") },
		func() { c.Call("unregister_proc_info", "10.0.0.1"); c.Call("register_proc_info", "10.0.0.1") },
	} {
		do()
		p, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx")
		row := c.Rows("10.0.0.1")["10.0.0.1"]
		live := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1"))
		if p.RegisterTime <= last || row["register_time"] != float64(p.RegisterTime) || live["register_time"] != float64(p.RegisterTime) {
			t.Errorf("step %d: %d after %d, row %v, query %v", i, p.RegisterTime, last, row["register_time"], live["register_time"])
		}
		last = p.RegisterTime
	}
	if last < fixed.Unix()+4 {
		t.Errorf("register_time %d, want at least 4 steps after %d", last, fixed.Unix())
	}
}

func TestOperation_whichSpecIsKept(t *testing.T) {
	t.Parallel()
	for _, replaces := range []bool{false, true} {
		t.Run(fmt.Sprintf("start-replaces-%t", replaces), func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t, &simulator.Server{StartReplaces: replaces})
			kept := func() string {
				p, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx")
				if (p.Labels["from"] == "operate") != strings.Contains(string(p.Spec), "alive_monitor_policy") {
					t.Errorf("labels %v do not go with spec %s", p.Labels, p.Spec)
				}
				return p.Labels["team"] + p.Labels["from"]
			}
			c.Call("register_proc_info", "10.0.0.1")
			want := map[bool]string{false: "sre", true: "operate"}[replaces]
			if c.Do(simulator.OpStart, "10.0.0.1"); kept() != want {
				t.Errorf("after a start: %q, want %q", kept(), want)
			}
			if c.Do(simulator.OpHost, "10.0.0.1"); kept() != "operate" {
				t.Errorf("after hosting: %q", kept())
			}
			if c.Call("update_proc_info", "10.0.0.1"); kept() != "sre" {
				t.Errorf("after an update: %q", kept())
			}
		})
	}
}

func TestOperation_multi(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	item := func(op int, ip string) string {
		return fmt.Sprintf(`{%s,%s,"op_type":%d,"spec":%s}`, simtest.Meta("{}"), simtest.CloudHosts(ip), op, simtest.OperateSpec)
	}
	env := c.Send("operate_proc_multi", `{"proc_operate_req":[`+item(0, "10.0.0.1")+`,`+item(3, "10.0.0.2")+`]}`)
	id, _ := env.Data["task_id"].(string)
	data := c.Poll(id).Data
	if simtest.VerdictOf(t, data, "0:10.0.0.1:web:nginx").Code != 0 || simtest.VerdictOf(t, data, "0:10.0.0.2:web:nginx").Code != 0 {
		t.Errorf("results: %v", data)
	}
	if a, b := simtest.State(c.Sim, "10.0.0.1"), simtest.State(c.Sim, "10.0.0.2"); a != "-Hr" || b != "-H-" {
		t.Errorf("states %s and %s", a, b)
	}
}

func TestOperation_supervision(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	kill := func() {
		t.Helper()
		if err := c.Sim.KillProcess("0:10.0.0.1", "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	c.Do(simulator.OpStart, "10.0.0.1")
	before, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx")
	if kill(); simtest.State(c.Sim, "10.0.0.1") != "-H-" {
		t.Errorf("killed: %s", simtest.State(c.Sim, "10.0.0.1"))
	}
	c.Sim.Tick()
	if after, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx"); !after.Running || after.PID == before.PID {
		t.Errorf("not revived: %+v", after)
	}

	c.Do(simulator.OpUnhost, "10.0.0.1")
	c.Call("register_proc_info", "10.0.0.1")
	kill()
	if c.Sim.Tick(); simtest.State(c.Sim, "10.0.0.1") != "R--" {
		t.Errorf("restarted although it is not hosted: %s", simtest.State(c.Sim, "10.0.0.1"))
	}

	c.Do(simulator.OpHost, "10.0.0.1")
	if c.Sim.Tick(); simtest.State(c.Sim, "10.0.0.1") != "RH-" {
		t.Errorf("hosting a stopped process started it: %s", simtest.State(c.Sim, "10.0.0.1"))
	}
}

func TestOperation_hostingStarts(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t, &simulator.Server{HostingStarts: true})
	c.Do(simulator.OpHost, "10.0.0.1")
	if c.Sim.Tick(); simtest.State(c.Sim, "10.0.0.1") != "-Hr" {
		t.Errorf("not started: %s", simtest.State(c.Sim, "10.0.0.1"))
	}
}

// Only a permanent process (auto_type 1) with retries left is restarted.
func TestOperation_policyDecidesRevival(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{
		`"auto_type":1`:                   "-Hr",
		`"auto_type":0`:                   "-H-",
		`"auto_type":1,"start_retries":0`: "-H-",
	} {
		c := simtest.NewVirtual(t)
		c.OperateWith(simulator.OpStart, strings.Replace(simtest.OperateSpec, `"auto_type":1`, policy, 1), "10.0.0.1")
		if err := c.Sim.KillProcess("0:10.0.0.1", "web", "nginx"); err != nil {
			t.Fatal(err)
		}
		if c.Sim.Tick(); simtest.State(c.Sim, "10.0.0.1") != want {
			t.Errorf("%s: %s, want %s", policy, simtest.State(c.Sim, "10.0.0.1"), want)
		}
	}
}

// Contents name the process as registered, whatever its binary is called.
func TestOperation_contentName(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	id := c.OperateWith(simulator.OpQuery, strings.Replace(simtest.OperateSpec, `"proc_name":"nginx"`, `"proc_name":"java"`, 1), "10.0.0.1")
	if text := c.Result(id, "10.0.0.1").Text(); !strings.Contains(text, `"procname": "nginx"`) || !strings.Contains(text, `"processName": "nginx"`) || strings.Contains(text, "java") {
		t.Errorf("content: %s", text)
	}
}
