package simulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// client is a test's way to the simulator: raw JSON in, decoded JSON out.
type client struct {
	t   *testing.T
	url string
	sim *simulator.Server
}

// newClient serves sim to a test. Violations fail the test, unless it takes
// them away with ResetViolations.
func newClient(t *testing.T, sim *simulator.Server) *client {
	t.Helper()
	srv := httptest.NewServer(sim)
	t.Cleanup(func() {
		srv.Close()
		if err := sim.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		for _, v := range sim.Violations() {
			t.Errorf("violation: %s", v)
		}
	})
	return &client{t: t, url: srv.URL, sim: sim}
}

// envelope is the outside of every answer.
type envelope struct {
	Result    *bool          `json:"result"`
	Code      int            `json:"code"`
	Message   string         `json:"message"`
	Data      map[string]any `json:"data"`
	RequestID string         `json:"request_id"`
}

const credentials = `"bk_app_code":"bk_test","bk_app_secret":"s3cret","bk_username":"admin"`

// send posts a body without its credentials and expects HTTP 200.
func (c *client) send(api, body string) envelope {
	c.t.Helper()
	resp, err := c.post(api, "{"+credentials+","+strings.TrimPrefix(strings.TrimSpace(body), "{"))
	if err != nil {
		c.t.Fatalf("%s: %v", api, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("%s: %v", api, err)
	}
	var env envelope
	if err := json.Unmarshal(data, &env); err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: HTTP %d, %v: %s", api, resp.StatusCode, err, data)
	}
	if env.Result == nil || *env.Result != (env.Code == 0) {
		c.t.Fatalf("%s: result does not go with the code: %s", api, data)
	}
	if env.RequestID == "" || resp.Header.Get("X-Bkapi-Request-Id") != env.RequestID {
		c.t.Errorf("%s: request id %q in the body, %q in the header", api, env.RequestID, resp.Header.Get("X-Bkapi-Request-Id"))
	}
	return env
}

func (c *client) post(api, body string) (*http.Response, error) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+"/api/c/compapi/v2/gse/"+api+"/", strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(req)
}

// verdict is one host's result.
type verdict struct {
	code    int
	message string
	content any
}

func (v verdict) text() string { s, _ := v.content.(string); return s }

func verdictOf(t *testing.T, data map[string]any, key string) verdict {
	t.Helper()
	r, ok := data[key].(map[string]any)
	if !ok {
		t.Fatalf("no result for %s in %v", key, data)
	}
	code, _ := r["error_code"].(float64)
	message, _ := r["error_msg"].(string)
	return verdict{int(code), message, r["content"]}
}

// The requests below are about one process, web:nginx, on hosts in cloud 0.

const control = `{"start_cmd":"./start.sh","stop_cmd":"./stop.sh","restart_cmd":"./restart.sh","reload_cmd":"./reload.sh","kill_cmd":"./kill.sh"}`

const identity = `{"proc_name":"nginx","setup_path":"/opt/nginx","pid_path":"/run/nginx.pid","user":"root"}`

const registerSpec = `{"identity":` + identity + `,"control":` + control + `,"resource":{"cpu":30.5,"mem":10},"monitor_policy":{"auto_type":1}}`

const operateSpec = `{"identity":` + identity + `,"control":` + control + `,"alive_monitor_policy":{"auto_type":1,"op_timeout":60}}`

func meta(labels string) string {
	return `"meta":{"namespace":"web","name":"nginx","labels":` + labels + `}`
}

func supplierHosts(ips ...string) string {
	var out []string
	for _, ip := range ips {
		out = append(out, fmt.Sprintf(`{"ip":%q,"bk_cloud_id":0,"bk_supplier_id":7}`, ip))
	}
	return `"hosts":[` + strings.Join(out, ",") + `]`
}

func cloudHosts(ips ...string) string {
	return strings.ReplaceAll(supplierHosts(ips...), `,"bk_supplier_id":7`, "")
}

// call makes a first generation call and returns the verdict on one host.
func (c *client) call(api, ip string) verdict {
	c.t.Helper()
	env := c.send(api, firstBody(api, `{"team":"sre"}`, ip))
	if env.Code != 0 {
		c.t.Fatalf("%s: %d %s", api, env.Code, env.Message)
	}
	return verdictOf(c.t, env.Data, "0:7:"+ip+":web:nginx")
}

func firstBody(api, labels string, ips ...string) string {
	body := "{" + meta(labels) + "," + supplierHosts(ips...)
	if api != "unregister_proc_info" {
		body += `,"spec":` + registerSpec
	}
	return body + "}"
}

// operate starts an operation and returns its task.
func (c *client) operate(op int, ips ...string) string {
	c.t.Helper()
	return c.operateWith(op, operateSpec, ips...)
}

