package simulator_test

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// jobKey is the result key of the process that jobInfo describes, on 10.0.0.1.
const jobKey = "/opt/nginx/nginx:0:10.0.0.1"

func jobInfo(more string, ips ...string) string {
	return `{"proc_name":"nginx","setup_path":"/opt/nginx","pid_path":"/run/nginx.pid",` +
		strings.Trim(control, "{}") + `,"type":1` + more + `,"ip_list":` + strings.TrimPrefix(cloudHosts(ips...), `"hosts":`) + `}`
}

func jobBody(op int, infos ...string) string {
	return fmt.Sprintf(`{"bk_biz_id":2,"op_type":%d,"process_infos":[%s]}`, op, strings.Join(infos, ","))
}

// job calls an API of JOB with credentials.
func (c *client) job(api, body string) reply {
	c.t.Helper()
	return c.request(http.MethodPost, "/api/c/compapi/v2/jobv3/"+api+"/", "{"+credentials+","+strings.TrimPrefix(body, "{"), nil)
}

// jobStart starts an operation and returns its task.
func (c *client) jobStart(api, body string) string {
	c.t.Helper()
	got := c.job(api, body)
	id, _ := got.data["bk_gse_taskid"].(string)
	if got.status != http.StatusOK || got.code != 0 || id == "" {
		c.t.Fatalf("%s: HTTP %d %v", api, got.status, got.body)
	}
	return id
}

func (c *client) jobPoll(id string) (status int, results map[string]any) {
	c.t.Helper()
	got := c.job("get_proc_result", fmt.Sprintf(`{"bk_scope_type":"biz","bk_scope_id":"2","bk_gse_taskid":%q}`, id))
	results, ok := got.data["result"].(map[string]any)
	if got.status != http.StatusOK || got.code != 0 || got.body["result"] != true || !ok {
		c.t.Fatalf("get_proc_result: HTTP %d %v", got.status, got.body)
	}
	number, _ := got.data["status"].(float64)
	return int(number), results
}

// jobDo operates on 10.0.0.1 and returns the verdict of the first poll.
func (c *client) jobDo(op int, more string) verdict {
	c.t.Helper()
	_, results := c.jobPoll(c.jobStart("operate_process", jobBody(op, jobInfo(more, "10.0.0.1"))))
	return verdictOf(c.t, results, jobKey)
}

// jobInstance is what the content of a query says, which JOB has unpacked.
func jobInstance(t *testing.T, v verdict) map[string]any {
	t.Helper()
	content, _ := v.content.(map[string]any)
	processes, _ := content["process"].([]any)
	if len(processes) != 1 {
		t.Fatalf("content: %v", v.content)
	}
	process, _ := processes[0].(map[string]any)
	instances, _ := process["instance"].([]any)
	if len(instances) != 1 {
		t.Fatalf("content: %v", v.content)
	}
	instance, _ := instances[0].(map[string]any)
	return instance
}

// jobState is what is held about the process that jobInfo describes: whether it
// is hosted and whether it runs.
func jobState(sim *simulator.Server) string {
	p, ok := sim.Process("0:10.0.0.1", "job", "/opt/nginx/nginx")
	if !ok {
		return "none"
	}
	return fmt.Sprint(p.Hosted, p.Running)
}

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
				sim := &simulator.Server{AppCode: "esb_test", AppSecret: "xxx", Token: "xxx"}
				sim.AddHost("0:10.0.0.1")
				c := newClient(t, sim)
				prefix := "/api/c/compapi/v2/" + component + "/"
				started := c.request(http.MethodPost, prefix+test.api+"/", string(contract.Get(id).Request), nil)
				task, _ := started.data["bk_gse_taskid"].(string)
				if started.code != 0 || !strings.HasPrefix(task, "GSETASK:") {
					t.Fatalf("%s: %v", test.api, started.body)
				}
				members := slices.Sorted(maps.Keys(started.body))
				if want := []string{"code", "data", "message", "permission", "request_id", "result"}; !slices.Equal(members, want) {
					t.Errorf("members %v, want %v", members, want)
				}
				got := c.request(http.MethodPost, prefix+"get_proc_result",
					`{"bk_app_code":"esb_test","bk_app_secret":"xxx","bk_token":"xxx","bk_biz_id":1,"bk_gse_taskid":"`+task+`"}`, nil)
				results, _ := got.data["result"].(map[string]any)
				if v := verdictOf(t, results, test.key); v.code != test.code || len(results) != 1 {
					t.Errorf("get_proc_result: %v", got.body)
				}
				if processes := sim.Processes(); (len(processes) == 1 && processes[0].Hosted && processes[0].Namespace == "job") != test.hosted {
					t.Errorf("held: %+v", processes)
				}
				if call := sim.Calls()[0]; call.Face != "job" || call.API != test.api || !reflect.DeepEqual(call.Hosts, []string{"0:10.0.0.1"}) {
					t.Errorf("call: %+v", call)
				}
			})
		}
	}
}

