package job

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	json "github.com/go-json-experiment/json/v1"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// The script API of jobv3. Source: the ESB documents of the APIs with these names.
const (
	apiRunScript    = "fast_execute_script"
	apiScriptStatus = "get_job_instance_status"
	apiScriptLog    = "batch_get_job_instance_ip_log"
)

// HostedFiles reads what agents host by means of scripts that JOB runs.
type HostedFiles struct {
	Client *Client
	Source hostedspec.Source
	Scope  Scope
}

var _ procapi.HostedReader = HostedFiles{}

// scriptSeconds is the time limit of the script on a host. maxLogs is the number of hosts that one request for
// logs may name, according to JOB's public code.
const (
	scriptSeconds = 60
	maxLogs       = 500
)

// Numbers of script languages.
const (
	languageShell      = 1
	languagePowerShell = 5
)

// Statuses of a script on a host. In a finished job, any other number means a failure.
const (
	hostAway      = 1
	hostWaiting   = 5
	hostRunning   = 7
	hostSucceeded = 9
)

type scriptRequest struct {
	Scope
	Name     string  `json:"task_name"`
	Content  string  `json:"script_content"`
	Param    string  `json:"script_param"`
	Language int     `json:"script_language"`
	Timeout  int     `json:"timeout"`
	Account  string  `json:"account_alias"`
	Target   servers `json:"target_server"`
}

type servers struct {
	IPList []address `json:"ip_list"`
}

// instance is `data` of the answer that accepts a script. Its numbers are sent back unchanged.
type instance struct {
	Job  json.Number `json:"job_instance_id"`
	Step json.Number `json:"step_instance_id"`
}

// LogValue returns what is logged of an instance.
func (i *instance) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task_id", i.Job.String()))
}

type statusQuery struct {
	Scope
	Job      json.Number `json:"job_instance_id"`
	EachHost bool        `json:"return_ip_result"`
}

type logQuery struct {
	Scope
	instance
	IPList []address `json:"ip_list"`
}

// hostRow is a host in an answer. It says how the script ended there, or what it printed.
type hostRow struct {
	CloudID  procapi.Number `json:"bk_cloud_id"`
	IP       procapi.Text   `json:"ip"`
	Status   procapi.Number `json:"status"`
	ExitCode procapi.Number `json:"exit_code"`
	Code     procapi.Code   `json:"error_code"`
	Log      procapi.Text   `json:"log_content"`
}

type scriptStatus struct {
	Finished procapi.Flag `json:"finished"`
	Steps    procapi.Many[struct {
		Hosts procapi.Many[hostRow] `json:"step_ip_result_list"`
	}] `json:"step_instance_list"`
}

type scriptLogs struct {
	Hosts procapi.Many[hostRow] `json:"script_task_logs"`
}

// Plain implements [bkapi.Plain] for the usual case, in which every log can be read.
func (l *scriptLogs) Plain() (form any, take func() bool) {
	var wire struct {
		Hosts []hostRow `json:"script_task_logs"`
	}
	return &wire, func() bool {
		l.Hosts = wire.Hosts
		return len(wire.Hosts) > 0
	}
}

// ReadHosted implements procapi.HostedReader.
func (f HostedFiles) ReadHosted(ctx context.Context, hosts []fleet.Host, windows bool) map[fleet.Host]hostedspec.Reading {
	addressed, other := split(hosts)
	readings := procapi.ReadHosted(ctx, f.Client.opts, slices.Chunk(addressed, f.Client.opts.MaxHosts), func(batch []fleet.Host) procapi.Script {
		run := &scriptRun{HostedFiles: f, printed: make(map[address]procapi.Text)}
		return procapi.Script{
			Send: func(ctx context.Context) (string, bkapi.Reply, error) { return run.send(ctx, batch, windows) },
			Look: run.look,
		}
	})
	maps.Copy(readings, procapi.Unread(meaningNoAgent).ReadHosted(ctx, other, windows))
	return readings
}

type scriptRun struct {
	HostedFiles
	started instance
	printed map[address]procapi.Text // incomplete logs, as last returned
}

// endpoint returns a private API, because the answers contain commands of other owners.
func (r *scriptRun) endpoint(name string) bkapi.API {
	api := r.Client.endpoint(name, true)
	api.Private = true
	return api
}

func (r *scriptRun) send(ctx context.Context, hosts []fleet.Host, windows bool) (string, bkapi.Reply, error) {
	run, language := r.Source.On(windows), languageShell
	if windows {
		language = languagePowerShell
	}
	reply, err := r.Client.api.Call(ctx, r.endpoint(apiRunScript), scriptRequest{
		Scope: r.Scope, Name: "terraform: " + run.Name, Language: language, Timeout: scriptSeconds, Account: run.Account,
		Content: base64.StdEncoding.EncodeToString([]byte(run.Script)), Param: base64.StdEncoding.EncodeToString([]byte(run.Path)),
		Target: servers{addressesOf(hosts)},
	}, &r.started)
	return r.started.Job.String(), reply, err
}

func (r *scriptRun) look(ctx context.Context, _ string, hosts []fleet.Host) (map[fleet.Host]hostedspec.Reading, error) {
	var status scriptStatus
	readings := make(map[fleet.Host]hostedspec.Reading)
	reply, err := r.Client.api.Call(ctx, r.endpoint(apiScriptStatus), statusQuery{r.Scope, r.started.Job, true}, &status)
	if err != nil {
		return readings, err
	}
	var rows []hostRow
	for _, step := range status.Steps {
		rows = append(rows, step.Hosts...)
	}
	byAddress, succeeded := rowsOf(rows), []fleet.Host{}
	for _, h := range hosts {
		row, found := byAddress[addressOf(h)]
		switch state := row.Status.Int(); {
		case found && state == hostSucceeded:
			succeeded = append(succeeded, h)
		case found && (state == hostWaiting || state == hostRunning), !found && !status.Finished.Value:
		case found && state == hostAway:
			readings[h] = r.Client.opts.Refused(procapi.CodeAgentAbnormal, "", reply.RequestID)
		default:
			readings[h] = hostedspec.Reading{
				Why:  fmt.Sprintf("JOB did not run the script to its end (status %d, exit code %d, code %d)", state, row.ExitCode.Int(), row.Code.Value),
				Call: "request id " + reply.RequestID,
			}
		}
	}
	for batch := range slices.Chunk(succeeded, maxLogs) {
		var logs scriptLogs
		if _, err := r.Client.api.Call(ctx, r.endpoint(apiScriptLog), logQuery{r.Scope, r.started, addressesOf(batch)}, &logs); err != nil {
			return readings, err
		}
		printed := rowsOf(logs.Hosts)
		for _, h := range batch {
			at := addressOf(h)
			if log := printed[at].Log; log != "" && (hostedspec.Whole(string(log)) || r.printed[at] == log) {
				readings[h] = hostedspec.Parse(string(log))
			} else {
				r.printed[at] = log // logs may lag behind the script's status, and be returned in parts
			}
		}
	}
	return readings, nil
}

func addressesOf(hosts []fleet.Host) []address {
	list := make([]address, len(hosts))
	for i, h := range hosts {
		list[i] = addressOf(h)
	}
	return list
}

func addressOf(h fleet.Host) address { return address{CloudID: h.CloudID(), IP: h.IP().String()} }

func rowsOf(rows []hostRow) map[address]hostRow {
	byAddress := make(map[address]hostRow, len(rows))
	for _, row := range rows {
		byAddress[address{CloudID: int(row.CloudID.Int()), IP: string(row.IP)}] = row
	}
	return byAddress
}
