package simtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Agent ids, and the path of the gateway.
const (
	AgentA = "0200000007525400f355781710390005465c"
	AgentB = "02000000075254005d52cc171039000570a1"

	GatewayStage = "/api/bk-gse/prod"
	GatewayAuth  = `{` + Credentials + `}`
)

// Reply is an answer of the gateway, whose members differ from case to case.
type Reply struct {
	Status  int
	Header  http.Header
	Body    map[string]any
	Code    int
	Message string
	Data    map[string]any
}

// Request sends any request to any path.
func (c *Client) Request(method, path, body string, header map[string]string) Reply {
	c.T.Helper()
	req, err := http.NewRequestWithContext(c.T.Context(), method, c.URL+path, strings.NewReader(body))
	if err != nil {
		c.T.Fatal(err)
	}
	for name, v := range header {
		req.Header.Set(name, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.T.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.T.Fatalf("%s: %v", path, err)
	}
	out := Reply{Status: resp.StatusCode, Header: resp.Header}
	if err := json.Unmarshal(raw, &out.Body); err != nil {
		c.T.Fatalf("%s: HTTP %d: %s", path, resp.StatusCode, raw)
	}
	code, _ := out.Body["code"].(float64)
	out.Code = int(code)
	out.Message, _ = out.Body["message"].(string)
	out.Data, _ = out.Body["data"].(map[string]any)
	return out
}

// Gateway calls an API behind the gateway: one of proc, unless it names another folder.
func (c *Client) Gateway(api, body string) Reply {
	c.T.Helper()
	if !strings.Contains(api, "/") {
		api = "proc/" + api
	}
	return c.Request(http.MethodPost, GatewayStage+"/api/v2/"+api, body, map[string]string{"X-Bkapi-Authorization": GatewayAuth})
}

// Agents names hosts by their agent ids.
func Agents(ids ...string) string {
	return fmt.Sprintf(`"agent_id_list":["%s"]`, strings.Join(ids, `","`))
}

// GatewayBody is the body of an operation.
func GatewayBody(op int, labels, selector string) string {
	return fmt.Sprintf(`{%s,%s,"op_type":%d,"spec":%s}`, Meta(labels), selector, op, OperateSpec)
}

// GatewayOperate starts an operation and returns the verdict of the first poll.
func (c *Client) GatewayOperate(op int, selector, key string) Verdict {
	c.T.Helper()
	started := c.Gateway("operate_proc_multi", `{"proc_operate_req":[`+GatewayBody(op, `{"from":"gateway"}`, selector)+`]}`)
	id, _ := started.Data["task_id"].(string)
	if started.Status != http.StatusOK || started.Code != 0 || id == "" {
		c.T.Fatalf("operate %d: %+v", op, started.Body)
	}
	return VerdictOf(c.T, c.GatewayPoll(id).Data, key+":web:nginx")
}

// ByAgent is GatewayOperate on AgentA.
func (c *Client) ByAgent(op int) Verdict {
	c.T.Helper()
	return c.GatewayOperate(op, Agents(AgentA), AgentA)
}

// GatewaySync lists the namespace web.
func (c *Client) GatewaySync() Reply {
	c.T.Helper()
	return c.Gateway("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`)
}

// GatewayPoll asks for the result of a task.
func (c *Client) GatewayPoll(id string) Reply {
	c.T.Helper()
	return c.Gateway("get_proc_operate_result_v2", fmt.Sprintf(`{"task_id":%q}`, id))
}

// GatewayRows are the rows of web:nginx in the order of the answer.
func (c *Client) GatewayRows(selector string) []map[string]any {
	c.T.Helper()
	got := c.Gateway("get_proc_status_v2", `{"meta":{"namespace":"web","name":"nginx"},`+selector+`}`)
	return GatewayRowsOf(c.T, got)
}

// GatewayRowsOf are the rows of an answer, in its order.
func GatewayRowsOf(t *testing.T, got Reply) []map[string]any {
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

// NewGateway is a client of a simulator with two hosts that have only agent ids and one that has only an
// address.
func NewGateway(t *testing.T, knobs ...func(*simulator.Server)) *Client {
	t.Helper()
	sim := &simulator.Server{}
	for _, knob := range knobs {
		knob(sim)
	}
	sim.AddHost(AgentA, AgentB, "0:10.0.0.1")
	return NewClient(t, sim)
}

// Raw posts to the gateway and may fail.
func (c *Client) Raw(api, body string) (string, error) {
	c.T.Helper()
	req, err := http.NewRequestWithContext(c.T.Context(), http.MethodPost, c.URL+GatewayStage+"/api/v2/proc/"+api, strings.NewReader(body))
	if err != nil {
		c.T.Fatal(err)
	}
	req.Header.Set("X-Bkapi-Authorization", GatewayAuth)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}
