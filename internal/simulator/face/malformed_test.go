package face_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

const (
	registerPath = "/api/c/compapi/v2/gse/register_proc_info/"
	gatewayPath  = "/api/bk-gse/prod/api/v2/proc/operate_proc_v2"
	jobPath      = "/api/c/compapi/v2/jobv3/operate_process/"
	scriptPath   = "/api/bk-gse/prod/api/v2/task/extensions/async_execute_script"
)

// hostList is n hosts in the form of the first generation.
func hostList(n int) string {
	host := `{"ip":"10.0.0.1","bk_cloud_id":0,"bk_supplier_id":0}`
	return "[" + strings.Repeat(host+",", n-1) + host + "]"
}

// signed is a body with credentials before it.
func signed(members string) string { return simtest.Signed("{" + members + "}") }

// FuzzServer sends a fault and then a request. With any input, the server does not panic and answers a
// valid request afterwards.
func FuzzServer(f *testing.F) {
	valid := simtest.Signed(simtest.FirstBody("register_proc_info", "{}", "10.0.0.1"))
	operate := `{` + simtest.Meta("{}") + `,"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0}],"op_type":0,"spec":` + simtest.OperateSpec + `}`
	for _, seed := range []struct{ fault, path, body string }{
		{`{}`, registerPath, valid},
		{`{"hosts":["0:10.0.0.1"],"pending":-1,"apply":true}`, registerPath, valid},
		{`{"extra_keys":{"a":null},"spelling":"errcode","keys":"agent"}`, gatewayPath, operate},
		{`{"delay":"1h","http_status":200,"header":{"a\r\nb":"c\n"}}`, gatewayPath, operate},
		{`{"envelope":{"code":"00","data":[]},"drop":"mid"}`, jobPath, simtest.Signed(simtest.JobBody(1, simtest.JobInfo("", "10.0.0.1")))},
		{`{"task_id":"","queued":-1,"queued_data":{}}`, "/api/c/compapi/v2/gse/get_proc_operate_result_v2/", signed(`"task_id":"x"`)},
		{`{"missing":1,"api":"get_*"}`, "/api/c/compapi/v2/gse/sync_proc_status/", signed(`"meta":{"namespace":"web"},"page":{"start":0,"limit":1000}`)},
		{`{"content_shape":"broken","code":-1,"content":[1]}`, "/_sim/act", `{"action":"register","host":"0:10.0.0.1","namespace":"web","name":"nginx","spec":{}}`},
		{`{"content":{}}`, scriptPath, simtest.ScriptBody(readHosted, simulator.DefaultProcPath, scriptHost)},
		{`{"code":0,"content":1}`, scriptPath, simtest.ScriptBody("cat /x/.proc", "'a\"", scriptHost)},
		{`{"pending":1}`, "/api/c/compapi/v2/jobv3/fast_execute_script/", simtest.Signed(simtest.JobScriptBody(readHosted, "/x/.proc", "10.0.0.1"))},
		{`{}`, "/_sim/act", `{"action":"proc_file","host":"0:10.0.0.1","file":{"odd":"gbk","path":"c:"}}`},
		{`{}`, "/_sim/act", `{"action":"add_entry","host":"0:10.0.0.1","entry":{"valuekey":1,"proc":[]}}`},
		{`{}`, registerPath, strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)},
		{`{}`, registerPath, signed(`"meta":7,"hosts":null,"spec":null,"meta":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000))},
		{`{}`, registerPath, strings.NewReplacer(`"web"`, "\"\xff\u0000\"", `"bk_cloud_id":0`, `"bk_cloud_id":1e999999999`, `30.5`, `1e999999999`).Replace(valid)},
		{`{}`, jobPath, simtest.Signed(simtest.JobBody(1<<62, simtest.JobInfo("", "10.0.0.1")))},
		{`{"http_status":99}`, "/api/c/compapi/v2/gse/../../../../../_sim/calls", `{}`},
		{`{"hosts":{"a":1}}`, "/api/bk-gse/prod/api/v2/proc/\x00", `[]`},
		{`{"takes":"1ns"}`, "/_sim/agents", `{"host":"0:10.0.0.1","agent_id":"0200000007525400f355781710390005465c"}`},
	} {
		f.Add(seed.fault, seed.path, []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, fault, path string, body []byte) {
		sim := &simulator.Server{}
		sim.AddHost("0:10.0.0.1")
		defer func() {
			simtest.Must(t, sim.Close())
		}()
		serve(t, sim, "/_sim/faults", []byte(fault))
		serve(t, sim, path, body)
		// What was registered then gets its operation, and both are read.
		serve(t, sim, gatewayPath, []byte(operate))
		for _, task := range sim.Tasks() {
			serve(t, sim, "/api/c/compapi/v2/gse/get_proc_operate_result_v2/", []byte(signed(fmt.Sprintf(`"task_id":%q`, task.ID))))
			serve(t, sim, strings.Replace(scriptPath, "async_execute_script", "get_execute_script_result", 1), []byte(simtest.ScreensBody(task.ID, 0, 0, scriptHost)))
			job := signed(fmt.Sprintf(`"bk_biz_id":1,"return_ip_result":true,"job_instance_id":%s`, task.ID))
			serve(t, sim, "/api/c/compapi/v2/jobv3/get_job_instance_status/", []byte(job))
		}
		sim.Tick()
		_ = sim.Calls()
		sim.ClearFaults()
		if rec := serve(t, sim, registerPath, []byte(valid)); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"error_code"`) {
			t.Errorf("afterwards: HTTP %d: %s", rec.Code, rec.Body)
		}
	})
}

// serve passes a request to the server without a connection. Its context has ended, so that no fault can
// make it wait.
func serve(t *testing.T, sim *simulator.Server, path string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", bytes.NewReader(body))
	req.URL.Path, req.RemoteAddr = path, "127.0.0.1:40000"
	req.Header.Set("X-Bkapi-Authorization", simtest.GatewayAuth)
	rec := httptest.NewRecorder()
	defer func() {
		// A handler closes the connection in this way; any other panic is an error.
		if cause := recover(); cause != nil {
			if err, ok := cause.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
		}
	}()
	sim.ServeHTTP(rec, req)
	return rec
}
