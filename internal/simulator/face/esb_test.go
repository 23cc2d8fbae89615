package face_test

import (
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
		if got := c.Request(test.method, test.path, "", nil); got.Status != test.status {
			t.Errorf("%s %s: HTTP %d, want %d", test.method, test.path, got.Status, test.status)
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
	got := c.Request(http.MethodPost, "/api/c/compapi/v2/gse/sync_proc_status", `{`+simtest.Credentials+`,"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`,
		map[string]string{"X-Bkapi-Request-Id": "given"})
	want := map[string]any{"code": 0.0, "data": map[string]any{"count": 0.0, "proc_infos": []any{}}, "message": "success", "request_id": "given", "result": true}
	if !reflect.DeepEqual(got.Body, want) || got.Header.Get("X-Bkapi-Request-Id") != "given" {
		t.Errorf("got %v", got.Body)
	}
}

func TestESB_keys(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	sim.AddHost("0:10.0.0.1", "0:2001:db8::1")
	c := simtest.NewClient(t, sim)

	// An address is returned as it was sent, whatever its canonical form.
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
