// Package simtest is the client of the simulator's own tests. They use HTTP, as clients do, with raw JSON
// in and decoded JSON out.
package simtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Client is a test's client of the simulator: raw JSON in, decoded JSON out.
type Client struct {
	T   *testing.T
	URL string
	Sim *simulator.Server
}

// NewClient serves sim to a test. Violations fail the test, unless it removes them with ResetViolations.
func NewClient(t *testing.T, sim *simulator.Server) *Client {
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
	return &Client{T: t, URL: srv.URL, Sim: sim}
}

// Envelope is the envelope of every answer.
type Envelope struct {
	Result    *bool          `json:"result"`
	Code      int            `json:"code"`
	Message   string         `json:"message"`
	Data      map[string]any `json:"data"`
	RequestID string         `json:"request_id"`
}

// Credentials are those of the zero server, as members of a body.
const Credentials = `"bk_app_code":"bk_test","bk_app_secret":"s3cret","bk_username":"admin"`

// Send posts a body without its credentials and expects HTTP 200.
func (c *Client) Send(api, body string) Envelope {
	c.T.Helper()
	resp, err := c.Post(api, "{"+Credentials+","+strings.TrimPrefix(strings.TrimSpace(body), "{"))
	if err != nil {
		c.T.Fatalf("%s: %v", api, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.T.Fatalf("%s: %v", api, err)
	}
	var env Envelope
	if err := json.Unmarshal(data, &env); err != nil || resp.StatusCode != http.StatusOK {
		c.T.Fatalf("%s: HTTP %d, %v: %s", api, resp.StatusCode, err, data)
	}
	if env.Result == nil || *env.Result != (env.Code == 0) {
		c.T.Fatalf("%s: result does not go with the code: %s", api, data)
	}
	if env.RequestID == "" || resp.Header.Get("X-Bkapi-Request-Id") != env.RequestID {
		c.T.Errorf("%s: request id %q in the body, %q in the header", api, env.RequestID, resp.Header.Get("X-Bkapi-Request-Id"))
	}
	return env
}

// Post sends a body to GSE behind the ESB.
func (c *Client) Post(api, body string) (*http.Response, error) {
	c.T.Helper()
	req, err := http.NewRequestWithContext(c.T.Context(), http.MethodPost, c.URL+"/api/c/compapi/v2/gse/"+api+"/", strings.NewReader(body))
	if err != nil {
		c.T.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(req)
}

// Verdict is one host's result.
type Verdict struct {
	Code    int
	Message string
	Content any
}

// Text is the content where it is a text.
func (v Verdict) Text() string { s, _ := v.Content.(string); return s }

// VerdictOf is the result under one key of a result map.
func VerdictOf(t *testing.T, data map[string]any, key string) Verdict {
	t.Helper()
	r, ok := data[key].(map[string]any)
	if !ok {
		t.Fatalf("no result for %s in %v", key, data)
	}
	code, _ := r["error_code"].(float64)
	message, _ := r["error_msg"].(string)
	return Verdict{int(code), message, r["content"]}
}

// The requests below are about one process, web:nginx, on hosts in cloud 0.

const control = `{"start_cmd":"./start.sh","stop_cmd":"./stop.sh","restart_cmd":"./restart.sh","reload_cmd":"./reload.sh","kill_cmd":"./kill.sh"}`

const identity = `{"proc_name":"nginx","setup_path":"/opt/nginx","pid_path":"/run/nginx.pid","user":"root"}`

// RegisterSpec is a spec of the first generation.
const RegisterSpec = `{"identity":` + identity + `,"control":` + control + `,"resource":{"cpu":30.5,"mem":10},"monitor_policy":{"auto_type":1}}`

// OperateSpec is a spec of the second generation.
const OperateSpec = `{"identity":` + identity + `,"control":` + control + `,"alive_monitor_policy":{"auto_type":1,"op_timeout":60}}`

// Meta is the meta of web:nginx, with labels.
func Meta(labels string) string {
	return `"meta":{"namespace":"web","name":"nginx","labels":` + labels + `}`
}

// SupplierHosts are hosts as the first generation names them.
func SupplierHosts(ips ...string) string {
	var out []string
	for _, ip := range ips {
		out = append(out, fmt.Sprintf(`{"ip":%q,"bk_cloud_id":0,"bk_supplier_id":7}`, ip))
	}
	return `"hosts":[` + strings.Join(out, ",") + `]`
}

// CloudHosts are hosts as the second generation names them.
func CloudHosts(ips ...string) string {
	return strings.ReplaceAll(SupplierHosts(ips...), `,"bk_supplier_id":7`, "")
}

// Call makes a first generation call and returns the verdict on one host.
func (c *Client) Call(api, ip string) Verdict {
	c.T.Helper()
	env := c.Send(api, FirstBody(api, `{"team":"sre"}`, ip))
	if env.Code != 0 {
		c.T.Fatalf("%s: %d %s", api, env.Code, env.Message)
	}
	return VerdictOf(c.T, env.Data, "0:7:"+ip+":web:nginx")
}

// FirstBody is the body of a first generation call.
func FirstBody(api, labels string, ips ...string) string {
	body := "{" + Meta(labels) + "," + SupplierHosts(ips...)
	if api != "unregister_proc_info" {
		body += `,"spec":` + RegisterSpec
	}
	return body + "}"
}

// Operate starts an operation and returns its task.
func (c *Client) Operate(op int, ips ...string) string {
	c.T.Helper()
	return c.OperateWith(op, OperateSpec, ips...)
}

// OperateWith is Operate with another spec.
func (c *Client) OperateWith(op int, spec string, ips ...string) string {
	c.T.Helper()
	env := c.Send("operate_proc_v2", fmt.Sprintf(`{%s,%s,"op_type":%d,"spec":%s}`, Meta(`{"from":"operate"}`), CloudHosts(ips...), op, spec))
	id, _ := env.Data["task_id"].(string)
	if env.Code != 0 || id == "" {
		c.T.Fatalf("operate %d: %+v", op, env)
	}
	return id
}

// Poll asks for the result of a task.
func (c *Client) Poll(id string) Envelope {
	c.T.Helper()
	return c.Send("get_proc_operate_result_v2", fmt.Sprintf(`{"task_id":%q}`, id))
}

// Do operates on one virtual host and returns the verdict of the first poll.
func (c *Client) Do(op int, ip string) Verdict {
	c.T.Helper()
	return c.Result(c.Operate(op, ip), ip)
}

// Result is the verdict on one host in one poll.
func (c *Client) Result(id, ip string) Verdict {
	c.T.Helper()
	env := c.Poll(id)
	if env.Code != 0 {
		c.T.Fatalf("poll: %d %s", env.Code, env.Message)
	}
	return VerdictOf(c.T, env.Data, "0:"+ip+":web:nginx")
}

// Settle polls until the verdict on one host is there.
func (c *Client) Settle(id, ip string) Verdict {
	c.T.Helper()
	var v Verdict
	c.Eventually("a verdict on "+ip, func() bool {
		v = c.Result(id, ip)
		return v.Code != simulator.CodePending
	})
	return v
}

// Changed is a body with one text replaced, once.
func Changed(t *testing.T, body, old, other string) string {
	t.Helper()
	after := strings.Replace(body, old, other, 1)
	if old != "" && after == body {
		t.Fatalf("%q is not in the body", old)
	}
	return after
}

// WantOneViolation checks that a request was refused with this text, and had no effect.
func (c *Client) WantOneViolation(words string) {
	c.T.Helper()
	if got := c.Sim.Violations(); len(got) != 1 || got[0] != words {
		c.T.Errorf("violations: %q", got)
	}
	if got := c.Sim.Processes(); len(got) != 0 {
		c.T.Errorf("a refused request left %+v", got)
	}
	c.Sim.ResetViolations()
}

// Eventually waits for an effect of a real process, until the end of the test's time, because a busy
// machine may be slow.
func (c *Client) Eventually(what string, done func() bool) {
	c.T.Helper()
	var deadline <-chan time.Time // never
	if end, bounded := c.T.Deadline(); bounded {
		deadline = time.After(time.Until(end) - 10*time.Second) // and time to clean up
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline:
			c.T.Fatalf("gave up waiting for %s", what)
		case <-tick.C:
		}
	}
}

// Instance is what a query's content says about the process.
func Instance(t *testing.T, v Verdict) map[string]any {
	t.Helper()
	var content struct {
		Process []struct {
			ProcName string           `json:"procname"`
			Instance []map[string]any `json:"instance"`
		} `json:"process"`
	}
	if err := json.Unmarshal([]byte(v.Text()), &content); err != nil {
		t.Fatalf("content: %v: %s", err, v.Text())
	}
	if len(content.Process) != 1 || len(content.Process[0].Instance) != 1 {
		t.Fatalf("content: want one instance: %s", v.Text())
	}
	return content.Process[0].Instance[0]
}

// Rows are the cached status of hosts, by ip.
func (c *Client) Rows(ips ...string) map[string]map[string]any {
	c.T.Helper()
	env := c.Send("get_proc_status_v2", `{"meta":{"namespace":"web","name":"nginx"},`+CloudHosts(ips...)+`}`)
	return RowsOf(c.T, env)
}

// RowsOf are the rows of an answer, by ip.
func RowsOf(t *testing.T, env Envelope) map[string]map[string]any {
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

// ReadFile is the text of a file.
func ReadFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(data))
}

