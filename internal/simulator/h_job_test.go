package simulator_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// jobKey is the result key of the process that jobInfo describes, on 10.0.0.1.
const jobKey = "/opt/nginx/nginx:0:10.0.0.1"

func jobInfo(more string, ips ...string) string {
	return `{"proc_name":"nginx","setup_path":"/opt/nginx","pid_path":"/run/nginx.pid",` +
		strings.Trim(control, "{}") + `,"type":1` + more + `,"ip_list":` + strings.TrimPrefix(cloudHosts(ips...), `"hosts":`) + `}`
}

func jobBody(op int, infos ...string) string {
	return fmt.Sprintf(`{"bk_biz_id":2,"op_type":%d,"process_infos":[%s]}`, op, strings.Join(infos, ","))
}

// job calls an API of JOB with credentials.
func (c *client) job(api, body string) reply {
	c.t.Helper()
	return c.request(http.MethodPost, "/api/c/compapi/v2/jobv3/"+api+"/", "{"+credentials+","+strings.TrimPrefix(body, "{"), nil)
}

// jobStart starts an operation and returns its task.
func (c *client) jobStart(api, body string) string {
	c.t.Helper()
	got := c.job(api, body)
	id, _ := got.data["bk_gse_taskid"].(string)
	if got.status != http.StatusOK || got.code != 0 || id == "" {
		c.t.Fatalf("%s: HTTP %d %v", api, got.status, got.body)
	}
	return id
}

func (c *client) jobPoll(id string) (status int, results map[string]any) {
	c.t.Helper()
	got := c.job("get_proc_result", fmt.Sprintf(`{"bk_scope_type":"biz","bk_scope_id":"2","bk_gse_taskid":%q}`, id))
	results, ok := got.data["result"].(map[string]any)
	if got.status != http.StatusOK || got.code != 0 || got.body["result"] != true || !ok {
		c.t.Fatalf("get_proc_result: HTTP %d %v", got.status, got.body)
	}
	number, _ := got.data["status"].(float64)
	return int(number), results
}

// jobDo operates on 10.0.0.1 and returns the verdict of the first poll.
func (c *client) jobDo(op int, more string) verdict {
	c.t.Helper()
	_, results := c.jobPoll(c.jobStart("operate_process", jobBody(op, jobInfo(more, "10.0.0.1"))))
	return verdictOf(c.t, results, jobKey)
}

// jobInstance is what the content of a query says, which JOB has unpacked.
func jobInstance(t *testing.T, v verdict) map[string]any {
	t.Helper()
	content, _ := v.content.(map[string]any)
	processes, _ := content["process"].([]any)
	if len(processes) != 1 {
		t.Fatalf("content: %v", v.content)
	}
	process, _ := processes[0].(map[string]any)
	instances, _ := process["instance"].([]any)
	if len(instances) != 1 {
		t.Fatalf("content: %v", v.content)
	}
	instance, _ := instances[0].(map[string]any)
	return instance
}

// jobState is what is held about the process that jobInfo describes: whether it
// is hosted and whether it runs.
func jobState(sim *simulator.Server) string {
	p, ok := sim.Process("0:10.0.0.1", "job", "/opt/nginx/nginx")
	if !ok {
		return "none"
	}
	return fmt.Sprint(p.Hosted, p.Running)
}
