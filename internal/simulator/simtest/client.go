// Package simtest is the client of the simulator's own tests, which use HTTP as real clients do.
package simtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
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

// Credentials are those of the zero server, as members of a body.
const Credentials = `"bk_app_code":"bk_test","bk_app_secret":"s3cret","bk_username":"admin"`

// Signed returns a body with credentials.
func Signed(body string) string {
	return "{" + Credentials + "," + strings.TrimPrefix(strings.TrimSpace(body), "{")
}

// Reply is an answer, whose members differ from face to face.
type Reply struct {
	Status  int
	Header  http.Header
	Body    map[string]any
	Code    int
	Message string
	Data    map[string]any
}

// Open sends a request and returns the answer unread.
func (c *Client) Open(ctx context.Context, method, path, body string, header map[string]string) (*http.Response, error) {
	c.T.Helper()
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, strings.NewReader(body))
	Must(c.T, err)
	for name, v := range header {
		req.Header.Set(name, v)
	}
	return http.DefaultClient.Do(req)
}

// Answer is an answer as it came.
type Answer struct {
	Status int
	Header http.Header
	Text   string
}

// Exchange sends a request and reads the answer. Its error is that of a connection that was closed.
func (c *Client) Exchange(ctx context.Context, method, path, body string, header map[string]string) (Answer, error) {
	c.T.Helper()
	resp, err := c.Open(ctx, method, path, body, header)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, string(text)}, err
}

// Request sends any request to any path, and expects an object.
func (c *Client) Request(method, path, body string, header map[string]string) Reply {
	c.T.Helper()
	got, err := c.Exchange(c.T.Context(), method, path, body, header)
	Must(c.T, err)
	out := Reply{Status: got.Status, Header: got.Header}
	if err := json.Unmarshal([]byte(got.Text), &out.Body); err != nil {
		c.T.Fatalf("%s: HTTP %d: %s", path, got.Status, got.Text)
	}
	code, _ := out.Body["code"].(float64)
	out.Code = int(code)
	out.Message, _ = out.Body["message"].(string)
	out.Data, _ = out.Body["data"].(map[string]any)
	return out
}

// ESB returns the path of an API of GSE behind the ESB.
func ESB(api string) string { return "/api/c/compapi/v2/gse/" + api + "/" }

// Send posts a body without its credentials to the ESB, and expects HTTP 200.
func (c *Client) Send(api, body string) Reply {
	c.T.Helper()
	got := c.Request(http.MethodPost, ESB(api), Signed(body), nil)
	if got.Status != http.StatusOK || got.Body["result"] != (got.Code == 0) {
		c.T.Fatalf("%s: HTTP %d, and the result does not go with the code: %v", api, got.Status, got.Body)
	}
	if id := got.Header.Get("X-Bkapi-Request-Id"); id == "" || got.Body["request_id"] != id {
		c.T.Errorf("%s: request id %q in the header: %v", api, id, got.Body)
	}
	return got
}

// Verdict is one host's result.
type Verdict struct {
	Code    int
	Message string
	Content any
}

// Text returns the content if it is a text.
func (v Verdict) Text() string { s, _ := v.Content.(string); return s }

// VerdictOf returns the result under one key of a result map.
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

// Meta returns the meta of web:nginx, with labels.
func Meta(labels string) string {
	return `"meta":{"namespace":"web","name":"nginx","labels":` + labels + `}`
}

// SupplierHosts returns hosts as the first generation names them.
func SupplierHosts(ips ...string) string {
	var out []string
	for _, ip := range ips {
		out = append(out, fmt.Sprintf(`{"ip":%q,"bk_cloud_id":0,"bk_supplier_id":7}`, ip))
	}
	return `"hosts":[` + strings.Join(out, ",") + `]`
}

// CloudHosts returns hosts as the second generation names them.
func CloudHosts(ips ...string) string {
	return strings.ReplaceAll(SupplierHosts(ips...), `,"bk_supplier_id":7`, "")
}

