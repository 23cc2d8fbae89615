package face_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
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

// signed is a body with credentials before it.
func signed(members string) string { return simtest.Signed("{" + members + "}") }

// hostList is n hosts in the form of the first generation.
func hostList(n int) string {
	hosts := make([]string, n)
	for i := range hosts {
		hosts[i] = fmt.Sprintf(`{"ip":"10.%d.%d.%d","bk_cloud_id":0,"bk_supplier_id":0}`, i>>16&255, i>>8&255, i&255)
	}
	return "[" + strings.Join(hosts, ",") + "]"
}

// The simulator refuses any malformed request with an error of its own, or closes the connection, and
// serves the next request.
func TestServer_survivesMalformedRequests(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000)
	body := func(old, changed string) string {
		return simtest.Changed(t, simtest.Signed(simtest.FirstBody("register_proc_info", "{}", "10.0.0.1")), old, changed)
	}
	tests := map[string]struct {
		method, path, body, authorization string
		want                              string // of the answer; "" for a closed connection
	}{
		"valid":          {path: registerPath, body: body("", ""), want: `"error_code":`}, // the control
		"empty":          {path: registerPath, want: "not JSON"},
		"huge":           {path: registerPath, body: strings.Repeat(" ", 65<<20)},
		"deep":           {path: registerPath, body: nested, want: "not JSON"},
		"deep-member":    {path: registerPath, body: signed(`"meta":` + nested), want: "not JSON"},
		"deep-array":     {path: registerPath, body: signed(`"hosts":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000)), want: "meta: required field is missing"},
		"deep-switch":    {path: "/_sim/act", body: `{"action":"register","host":"0:10.0.0.1","namespace":"web","name":"nginx","spec":` + nested + `}`, want: "depth"},
		"deep-header":    {path: gatewayPath, body: "{}", authorization: nested, want: "X-Bkapi-Authorization is not JSON"},
		"long-header":    {path: gatewayPath, body: "{}", authorization: `{"bk_app_code":"` + strings.Repeat("x", 500_000) + `","bk_app_secret":"x"}`, want: "app not found"},
		"bad-utf-8":      {path: registerPath, body: body(`"web"`, "\"\xff\xfe\""), want: `"error_code":`},
		"lone-surrogate": {path: registerPath, body: body(`"web"`, `"\ud800"`), want: `"error_code":`},
		"nul":            {path: registerPath, body: body(`"web"`, `"\u0000"`), want: `"error_code":`},
		"two-documents":  {path: registerPath, body: body("", "") + "{}", want: "not JSON"},
		"twice":          {path: registerPath, body: body(`"meta"`, `"meta":7,"meta"`), want: `"error_code":`},
		"long-cloud":     {path: registerPath, body: body(`"bk_cloud_id":0`, `"bk_cloud_id":`+strings.Repeat("9", 1<<20)), want: "want an integer"},
		"absurd-cpu":     {path: registerPath, body: body(`30.5`, `1e999999999`), want: `"error_code":`},
		"absurd-retries": {path: registerPath, body: body(`"auto_type":1`, `"auto_type":1,"start_retries":9223372036854775807`), want: `"error_code":`},
		"many-hosts":     {path: registerPath, body: signed(simtest.Meta("{}") + `,"hosts":` + hostList(20_000) + `,"spec":` + simtest.RegisterSpec), want: `"error_code":`},
		"no-such-op":     {path: gatewayPath, body: `{` + simtest.Meta("{}") + `,"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0}],"op_type":-2,"spec":` + simtest.OperateSpec + `}`, want: `"task_id"`},
		"dots":           {path: "/api/c/compapi/v2/gse/../../../../../_sim/calls", want: "component class not found"},
		"encoded-dots":   {path: "/api/c/compapi/v2/gse/%2e%2e/%2e%2e/_sim/faults", want: "component class not found"},
		"slashes":        {path: "//_sim//calls", want: "no face answers"},
		"control-dots":   {path: "/_sim/../_sim/tick", want: "no such switch"},
		"line-break":     {path: "/api/c/compapi/v2/gse/x%0d%0aSet-Cookie:%20a=b/", want: "component class not found"},
		"nul-in-path":    {path: "/api/bk-gse/prod/api/v2/proc/%00", want: "API_NOT_FOUND"},
		"odd-verb":       {method: "BREW", path: registerPath, body: "{}", want: "does not take BREW"},
		"fault-id":       {method: http.MethodDelete, path: "/_sim/faults?id=999999999999999999999999", want: "out of range"},
	}
	sim := &simulator.Server{}
	sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
	srv := httptest.NewUnstartedServer(sim)
	var serverLog simtest.Buffer
	srv.Config.ErrorLog = log.New(&serverLog, "", 0)
	srv.Start()
	t.Cleanup(func() {
		srv.Close()
		if text := serverLog.String(); text != "" {
			t.Errorf("the server complained: %.2000s", text)
		}
		simtest.Must(t, sim.Close())
	})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := map[string]string{"X-Bkapi-Authorization": cmp.Or(test.authorization, simtest.GatewayAuth)}
			c := &simtest.Client{T: t, URL: srv.URL, Sim: sim}
			got, err := c.Exchange(t.Context(), cmp.Or(test.method, http.MethodPost), test.path, test.body, header)
			switch cut := test.want == ""; {
			case cut && err == nil:
				t.Errorf("HTTP %d: %.200s", got.Status, got.Text)
			case !cut && (err != nil || got.Status >= http.StatusInternalServerError || !strings.Contains(got.Text, test.want)):
				t.Errorf("%v, HTTP %d, want %q: %.500s", err, got.Status, test.want, got.Text)
			}
			c.Switch(http.MethodGet, "tasks", "", http.StatusOK, "") // afterwards
		})
	}
}

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
