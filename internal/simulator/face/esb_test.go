package face_test

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestESB_documentedSamples(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	sim.AddHost("1:10.0.0.1")
	c := simtest.NewClient(t, sim)
	send := func(api string) (sent map[string]any, got simtest.Reply, data any) {
		golden := contract.Get("esb/" + api)
		sent = tree(t, golden.Request)
		return sent, exchange(c, golden, sent), tree(t, golden.Response)["data"]
	}
	sent, got, want := send("register_proc_info")
	p, ok := sim.Process("1:10.0.0.1", "gse", "proc-test")
	if !ok || !reflect.DeepEqual(any(tree(t, p.Spec)), sent["spec"]) || p.Labels["proc_name"] != "proc-test" {
		t.Errorf("kept %s and labels %v, want what was sent", p.Spec, p.Labels)
	}
	if !reflect.DeepEqual(got.Body["data"], want) || got.Message != "success" {
		t.Errorf("register_proc_info: got %v, want data %v", got.Body, want)
	}
	_, got, _ = send("operate_proc_v2")
	id, _ := got.Data["task_id"].(string)
	if !strings.HasPrefix(id, "GSETASK:") {
		t.Fatalf("operate_proc_v2: %v", got.Body)
	}
	if v := simtest.VerdictOf(t, c.Poll(id).Data, "1:10.0.0.1:gse:proc-test"); v.Code != 0 || v.Message != "success" {
		t.Errorf("get_proc_operate_result_v2: %+v", v)
	}
	for _, api := range []string{"update_proc_info", "unregister_proc_info"} {
		if _, got, want := send(api); !reflect.DeepEqual(got.Body["data"], want) {
			t.Errorf("%s: got %v, want data %v", api, got.Body, want)
		}
	}
}

func TestESB_refusesWhatNoDocumentAllows(t *testing.T) {
	t.Parallel()
	register := simtest.FirstBody("register_proc_info", `{"team":"sre"}`, "10.0.0.1")
	operate := `{` + simtest.Meta("{}") + `,` + simtest.CloudHosts("10.0.0.1") + `,"op_type":0,"spec":` + simtest.OperateSpec + `}`
	multi := `{"proc_operate_req":[` + operate + `,` + operate + `]}`
	tests := map[string]struct {
		api, body string
		old, new  string
		want      string
	}{
		"case-counts":               {"register_proc_info", register, `"cpu"`, `"CPU"`, "spec.resource.cpu: required field is missing"},
		"newer-policy-name":         {"register_proc_info", register, `"monitor_policy"`, `"alive_monitor_policy"`, "spec.monitor_policy: required field is missing"},
		"missing-supplier":          {"register_proc_info", register, `,"bk_supplier_id":7`, ``, "hosts[0].bk_supplier_id: required field is missing"},
		"missing-user":              {"register_proc_info", register, `,"user":"root"`, ``, "spec.identity.user: required field is missing"},
		"null-name":                 {"register_proc_info", register, `"name":"nginx"`, `"name":null`, "meta.name: want a string, got null"},
		"paths-of-a-start":          {"operate_proc_v2", operate, `"/run/nginx.pid"`, `""`, "spec.identity.pid_path: must be an absolute path"},
		"missing-memory":            {"register_proc_info", register, `,"mem":10`, ``, "spec.resource.mem: required field is missing"},
		"cloud-not-an-integer":      {"register_proc_info", register, `"bk_cloud_id":0`, `"bk_cloud_id":"0"`, "hosts[0].bk_cloud_id: want an integer, got a string"},
		"cloud-fractional":          {"register_proc_info", register, `"bk_cloud_id":0`, `"bk_cloud_id":0.5`, "hosts[0].bk_cloud_id: want an integer, got 0.5"},
		"not-an-address":            {"register_proc_info", register, `10.0.0.1`, `web-1`, `hosts[0].ip: "web-1" is not an IP address`},
		"relative-path":             {"register_proc_info", register, `"/opt/nginx"`, `"opt/nginx"`, "spec.identity.setup_path: must be an absolute path"},
		"empty-name":                {"register_proc_info", register, `"name":"nginx"`, `"name":""`, "meta.name: must not be empty"},
		"auto-type":                 {"register_proc_info", register, `"auto_type":1`, `"auto_type":3`, "spec.monitor_policy.auto_type: must be 0, 1 or 2"},
		"negative-limit":            {"register_proc_info", register, `30.5`, `-1`, "spec.resource.cpu: must not be negative"},
		"no-hosts":                  {"operate_proc_v2", operate, simtest.CloudHosts("10.0.0.1"), `"hosts":[]`, "hosts: must not be empty"},
		"two-policies":              {"operate_proc_v2", operate, `"alive_monitor_policy"`, `"monitor_policy":{"auto_type":1},"alive_monitor_policy"`, "spec.monitor_policy: is another name of alive_monitor_policy, which is given too"},
		"no-policy":                 {"operate_proc_v2", operate, `,"alive_monitor_policy":{"auto_type":1,"op_timeout":60}`, ``, "spec.alive_monitor_policy: required field is missing"},
		"missing-op-type":           {"operate_proc_v2", operate, `"op_type":0,`, ``, "op_type: required field is missing"},
		"spec-missing-from-an-item": {"operate_proc_multi", multi, `},` + operate, `},{` + simtest.Meta("{}") + `,` + simtest.CloudHosts("10.0.0.1") + `,"op_type":0}`, "proc_operate_req[1].spec: required field is missing"},
		"empty-task":                {"get_proc_operate_result_v2", `{"task_id":""}`, "", "", "task_id: must not be empty"},
		"page-too-large":            {"sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1001}}`, "", "", "page.limit: must be between 1 and 1000"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			body := simtest.Changed(t, test.body, test.old, test.new)
			env := c.Send(test.api, body)
			want := "Parameters error, " + test.want
			if env.Code != simulator.CodeArgumentError || env.Message != want || env.Data != nil {
				t.Errorf("got %d %q, want %d %q", env.Code, env.Message, simulator.CodeArgumentError, want)
			}
			c.WantOneViolation(test.api + ": " + want)
		})
	}
}

