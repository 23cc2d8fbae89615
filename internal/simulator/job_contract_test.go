package simulator_test

import (
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestJob_refusesWhatNoDocumentAllows(t *testing.T) {
	t.Parallel()
	operate := jobBody(0, jobInfo("", "10.0.0.1"))
	manage := jobBody(1, jobInfo(`,"proc_owner":"admin"`, "10.0.0.1"))
	poll := `{"bk_biz_id":2,"bk_gse_taskid":"GSETASK:1"}`
	tests := map[string]struct {
		api, body string
		old, new  string
		want      string
	}{
		"no-scope":          {"operate_process", operate, `"bk_biz_id":2,`, ``, "bk_scope_type: required field is missing, or bk_biz_id"},
		"both-scopes":       {"operate_process", operate, `"bk_biz_id":2`, `"bk_biz_id":2,"bk_scope_type":"biz","bk_scope_id":"2"`, "bk_biz_id: is another way to say bk_scope_type and bk_scope_id, which are given too"},
		"scope-type-alone":  {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_scope_type":"biz"`, "bk_scope_id: required field is missing"},
		"scope-id-alone":    {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_scope_id":"2"`, "bk_scope_type: required field is missing"},
		"scope-type":        {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_scope_type":"set","bk_scope_id":"2"`, `bk_scope_type: must be "biz" or "biz_set"`},
		"scope-id-a-number": {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_scope_type":"biz","bk_scope_id":2`, "bk_scope_id: want a string, got the number 2"},
		"biz-id-a-string":   {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_biz_id":"2"`, "bk_biz_id: want an integer, got a string"},
		"task-id-of-gse":    {"get_proc_result", poll, `bk_gse_taskid`, `task_id`, "task_id: unknown field"},
		"no-infos":          {"operate_process", jobBody(0), "", "", "process_infos: must not be empty"},
		"no-hosts":          {"operate_process", operate, cloudHosts("10.0.0.1")[len(`"hosts":`):], `[]`, "process_infos[0].ip_list: must not be empty"},
		"no-proc-name":      {"operate_process", operate, `"proc_name":"nginx",`, ``, "process_infos[0].proc_name: required field is missing"},
		"no-setup-path":     {"operate_process", operate, `"setup_path":"/opt/nginx",`, ``, "process_infos[0].setup_path: required field is missing"},
		"blank-pid-path":    {"operate_process", operate, `"/run/nginx.pid"`, `""`, "process_infos[0].pid_path: must be an absolute path"},
		"owner-in-operate":  {"operate_process", operate, `"type"`, `"proc_owner":"a","type"`, "process_infos[0].proc_owner: unknown field"},
		"contact-in-manage": {"manage_proc", manage, `"type"`, `"contact":"a","type"`, "process_infos[0].contact: unknown field"},
		"no-owner":          {"manage_proc", manage, `,"proc_owner":"admin"`, ``, "process_infos[0].proc_owner: required field is missing"},
		"type":              {"operate_process", operate, `"type":1`, `"type":3`, "process_infos[0].type: must be 0, 1 or 2"},
		"limit-fractional":  {"operate_process", operate, `"type":1`, `"cpu_lmt":0.5,"type":1`, "process_infos[0].cpu_lmt: want an integer, got 0.5"},
		"spec-of-gse":       {"operate_process", operate, `"type":1`, `"spec":{},"type":1`, "process_infos[0].spec: unknown field"},
		"op-type-in-manage": {"manage_proc", manage, `"op_type":1`, `"op_type":3`, "op_type: must be 1 or 2"},
		"supplier":          {"operate_process", operate, `"bk_cloud_id":0`, `"bk_cloud_id":0,"bk_supplier_id":0`, "process_infos[0].ip_list[0].bk_supplier_id: unknown field"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newVirtual(t)
			body := changed(t, test.body, test.old, test.new)
			got := c.job(test.api, body)
			want := "Illegal parameter: " + test.want
			if got.status != http.StatusOK || got.code != simulator.CodeJobIllegalParameter || got.message != want || got.body["result"] != false {
				t.Errorf("got HTTP %d %v, want %q", got.status, got.body, want)
			}
			c.wantOneViolation(test.api + ": " + want)
		})
	}
}

// The document of manage_proc allows what its server refuses, so that this is
// no violation.
func TestJob_refusesWhatTheDocumentAllows(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	manage := jobBody(1, jobInfo(`,"proc_owner":"admin"`, "10.0.0.1"))
	for _, change := range [][2]string{
		{`"setup_path":"/opt/nginx",`, ``},
		{`"/opt/nginx"`, `""`},
		{`"pid_path":"/run/nginx.pid",`, ``},
		{`"/run/nginx.pid"`, `""`},
	} {
		body := strings.Replace(manage, change[0], change[1], 1)
		got := c.job("manage_proc", body)
		if body == manage || got.code != simulator.CodeJobIllegalParameter || got.message != "Illegal parameter" {
			t.Errorf("%s: %v", change[0], got.body)
		}
	}
	if got := c.job("manage_proc", strings.Replace(manage, `"type"`, `"account":"www","type"`, 1)); got.code != 0 {
		t.Errorf("account: %v", got.body)
	}
}

func TestJob_unknownRoutes(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	if got := c.job("operate_proc_v2", `{"x":1}`); got.status != http.StatusOK || got.code != simulator.CodeAPINotFound {
		t.Errorf("unknown name: HTTP %d %v", got.status, got.body)
	}
	if got := c.request(http.MethodGet, "/api/c/compapi/v2/jobv3/manage_proc/", "", nil); got.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: HTTP %d", got.status)
	}
	if got := len(c.sim.Violations()); got != 2 {
		t.Errorf("violations: %q", c.sim.Violations())
	}
	c.sim.ResetViolations()
}

func TestJob_removed(t *testing.T) {
	t.Parallel()
	c := newClient(t, &simulator.Server{JobRemoved: true})
	for _, api := range []string{"manage_proc", "operate_process", "get_proc_result", "gse_process_manage"} {
		if got := c.job(api, `{"bk_biz_id":2}`); got.status != http.StatusNotFound || got.code != simulator.CodeAPINotFound || got.body["result"] != false {
			t.Errorf("%s: HTTP %d %v", api, got.status, got.body)
		}
	}
}

func TestJob_keys(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	slash := strings.Replace(jobInfo("", "10.0.0.1"), `"/opt/nginx"`, `"/opt/nginx/"`, 1)
	windows := strings.Replace(jobInfo("", "10.0.0.1"), `"/opt/nginx"`, `"C:\\gse"`, 1)
	valued := jobInfo(`,"value_key":"web"`, "10.0.0.1")
	for _, test := range []struct{ info, fault, want string }{
		{jobInfo("", "10.0.0.1"), "", "/opt/nginx/nginx:0:10.0.0.1"},
		{slash, "", "/opt/nginx/nginx:0:10.0.0.1"},
		{windows, "", `C:\gse/nginx:0:10.0.0.1`},
		{valued, "", "web:0:10.0.0.1"},
		{valued, "path", "/opt/nginx/nginx:0:10.0.0.1"},
		{valued, "host-first", "0:10.0.0.1:web"},
	} {
		c.sim.ClearFaults()
		c.sim.Inject(simulator.Fault{Keys: test.fault})
		_, results := c.jobPoll(c.jobStart("operate_process", jobBody(simulator.OpHost, test.info)))
		if v := verdictOf(t, results, test.want); v.code != 0 || len(results) != 1 {
			t.Errorf("%s: %v", test.want, results)
		}
	}
	if n := len(c.sim.Processes()); n != 3 {
		t.Errorf("%d processes, want one per key: %+v", n, c.sim.Processes())
	}
	_, results := c.jobPoll(c.jobStart("operate_process", jobBody(simulator.OpQuery, jobInfo("", "10.0.0.1", "10.0.0.2"), jobInfo(`,"value_key":"b"`, "10.0.0.1"))))
	if len(results) != 3 {
		t.Errorf("two processes on three hosts: %v", results)
	}
}

func TestJob_content(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault simulator.Fault
		op    int
		want  any // nil for null; an object is only counted
	}{
		"query":           {simulator.Fault{}, simulator.OpQuery, map[string]any{}},
		"host":            {simulator.Fault{}, simulator.OpHost, ""},
		"empty":           {simulator.Fault{ContentShape: "empty"}, simulator.OpQuery, ""},
		"not-json":        {simulator.Fault{ContentShape: "broken"}, simulator.OpQuery, nil},
		"null":            {simulator.Fault{ContentShape: "null"}, simulator.OpQuery, nil},
		"object-already":  {simulator.Fault{ContentShape: "object"}, simulator.OpQuery, map[string]any{}},
		"words-of-a-user": {simulator.Fault{Code: new(int), Content: "it works"}, simulator.OpQuery, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newVirtual(t)
			c.sim.Inject(test.fault)
			got := c.jobDo(test.op, "").content
			if _, isObject := test.want.(map[string]any); isObject {
				if object, ok := got.(map[string]any); !ok || object["process"] == nil {
					t.Errorf("got %v, want an object", got)
				}
				return
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %#v, want %#v", got, test.want)
			}
		})
	}
	t.Run("no-isauto", func(t *testing.T) {
		t.Parallel()
		c := newVirtual(t)
		c.jobDo(simulator.OpHost, "")
		if jobInstance(t, c.jobDo(simulator.OpQuery, ""))["isAuto"] != true {
			t.Error("isAuto is not there to begin with")
		}
		c.sim.Inject(simulator.Fault{ContentShape: "no-isauto"})
		if _, has := jobInstance(t, c.jobDo(simulator.OpQuery, ""))["isAuto"]; has {
			t.Error("isAuto is still there")
		}
	})
}

func TestJob_status(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	c.sim.Inject(simulator.Fault{Queued: 1, Times: 1})
	c.sim.Inject(simulator.Fault{Hosts: []string{"0:10.0.0.2"}, Pending: 1, Times: 1})
	beside := 115
	c.sim.Inject(simulator.Fault{API: "get_proc_result", JobStatus: &beside, Skip: 2, Times: 1})
	id := c.jobStart("operate_process", jobBody(simulator.OpStart, jobInfo("", "10.0.0.1", "10.0.0.2")))
	for i, want := range []struct{ status, results, pending int }{
		{115, 0, 0}, // queued is a success with nothing in it
		{115, 2, 1},
		{115, 2, 0}, // status 115 beside hosts that have finished
		{0, 2, 0},
	} {
		status, results := c.jobPoll(id)
		pending := 0
		for key := range results {
			if verdictOf(t, results, key).code == simulator.CodePending {
				pending++
			}
		}
		if status != want.status || len(results) != want.results || pending != want.pending {
			t.Errorf("poll %d: status %d, %v; want %+v", i+1, status, results, want)
		}
	}
	if status, results := c.jobPoll("GSETASK:unknown"); status != 115 || len(results) != 0 {
		t.Errorf("unknown task: %d, %v", status, results)
	}
}

func TestJob_faults(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	code := 1210001
	c.sim.Inject(simulator.Fault{API: "operate_process", EnvelopeCode: &code, EnvelopeMessage: "GSE error", Times: 1})
	if got := c.job("operate_process", jobBody(0, jobInfo("", "10.0.0.1"))); got.code != code || got.body["result"] != false || len(c.sim.Processes()) != 0 {
		t.Errorf("envelope: %v", got.body)
	}
	op := simulator.OpStart
	c.sim.Inject(simulator.Fault{Op: &op, Namespace: "job", Name: "/opt/nginx/nginx", Unreachable: "117", Times: 1})
	if v := c.jobDo(simulator.OpStart, ""); v.code != simulator.CodeAgentAbnormal {
		t.Errorf("unreachable: %+v", v)
	}
	c.sim.Inject(simulator.Fault{API: "get_proc_result", Spelling: "errcode"})
	_, results := c.jobPoll(c.jobStart("operate_process", jobBody(simulator.OpQuery, jobInfo("", "10.0.0.1"))))
	if r, _ := results[jobKey].(map[string]any); r["errcode"] != 0.0 || r["error_code"] != nil {
		t.Errorf("spelling: %v", results)
	}
}

func TestJob_illegalOp(t *testing.T) {
	t.Parallel()
	c := newVirtual(t)
	if v := c.jobDo(5, ""); v.code != simulator.CodeIllegalOp || len(c.sim.Violations()) != 1 {
		t.Errorf("%+v, violations %q", v, c.sim.Violations())
	}
	c.sim.ResetViolations()
}

func TestJob_survivesARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	live := func() *client {
		sim := &simulator.Server{StateFile: file}
		sim.AddHost("0:10.0.0.1")
		c := newClient(t, sim)
		if err := sim.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := live()
	first.jobDo(simulator.OpStart, "")
	want := first.sim.Processes()
	if err := first.sim.Close(); err != nil {
		t.Fatal(err)
	}
	second := live()
	if got := second.sim.Processes(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := second.sim.KillProcess("0:10.0.0.1", "job", "/opt/nginx/nginx"); err != nil {
		t.Error(err)
	}
	if second.sim.Tick(); jobState(second.sim) != "true true" {
		t.Error("a hosted process is not revived")
	}
}