func (c *client) operateWith(op int, spec string, ips ...string) string {
	c.t.Helper()
	env := c.send("operate_proc_v2", fmt.Sprintf(`{%s,%s,"op_type":%d,"spec":%s}`, meta(`{"from":"operate"}`), cloudHosts(ips...), op, spec))
	id, _ := env.Data["task_id"].(string)
	if env.Code != 0 || id == "" {
		c.t.Fatalf("operate %d: %+v", op, env)
	}
	return id
}

func (c *client) poll(id string) envelope {
	c.t.Helper()
	return c.send("get_proc_operate_result_v2", fmt.Sprintf(`{"task_id":%q}`, id))
}

// do operates on one virtual host and returns the verdict of the first poll.
func (c *client) do(op int, ip string) verdict {
	c.t.Helper()
	return c.result(c.operate(op, ip), ip)
}

func (c *client) result(id, ip string) verdict {
	c.t.Helper()
	env := c.poll(id)
	if env.Code != 0 {
		c.t.Fatalf("poll: %d %s", env.Code, env.Message)
	}
	return verdictOf(c.t, env.Data, "0:"+ip+":web:nginx")
}

// settle polls until the verdict on one host is there.
func (c *client) settle(id, ip string) verdict {
	c.t.Helper()
	var v verdict
	c.eventually("a verdict on "+ip, func() bool {
		v = c.result(id, ip)
		return v.code != simulator.CodePending
	})
	return v
}

// changed is a body with other words in it, once.
func changed(t *testing.T, body, old, other string) string {
	t.Helper()
	after := strings.Replace(body, old, other, 1)
	if old != "" && after == body {
		t.Fatalf("%q is not in the body", old)
	}
	return after
}

// wantOneViolation checks that a request was refused with these words, and did
// nothing.
func (c *client) wantOneViolation(words string) {
	c.t.Helper()
	if got := c.sim.Violations(); len(got) != 1 || got[0] != words {
		c.t.Errorf("violations: %q", got)
	}
	if got := c.sim.Processes(); len(got) != 0 {
		c.t.Errorf("a refused request left %+v", got)
	}
	c.sim.ResetViolations()
}

// eventually waits for something that a real process does.
func (c *client) eventually(what string, done func() bool) {
	c.t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			c.t.Fatalf("gave up waiting for %s", what)
		case <-tick.C:
		}
	}
}

// instance is what a query's content says about the process.
func instance(t *testing.T, v verdict) map[string]any {
	t.Helper()
	var content struct {
		Process []struct {
			ProcName string           `json:"procname"`
			Instance []map[string]any `json:"instance"`
		} `json:"process"`
	}
	if err := json.Unmarshal([]byte(v.text()), &content); err != nil {
		t.Fatalf("content: %v: %s", err, v.text())
	}
	if len(content.Process) != 1 || len(content.Process[0].Instance) != 1 {
		t.Fatalf("content: want one instance: %s", v.text())
	}
	return content.Process[0].Instance[0]
}

// rows are the cached status of hosts, by ip.
func (c *client) rows(ips ...string) map[string]map[string]any {
	c.t.Helper()
	env := c.send("get_proc_status_v2", `{"meta":{"namespace":"web","name":"nginx"},`+cloudHosts(ips...)+`}`)
	return rowsOf(c.t, env)
}

func rowsOf(t *testing.T, env envelope) map[string]map[string]any {
	t.Helper()
	infos, ok := env.Data["proc_infos"].([]any)
	if !ok {
		t.Fatalf("no proc_infos: %+v", env)
	}
	out := make(map[string]map[string]any)
	for _, info := range infos {
		row, _ := info.(map[string]any)
		host, _ := row["host"].(map[string]any)
		ip, _ := host["ip"].(string)
		out[ip] = maps.Clone(row)
	}
	return out
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(data))
}

// newVirtual is a client of a simulator with two virtual hosts.
func newVirtual(t *testing.T) *client {
	t.Helper()
	sim := &simulator.Server{}
	sim.AddHost("0:10.0.0.1", "0:10.0.0.2")
	return newClient(t, sim)
}

// newBench posts without looking at the answer, and fails on HTTP errors alone.
func newBench(b *testing.B, sim *simulator.Server) func(api, body string) {
	b.Helper()
	srv := httptest.NewServer(sim)
	b.Cleanup(srv.Close)
	return func(api, body string) {
		body = "{" + credentials + "," + strings.TrimPrefix(body, "{")
		resp, err := http.Post(srv.URL+"/api/c/compapi/v2/gse/"+api+"/", "application/json", strings.NewReader(body)) //nolint:noctx // a benchmark
		if err != nil {
			b.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			b.Fatalf("HTTP %d, %v", resp.StatusCode, err)
		}
	}
}