// NewVirtual is a client of a simulator with two virtual hosts: the given one, if any.
func NewVirtual(t *testing.T, given ...*simulator.Server) *Client {
	t.Helper()
	sim := cmp.Or(append(given, nil)[0], &simulator.Server{})
	sim.AddHost("0:10.0.0.1", "0:10.0.0.2")
	return NewClient(t, sim)
}

// Lives starts, at each call, a simulator anew from its state file.
func Lives(t *testing.T, knob func(*simulator.Server)) func() *Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sandbox", "state.json")
	var last *Client
	return func() *Client {
		t.Helper()
		if last != nil {
			if err := last.Sim.Close(); err != nil {
				t.Fatal(err)
			}
		}
		sim := &simulator.Server{StateFile: file}
		knob(sim)
		last = NewClient(t, sim)
		if err := sim.Start(); err != nil {
			t.Fatal(err)
		}
		return last
	}
}

// reply is an envelope in the form of all faces.
func (e Envelope) reply() Reply {
	return Reply{Status: http.StatusOK, Body: map[string]any{"result": *e.Result, "data": any(e.Data)}, Code: e.Code, Message: e.Message, Data: e.Data}
}

// OnFace calls an API of a face: esb, apigw or job.
func (c *Client) OnFace(face, api, body string) Reply {
	c.T.Helper()
	switch face {
	case "apigw":
		return c.Gateway(api, body)
	case "job":
		return c.Job(api, body)
	default:
		return c.Send(api, body).reply()
	}
}

// NewBench posts without reading the answer, and fails only on HTTP errors.
func NewBench(b *testing.B, sim *simulator.Server) func(api, body string) {
	b.Helper()
	srv := httptest.NewServer(sim)
	b.Cleanup(srv.Close)
	return func(api, body string) {
		body = "{" + Credentials + "," + strings.TrimPrefix(body, "{")
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
