package face

import (
	"slices"
	"strconv"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
)

// GSE's APIs about agents, and about tasks as a whole. Only the ESB has a public document; the gateway's
// APIs are as clients send and read them.

// CodeNoAgentKnown is the gateway's answer to list_agent_state if it knows none of the agents.
const CodeNoAgentKnown = 1011003

// mostAgents is the maximum number of ids in one request.
const mostAgents = 1000

var agentListShape = shape{kind: kindList, elem: agentIDListShape.elem, check: func(v any) (string, string) {
	if ids, _ := v.([]any); len(ids) == 0 || len(ids) > mostAgents {
		return "", "must have between 1 and 1000 elements"
	}
	return "", ""
}}

var agentsShape = object(map[string]field{"agent_id_list": required(agentListShape)})

// taskStateShape is BSCP's request. The ids select the agents in the answer.
var taskStateShape = object(map[string]field{
	"task_id":       required(nameShape),
	"agent_id_list": optional(shape{kind: kindList, elem: agentIDListShape.elem}),
})

// agentHostsFields are the fields of the ESB's get_agent_info and get_agent_status. The document requires
// the account, but the code does not.
var agentHostsFields = map[string]field{
	"hosts":               required(hostsShape(false)),
	"bk_supplier_account": wanted(textShape),
	"bk_supplier_id":      optional(integerShape),
}

// Numbers of an agent's status. Clients agree on 2, but 5 is stopped for some and upgrading for others.
const (
	agentRunning = 2
	agentStopped = 5
)

var agentStatusNames = map[int]string{agentRunning: "running", agentStopped: "stopped"}

// Version, port and mode of every agent: inventions.
const (
	agentVersion    = "2.1.6"
	agentParentPort = 28668
	runModeAgent    = 1
)

func agentStatus(a core.Agent) int {
	if a.Alive {
		return agentRunning
	}
	return agentStopped
}

type agentState struct {
	AgentID    string `json:"bk_agent_id"`
	CloudID    int64  `json:"bk_cloud_id"`
	Version    string `json:"version"`
	RunMode    int    `json:"run_mode"`
	StatusCode int    `json:"status_code"`
	ReportTime int64  `json:"report_time"` // in milliseconds
}

type agentInfo struct {
	agentState
	HostIP         string  `json:"bk_host_ip"`
	OSType         string  `json:"bk_os_type"`
	Architecture   string  `json:"bk_cpu_architecture"`
	ParentIP       string  `json:"parent_ip"`
	ParentPort     int     `json:"parent_port"`
	CPURate        float64 `json:"cpu_rate"`
	MemRate        float64 `json:"mem_rate"`
	CPUNum         int     `json:"cpu_num"`
	MemSize        int64   `json:"mem_size"`
	StartTime      int64   `json:"start_time"`
	LastWorkTime   int64   `json:"last_work_time"`
	ConnCycleTime  string  `json:"conn_cycle_time"`
	Status         string  `json:"status"`
	LastStatusCode int     `json:"last_status_code"`
	LastStatus     string  `json:"last_status"`
	Remark         string  `json:"remark"`
}

func stateOf(a core.Agent) agentState {
	return agentState{
		AgentID: a.Target.Agent, CloudID: a.Target.Cloud, Version: agentVersion, RunMode: runModeAgent,
		StatusCode: agentStatus(a), ReportTime: a.ReportTime * 1000,
	}
}

func infoOf(a core.Agent) agentInfo {
	status := agentStatus(a)
	return agentInfo{
		agentState: stateOf(a), HostIP: a.Target.Spelling, OSType: "linux", Architecture: "x86_64",
		ParentIP: a.Target.Spelling, ParentPort: agentParentPort, CPUNum: 1, MemSize: 1 << 30,
		LastWorkTime: a.ReportTime, ConnCycleTime: "0", Status: agentStatusNames[status],
		LastStatusCode: status, LastStatus: agentStatusNames[status],
	}
}

func knownAgents(agents []core.Agent) []core.Agent {
	return slices.DeleteFunc(slices.Clone(agents), func(a core.Agent) bool { return !a.Known })
}

// agentsData returns an API's data about agents. About unknown agents, get_agent_status of the ESB says
// that they are not alive: an invention.
func agentsData(api string, agents []core.Agent) (code int, message string, data any) {
	known := knownAgents(agents)
	switch api {
	case "list_agent_state":
		if len(known) == 0 {
			return CodeNoAgentKnown, "agent not found", nil
		}
		data = each(known, stateOf)
	case "list_agent_info":
		data = each(known, infoOf)
	case "get_agent_status":
		data = byHost(agents, func(a core.Agent) map[string]any {
			alive := 0
			if a.Alive {
				alive = 1
			}
			return map[string]any{"bk_agent_alive": alive}
		})
	default:
		data = byHost(known, func(a core.Agent) map[string]any {
			return map[string]any{"version": agentVersion, "parent_ip": a.Target.Spelling, "parent_port": agentParentPort}
		})
	}
	return core.CodeOK, core.CodeMessage(core.CodeOK), data
}

func each[T any](agents []core.Agent, of func(core.Agent) T) []T {
	rows := make([]T, 0, len(agents))
	for _, a := range agents {
		rows = append(rows, of(a))
	}
	return rows
}

func byHost(agents []core.Agent, of func(core.Agent) map[string]any) map[string]any {
	rows := make(map[string]any, len(agents))
	for _, a := range agents {
		row := of(a)
		row["ip"], row["bk_cloud_id"] = a.Target.Spelling, a.Target.Cloud
		rows[strconv.FormatInt(a.Target.Cloud, 10)+":"+a.Target.Spelling] = row
	}
	return rows
}

// taskState returns the data of get_task_state, by BSCP's types. No process operation times out as a whole
// or reports a restart.
func taskState(req *Request, results []core.Result) any {
	agents := map[string][]string{
		"successed_agents": {}, "timeout_agents": {}, "failed_agents": {}, "pending_agents": {}, "offline_agents": {}, "restarted_agents": {},
	}
	for _, r := range results {
		id := gatewayHost(r, "")
		if len(req.AgentIDs) > 0 && !slices.Contains(req.AgentIDs, id) {
			continue
		}
		list := "failed_agents"
		switch r.Code {
		case core.CodeOK:
			list = "successed_agents"
		case core.CodePending:
			list = "pending_agents"
		case core.CodeAgentAbnormal:
			list = "offline_agents"
		}
		agents[list] = append(agents[list], id)
	}
	result := map[string]any{"state": stateOfTask(results)}
	for list, ids := range agents {
		result[list] = ids
	}
	return map[string]any{"result": result}
}

func stateOfTask(results []core.Result) string {
	state := "successed"
	for _, r := range results {
		switch r.Code {
		case core.CodePending:
			return "executing"
		case core.CodeOK:
		default:
			state = "failed"
		}
	}
	if results == nil {
		return "pending"
	}
	return state
}
