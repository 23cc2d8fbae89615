package gse

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// The script API of GSE 2.0, by the names of its permissions. Source: BSCP and nodemgr.
const (
	apiRunScript    = "async_extensions_execute_script"
	apiScriptResult = "get_extensions_execute_script_result"
)

// HostedFiles reads what agents host by means of the script API, which only the gateway has.
type HostedFiles struct {
	Client *Client
	Source hostedspec.Source
}

var _ procapi.HostedReader = HostedFiles{}

// scriptSeconds is the time limit of the script on a host.
const scriptSeconds = 60

// scriptEndpoint returns an API outside the process API. It is private, because its answers contain commands of
// other owners.
func scriptEndpoint(name string) bkapi.API {
	return bkapi.API{Name: name, Path: "api/v2/task/extensions/" + strings.Replace(name, "extensions_", "", 1), Repeatable: true, Private: true}
}

type scriptRequest struct {
	Agents    []scriptAgent    `json:"agents"`
	Scripts   []scriptFile     `json:"scripts"`
	Tasks     []scriptStep     `json:"atomic_tasks"`
	Relations []scriptRelation `json:"atomic_tasks_relations"`
}

type scriptAgent struct {
	AgentID     string `json:"bk_agent_id"`
	ContainerID string `json:"bk_container_id"`
	User        string `json:"user"`
	Password    string `json:"pwd"`
}

type scriptFile struct {
	Name    string `json:"script_name"`
	Dir     string `json:"script_store_dir"`
	Content string `json:"script_content"`
}

type scriptStep struct {
	ID      int    `json:"atomic_task_id"`
	Command string `json:"command"`
	Timeout int    `json:"timeout_seconds"`
}

type scriptRelation struct {
	ID    int   `json:"atomic_task_id"`
	After []int `json:"atomic_task_id_idx"`
}

// scriptTask is `data` of the answer that accepts a script.
type scriptTask struct {
	Result task `json:"result"`
}

// LogValue returns what is logged of a task. Output is never logged.
func (t *scriptTask) LogValue() slog.Value { return t.Result.LogValue() }

type scriptQuery struct {
	Task   string             `json:"task_id"`
	Agents []scriptAgentQuery `json:"agent_tasks"`
}

type scriptAgentQuery struct {
	AgentID     string      `json:"bk_agent_id"`
	ContainerID string      `json:"bk_container_id"`
	Tasks       []scriptLog `json:"atomic_tasks"`
}

type scriptLog struct {
	ID     int `json:"atomic_task_id"`
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
}

// scriptRows is `data` of the answer to a scriptQuery.
type scriptRows struct {
	Result procapi.Many[scriptRow] `json:"result"`
}

type scriptRow struct {
	AgentID  procapi.Text   `json:"bk_agent_id"`
	TaskID   procapi.Number `json:"atomic_task_id"`
	Status   procapi.Number `json:"status"`
	Code     procapi.Code   `json:"error_code"`
	Message  procapi.Text   `json:"error_msg"`
	ExitCode procapi.Number `json:"script_exit_code"`
	Screen   procapi.Text   `json:"screen"`
}

const (
	statusFinished = 2
	statusFailed   = 5
)

// ends holds the statuses of a script that has ended without complete output. The numbers are nodemgr's, in
// which 0 means received and 1 running.
var ends = map[int64]string{
	3: "the script took longer than " + strconv.Itoa(scriptSeconds) + " seconds", 4: "the script was stopped",
	statusFailed: "the script failed", 6: "the agent was restarted while the script ran",
}

// ReadHosted implements procapi.HostedReader.
func (f HostedFiles) ReadHosted(ctx context.Context, hosts []fleet.Host, windows bool) map[fleet.Host]hostedspec.Reading {
	return procapi.ReadHosted(ctx, f.Client.opts, slices.Chunk(hosts, f.Client.opts.MaxHosts), func(batch []fleet.Host) procapi.Script {
		run := &scriptRun{client: f.Client, run: f.Source.On(windows), hosts: batch, screens: make(map[fleet.Host]string)}
		return procapi.Script{Send: run.send, Look: run.look}
	})
}

// scriptRun is one task, with the output of its hosts so far.
type scriptRun struct {
	client *Client
	run    hostedspec.Run
	hosts  []fleet.Host
	// screens holds the output read so far of hosts whose output has several pages.
	screens map[fleet.Host]string
}

