package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// scratchSpec returns the spec of a process that sleeps for at most half an hour, and writes only its pid
// file. Paths are absolute, because no document says where commands run.
func scratchSpec(name, user string) *gse.Spec {
	pidFile := "/tmp/" + name + ".pid"
	start := "nohup sleep 1800 >/dev/null 2>&1 & echo $! >" + pidFile
	stop := "kill $(cat " + pidFile + "); rm -f " + pidFile
	return &gse.Spec{
		Identity: gse.Identity{ProcName: "sleep", SetupPath: "/tmp", PIDPath: pidFile, User: user},
		Control: gse.Control{
			StartCmd: new(start), StopCmd: new(stop), KillCmd: new(strings.Replace(stop, "kill", "kill -9", 1)),
			RestartCmd: new(stop + "; " + start), ReloadCmd: new("true"),
		},
		Resource:      &gse.Resource{CPU: 10, Mem: 10},
		MonitorPolicy: gse.MonitorPolicy{AutoType: gse.AutoResident, StartCheckSecs: new(int64(5))},
		OpTimeout:     new(int64(60)),
	}
}

// Op types of operate_proc_v2.
const (
	opStart   = 0
	opStop    = 1
	opHost    = 3
	opUnhost  = 4
	opRestart = 7
	opKill    = 9
)

// scratch is the doctor's own process on one host.
type scratch struct {
	p    *Platform
	meta gse.Meta
	host fleet.Host
	spec *gse.Spec

	// task is a task that may not have ended. lost reports that a response was lost.
	task string
	lost bool
	// renamed reports that a result named the host differently than the request.
	renamed bool
	// seen reports that there was a result.
	seen bool
	// pending are the messages about operations in progress, by API and code.
	pending map[string]string
}

// result is the platform's result for the host.
type result struct {
	procapi.HostResult
}

// silent reports whether a result has no content.
func (r result) silent() bool {
	text := strings.Trim(r.Content, "\" \n")
	return text == "" || text == "null"
}

// said returns the result as text.
func (r result) said() string { return fmt.Sprintf("code %d: %s", r.Code, r.Message) }

// registration makes a call of the ESB that returns its result directly, and repeats it while that is 115.
// supplier is added to the host's supplier id.
func (s *scratch) registration(ctx context.Context, api string, supplier int) (result, error) {
	body := map[string]any{
		"meta":  s.meta,
		"hosts": []map[string]any{{"ip": s.host.IP().String(), "bk_cloud_id": s.host.CloudID(), "bk_supplier_id": s.host.SupplierID() + supplier}},
	}
	if api != "unregister_proc_info" {
		body["spec"] = s.spec
	}
	var got result
	err := s.until(ctx, func(ctx context.Context) (bool, error) {
		var answers procapi.ResultMap
		err := s.send(ctx, s.p.gseAPI(api, true), body, &answers)
		return err == nil && s.find(answers, &got), err
	})
	s.lost = s.lost || ctx.Err() != nil // the call may be in progress
	return got, err
}

// send sends a request that may have an effect. An interrupt does not cancel it, because its effect must be
// known.
func (s *scratch) send(ctx context.Context, api bkapi.API, body, out any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), taskPatience)
	defer cancel()
	_, err := s.p.Raw.Call(sending, api, body, out)
	s.lost = s.lost || bkapi.MayHaveActed(err)
	return err
}

// operate sends an operation once, with the labels of meta, and waits for its result.
func (s *scratch) operate(ctx context.Context, op int) (result, error) {
	policy := struct {
		gse.MonitorPolicy

		OpTimeout *int64 `json:"op_timeout"`
	}{s.spec.MonitorPolicy, s.spec.OpTimeout}
	spec := map[string]any{"identity": s.spec.Identity, "control": s.spec.Control, "alive_monitor_policy": policy}
	if op == opHost || s.p.Gateway == bkapi.APIGW && (op == opStart || op == opRestart) {
		spec["resource"] = s.spec.Resource // as the provider sends them
	}
	request := map[string]any{"meta": s.meta, "op_type": op, "spec": spec}
	if id := s.host.AgentID(); id != "" {
		request["agent_id_list"] = []string{id}
	} else {
		request["hosts"] = []map[string]any{{"ip": s.host.IP().String(), "bk_cloud_id": s.host.CloudID()}}
	}
	hosting := op == opHost || op == opUnhost
	api, body := s.p.gseAPI("operate_proc_v2", hosting), request
	if hosting && s.p.Gateway == bkapi.APIGW {
		api, body = s.p.gseAPI("operate_proc_multi", true), map[string]any{"proc_operate_req": []any{request}}
	}
	var accepted struct {
		ID procapi.TaskID `json:"task_id"`
	}
	if err := s.send(ctx, api, body, &accepted); err != nil {
		return result{}, err
	}
	if accepted.ID == "" {
		s.lost = true
		return result{}, errors.New(api.Name + " named no task")
	}
	s.task = string(accepted.ID)
	got, err := s.result(ctx)
	if err == nil {
		s.task = ""
	}
	return got, err
}