// Call makes a first generation call and returns the verdict on one host.
func (c *Client) Call(api, ip string) Verdict {
	c.T.Helper()
	return VerdictOf(c.T, c.Send(api, FirstBody(api, `{"team":"sre"}`, ip)).Data, "0:7:"+ip+":web:nginx")
}

// FirstBody returns the body of a first generation call.
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

// Poll polls the result of a task once.
func (c *Client) Poll(id string) Reply {
	c.T.Helper()
	return c.Send("get_proc_operate_result_v2", fmt.Sprintf(`{"task_id":%q}`, id))
}

// Do operates on one virtual host and returns the verdict of the first poll.
func (c *Client) Do(op int, ip string) Verdict {
	c.T.Helper()
	return c.Result(c.Operate(op, ip), ip)
}

// Result polls once and returns the verdict on one host.
func (c *Client) Result(id, ip string) Verdict {
	c.T.Helper()
	return VerdictOf(c.T, c.Poll(id).Data, "0:"+ip+":web:nginx")
}

// Settled polls a task that was started at the gateway until the verdict is there.
func (c *Client) Settled(started Reply, key string) Verdict {
	c.T.Helper()
	id, _ := started.Data["task_id"].(string)
	var v Verdict
	c.Eventually("a verdict on "+key, func() bool {
		v = VerdictOf(c.T, c.GatewayPoll(id).Data, key+":web:nginx")
		return v.Code != simulator.CodePending
	})
	return v
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

// Changed returns a body with one text replaced once.
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

// Instance returns the process in the content of a query. JOB's content is decoded already.
func Instance(t *testing.T, v Verdict) map[string]any {
	t.Helper()
	content := v.Content
	if text := v.Text(); text != "" {
		Must(t, json.Unmarshal([]byte(text), &content))
	}
	for _, list := range []string{"process", "instance"} {
		members, _ := content.(map[string]any)
		elements, _ := members[list].([]any)
		if len(elements) != 1 {
			t.Fatalf("content: want one %s: %v", list, v.Content)
		}
		content = elements[0]
	}
	instance, _ := content.(map[string]any)
	return instance
}

// Rows returns the cached status of hosts, by ip.
func (c *Client) Rows(ips ...string) map[string]map[string]any {
	c.T.Helper()
	return ByIP(RowsOf(c.T, c.Send("get_proc_status_v2", `{"meta":{"namespace":"web","name":"nginx"},`+CloudHosts(ips...)+`}`)))
}

// RowsOf returns the rows of an answer, in its order.
func RowsOf(t *testing.T, got Reply) []map[string]any {
	t.Helper()
	infos, ok := got.Data["proc_infos"].([]any)
	if !ok {
		t.Fatalf("no proc_infos: %+v", got.Body)
	}
	rows := []map[string]any{}
	for _, info := range infos {
		row, _ := info.(map[string]any)
		rows = append(rows, row)
	}
	return rows
}

// ByIP returns rows by the address of their host.
func ByIP(rows []map[string]any) map[string]map[string]any {
	out := make(map[string]map[string]any)
	for _, row := range rows {
		host, _ := row["host"].(map[string]any)
		ip, _ := host["ip"].(string)
		out[ip] = row
	}
	return out
}

// ReadFile returns the trimmed text of a file.
func ReadFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	Must(t, err)
	return string(bytes.TrimSpace(data))
}

// NewVirtual returns a client of a simulator, the given one if any, with two virtual hosts.
func NewVirtual(t *testing.T, given ...*simulator.Server) *Client {
	t.Helper()
	sim := cmp.Or(append(given, nil)[0], &simulator.Server{})
	sim.AddHost("0:10.0.0.1", "0:10.0.0.2")
	return NewClient(t, sim)
}

// Lives returns a function that restarts a simulator from its state file.
func Lives(t *testing.T, knob func(*simulator.Server)) func() *Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sandbox", "state.json")
	var last *Client
	return func() *Client {
		t.Helper()
		if last != nil {
			Must(t, last.Sim.Close())
		}
		sim := &simulator.Server{StateFile: file}
		knob(sim)
		last = NewClient(t, sim)
		Must(t, sim.Start())
		return last
	}
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
		return c.Send(api, body)
	}
}
