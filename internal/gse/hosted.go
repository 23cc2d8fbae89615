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

// The script API of GSE 2.0, by the names that its permissions have. Source: BSCP and nodemgr.
const (
	apiRunScript    = "async_extensions_execute_script"
	apiScriptResult = "get_extensions_execute_script_result"
)

// HostedFiles reads what agents host by the script API, which only the gateway has.
type HostedFiles struct {
	Client *Client
	Source hostedspec.Source
}

var _ procapi.HostedReader = HostedFiles{}

// scriptSeconds is how long the script may take on a host.
const scriptSeconds = 60

// scriptEndpoint is not among the process APIs. Its answers contain commands of other owners.
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

// scriptTask is `data` of a script that was accepted.
type scriptTask struct {
	Result task `json:"result"`
}

// LogValue is what is logged of a task: never its output.
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

// scriptRows is `data` of a result.
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

// ends are the states in which a script has ended without complete output. The numbers are nodemgr's; 0
// is received and 1 running.
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

// scriptRun is one task, and what its hosts have printed so far.
type scriptRun struct {
	client *Client
	run    hostedspec.Run
	hosts  []fleet.Host
	// screens is the output read so far on hosts whose output has several pages.
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

// A page is so small that an answer stays well below the limit of what the client reads. Files of a few
// entries fit into the first page, with any number of hosts.
const (
	pageBudget = 24 << 20
	minPage    = 16 << 10
	maxPage    = 4 << 20
	maxPages   = hostedspec.MaxBytes / minPage
)

// look asks once, and again at once for the next pages of hosts whose output has more.
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
			if row.TaskID.Int() == 0 { // the one of the request
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

// rowOf is the row of a host, which may be under the host's other name, if that is no other host's.
func (r *scriptRun) rowOf(h fleet.Host, byAgent map[string]scriptRow, claims map[fleet.HostID]int) (scriptRow, bool) {
	row, found := byAgent[h.WithoutSupplier().Address()]
	if other, known := r.client.alias(h.WithoutSupplier()); !found && known && claims[other] == 1 {
		row, found = byAgent[other.Address()]
	}
	return row, found
}

// take reads a row. over says that the host is done, more that its output has further pages.
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

// Differences are the fields in which an agent hosts another spec. They are compared as far as the
// agent's file keeps them. A number of seconds may be undeclared, or 0 on either side. Then it is a
// default of the server or of the agent. White space around a text is ignored.
func (s *Spec) Differences(e hostedspec.Entry, sendsTimeout bool) []fleet.Difference {
	var limits Resource
	if s.Resource != nil {
		limits = *s.Resource
	}
	fields := []fleet.Difference{
		{Field: "identity.proc_name", Declared: s.Identity.ProcName, Hosted: e.ProcName},
		{Field: "identity.setup_path", Declared: s.Identity.SetupPath, Hosted: e.SetupPath},
		{Field: "identity.pid_path", Declared: s.Identity.PIDPath, Hosted: e.PIDPath},
		{Field: "identity.user", Declared: s.Identity.User, Hosted: e.User},
		{Field: "control.start_cmd", Declared: orBlank(s.Control.StartCmd), Hosted: e.StartCmd},
		{Field: "control.stop_cmd", Declared: orBlank(s.Control.StopCmd), Hosted: e.StopCmd},
		{Field: "control.restart_cmd", Declared: orBlank(s.Control.RestartCmd), Hosted: e.RestartCmd},
		{Field: "control.reload_cmd", Declared: orBlank(s.Control.ReloadCmd), Hosted: e.ReloadCmd},
		{Field: "control.kill_cmd", Declared: orBlank(s.Control.KillCmd), Hosted: e.KillCmd},
		{Field: "control.version_cmd", Declared: orBlank(s.Control.VersionCmd), Hosted: e.VersionCmd},
		{Field: "control.health_cmd", Declared: orBlank(s.Control.HealthCmd), Hosted: e.HealthCmd},
		{Field: "resource.cpu", Declared: percent(limits.CPU), Hosted: percent(e.CPU)},
		{Field: "resource.mem", Declared: percent(limits.Mem), Hosted: percent(e.Mem)},
	}
	if e.HasAutoType {
		fields = append(fields, fleet.Difference{Field: "monitor_policy.auto_type", Declared: number(s.MonitorPolicy.AutoType), Hosted: number(e.AutoType)})
	}
	if secs := s.MonitorPolicy.StartCheckSecs; secs != nil && *secs != 0 && e.StartCheckSecs != 0 {
		fields = append(fields, fleet.Difference{Field: "monitor_policy.start_check_secs", Declared: number(*secs), Hosted: number(e.StartCheckSecs)})
	}
	if secs := s.OpTimeout; secs != nil && sendsTimeout && *secs != 0 && e.OpTimeout != 0 {
		fields = append(fields, fleet.Difference{Field: "monitor_policy.op_timeout", Declared: number(*secs), Hosted: number(e.OpTimeout)})
	}
	return slices.DeleteFunc(fields, func(f fleet.Difference) bool {
		return strings.TrimSpace(f.Declared) == strings.TrimSpace(f.Hosted)
	})
}

func orBlank(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// percent has the digits of a float of 32 bits: an agent may keep 10.1 as 10.100000381469727.
func percent(n float64) string { return strconv.FormatFloat(n, 'f', -1, 32) }

var _ fleet.Verifier = (*Process)(nil)

// Hosting implements fleet.Verifier.
func (p *Process) Hosting(ctx context.Context, hosts []fleet.Host) map[fleet.Host]fleet.Hosting {
	found := make(map[fleet.Host]fleet.Hosting, len(hosts))
	if p.spec == nil {
		for _, h := range hosts {
			found[h] = fleet.Hosting{Why: fleet.ErrNoSpec.Error()}
		}
		return found
	}
	for h, reading := range p.client.ReadHosted(ctx, hosts, hostedspec.IsWindows(p.spec.Identity.SetupPath)) {
		found[h] = p.hosting(reading)
	}
	return found
}

// hosting is what a reading says of this process. If its key has two entries, one that differs counts.
func (p *Process) hosting(reading hostedspec.Reading) fleet.Hosting {
	found := fleet.Hosting{Why: reading.Reason()}
	for _, e := range reading.Entries {
		own := e.Namespace == p.meta.Namespace && e.Name == p.meta.Name
		switch {
		case own && e.Why != "":
			return fleet.Hosting{Why: e.Why}
		case own:
			if found.Hosted {
				found.Beside = append(found.Beside, e.Key()+" once more")
			}
			found.Hosted = true
			if len(found.Differs) == 0 {
				found.Differs = p.spec.Differences(e, p.HostingRegisters())
			}
		case e.PIDPath == p.spec.Identity.PIDPath:
			found.Beside = append(found.Beside, p.client.opts.Redact(e.Key()))
		}
	}
	found.Beside = slices.Compact(found.Beside)
	for i, f := range found.Differs {
		found.Differs[i].Hosted = p.client.opts.Redact(f.Hosted)
	}
	return found
}
