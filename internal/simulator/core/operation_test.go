package core_test

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// prepare brings web:nginx on 10.0.0.1 into a state such as "RH-".
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
	for _, test := range []struct {
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
		{5, "RHr", simulator.CodeIllegalOp, "RHr"}, {6, "---", simulator.CodeIllegalOp, "---"},
	} {
		t.Run(fmt.Sprintf("op-%d-from-%s", test.op, strings.ReplaceAll(test.from, "-", "o")), func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			prepare(c, test.from)
			c.Does(test.op, test.code, test.to)
			illegal := len(c.Sim.Violations()) == 1
			simtest.Want(t, "a violation", illegal, test.code == simulator.CodeIllegalOp)
			if illegal {
				c.Sim.ResetViolations()
			}
		})
	}
}

// How registrations are made, changed and removed. The tests of the doctor find what switches change.
func TestOperation_registers(t *testing.T) {
	t.Parallel()
	const register, update, unregister = "register_proc_info", "update_proc_info", "unregister_proc_info"
	for name, test := range map[string]struct {
		api  string
		from string
		code int
		to   string
	}{
		"register":             {api: register, from: "---", to: "R--"},
		"register-again":       {api: register, from: "R--", code: 850, to: "R--"},
		"register-what-runs":   {api: register, from: "-Hr", to: "RHr"},
		"update":               {api: update, from: "R--", to: "R--"},
		"update-what-runs":     {api: update, from: "RHr", to: "RHr"},
		"update-registers":     {api: update, from: "---", to: "R--"},
		"unregister-what-runs": {api: unregister, from: "RHr", to: "--r"},
		"unregister":           {api: unregister, from: "R--", to: "---"},
		"unregister-not-there": {api: unregister, from: "---", code: 829, to: "---"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			prepare(c, test.from)
			simtest.Want(t, "content", c.Calls(test.api, test.code, test.to).Content, any(""))
		})
	}
}

// If suppliers are apart, a process is unregistered under the supplier that registered it.
func TestOperation_suppliersApart(t *testing.T) {
	t.Parallel()
	for apart, code := range map[bool]int{true: simulator.CodeNotRunning, false: 0} {
		c := simtest.NewVirtual(t, &simulator.Server{SuppliersApart: apart})
		c.Call("register_proc_info", "10.0.0.1")
		got := c.Send("unregister_proc_info", `{`+simtest.Meta("{}")+`,"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0,"bk_supplier_id":2}]}`)
		simtest.WantCode(t, "under another supplier", simtest.VerdictOf(t, got.Data, "0:2:10.0.0.1:web:nginx"), code)
	}
}

func TestOperation_specDecides(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			v := c.Result(c.OperateWith(test.op, strings.Replace(simtest.OperateSpec, test.old, test.new, 1), "10.0.0.1"), "10.0.0.1")
			simtest.Want(t, "verdict", fmt.Sprint(v.Code, " ", v.Message), fmt.Sprint(test.code, " ", test.message))
			c.WantState("then", test.to)
		})
	}
}

func TestOperation_content(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	simtest.WantCode(t, "register on an unknown host", c.Call("register_proc_info", "10.9.9.9"), simulator.CodeAgentAbnormal)
	simtest.WantCode(t, "query of an unknown host", c.Do(simulator.OpQuery, "10.9.9.9"), simulator.CodeAgentAbnormal)
	stopped := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1"))
	simtest.Want(t, "never started", fmt.Sprint(stopped["pid"], stopped["isAuto"], stopped["register_time"], stopped["processName"]), "-1 false 0nginx")
	v := c.Do(simulator.OpStart, "10.0.0.1")
	simtest.WantIn(t, "start", v.Text(), "\n", `"isAuto": true`, `"setupPath": "/opt/nginx"`)
	running := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1"))
	pid, _ := running["pid"].(float64)
	simtest.Check(t, pid > 1 && running["isAuto"] == true && running["register_time"] != 0.0, "running: %v", running)

	// A stop of a stopped process leaves hosting on, and its result shows that.
	simtest.Must(t, c.Sim.KillProcess("0:10.0.0.1", "web", "nginx"))
	simtest.WantIn(t, "stop of a dead process", c.Does(simulator.OpStop, 829, "-H-").Text(), `"isAuto": true`)

	// A query's result has the name of the process, not of its binary.
	id := c.OperateWith(simulator.OpQuery, strings.Replace(simtest.OperateSpec, `"proc_name":"nginx"`, `"proc_name":"java"`, 1), "10.0.0.2")
	if text := c.Result(id, "10.0.0.2").Text(); !strings.Contains(text, `"procname": "nginx"`) || !strings.Contains(text, `"processName": "nginx"`) || strings.Contains(text, "java") {
		t.Errorf("content: %s", text)
	}
}