// result waits for the result of the task.
func (s *scratch) result(ctx context.Context) (result, error) {
	var got result
	err := s.until(ctx, func(ctx context.Context) (bool, error) {
		var answers procapi.ResultMap
		_, err := s.p.Raw.Call(ctx, s.p.gseAPI("get_proc_operate_result_v2", true), map[string]any{"task_id": s.task}, &answers)
		if failure := (*bkapi.Error)(nil); errors.As(err, &failure) && failure.Code == procapi.CodeTaskQueued {
			s.inProgress(failure.API, failure.Code, failure.Message)
			return false, nil
		}
		return err == nil && s.find(answers, &got), err
	})
	return got, err
}

// taskPatience is how long a call or task may take: the command, the check after it, and a margin.
const taskPatience = 2 * time.Minute

func (s *scratch) until(ctx context.Context, check func(context.Context) (bool, error)) error {
	end := s.p.Clock.Now().Add(taskPatience)
	return poll.UntilBy(ctx, s.p.Clock, func(ctx context.Context) (time.Duration, bool, error) {
		done, err := check(ctx)
		if !done && err == nil && !s.p.Clock.Now().Before(end) {
			err = fmt.Errorf("there was no result within %s", taskPatience)
		}
		return time.Second, done, err
	})
}

// inProgress records a message about an operation in progress.
func (s *scratch) inProgress(where string, code int64, message string) {
	if s.pending == nil {
		s.pending = make(map[string]string)
	}
	s.pending[fmt.Sprintf("%s has code %d", where, code)] = message
}

// find sets got to the result of the process, and reports whether there is one other than 115.
func (s *scratch) find(answers procapi.ResultMap, got *result) bool {
	process := ":" + s.meta.Namespace + ":" + s.meta.Name
	for key, r := range answers {
		if !strings.HasSuffix(key, process) {
			continue
		}
		if r.Code == procapi.CodeInProgress {
			s.inProgress("a result", r.Code, s.p.Raw.Redact(r.Message))
			continue
		}
		name := strings.TrimSuffix(key, process)
		withSupplier := fmt.Sprintf("%d:%d:%s", s.host.CloudID(), s.host.SupplierID(), s.host.IP())
		s.seen = true
		if name != s.host.WithoutSupplier().Address() && name != withSupplier {
			s.renamed = s.renamed || s.p.Gateway == bkapi.APIGW
		}
		r.Message = s.p.Raw.Redact(r.Message)
		*got = result{r}
		return true
	}
	return false
}

// live queries the agent.
func (s *scratch) live(ctx context.Context) (fleet.Status, error) {
	limited, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	statuses, err := s.p.GSE.Process(s.meta, s.spec).LiveStatus(limited, []fleet.Host{s.host})
	status := statuses[s.host]
	if err == nil && status.State == fleet.Unknown {
		err = fmt.Errorf("the agent of %s reports no status: code %d: %s", s.host.Address(), status.Code, status.Message)
	}
	return status, err
}

// hostingUnknown is the reason if an agent's status has no isAuto.
const hostingUnknown = "the agent does not report whether it hosts the process"

// gone reports whether a status shows no trace of the process. An agent may leave out hosting and times.
func gone(s fleet.Status) bool { return s.State != fleet.Running && !s.Hosted && s.RegisterTime == 0 }

// rawRow is a row of the cached status, undecoded.
type rawRow struct {
	Meta struct {
		Name   procapi.Text  `json:"name"`
		Labels procapi.Texts `json:"labels"`
	} `json:"meta"`
	Host *struct {
		IP procapi.Text `json:"ip"`
	} `json:"host"`
	AgentID    *procapi.Text  `json:"bk_agent_id"`
	Status     procapi.Number `json:"status"`
	PID        procapi.Number `json:"pid"`
	ReportTime procapi.Number `json:"report_time"`
}

// unregistered reports whether a row, by its status 0, is what remains of an unregistered process.
func (r rawRow) unregistered() bool { return r.Status.Known && r.Status.Value == 0 }

type rawRows struct {
	Count procapi.Number `json:"count"`
	Rows  []rawRow       `json:"proc_infos"`
}