func TestESB_acceptsBothSpellings(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	operate := `{` + simtest.Meta("{}") + `,` + simtest.CloudHosts("10.0.0.1") + `,"op_type":2,"spec":` + simtest.OperateSpec + `}`
	for _, change := range [][2]string{
		{`"alive_monitor_policy"`, `"monitor_policy"`},
		{`"op_timeout":60`, `"crontab_rule":""`},
		{`"op_timeout":60`, `"crotab_rule":""`},
		{`"alive_monitor_policy"`, `"resource":{"cpu":1,"mem":1},"alive_monitor_policy"`},
		{`"/opt/nginx"`, `"C:\\gse\\nginx"`},
	} {
		if env := c.Send("operate_proc_v2", strings.Replace(operate, change[0], change[1], 1)); env.Code != 0 {
			t.Errorf("%s: %s", change[1], env.Message)
		}
	}
}

func TestESB_credentials(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		credentials string
		want        string // part of the message, empty for success
	}{
		"good":            {`"bk_app_code":"app","bk_app_secret":"secret","bk_username":"admin"`, ""},
		"token":           {`"bk_app_code":"app","bk_app_secret":"secret","bk_token":"tk"`, ""},
		"access-token":    {`"bk_app_code":"app","bk_app_secret":"secret","access_token":"at"`, ""},
		"ticket":          {`"bk_app_code":"app","bk_app_secret":"secret","bk_ticket":"ti"`, ""},
		"token-alone":     {`"access_token":"at"`, ""},
		"no-code":         {`"bk_app_secret":"secret","bk_username":"admin"`, "[bk_app_code] cannot be empty"},
		"no-secret":       {`"bk_app_code":"app","bk_username":"admin"`, "[bk_app_secret] cannot be empty"},
		"wrong-code":      {`"bk_app_code":"other","bk_app_secret":"secret","bk_username":"admin"`, "Invalid APP Code"},
		"wrong-secret":    {`"bk_app_code":"app","bk_app_secret":"guess","bk_username":"admin"`, "APP Secret verification failed"},
		"no-user":         {`"bk_app_code":"app","bk_app_secret":"secret"`, "User authentication failed"},
		"wrong-user":      {`"bk_app_code":"app","bk_app_secret":"secret","bk_username":"eve"`, "User authentication failed"},
		"secret-a-number": {`"bk_app_code":"app","bk_app_secret":1,"bk_username":"admin"`, "[bk_app_secret] cannot be empty"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewClient(t, &simulator.Server{AppCode: "app", AppSecret: "secret", Username: "admin"})
			resp, err := c.Post("sync_proc_status", `{`+test.credentials+`,"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var env simtest.Envelope
			if err := json.NewDecoder(resp.Body).Decode(&env); err != nil {
				t.Fatal(err)
			}
			switch {
			case test.want == "" && env.Code != 0:
				t.Errorf("refused: %d %s", env.Code, env.Message)
			case test.want != "" && (env.Code != simulator.CodeSystemError || !strings.Contains(env.Message, test.want)):
				t.Errorf("got %d %q, want %d with %q", env.Code, env.Message, simulator.CodeSystemError, test.want)
			}
		})
	}
}

func TestESB_unknownRoutes(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	if env := c.Send("operate_process", `{"x":1}`); env.Code != simulator.CodeAPINotFound {
		t.Errorf("unknown name: %+v", env)
	}
	for _, test := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/api/c/compapi/v2/gse/sync_proc_status/", http.StatusMethodNotAllowed},
		{http.MethodPost, "/api/c/compapi/v2/usermanage/list_users/", http.StatusNotFound},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, c.URL+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != test.status {
			t.Errorf("%s %s: HTTP %d, want %d", test.method, test.path, resp.StatusCode, test.status)
		}
	}
	if got := len(c.Sim.Violations()); got != 3 {
		t.Errorf("%d violations, want 3: %q", got, c.Sim.Violations())
	}
	c.Sim.ResetViolations()
}

func TestESB_trailingSlashIsOptional(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL+"/api/c/compapi/v2/gse/sync_proc_status",
		strings.NewReader(`{`+simtest.Credentials+`,"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Bkapi-Request-Id", "given")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"code":0,"data":{"count":0,"proc_infos":[]},"message":"success","request_id":"given","result":true}`
	if got := strings.TrimSpace(string(body)); got != want || resp.Header.Get("X-Bkapi-Request-Id") != "given" {
		t.Errorf("got %s", got)
	}
}

func TestESB_keys(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	sim.AddHost("0:10.0.0.1", "0:2001:db8::1")
	c := simtest.NewClient(t, sim)

	// An address comes back as it was spelt, whatever its canonical form.
	for _, ip := range []string{"2001:db8::1", "2001:0db8:0::1"} {
		if v := c.Do(simulator.OpQuery, ip); v.Code != 0 {
			t.Errorf("query on %s: %+v", ip, v)
		}
	}
	if v := c.Call("register_proc_info", "2001:db8::1"); v.Code != simulator.CodeFailed || !strings.Contains(v.Message, "IPv4") {
		t.Errorf("register on IPv6: %+v", v)
	}

	env := c.Send("operate_proc_v2", `{`+simtest.Meta("{}")+`,`+simtest.CloudHosts("10.0.0.1", "10.0.0.1")+`,"op_type":0,"spec":`+simtest.OperateSpec+`}`)
	id, _ := env.Data["task_id"].(string)
	if data := c.Poll(id).Data; len(data) != 1 || simtest.VerdictOf(t, data, "0:10.0.0.1:web:nginx").Code != 0 {
		t.Errorf("a host that is given twice: %v", data)
	}
}

func TestESB_maxHostsPerRequest(t *testing.T) {
	t.Parallel()
	c := simtest.NewClient(t, &simulator.Server{MaxHostsPerRequest: 1})
	env := c.Send("register_proc_info", simtest.FirstBody("register_proc_info", "{}", "10.0.0.1", "10.0.0.2"))
	if env.Code != simulator.CodeArgumentError || !strings.Contains(env.Message, "2 hosts are more than 1") {
		t.Errorf("got %+v", env)
	}
	c.Sim.ResetViolations()
}
