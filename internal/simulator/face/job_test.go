package face_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// Times of zero are defaults.
func TestJob_life(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	for _, step := range []struct {
		what     string
		op, code int
		want     string
	}{
		{"query what is not there", simulator.OpQuery, 0, "none"},
		{"unhost what is not there", simulator.OpUnhost, 829, "none"},
		{"host", simulator.OpHost, 0, "true false"},
		{"start", simulator.OpStart, 0, "true true"},
		{"start what runs", simulator.OpStart, 828, "true true"},
		{"restart", simulator.OpRestart, 0, "true true"},
		{"reload", simulator.OpReload, 0, "true true"},
		{"unhost what runs", simulator.OpUnhost, 0, "false true"},
		{"host what runs", simulator.OpHost, 0, "true true"},
		{"host again", simulator.OpHost, 0, "true true"},
		{"kill", simulator.OpKill, 0, "none"},
		{"stop what is not there", simulator.OpStop, 829, "none"},
	} {
		simtest.WantCode(t, step.what, c.JobDo(step.op, `,"op_timeout":0,"start_check_begin_time":0`), step.code)
		simtest.Want(t, step.what, simtest.JobState(c.Sim), step.want)
	}
	simtest.Want(t, "pid", simtest.Instance(t, c.JobDo(simulator.OpQuery, ""))["pid"], any(-1.0))
}

func TestJob_keepsWhatTheServerMakesOfIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ api, more, want string }{
		"limits":         {"operate_process", `,"cpu_lmt":50,"mem_lmt":100`, `"cpu_lmt":50`},
		"limit-too-high": {"operate_process", `,"cpu_lmt":150,"mem_lmt":1`, `"cpu_lmt":0`},
		"limit-negative": {"operate_process", `,"cpu_lmt":1,"mem_lmt":-1`, `"mem_lmt":0`},
		"limit-missing":  {"operate_process", ``, `"cpu_lmt":0`},
		"end-is-begin":   {"operate_process", `,"start_check_begin_time":3,"start_check_end_time":9`, `"start_check_end_time":3`},
		"end-stays":      {"manage_proc", `,"proc_owner":"a","start_check_begin_time":3,"start_check_end_time":9`, `"start_check_end_time":9`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			op := map[string]int{"operate_process": simulator.OpHost, "manage_proc": 1}[test.api]
			c.JobStart(test.api, simtest.JobBody(op, simtest.JobInfo(test.more, "10.0.0.1")))
			p, _ := c.Sim.Process("0:10.0.0.1", "job", "/opt/nginx/nginx")
			if !strings.Contains(string(p.Spec), test.want) || strings.Contains(string(p.Spec), "ip_list") {
				t.Errorf("kept %s, want %s", p.Spec, test.want)
			}
		})
	}
}

// The server of manage_proc refuses what its document allows, so this is no violation.
func TestJob_refusesWhatTheDocumentAllows(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	manage := simtest.JobBody(1, simtest.JobInfo(`,"proc_owner":"admin"`, "10.0.0.1"))
	for _, change := range [][2]string{
		{`"setup_path":"/opt/nginx",`, ``},
		{`"/opt/nginx"`, `""`},
		{`"pid_path":"/run/nginx.pid",`, ``},
		{`"/run/nginx.pid"`, `""`},
	} {
		got := c.Job("manage_proc", simtest.Changed(t, manage, change[0], change[1]))
		simtest.Want(t, change[0], fmt.Sprint(got.Code, got.Message), fmt.Sprint(simulator.CodeJobIllegalParameter, "Illegal parameter"))
	}
	simtest.Want(t, "account", c.Job("manage_proc", simtest.Changed(t, manage, `"type"`, `"account":"www","type"`)).Code, 0)
}