// A tick of supervision restarts what is hosted and died, and starts nothing that was stopped.
func TestOperation_supervision(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	kill := func() { simtest.Must(t, c.Sim.KillProcess("0:10.0.0.1", "web", "nginx")) }
	c.Do(simulator.OpStart, "10.0.0.1")
	before, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx")
	kill()
	c.WantState("killed", "-H-")
	c.Sim.Tick()
	after, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx")
	simtest.Check(t, after.Running && after.PID != before.PID, "not revived: %+v", after)
	c.Do(simulator.OpUnhost, "10.0.0.1")
	c.Call("register_proc_info", "10.0.0.1")
	kill()
	c.Sim.Tick()
	c.WantState("not hosted", "R--")
	c.Do(simulator.OpHost, "10.0.0.1")
	c.Sim.Tick()
	c.WantState("hosted while it is stopped", "RH-")
}

// Only a permanent process (auto_type 1) with retries left is restarted.
func TestOperation_policyDecidesRevival(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]string{`"auto_type":1`: "-Hr", `"auto_type":0`: "-H-", `"auto_type":1,"start_retries":0`: "-H-"} {
		c := simtest.NewVirtual(t)
		c.OperateWith(simulator.OpStart, strings.Replace(simtest.OperateSpec, `"auto_type":1`, policy, 1), "10.0.0.1")
		simtest.Must(t, c.Sim.KillProcess("0:10.0.0.1", "web", "nginx"))
		c.Sim.Tick()
		c.WantState(policy, want)
	}
}

// A first generation call is repeated until it has a verdict. An effect that it had before then stays.
func TestOperation_repeatedCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault simulator.Fault
		codes []int
	}{
		"pending":             {simulator.Fault{Pending: 1, Times: 1}, []int{115, 0, 850}},
		"pending-and-applied": {simulator.Fault{Pending: 1, Apply: true, Times: 1}, []int{115, 850}},
		"failed":              {simulator.Fault{Code: new(836), Times: 1}, []int{836, 0}},
		"failed-and-applied":  {simulator.Fault{Code: new(836), Apply: true, Times: 1}, []int{836, 850}},
		"silent":              {simulator.Fault{Unreachable: "pending"}, []int{115, 115}},
	} {
		c := simtest.NewVirtual(t)
		c.Sim.Inject(test.fault)
		for i, code := range test.codes {
			simtest.WantCode(t, fmt.Sprint(name, ", call ", i+1), c.Call("register_proc_info", "10.0.0.1"), code)
		}
	}
}

// Changes by other users, and switches and faults that change what an operation does.
func TestOperation_byOthers(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t, &simulator.Server{RestartKeepsHosting: true})
	c.Call("register_proc_info", "10.0.0.1")
	c.Does(simulator.OpStart, 0, "RHr")
	simtest.Must(t, c.Sim.StopProcess(host, "web", "nginx"))
	c.WantState("stopped by hand", "R--")
	c.Does(simulator.OpRestart, 0, "R-r")
	c.Sim.Inject(simulator.Fault{Op: new(simulator.OpRestart), Dies: 2})
	c.Does(simulator.OpRestart, 0, "R-r")
	c.Does(simulator.OpQuery, 0, "R-r")
	c.Does(simulator.OpQuery, 0, "R--")
	c.Sim.ClearFaults()
	c.Sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Code: new(65535), Message: "no such file", Content: "printed"})
	odd := c.Does(simulator.OpStart, 65535, "R--")
	simtest.Want(t, "message and content", odd.Message+" "+odd.Text(), "no such file printed")
	c.Sim.ClearFaults()
	c.Sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Code: new(65535)})
	odd = c.Does(simulator.OpStart, 65535, "R--")
	simtest.Want(t, "message and content", odd.Message+" "+odd.Text(), "command failed ")
	simtest.Must(t, c.Sim.AddProc(host, `{"procName":"nginx","valuekey":"web:nginx"}`), c.Sim.Unhost(host, "web", "nginx"))
	simtest.Want(t, "file", strings.Contains(c.Sim.ProcFile(host), "web:nginx"), false)
}
