package simtest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// ScriptBody returns a request to run a script on agents, with the file that it reads as its argument.
func ScriptBody(script, file string, ids ...string) string {
	text, _ := json.Marshal(script)
	agents := make([]string, len(ids))
	for i, id := range ids {
		agents[i] = fmt.Sprintf(`{"bk_agent_id":%q,"bk_container_id":"","user":"root","pwd":""}`, id)
	}
	return fmt.Sprintf(`{"agents":[%s],"scripts":[{"script_name":"read.sh","script_store_dir":"/tmp/bk_terraform","script_content":%s}],
		"atomic_tasks":[{"atomic_task_id":0,"command":%q,"timeout_seconds":60}],"atomic_tasks_relations":[{"atomic_task_id":0,"atomic_task_id_idx":[]}]}`,
		strings.Join(agents, ","), text, strings.TrimSpace("/tmp/bk_terraform/read.sh "+file))
}

// RunScript runs a script and returns its task.
func (c *Client) RunScript(script, file string, ids ...string) string {
	c.T.Helper()
	started := c.Gateway("task/extensions/async_execute_script", ScriptBody(script, file, ids...))
	result, _ := started.Data["result"].(map[string]any)
	id, _ := result["task_id"].(string)
	if started.Status != http.StatusOK || started.Code != 0 || id == "" {
		c.T.Fatalf("async_execute_script: HTTP %d %v", started.Status, started.Body)
	}
	return id
}

// ScreensBody returns a request for a part of what a script has printed on agents.
func ScreensBody(id string, offset, limit int, ids ...string) string {
	tasks := make([]string, len(ids))
	for i, agent := range ids {
		tasks[i] = fmt.Sprintf(`{"bk_agent_id":%q,"bk_container_id":"","atomic_tasks":[{"atomic_task_id":0,"offset":%d,"limit":%d}]}`, agent, offset, limit)
	}
	return fmt.Sprintf(`{"task_id":%q,"agent_tasks":[%s]}`, id, strings.Join(tasks, ","))
}

// Screens returns the results of one poll, in the order of the answer.
func (c *Client) Screens(id string, offset, limit int, ids ...string) []map[string]any {
	c.T.Helper()
	got := c.Gateway("task/extensions/get_execute_script_result", ScreensBody(id, offset, limit, ids...))
	results, ok := got.Data["result"].([]any)
	if got.Status != http.StatusOK || got.Code != 0 || !ok {
		c.T.Fatalf("get_execute_script_result: HTTP %d %v", got.Status, got.Body)
	}
	rows := make([]map[string]any, len(results))
	for i, result := range results {
		rows[i], _ = result.(map[string]any)
	}
	return rows
}

// Screen runs a script on one agent and returns its output in one poll.
func (c *Client) Screen(script, file, id string) string {
	c.T.Helper()
	rows := c.Screens(c.RunScript(script, file, id), 0, 0, id)
	if len(rows) != 1 || rows[0]["status"] != 2.0 && rows[0]["status"] != 5.0 {
		c.T.Fatalf("screens: %v", rows)
	}
	text, _ := rows[0]["screen"].(string)
	return text
}

// JobScriptBody returns a request to JOB to run a script on hosts of cloud 0.
func JobScriptBody(script, file string, ips ...string) string {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf(`{"bk_scope_type":"biz","bk_scope_id":"2","script_content":%q,"script_param":%q,"script_language":1,"timeout":60,"account_alias":"root","target_server":{"ip_list":%s}}`,
		encode([]byte(script)), encode([]byte(file)), strings.TrimPrefix(CloudHosts(ips...), `"hosts":`))
}

// JobRunScript runs a script through JOB and returns the numbers of its job and its step.
func (c *Client) JobRunScript(script, file string, ips ...string) (job, step int64) {
	c.T.Helper()
	started := c.Job("fast_execute_script", JobScriptBody(script, file, ips...))
	of, _ := started.Data["job_instance_id"].(float64)
	is, _ := started.Data["step_instance_id"].(float64)
	if started.Code != 0 || of == 0 || is == 0 {
		c.T.Fatalf("fast_execute_script: %v", started.Body)
	}
	return int64(of), int64(is)
}
