package face_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

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
		body := strings.Replace(manage, change[0], change[1], 1)
		got := c.Job("manage_proc", body)
		if body == manage || got.Code != simulator.CodeJobIllegalParameter || got.Message != "Illegal parameter" {
			t.Errorf("%s: %v", change[0], got.Body)
		}
	}
	if got := c.Job("manage_proc", strings.Replace(manage, `"type"`, `"account":"www","type"`, 1)); got.Code != 0 {
		t.Errorf("account: %v", got.Body)
	}
}

func TestJob_unknownRoutes(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	if got := c.Job("operate_proc_v2", `{"x":1}`); got.Status != http.StatusOK || got.Code != simulator.CodeAPINotFound {
		t.Errorf("unknown name: HTTP %d %v", got.Status, got.Body)
	}
	if got := c.Request(http.MethodGet, "/api/c/compapi/v2/jobv3/manage_proc/", "", nil); got.Status != http.StatusMethodNotAllowed {
		t.Errorf("GET: HTTP %d", got.Status)
	}
	if got := len(c.Sim.Violations()); got != 2 {
		t.Errorf("violations: %q", c.Sim.Violations())
	}
	c.Sim.ResetViolations()
}

func TestJob_removed(t *testing.T) {
	t.Parallel()
	c := simtest.NewClient(t, &simulator.Server{JobRemoved: true})
	for _, api := range []string{"manage_proc", "operate_process", "get_proc_result", "gse_process_manage"} {
		if got := c.Job(api, `{"bk_biz_id":2}`); got.Status != http.StatusNotFound || got.Code != simulator.CodeAPINotFound || got.Body["result"] != false {
			t.Errorf("%s: HTTP %d %v", api, got.Status, got.Body)
		}
	}
}

func TestJob_keys(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	slash := strings.Replace(simtest.JobInfo("", "10.0.0.1"), `"/opt/nginx"`, `"/opt/nginx/"`, 1)
	windows := strings.Replace(simtest.JobInfo("", "10.0.0.1"), `"/opt/nginx"`, `"C:\\gse"`, 1)
	valued := simtest.JobInfo(`,"value_key":"web"`, "10.0.0.1")
	for _, test := range []struct{ info, fault, want string }{
		{simtest.JobInfo("", "10.0.0.1"), "", "/opt/nginx/nginx:0:10.0.0.1"},
		{slash, "", "/opt/nginx/nginx:0:10.0.0.1"},
		{windows, "", `C:\gse/nginx:0:10.0.0.1`},
		{valued, "", "web:0:10.0.0.1"},
		{valued, "path", "/opt/nginx/nginx:0:10.0.0.1"},
		{valued, "host-first", "0:10.0.0.1:web"},
	} {
		c.Sim.ClearFaults()
		c.Sim.Inject(simulator.Fault{Keys: test.fault})
		_, results := c.JobPoll(c.JobStart("operate_process", simtest.JobBody(simulator.OpHost, test.info)))
		if v := simtest.VerdictOf(t, results, test.want); v.Code != 0 || len(results) != 1 {
			t.Errorf("%s: %v", test.want, results)
		}
	}
	if n := len(c.Sim.Processes()); n != 3 {
		t.Errorf("%d processes, want one per key: %+v", n, c.Sim.Processes())
	}
	_, results := c.JobPoll(c.JobStart("operate_process", simtest.JobBody(simulator.OpQuery, simtest.JobInfo("", "10.0.0.1", "10.0.0.2"), simtest.JobInfo(`,"value_key":"b"`, "10.0.0.1"))))
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
			c := simtest.NewVirtual(t)
			c.Sim.Inject(test.fault)
			got := c.JobDo(test.op, "").Content
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
		c := simtest.NewVirtual(t)
		c.JobDo(simulator.OpHost, "")
		if simtest.JobInstance(t, c.JobDo(simulator.OpQuery, ""))["isAuto"] != true {
			t.Error("isAuto is not there to begin with")
		}
		c.Sim.Inject(simulator.Fault{ContentShape: "no-isauto"})
		if _, has := simtest.JobInstance(t, c.JobDo(simulator.OpQuery, ""))["isAuto"]; has {
			t.Error("isAuto is still there")
		}
	})
}

func TestJob_status(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Queued: 1, Times: 1})
	c.Sim.Inject(simulator.Fault{Hosts: []string{"0:10.0.0.2"}, Pending: 1, Times: 1})
	beside := 115
	c.Sim.Inject(simulator.Fault{API: "get_proc_result", JobStatus: &beside, Skip: 2, Times: 1})
	id := c.JobStart("operate_process", simtest.JobBody(simulator.OpStart, simtest.JobInfo("", "10.0.0.1", "10.0.0.2")))
	for i, want := range []struct{ status, results, pending int }{
		{115, 0, 0}, // queued is a success with nothing in it
		{115, 2, 1},
		{115, 2, 0}, // status 115 beside hosts that have finished
		{0, 2, 0},
	} {
		status, results := c.JobPoll(id)
		pending := 0
		for key := range results {
			if simtest.VerdictOf(t, results, key).Code == simulator.CodePending {
				pending++
			}
		}
		if status != want.status || len(results) != want.results || pending != want.pending {
			t.Errorf("poll %d: status %d, %v; want %+v", i+1, status, results, want)
		}
	}
	if status, results := c.JobPoll("GSETASK:unknown"); status != 115 || len(results) != 0 {
		t.Errorf("unknown task: %d, %v", status, results)
	}
}

func TestJob_faults(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	code := 1210001
	c.Sim.Inject(simulator.Fault{API: "operate_process", EnvelopeCode: &code, EnvelopeMessage: "GSE error", Times: 1})
	if got := c.Job("operate_process", simtest.JobBody(0, simtest.JobInfo("", "10.0.0.1"))); got.Code != code || got.Body["result"] != false || len(c.Sim.Processes()) != 0 {
		t.Errorf("envelope: %v", got.Body)
	}
	op := simulator.OpStart
	c.Sim.Inject(simulator.Fault{Op: &op, Namespace: "job", Name: "/opt/nginx/nginx", Unreachable: "117", Times: 1})
	simtest.WantCode(t, "unreachable", c.JobDo(simulator.OpStart, ""), simulator.CodeAgentAbnormal)
	c.Sim.Inject(simulator.Fault{API: "get_proc_result", Spelling: "errcode"})
	_, results := c.JobPoll(c.JobStart("operate_process", simtest.JobBody(simulator.OpQuery, simtest.JobInfo("", "10.0.0.1"))))
	if r, _ := results[simtest.JobKey].(map[string]any); r["errcode"] != 0.0 || r["error_code"] != nil {
		t.Errorf("spelling: %v", results)
	}
}

func TestJob_survivesARestart(t *testing.T) {
	t.Parallel()
	live := simtest.Lives(t, func(sim *simulator.Server) { sim.AddHost("0:10.0.0.1") })
	first := live()
	first.JobDo(simulator.OpStart, "")
	want := first.Sim.Processes()
	second := live()
	simtest.Want(t, "got", second.Sim.Processes(), want)
	simtest.Must(t, second.Sim.KillProcess("0:10.0.0.1", "job", "/opt/nginx/nginx"))
	if second.Sim.Tick(); simtest.JobState(second.Sim) != "true true" {
		t.Error("a hosted process is not revived")
	}
}