func (r *scriptRun) send(ctx context.Context) (string, bkapi.Reply, error) {
	request := scriptRequest{
		Scripts:   []scriptFile{{Name: r.run.Name, Dir: r.run.Dir, Content: r.run.Script}},
		Tasks:     []scriptStep{{Command: r.run.Command, Timeout: scriptSeconds}},
		Relations: []scriptRelation{{After: []int{}}},
	}
	for _, h := range r.hosts {
		request.Agents = append(request.Agents, scriptAgent{AgentID: h.WithoutSupplier().Address(), User: r.run.Account})
	}
	var accepted scriptTask
	reply, err := r.client.api.Call(ctx, scriptEndpoint(apiRunScript), request, &accepted)
	return string(accepted.Result.ID), reply, err
}

// Pages are small enough that an answer stays well below the limit of what the client reads. A file of a few
// entries fits into one page, whatever the number of hosts.
const (
	pageBudget = 24 << 20
	minPage    = 16 << 10
	maxPage    = 4 << 20
	maxPages   = hostedspec.MaxBytes / minPage
)

// look asks once for the output of hosts, and then asks at once for further pages of those that have more.
func (r *scriptRun) look(ctx context.Context, id string, hosts []fleet.Host) (map[fleet.Host]hostedspec.Reading, error) {
	readings := make(map[fleet.Host]hostedspec.Reading)
	for range maxPages {
		query := scriptQuery{Task: id}
		for _, h := range hosts {
			query.Agents = append(query.Agents, scriptAgentQuery{
				AgentID: h.WithoutSupplier().Address(),
				Tasks:   []scriptLog{{Offset: len(r.screens[h]), Limit: min(max(pageBudget/len(hosts), minPage), maxPage)}},
			})
		}
		var rows scriptRows
		reply, err := r.client.api.Call(ctx, scriptEndpoint(apiScriptResult), query, &rows)
		if err != nil {
			return readings, err
		}
		byAgent := make(map[string]scriptRow, len(rows.Result))
		for _, row := range rows.Result {
			if row.TaskID.Int() == 0 { // the only atomic task in the request
				byAgent[string(row.AgentID)] = row
			}
		}
		var paged []fleet.Host
		claims := r.client.claims(r.hosts)
		for _, h := range hosts {
			row, found := r.rowOf(h, byAgent, claims)
			if !found {
				continue
			}
			reading, over, more := r.take(h, row, reply.RequestID)
			if over {
				readings[h] = reading
			}
			if more {
				paged = append(paged, h)
			}
		}
		if hosts = paged; len(hosts) == 0 {
			break
		}
	}
	return readings, nil
}

// rowOf returns the row of a host. It may be under the host's other name, unless another host has that name
// too.
func (r *scriptRun) rowOf(h fleet.Host, byAgent map[string]scriptRow, claims map[fleet.HostID]int) (scriptRow, bool) {
	row, found := byAgent[h.WithoutSupplier().Address()]
	for _, other := range r.client.names.of(h.WithoutSupplier()) {
		if !found && claims[other] == 1 {
			row, found = byAgent[other.Address()]
		}
	}
	return row, found
}

// take reads a row. over says that the host is finished, and more that its output has further pages.
func (r *scriptRun) take(h fleet.Host, row scriptRow, requestID string) (reading hostedspec.Reading, over, more bool) {
	status := row.Status.Int()
	switch {
	case row.Code.Value == procapi.CodeInProgress:
		return reading, false, false
	case row.Code.Value != procapi.CodeOK:
		return r.client.opts.Refused(row.Code.Value, string(row.Message), requestID), true, false
	case (status == statusFinished || status == statusFailed) && row.ExitCode.Int() != 0:
		return hostedspec.Reading{Why: fmt.Sprintf("the script ended with exit code %d", row.ExitCode.Int()), Call: "request id " + requestID}, true, false
	case ends[status] != "":
		return hostedspec.Reading{Why: fmt.Sprintf("%s (status %d)", ends[status], status), Call: "request id " + requestID}, true, false
	}
	before, page := r.screens[h], string(row.Screen)
	screen := before + page
	switch {
	case hostedspec.Whole(screen), len(screen) > hostedspec.MaxBytes, status == statusFinished && (page == "" || page == before):
		delete(r.screens, h)
		return hostedspec.Parse(screen), true, false
	case status != statusFinished: // the next poll may return more, or the same again
		return reading, false, false
	}
	r.screens[h] = screen
	return reading, false, true
}
