package simtest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// JobKey is the result key of the process that JobInfo describes, on 10.0.0.1.
const JobKey = "/opt/nginx/nginx:0:10.0.0.1"

// JobInfo returns one of process_infos, with more members.
func JobInfo(more string, ips ...string) string {
	return `{"proc_name":"nginx","setup_path":"/opt/nginx","pid_path":"/run/nginx.pid",` +
		strings.Trim(control, "{}") + `,"type":1` + more + `,"ip_list":` + strings.TrimPrefix(CloudHosts(ips...), `"hosts":`) + `}`
}

// JobBody returns a body with one op type.
func JobBody(op int, infos ...string) string {
	return fmt.Sprintf(`{"bk_biz_id":2,"op_type":%d,"process_infos":[%s]}`, op, strings.Join(infos, ","))
}

// Job calls an API of JOB with credentials.
func (c *Client) Job(api, body string) Reply {
	c.T.Helper()
	return c.Request(http.MethodPost, "/api/c/compapi/v2/jobv3/"+api+"/", Signed(body), nil)
}

// JobStart starts an operation and returns its task.
func (c *Client) JobStart(api, body string) string {
	c.T.Helper()
	got := c.Job(api, body)
	id, _ := got.Data["bk_gse_taskid"].(string)
	if got.Status != http.StatusOK || got.Code != 0 || id == "" {
		c.T.Fatalf("%s: HTTP %d %v", api, got.Status, got.Body)
	}
	return id
}

// JobPoll polls the result of a task once.
func (c *Client) JobPoll(id string) (status int, results map[string]any) {
	c.T.Helper()
	got := c.Job("get_proc_result", fmt.Sprintf(`{"bk_scope_type":"biz","bk_scope_id":"2","bk_gse_taskid":%q}`, id))
	results, ok := got.Data["result"].(map[string]any)
	if got.Status != http.StatusOK || got.Code != 0 || got.Body["result"] != true || !ok {
		c.T.Fatalf("get_proc_result: HTTP %d %v", got.Status, got.Body)
	}
	number, _ := got.Data["status"].(float64)
	return int(number), results
}

// JobDo operates on 10.0.0.1 and returns the verdict of the first poll.
func (c *Client) JobDo(op int, more string) Verdict {
	c.T.Helper()
	_, results := c.JobPoll(c.JobStart("operate_process", JobBody(op, JobInfo(more, "10.0.0.1"))))
	return VerdictOf(c.T, results, JobKey)
}

// JobState returns whether the process that JobInfo describes is hosted and whether it runs.
func JobState(sim *simulator.Server) string {
	p, ok := sim.Process("0:10.0.0.1", "job", "/opt/nginx/nginx")
	if !ok {
		return "none"
	}
	return fmt.Sprint(p.Hosted, p.Running)
}