func TestJob_keys(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	info := simtest.JobInfo("", "10.0.0.1")
	valued := simtest.JobInfo(`,"value_key":"web"`, "10.0.0.1")
	for _, test := range []struct{ info, fault, want string }{
		{info, "", "/opt/nginx/nginx:0:10.0.0.1"},
		{strings.Replace(info, `"/opt/nginx"`, `"/opt/nginx/"`, 1), "", "/opt/nginx/nginx:0:10.0.0.1"},
		{strings.Replace(info, `"/opt/nginx"`, `"C:\\gse"`, 1), "", `C:\gse/nginx:0:10.0.0.1`},
		{valued, "", "web:0:10.0.0.1"},
		{valued, "path", "/opt/nginx/nginx:0:10.0.0.1"},
		{valued, "host-first", "0:10.0.0.1:web"},
	} {
		c.Sim.ClearFaults()
		c.Sim.Inject(simulator.Fault{Keys: test.fault})
		_, results := c.JobPoll(c.JobStart("operate_process", simtest.JobBody(simulator.OpHost, test.info)))
		simtest.WantCode(t, test.want, simtest.VerdictOf(t, results, test.want), 0)
		simtest.Want(t, test.want, len(results), 1)
	}
	simtest.Want(t, "processes, one per key", len(c.Sim.Processes()), 3)
	_, results := c.JobPoll(c.JobStart("operate_process", simtest.JobBody(simulator.OpQuery, simtest.JobInfo("", "10.0.0.1", "10.0.0.2"), simtest.JobInfo(`,"value_key":"b"`, "10.0.0.1"))))
	simtest.Want(t, "results of two processes on three hosts", len(results), 3)
}

func TestJob_content(t *testing.T) {
	t.Parallel()
	const object = "an object"
	for name, test := range map[string]struct {
		fault simulator.Fault
		op    int
		want  any // nil for null
	}{
		"query":           {simulator.Fault{}, simulator.OpQuery, object},
		"host":            {simulator.Fault{}, simulator.OpHost, ""},
		"empty":           {simulator.Fault{ContentShape: "empty"}, simulator.OpQuery, ""},
		"not-json":        {simulator.Fault{ContentShape: "broken"}, simulator.OpQuery, nil},
		"null":            {simulator.Fault{ContentShape: "null"}, simulator.OpQuery, nil},
		"object-already":  {simulator.Fault{ContentShape: "object"}, simulator.OpQuery, object},
		"words-of-a-user": {simulator.Fault{Code: new(int), Content: "it works"}, simulator.OpQuery, nil},
	} {
		c := simtest.NewVirtual(t)
		c.Sim.Inject(test.fault)
		got := c.JobDo(test.op, "").Content
		if members, isObject := got.(map[string]any); isObject && members["process"] != nil {
			got = object
		}
		simtest.Want(t, name, got, test.want)
	}
	c := simtest.NewVirtual(t)
	c.JobDo(simulator.OpHost, "")
	simtest.Want(t, "isAuto", simtest.Instance(t, c.JobDo(simulator.OpQuery, ""))["isAuto"], any(true))
	c.Sim.Inject(simulator.Fault{ContentShape: "no-isauto"})
	_, has := simtest.Instance(t, c.JobDo(simulator.OpQuery, ""))["isAuto"]
	simtest.Want(t, "isAuto is there", has, false)
}

func TestJob_status(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Queued: 1, Times: 1})
	c.Sim.Inject(simulator.Fault{Hosts: []string{"0:10.0.0.2"}, Pending: 1, Times: 1})
	c.Sim.Inject(simulator.Fault{API: "get_proc_result", JobStatus: new(115), Skip: 2, Times: 1})
	type said struct{ status, results, pending int }
	poll := func(id string) said {
		status, results := c.JobPoll(id)
		got := said{status, len(results), 0}
		for key := range results {
			if simtest.VerdictOf(t, results, key).Code == simulator.CodePending {
				got.pending++
			}
		}
		return got
	}
	id := c.JobStart("operate_process", simtest.JobBody(simulator.OpStart, simtest.JobInfo("", "10.0.0.1", "10.0.0.2")))
	simtest.Want(t, "queued, which is a success with nothing in it", poll(id), said{115, 0, 0})
	simtest.Want(t, "pending", poll(id), said{115, 2, 1})
	simtest.Want(t, "status 115 beside hosts that have finished", poll(id), said{115, 2, 0})
	simtest.Want(t, "done", poll(id), said{0, 2, 0})
	simtest.Want(t, "an unknown task", poll("GSETASK:unknown"), said{115, 0, 0})
}