// row returns the cached status of the process under a name of its machine, nil if there is none.
func (s *scratch) row(ctx context.Context, host fleet.Host) (*rawRow, error) {
	body := map[string]any{"meta": map[string]any{"namespace": s.meta.Namespace, "name": s.meta.Name}}
	if id := host.AgentID(); id != "" {
		body["agent_id_list"] = []string{id}
	} else {
		body["hosts"] = []map[string]any{{"ip": host.IP().String(), "bk_cloud_id": host.CloudID()}}
	}
	var got rawRows
	if _, err := s.p.Raw.Call(ctx, s.p.gseAPI("get_proc_status_v2", true), body, &got); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(got.Rows, func(r rawRow) bool { return string(r.Meta.Name) == s.meta.Name })
	if i < 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	return &got.Rows[i], nil
}

// list returns the first page of a namespace, and the count of its rows.
func (p *Platform) list(ctx context.Context, namespace string) ([]rawRow, int64, error) {
	var got rawRows
	body := map[string]any{"meta": map[string]any{"namespace": namespace}, "page": map[string]any{"start": 0, "limit": 1000}}
	_, err := p.Raw.Call(ctx, p.gseAPI("sync_proc_status", true), body, &got)
	return got.Rows, got.Count.Int(), err
}

// labelled sets the process's own label.
func (s *scratch) labelled(value string) {
	s.meta.Labels = maps.Clone(s.meta.Labels)
	if s.meta.Labels == nil {
		s.meta.Labels = make(map[string]string)
	}
	s.meta.Labels[ownLabel] = value
}

// ownLabel is the name of the process's own label. Its value shows which call wrote the labels.
const ownLabel = "bk_doctor"

// late is how long after a request its effect may occur: op_timeout, the check after it, and a margin.
const late = 75 * time.Second

// remove removes the process, whatever state it is in, and checks that nothing is left.
func (s *scratch) remove(ctx context.Context) error {
	if s.task != "" {
		_, _ = s.result(ctx) // a task in progress would otherwise take effect afterwards
		s.task = ""
	}
	if s.lost {
		_ = s.p.pause(ctx, late)
	}
	var failed error
	for range 3 {
		failed = s.removeOnce(ctx)
		if failed == nil || ctx.Err() != nil {
			break
		}
		_ = s.p.pause(ctx, 5*time.Second)
	}
	return failed
}

func (s *scratch) removeOnce(ctx context.Context) error {
	status, err := s.live(ctx)
	// Unhost first, or the agent would restart the stopped process.
	got, failed := s.operate(ctx, opUnhost)
	unhosted := removed("unhosting", got, failed)
	err = errors.Join(err, unhosted)
	if err != nil || status.State == fleet.Running {
		if got, failed := s.operate(ctx, opStop); removed("stop", got, failed) != nil {
			_, killed := s.operate(ctx, opKill)
			err = errors.Join(err, failed, killed)
		}
	}
	if s.p.Gateway == bkapi.ESB {
		got, failed := s.registration(ctx, "unregister_proc_info", 0)
		if failed = removed("unregister_proc_info", got, failed); failed != nil {
			return errors.Join(err, failed)
		}
	}
	status, unseen := s.live(ctx)
	switch {
	case unseen != nil:
		return errors.Join(err, unseen)
	case !gone(status):
		left, _ := json.Marshal(map[string]any{"running": status.State == fleet.Running, "hosted": status.Hosted, "registered": status.RegisterTime > 0})
		return errors.Join(err, fmt.Errorf("the agent still has it: %s", left))
	case !status.HostedKnown && unhosted != nil:
		return fmt.Errorf("%s; %w", hostingUnknown, unhosted)
	}
	return nil
}

// removed returns the error of a step of the removal. It is no error if there was nothing to remove.
func removed(what string, got result, err error) error {
	if err == nil && got.Code == procapi.CodeNotRunning {
		return nil
	}
	return unexpected(what, got, err)
}

// forgotten waits until the cached status has no row of the process, or an unregistered one. This is needed
// because an agent may not report registrations.
func (s *scratch) forgotten(ctx context.Context, patience time.Duration) error {
	end := s.p.Clock.Now().Add(patience)
	for {
		row, err := s.row(ctx, s.host)
		switch {
		case err != nil:
			return err
		case row == nil, row.unregistered():
			return nil
		case !s.p.Clock.Now().Before(end):
			return fmt.Errorf("the cached status still has it after %s", patience)
		}
		if err := s.p.pause(ctx, 5*time.Second); err != nil {
			return err
		}
	}
}
