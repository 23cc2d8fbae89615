package simulator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const (
	agentA = "0200000007525400f355781710390005465c"
	agentB = "02000000075254005d52cc171039000570a1"

	gatewayStage = "/api/bk-gse/prod"
	gatewayAuth  = `{` + credentials + `}`
)

// reply is an answer of the gateway, whose members differ from case to case.
type reply struct {
	status  int
	header  http.Header
	body    map[string]any
	code    int
	message string
	data    map[string]any
}

// request sends anything anywhere.
func (c *client) request(method, path, body string, header map[string]string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for name, v := range header {
		req.Header.Set(name, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
	out := reply{status: resp.StatusCode, header: resp.Header}
	if err := json.Unmarshal(raw, &out.body); err != nil {
		c.t.Fatalf("%s: HTTP %d: %s", path, resp.StatusCode, raw)
	}
	code, _ := out.body["code"].(float64)
	out.code = int(code)
	out.message, _ = out.body["message"].(string)
	out.data, _ = out.body["data"].(map[string]any)
	return out
}

// gateway calls an API behind the gateway.
func (c *client) gateway(api, body string) reply {
	c.t.Helper()
	return c.request(http.MethodPost, gatewayStage+"/api/v2/proc/"+api, body, map[string]string{"X-Bkapi-Authorization": gatewayAuth})
}

func agents(ids ...string) string {
	return fmt.Sprintf(`"agent_id_list":["%s"]`, strings.Join(ids, `","`))
}

func gatewayBody(op int, labels, selector string) string {
	return fmt.Sprintf(`{%s,%s,"op_type":%d,"spec":%s}`, meta(labels), selector, op, operateSpec)
}

// gatewayOperate starts an operation and returns the verdict of the first poll.
func (c *client) gatewayOperate(op int, selector, key string) verdict {
	c.t.Helper()
	started := c.gateway("operate_proc_multi", `{"proc_operate_req":[`+gatewayBody(op, `{"from":"gateway"}`, selector)+`]}`)
	id, _ := started.data["task_id"].(string)
	if started.status != http.StatusOK || started.code != 0 || id == "" {
		c.t.Fatalf("operate %d: %+v", op, started.body)
	}
	return verdictOf(c.t, c.gatewayPoll(id).data, key+":web:nginx")
}

func (c *client) gatewayPoll(id string) reply {
	c.t.Helper()
	return c.gateway("get_proc_operate_result_v2", fmt.Sprintf(`{"task_id":%q}`, id))
}

// gatewayRows are the rows of web:nginx in the order of the answer.
func (c *client) gatewayRows(selector string) []map[string]any {
	c.t.Helper()
	got := c.gateway("get_proc_status_v2", `{"meta":{"namespace":"web","name":"nginx"},`+selector+`}`)
	return gatewayRowsOf(c.t, got)
}

func gatewayRowsOf(t *testing.T, got reply) []map[string]any {
	t.Helper()
	infos, ok := got.data["proc_infos"].([]any)
	if !ok {
		t.Fatalf("no proc_infos: %+v", got.body)
	}
	rows := []map[string]any{}
	for _, info := range infos {
		row, _ := info.(map[string]any)
		rows = append(rows, row)
	}
	return rows
}

// newGateway is a client of a simulator with two hosts known by agent ids alone
// and one known by its address alone.
func newGateway(t *testing.T, knobs ...func(*simulator.Server)) *client {
	t.Helper()
	sim := &simulator.Server{}
	for _, knob := range knobs {
		knob(sim)
	}
	sim.AddHost(agentA, agentB, "0:10.0.0.1")
	return newClient(t, sim)
}

// raw posts to the gateway and may fail.
func (c *client) raw(api, body string) (string, error) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url+gatewayStage+"/api/v2/proc/"+api, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("X-Bkapi-Authorization", gatewayAuth)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}
