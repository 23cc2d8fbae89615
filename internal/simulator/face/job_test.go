package face_test

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestJob_documentedSamples(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		api, key string
		code     int
		hosted   bool
	}{
		"job/manage_proc":     {"manage_proc", "key_test:0:10.0.0.1", 0, true},
		"job/manage_proc/biz": {"manage_proc", "key_test:0:10.0.0.1", 0, true},
		"job/operate_process": {"operate_process", "/usr/local/xxx/gseagent:0:10.0.0.1", 829, false}, // its op type is stop
	}
	for id, test := range tests {
		for _, component := range []string{"job", "jobv3"} {
			t.Run(id+"-"+component, func(t *testing.T) {
				t.Parallel()
				c := simtest.NewVirtual(t, &simulator.Server{AppCode: "esb_test", AppSecret: "xxx", Token: "xxx"})
				prefix := "/api/c/compapi/v2/" + component + "/"
				started := c.Request(http.MethodPost, prefix+test.api+"/", string(contract.Get(id).Request), nil)
				task, _ := started.Data["bk_gse_taskid"].(string)
				if started.Code != 0 || !strings.HasPrefix(task, "GSETASK:") {
					t.Fatalf("%s: %v", test.api, started.Body)
				}
				members := slices.Sorted(maps.Keys(started.Body))
				if want := []string{"code", "data", "message", "permission", "request_id", "result"}; !slices.Equal(members, want) {
					t.Errorf("members %v, want %v", members, want)
				}
				got := c.Request(http.MethodPost, prefix+"get_proc_result",
					`{"bk_app_code":"esb_test","bk_app_secret":"xxx","bk_token":"xxx","bk_biz_id":1,"bk_gse_taskid":"`+task+`"}`, nil)
				results, _ := got.Data["result"].(map[string]any)
				if v := simtest.VerdictOf(t, results, test.key); v.Code != test.code || len(results) != 1 {
					t.Errorf("get_proc_result: %v", got.Body)
				}
				if processes := c.Sim.Processes(); (len(processes) == 1 && processes[0].Hosted && processes[0].Namespace == "job") != test.hosted {
					t.Errorf("held: %+v", processes)
				}
				if call := c.Sim.Calls()[0]; call.Face != "job" || call.API != test.api || !reflect.DeepEqual(call.Hosts, []string{"0:10.0.0.1"}) {
					t.Errorf("call: %+v", call)
				}
			})
		}
	}
}

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
		v := c.JobDo(step.op, "")
		if got := simtest.JobState(c.Sim); v.Code != step.code || got != step.want {
			t.Errorf("%s: %d, %s; want %d, %s", step.what, v.Code, got, step.code, step.want)
		}
	}
	if v := c.JobDo(simulator.OpQuery, ""); simtest.JobInstance(t, v)["pid"] != -1.0 {
		t.Errorf("query: %+v", v)
	}
}

func TestJob_timesAreDefaultsWhenZero(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	simtest.WantCode(t, "start", c.JobDo(simulator.OpStart, `,"op_timeout":0,"start_check_begin_time":0`), 0)
}

func TestJob_manageProc(t *testing.T) {
	t.Parallel()
	for _, bug := range []bool{false, true} {
		c := simtest.NewVirtual(t, &simulator.Server{ManageProcBug: bug})
		manage := func(api string, op int) simtest.Verdict {
			_, results := c.JobPoll(c.JobStart(api, simtest.JobBody(op, simtest.JobInfo(`,"proc_owner":"admin"`, "10.0.0.1"))))
			return simtest.VerdictOf(t, results, simtest.JobKey)
		}
		c.JobDo(simulator.OpStart, "")
		register := manage("manage_proc", 1)
		registered := simtest.JobState(c.Sim)
		unregister := manage("gse_process_manage", 2)
		unregistered := simtest.JobState(c.Sim)
		want := "true true, then false true"
		if bug {
			want = "none, then none" // it was stopped, and then queried
		}
		if got := registered + ", then " + unregistered; got != want || register.Code != 0 || unregister.Code != 0 {
			t.Errorf("bug %v: %s, want %s; %+v, %+v", bug, got, want, register, unregister)
		}
		if _, isQuery := unregister.Content.(map[string]any); isQuery != bug {
			t.Errorf("bug %v: content %v", bug, unregister.Content)
		}
		if op := c.Sim.Calls().Of("manage_proc")[0].Op; (op == simulator.OpStop) != bug {
			t.Errorf("bug %v: recorded op %d", bug, op)
		}
		if n := len(c.Sim.Calls().OfOp(simulator.OpUnhost)); (n == 0) != bug {
			t.Errorf("bug %v: %d calls to unhost", bug, n)
		}
	}
}

func TestJob_keepsWhatTheServerMakesOfIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ more, want string }{
		"limits":         {`,"cpu_lmt":50,"mem_lmt":100`, `"cpu_lmt":50`},
		"limit-too-high": {`,"cpu_lmt":150,"mem_lmt":1`, `"cpu_lmt":0`},
		"limit-negative": {`,"cpu_lmt":1,"mem_lmt":-1`, `"mem_lmt":0`},
		"limit-missing":  {``, `"cpu_lmt":0`},
		"end-is-begin":   {`,"start_check_begin_time":3,"start_check_end_time":9`, `"start_check_end_time":3`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			c.JobDo(simulator.OpHost, test.more)
			p, _ := c.Sim.Process("0:10.0.0.1", "job", "/opt/nginx/nginx")
			if !strings.Contains(string(p.Spec), test.want) || strings.Contains(string(p.Spec), "ip_list") {
				t.Errorf("kept %s, want %s", p.Spec, test.want)
			}
		})
	}
	t.Run("end-stays-in-manage-proc", func(t *testing.T) {
		t.Parallel()
		c := simtest.NewVirtual(t)
		c.JobStart("manage_proc", simtest.JobBody(1, simtest.JobInfo(`,"proc_owner":"a","start_check_begin_time":3,"start_check_end_time":9`, "10.0.0.1")))
		if p, _ := c.Sim.Process("0:10.0.0.1", "job", "/opt/nginx/nginx"); !strings.Contains(string(p.Spec), `"start_check_end_time":9`) {
			t.Errorf("kept %s", p.Spec)
		}
	})
}
