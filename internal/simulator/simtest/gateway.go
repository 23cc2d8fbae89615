package simtest

import (
	"fmt"
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

// Gateway calls an API behind the gateway: one in the folder proc, unless api names another folder.
func (c *Client) Gateway(api, body string) Reply {
	c.T.Helper()
	if !strings.Contains(api, "/") {
		api = "proc/" + api
	}
	return c.Request(http.MethodPost, GatewayStage+"/api/v2/"+api, body, map[string]string{"X-Bkapi-Authorization": GatewayAuth})
}

// Agents returns a selector of hosts by their agent ids.
func Agents(ids ...string) string {
	return fmt.Sprintf(`"agent_id_list":["%s"]`, strings.Join(ids, `","`))
}

// GatewayBody returns the body of an operation.
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

// GatewayPoll polls the result of a task once.
func (c *Client) GatewayPoll(id string) Reply {
	c.T.Helper()
	return c.Gateway("get_proc_operate_result_v2", fmt.Sprintf(`{"task_id":%q}`, id))
}

// GatewayRows returns the rows of web:nginx in the order of the answer.
func (c *Client) GatewayRows(selector string) []map[string]any {
	c.T.Helper()
	return RowsOf(c.T, c.Gateway("get_proc_status_v2", `{"meta":{"namespace":"web","name":"nginx"},`+selector+`}`))
}

// NewGateway returns a client of a simulator with two hosts that have only agent ids and one that has only
// an address.
func NewGateway(t *testing.T, knobs ...func(*simulator.Server)) *Client {
	t.Helper()
	sim := &simulator.Server{}
	for _, knob := range knobs {
		knob(sim)
	}
	sim.AddHost(AgentA, AgentB, "0:10.0.0.1")
	return NewClient(t, sim)
}