func TestJob_life(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	for _, step := range []struct {
		op, code int
		want     string
	}{
		{simulator.OpQuery, 0, "none"},
		{simulator.OpUnhost, 829, "none"},
		{simulator.OpHost, 0, "true false"},
		{simulator.OpStart, 0, "true true"},
		{simulator.OpStart, 828, "true true"},
		{simulator.OpRestart, 0, "true true"},
		{simulator.OpReload, 0, "true true"},
		{simulator.OpUnhost, 0, "false true"},
		{simulator.OpHost, 0, "true true"},
		{simulator.OpHost, 0, "true true"},
		{simulator.OpKill, 0, "none"},
		{simulator.OpStop, 829, "none"},
	} {
		v := c.jobDo(step.op, "")
		if got := jobState(c.sim); v.code != step.code || got != step.want {
			t.Errorf("op %d: %d, %s; want %d, %s", step.op, v.code, got, step.code, step.want)
		}
	}
	if v := c.jobDo(simulator.OpQuery, ""); jobInstance(t, v)["pid"] != -1.0 {
		t.Errorf("query: %+v", v)
	}
}

func TestJob_timesAreDefaultsWhenZero(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	if v := c.jobDo(simulator.OpStart, `,"op_timeout":0,"start_check_begin_time":0`); v.code != 0 {
		t.Errorf("start: %+v", v)
	}
}

func TestJob_manageProc(t *testing.T) {
	t.Parallel()
	for _, bug := range []bool{false, true} {
		sim := &simulator.Server{ManageProcBug: bug}
		sim.AddHost("0:10.0.0.1")
		c := newClient(t, sim)
		manage := func(api string, op int) verdict {
			_, results := c.jobPoll(c.jobStart(api, jobBody(op, jobInfo(`,"proc_owner":"admin"`, "10.0.0.1"))))
			return verdictOf(t, results, jobKey)
		}
		c.jobDo(simulator.OpStart, "")
		register := manage("manage_proc", 1)
		registered := jobState(sim)
		unregister := manage("gse_process_manage", 2)
		unregistered := jobState(sim)
		want := "true true, then false true"
		if bug {
			want = "none, then none" // it was stopped, and then asked about
		}
		if got := registered + ", then " + unregistered; got != want || register.code != 0 || unregister.code != 0 {
			t.Errorf("bug %v: %s, want %s; %+v, %+v", bug, got, want, register, unregister)
		}
		if _, isQuery := unregister.content.(map[string]any); isQuery != bug {
			t.Errorf("bug %v: content %v", bug, unregister.content)
		}
		if op := sim.Calls().Of("manage_proc")[0].Op; (op == simulator.OpStop) != bug {
			t.Errorf("bug %v: recorded op %d", bug, op)
		}
		if n := len(sim.Calls().OfOp(simulator.OpUnhost)); (n == 0) != bug {
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
			c := newVirtual(t)
			c.jobDo(simulator.OpHost, test.more)
			p, _ := c.sim.Process("0:10.0.0.1", "job", "/opt/nginx/nginx")
			if !strings.Contains(string(p.Spec), test.want) || strings.Contains(string(p.Spec), "ip_list") {
				t.Errorf("kept %s, want %s", p.Spec, test.want)
			}
		})
	}
	t.Run("end-stays-in-manage-proc", func(t *testing.T) {
		t.Parallel()
		c := newVirtual(t)
		c.jobStart("manage_proc", jobBody(1, jobInfo(`,"proc_owner":"a","start_check_begin_time":3,"start_check_end_time":9`, "10.0.0.1")))
		if p, _ := c.sim.Process("0:10.0.0.1", "job", "/opt/nginx/nginx"); !strings.Contains(string(p.Spec), `"start_check_end_time":9`) {
			t.Errorf("kept %s", p.Spec)
		}
	})
}
