package doctor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// Trial is what Probe works on.
type Trial struct {
	Host fleet.Host
	// Other is another name of the same machine, where the platform tells none.
	Other *fleet.Host
	// Namespace is one that nobody uses.
	Namespace string
	User      string
	// Business is that of the host, which JOB wants to know; 0 asks JOB nothing.
	Business int64
	// Watch is how long an agent is watched that may start what it hosts. Patience is how long the
	// cached status is waited for.
	Watch, Patience time.Duration
}

// errLeft says that something was not seen to be gone.
var errLeft = errors.New("the scratch process may be left")

// cleanup is how long it may take to remove the scratch process.
const cleanup = 5 * time.Minute

// apart is how long two registrations are apart, so that their times are not the same second.
const apart = 2 * time.Second

// Probe settles the beliefs of a face on one scratch process, and removes it whatever happens.
// An error says that it could not begin, that it was interrupted, or that something is left.
func (p *Platform) Probe(ctx context.Context, t Trial, report *Report) (belief.Profile, error) {
	name := scratchName()
	run := &probe{
		scratch: &scratch{
			p: p, host: t.Host, spec: scratchSpec(name, t.User),
			meta: gse.Meta{Namespace: t.Namespace, Name: name},
		},
		trial: t, report: report, answers: make(map[string]string),
	}
	if err := run.mayBegin(ctx); err != nil {
		return belief.Profile{}, err
	}
	run.aside(ctx)
	err := run.onScratch(ctx)
	if err == nil {
		err = run.onJOB(ctx)
	}
	switch {
	case ctx.Err() != nil && errors.Is(err, errLeft):
		err = fmt.Errorf("interrupted: %w", err)
	case ctx.Err() != nil:
		err = errors.New("interrupted: the scratch process was removed, and no profile is written")
	}
	if err != nil {
		return belief.Profile{}, err
	}
	run.rest()
	return belief.Profile{Answers: run.answers}, nil
}

// scratchName is a name that nobody has.
func scratchName() string {
	random := make([]byte, 6)
	_, _ = rand.Read(random)
	return "bk-doctor-" + hex.EncodeToString(random)
}

// probe is one run.
type probe struct {
	*scratch

	trial   Trial
	report  *Report
	answers map[string]string
	timed   bool // the agent tells times
}

// settle answers a belief, once.
func (r *probe) settle(id, value, found string) { r.put(settled(id, value, found)) }

// cannot says of beliefs why they cannot be told.
func (r *probe) cannot(why string, ids ...string) {
	for _, id := range ids {
		r.put(unsettled(id, why))
	}
}

func (r *probe) put(l Line) {
	if _, answered := r.answers[l.ID]; answered {
		return
	}
	r.answers[l.ID] = l.Value
	r.report.add(l)
}

// yesNo is the value of what a switch is about.
func yesNo(yes bool) string {
	if yes {
		return belief.Yes
	}
	return belief.No
}

// code is the value of a code.
func code(got result) string { return strconv.FormatInt(got.Code, 10) }

// face is where the questions arise.
func (r *probe) face() belief.Face { return belief.Face(r.p.Gateway) }

// mayBegin refuses a namespace with anything in it, and a host whose agent does not answer.
func (r *probe) mayBegin(ctx context.Context) error {
	if r.p.Gateway == bkapi.ESB && r.host.AgentID() != "" {
		return errors.New("the ESB knows hosts by address: give -host as cloud:ip")
	}
	rows, count, err := r.p.list(ctx, r.meta.Namespace)
	switch {
	case err != nil:
		return fmt.Errorf("nothing was done, because the namespace cannot be listed: %w", err)
	case len(rows) > 0 || count > 0:
		return fmt.Errorf("nothing was done, because namespace %q is in use: it has %d registrations; give the name of one that nobody uses", r.meta.Namespace, max(count, int64(len(rows))))
	}
	status, err := r.live(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("nothing was done: %w", err)
	case !gone(status):
		return fmt.Errorf("nothing was done, because the agent has a process %s already", r.meta.Name)
	}
	return nil
}

// aside settles what takes no process.
func (r *probe) aside(ctx context.Context) {
	quiet := &Report{}
	if r.p.enter(ctx, quiet) {
		r.p.checkJOB(ctx, quiet)
		r.p.checkCMDB(ctx, Questions{Business: r.trial.Business}, quiet)
	}
	for _, l := range quiet.Lines {
		if l.Value != "" {
			r.put(l)
		}
	}
	if r.p.Gateway != bkapi.APIGW {
		return
	}
	_, err := r.p.Stranger.Call(ctx, r.p.gseAPI("get_proc_operate_result_v2", true), map[string]any{"task_id": noTask}, nil)
	failure := (*bkapi.Error)(nil)
	switch {
	case errors.As(err, &failure) && failure.Status == http.StatusUnauthorized:
		r.settle("unverified-status-400", belief.No, "a wrong secret has status 401")
	case errors.As(err, &failure) && failure.Status == http.StatusBadRequest:
		r.settle("unverified-status-400", belief.Yes, "a wrong secret has status 400")
	case err == nil:
		r.cannot("a wrong secret was let in", "unverified-status-400")
	default:
		r.cannot(err.Error(), "unverified-status-400")
	}
}

// onScratch works on the process, and removes it.
func (r *probe) onScratch(ctx context.Context) (err error) {
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		if left := r.remove(bounded); left != nil {
			err = errors.Join(err, fmt.Errorf("%w: %s:%s on %s: %w; stop, unhost and unregister it there; it ends by itself within half an hour",
				errLeft, r.meta.Namespace, r.meta.Name, r.host.Address(), left))
		}
	}()
	steps := []func(context.Context) error{r.hosting, r.starting, r.restarting, r.stopping, r.killing, r.onceOnly}
	if r.p.Gateway == bkapi.ESB {
		steps = append([]func(context.Context) error{r.registering}, steps...)
	}
	for _, step := range steps {
		if err := step(ctx); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			// What this step was to settle stays untold; the next one begins anew.
			r.trouble(err)
		}
	}
	return nil
}

// trouble is a line about a step that did not come to its end.
func (r *probe) trouble(err error) {
	r.report.add(Line{ID: "trouble", What: "a step ended early", State: Found, Found: err.Error(), Next: "See bk-doctor check for permissions. After a start that failed, a process sleep may run on the host for half an hour."})
}

// unexpected is the error of a call that a step cannot go on without.
func unexpected(what string, got result, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case got.Code != procapi.CodeOK:
		return fmt.Errorf("%s: %s", what, got.said())
	}
	return nil
}

// registers registers the process anew, by the way that the face has.
func (r *probe) registers(ctx context.Context) error {
	if r.p.Gateway == bkapi.APIGW {
		got, err := r.operate(ctx, opHost)
		return unexpected("hosting", got, err)
	}
	got, err := r.registration(ctx, "register_proc_info", 0)
	return unexpected("register_proc_info", got, err)
}

// unregisters takes the registration away.
func (r *probe) unregisters(ctx context.Context, supplier int) (result, error) {
	if r.p.Gateway == bkapi.APIGW {
		return r.operate(ctx, opUnhost)
	}
	return r.registration(ctx, "unregister_proc_info", supplier)
}

// registering is what the ESB's own calls do.
func (r *probe) registering(ctx context.Context) error {
	r.labelled("registered")
	got, err := r.registration(ctx, "update_proc_info", 0)
	if err != nil {
		return fmt.Errorf("update_proc_info: %w", err)
	}
	r.settle("update-refuses", yesNo(got.Code != procapi.CodeOK), got.said())
	if got.Code == procapi.CodeOK {
		if _, err := r.unregisters(ctx, 0); err != nil {
			return fmt.Errorf("unregister_proc_info: %w", err)
		}
	}
	if err := r.registers(ctx); err != nil {
		return err
	}
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	r.times(before)
	r.settle("register-hosts", yesNo(before.Hosted), fmt.Sprintf("hosted after register_proc_info: %t", before.Hosted))
	if got, err = r.registration(ctx, "register_proc_info", 0); err != nil {
		return fmt.Errorf("register_proc_info: %w", err)
	}
	r.settle("second-register", code(got), got.said())
	err = r.renewing(ctx, "reregistering-keeps-time", before, func() (result, error) { return r.registration(ctx, "update_proc_info", 0) })
	if err != nil {
		return err
	}
	return r.suppliers(ctx)
}

// times is the belief about agents' times, by what they say of a process that was registered.
func (r *probe) times(after fleet.Status) {
	r.timed = after.RegisterTime > 0
	r.settle("agents-without-times", yesNo(!r.timed), fmt.Sprintf("register_time of a registered process: %d", after.RegisterTime))
}

// renewing is whether a call renews the agent's time.
func (r *probe) renewing(ctx context.Context, id string, before fleet.Status, call func() (result, error)) error {
	if err := r.p.pause(ctx, apart); err != nil {
		return err
	}
	got, err := call()
	if err = unexpected(id, got, err); err != nil {
		return err
	}
	return r.renewed(ctx, id, before)
}

// renewed compares the agent's time with that of before.
func (r *probe) renewed(ctx context.Context, id string, before fleet.Status) error {
	after, err := r.live(ctx)
	switch {
	case err != nil:
		return err
	case before.RegisterTime == 0 || after.RegisterTime == 0:
		r.cannot("the agent tells no times", id)
	default:
		r.settle(id, yesNo(after.RegisterTime == before.RegisterTime), fmt.Sprintf("register_time moved by %d s", after.RegisterTime-before.RegisterTime))
	}
	return nil
}

// suppliers unregisters by another supplier id, by the right one, and once more.
func (r *probe) suppliers(ctx context.Context) error {
	var codes [3]result
	for i := range codes {
		supplier := 0
		if i == 0 {
			supplier = 1
		}
		var err error
		if codes[i], err = r.unregisters(ctx, supplier); err != nil {
			return fmt.Errorf("unregister_proc_info: %w", err)
		}
	}
	found := fmt.Sprintf("with another supplier id %s; then with its own %s", codes[0].said(), codes[1].said())
	switch first, second := codes[0].Code == procapi.CodeOK, codes[1].Code == procapi.CodeOK; {
	case first != second:
		r.settle("suppliers-apart", yesNo(second), found)
	default:
		r.cannot(found, "suppliers-apart")
	}
	r.settle("second-unregister", code(codes[2]), codes[2].said())
	return nil
}

// hosting is what hosting does to a process that does not run.
func (r *probe) hosting(ctx context.Context) error {
	r.labelled("registered")
	if err := r.calm(ctx); err != nil {
		return err
	}
	if r.p.Gateway == bkapi.ESB {
		if err := r.registers(ctx); err != nil {
			return err
		}
	}
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	if err := r.p.pause(ctx, apart); err != nil {
		return err
	}
	got, err := r.operate(ctx, opHost)
	if err = unexpected("hosting", got, err); err != nil {
		return err
	}
	after, err := r.live(ctx)
	if err != nil {
		return err
	}
	if r.p.Gateway == bkapi.APIGW {
		r.times(after)
		r.settle("hosting-silent", yesNo(got.silent()), map[bool]string{true: "its content is empty", false: "it has a content"}[got.silent()])
		if err := r.hostingAgain(ctx, after); err != nil {
			return err
		}
	} else if err := r.renewed(ctx, "hosting-keeps-time", before); err != nil {
		return err
	}
	if err := r.watch(ctx); err != nil {
		return err
	}
	return r.unhosting(ctx)
}

// hostingAgain hosts what is hosted, which registers it again at the gateway.
func (r *probe) hostingAgain(ctx context.Context, before fleet.Status) error {
	if err := r.p.pause(ctx, apart); err != nil {
		return err
	}
	got, err := r.operate(ctx, opHost)
	switch {
	case err != nil:
		return fmt.Errorf("hosting again: %w", err)
	case got.Code == procapi.CodeRegistered:
		r.settle("hosting-once", belief.Yes, got.said())
		r.cannot("hosting again is refused", "reregistering-keeps-time")
	case got.Code == procapi.CodeOK:
		r.settle("hosting-once", belief.No, got.said())
		return r.renewed(ctx, "reregistering-keeps-time", before)
	default:
		r.cannot("hosting again has "+got.said(), "hosting-once", "reregistering-keeps-time")
	}
	return nil
}

// watch looks whether the agent starts what it hosts.
func (r *probe) watch(ctx context.Context) error {
	end := r.p.Clock.Now().Add(r.trial.Watch)
	for {
		status, err := r.live(ctx)
		switch {
		case err != nil:
			return err
		case status.State == fleet.Running:
			r.settle("hosting-starts", belief.Yes, "the agent started it")
			return nil
		case !r.p.Clock.Now().Before(end):
			r.settle("hosting-starts", belief.No, fmt.Sprintf("it was not started within %s", r.trial.Watch))
			return nil
		}
		if err := r.p.pause(ctx, min(5*time.Second, r.trial.Watch)); err != nil {
			return err
		}
	}
}

// unhosting unregisters what is hosted.
func (r *probe) unhosting(ctx context.Context) error {
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	got, err := r.unregisters(ctx, 0)
	if err = unexpected("unregistering", got, err); err != nil {
		return err
	}
	after, err := r.live(ctx)
	if err != nil {
		return err
	}
	if before.Hosted {
		r.settle("unregister-keeps-hosting", yesNo(after.Hosted), fmt.Sprintf("hosted after unregistering: %t", after.Hosted))
	}
	if got, err = r.unregisters(ctx, 0); err != nil {
		return fmt.Errorf("unregistering: %w", err)
	}
	r.settle("second-unregister", code(got), got.said())
	return nil
}

// calm has the process neither run nor be hosted, whether it is registered or not.
func (r *probe) calm(ctx context.Context) error {
	for range 3 {
		status, err := r.live(ctx)
		switch {
		case err != nil:
			return err
		case status.State == fleet.Running:
			got, err := r.operate(ctx, opStop)
			if err = unexpected("stop", got, err); err != nil {
				return err
			}
		case status.Hosted && r.p.Gateway == bkapi.ESB: // at the gateway that would unregister it
			got, err := r.operate(ctx, opUnhost)
			if err = unexpected("unhosting", got, err); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return errors.New("the process does not stay stopped")
}

// starting is what a start does to a process that is registered and does not run.
func (r *probe) starting(ctx context.Context) error {
	r.labelled("registered")
	if err := r.calm(ctx); err != nil {
		return err
	}
	if err := r.registers(ctx); err != nil {
		return err
	}
	if r.p.Gateway == bkapi.ESB {
		if err := r.calm(ctx); err != nil {
			return err
		}
	}
	if r.timed { // a second apart, which is time enough to be started by an agent that does
		if err := r.p.pause(ctx, apart); err != nil {
			return err
		}
	}
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	if before.State == fleet.Running {
		if err := r.calm(ctx); err != nil {
			return err
		}
		if before, err = r.live(ctx); err != nil {
			return err
		}
	}
	r.labelled("started")
	got, err := r.operate(ctx, opStart)
	if err = unexpected("start", got, err); err != nil {
		return err
	}
	registered := r.p.Gateway == bkapi.ESB || before.RegisterTime > 0 || !r.timed && before.Hosted
	return r.started(ctx, before, registered)
}

// started is what there is after a start. registered says that the process was registered before.
func (r *probe) started(ctx context.Context, before fleet.Status, registered bool) error {
	began := r.p.Clock.Now()
	after, err := r.live(ctx)
	if err != nil {
		return err
	}
	r.hosts(before, after)
	if err := r.renewed(ctx, "starting-keeps-time", before); err != nil {
		return err
	}
	got, err := r.operate(ctx, opStart)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	r.settle("second-start", code(got), got.said())

	row, err := r.freshRow(ctx, began)
	if err != nil || row == nil {
		return err
	}
	r.labels(*row, registered)
	if r.p.Gateway == bkapi.APIGW {
		r.names(*row)
		return r.otherName(ctx)
	}
	return nil
}

// hosts is whether a start hosted a process that was not hosted before.
func (r *probe) hosts(before, after fleet.Status) {
	if !before.Hosted {
		r.settle("start-keeps-unhosted", yesNo(!after.Hosted), fmt.Sprintf("hosted after a start: %t", after.Hosted))
	}
}

// freshRow waits until the cached status shows the process as it runs now.
func (r *probe) freshRow(ctx context.Context, began time.Time) (*rawRow, error) {
	for {
		status, err := r.live(ctx)
		if err != nil {
			return nil, err
		}
		row, err := r.row(ctx, r.host)
		took := r.p.Clock.Now().Sub(began)
		switch {
		case err != nil:
			return nil, fmt.Errorf("get_proc_status_v2: %w", err)
		case row != nil && row.PID.Known && row.PID.Int() == status.PID:
			r.settle("status-lag", took.Round(time.Second).String(), fmt.Sprintf("it showed a start after %s", took.Round(time.Second)))
			return row, nil
		case took > r.trial.Patience:
			r.cannot(fmt.Sprintf("the cached status did not show a start within %s", r.trial.Patience),
				"status-lag", "start-replaces", "labels-added", "rows-without-labels", "rows-without-host", "rows-without-agent-id", "entry-per-name")
			return nil, nil //nolint:nilnil // there is none
		}
		if err := r.p.pause(ctx, 5*time.Second); err != nil {
			return nil, err
		}
	}
}

// labels are what a row says of a start that had other labels than the registration.
func (r *probe) labels(row rawRow, registered bool) {
	added := slices.DeleteFunc(slices.Collect(maps.Keys(row.Meta.Labels)), func(name string) bool { return name == ownLabel })
	r.settle("labels-added", yesNo(len(added) > 0), fmt.Sprintf("a row has %d labels that nobody declared", len(added)))
	value, there := row.Meta.Labels[ownLabel]
	r.settle("rows-without-labels", yesNo(!there), fmt.Sprintf("a row has the label that was registered: %t", there))
	switch {
	case !registered:
		r.cannot("the process was not registered when it was started", "start-replaces")
	case len(row.Meta.Labels) == 0 && !there:
		r.cannot("the row has no labels", "start-replaces")
	default:
		r.settle("start-replaces", yesNo(value != "registered"), fmt.Sprintf("after a start with other labels, the row has those of the registration: %t", there && value == "registered"))
	}
}

// names are which names a row of the gateway has for its host.
func (r *probe) names(row rawRow) {
	switch {
	case row.Host == nil:
		r.settle("rows-without-host", belief.Yes, "it has no host")
	case row.Host.IP != "":
		r.settle("rows-without-host", belief.No, "it has host.ip")
	default:
		r.cannot("its host.ip is empty, which may be because the host has no address there", "rows-without-host")
	}
	switch {
	case row.AgentID == nil:
		r.settle("rows-without-agent-id", belief.Yes, "it has no bk_agent_id")
	case *row.AgentID != "":
		r.settle("rows-without-agent-id", belief.No, "it has bk_agent_id")
	default:
		r.cannot("its bk_agent_id is empty, which may be because the host has none", "rows-without-agent-id")
	}
}

// otherName looks for the registration under the other name of the machine.
func (r *probe) otherName(ctx context.Context) error {
	other := r.trial.Other
	if other == nil {
		named, err := r.p.GSE.Process(r.meta, r.spec).OtherNames(ctx, []fleet.Host{r.host})
		if err != nil {
			return fmt.Errorf("the other name of %s: %w", r.host.Address(), err)
		}
		if id, known := named[r.host]; known {
			host := r.host.Named(id)
			other = &host
		}
	}
	if other == nil {
		r.cannot("the platform tells no other name of the host; give it with -also", "entry-per-name")
		return nil
	}
	row, err := r.row(ctx, *other)
	if err != nil {
		return fmt.Errorf("get_proc_status_v2 by the other name: %w", err)
	}
	r.settle("entry-per-name", yesNo(row == nil), fmt.Sprintf("there is a row by the other name: %t", row != nil))
	return nil
}

// restarting is what a restart does to a process that runs and is not hosted.
func (r *probe) restarting(ctx context.Context) error {
	if err := r.runs(ctx); err != nil {
		return err
	}
	got, err := r.operate(ctx, opUnhost)
	if err = unexpected("unhosting", got, err); err != nil {
		return err
	}
	before, err := r.live(ctx)
	switch {
	case err != nil:
		return err
	case before.Hosted || before.State != fleet.Running:
		return errors.New("the process is hosted after it was unhosted, or does not run")
	}
	got, err = r.operate(ctx, opRestart)
	if err = unexpected("restart", got, err); err != nil {
		return err
	}
	after, err := r.live(ctx)
	if err != nil {
		return err
	}
	r.settle("restart-keeps-hosting", yesNo(!after.Hosted), fmt.Sprintf("hosted after a restart: %t", after.Hosted))
	return nil
}

// runs has the process run and be hosted.
func (r *probe) runs(ctx context.Context) error {
	status, err := r.live(ctx)
	if err != nil {
		return err
	}
	if status.State != fleet.Running {
		got, err := r.operate(ctx, opStart)
		if err = unexpected("start", got, err); err != nil {
			return err
		}
	}
	if status.Hosted {
		return nil
	}
	got, err := r.operate(ctx, opHost)
	if err == nil && got.Code == procapi.CodeRegistered { // it was hosted by the start
		return nil
	}
	return unexpected("hosting", got, err)
}

// stopping is what a stop does to a process that runs and is hosted.
func (r *probe) stopping(ctx context.Context) error {
	if err := r.runs(ctx); err != nil {
		return err
	}
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	got, err := r.operate(ctx, opStop)
	if err = unexpected("stop", got, err); err != nil {
		return err
	}
	after, err := r.live(ctx)
	if err != nil {
		return err
	}
	if before.Hosted {
		r.settle("stop-keeps-hosting", yesNo(after.Hosted), fmt.Sprintf("hosted after a stop: %t", after.Hosted))
	}
	if got, err = r.operate(ctx, opStop); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	r.settle("second-stop", code(got), got.said())
	if _, answered := r.answers["start-keeps-unhosted"]; answered || after.Hosted {
		return nil
	}
	got, err = r.operate(ctx, opStart)
	if err = unexpected("start", got, err); err != nil {
		return err
	}
	again, err := r.live(ctx)
	if err == nil {
		r.hosts(after, again)
	}
	return err
}

// killing is what a kill does to a process that runs and is hosted.
func (r *probe) killing(ctx context.Context) error {
	if err := r.runs(ctx); err != nil {
		return err
	}
	before, err := r.live(ctx)
	if err != nil {
		return err
	}
	got, err := r.operate(ctx, opKill)
	if err = unexpected("kill", got, err); err != nil {
		return err
	}
	after, err := r.live(ctx)
	if err == nil && before.Hosted {
		r.settle("kill-keeps-hosting", yesNo(after.Hosted), fmt.Sprintf("hosted after a kill: %t", after.Hosted))
	}
	return err
}

// onceOnly starts a process that ends at once, as one of auto_type 2 does.
func (r *probe) onceOnly(ctx context.Context) error {
	if err := r.calm(ctx); err != nil {
		return err
	}
	resident := r.spec
	defer func() { r.spec = resident }()
	once := *resident
	once.MonitorPolicy.AutoType = gse.AutoOneShot
	once.Control.StartCmd = new("true")
	r.spec = &once
	got, err := r.operate(ctx, opStart)
	if err != nil {
		return fmt.Errorf("start of a one-shot process: %w", err)
	}
	r.settle("one-shot-start", code(got), got.said())
	return nil
}

// onJOB settles whether manage_proc registers, on a scratch process of JOB's.
func (r *probe) onJOB(ctx context.Context) (err error) {
	host := r.host
	if host.AgentID() != "" && r.trial.Other != nil {
		host = *r.trial.Other
	}
	switch {
	case r.p.JOB == nil:
		r.cannot("BK_JOB_ENDPOINT is not set", "manage-proc-bug")
	case r.answers["job-removed"] != belief.No:
		r.cannot("this platform's JOB has no process APIs", "manage-proc-bug")
	case r.trial.Business == 0:
		r.cannot("JOB wants to know the business of the host; give it with -biz", "manage-proc-bug")
	case host.AgentID() != "":
		r.cannot("JOB knows hosts by address; give it with -also", "manage-proc-bug")
	}
	if _, answered := r.answers["manage-proc-bug"]; answered {
		return nil
	}
	name, c := r.spec.Identity.PIDPath, r.spec.Control
	info := job.Info{
		ProcName: "sleep", ProcOwner: new(r.trial.User), SetupPath: r.spec.Identity.SetupPath, PIDPath: name, Account: new(r.trial.User), ValueKey: new(r.meta.Name),
		StartCmd: c.StartCmd, StopCmd: c.StopCmd, RestartCmd: c.RestartCmd, KillCmd: c.KillCmd, Type: new(int64(job.TypeResident)),
	}
	client := job.NewClient(r.p.JOB, job.Options{API: job.API(r.p.JOBAPI), Backoff: r.p.Backoff})
	scope, hosts := job.Scope{BizID: new(r.trial.Business)}, []fleet.Host{host}
	by := func(way job.Registration) *job.Process { return client.Process(scope, way, info) }
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		results := by(job.RegisterByOperate).Unregister(bounded, hosts)
		results.Merge(by(job.RegisterByOperate).Operate(bounded, fleet.Stop, results.Succeeded(hosts), nil))
		if o := results[host]; !o.OK() {
			err = errors.Join(err, fmt.Errorf("%w: %s of JOB on %s: %s %s; unhost and stop it there", errLeft, r.meta.Name, host.Address(), o.Meaning, o.Message))
		}
	}()
	limited, cancel := context.WithTimeout(ctx, taskPatience)
	defer cancel()
	o := by(job.RegisterByManage).Register(limited, hosts)[host]
	statuses, err := by(job.RegisterByManage).LiveStatus(limited, hosts)
	switch status := statuses[host]; {
	case err != nil:
		r.cannot(err.Error(), "manage-proc-bug")
	case !status.HostedKnown:
		r.cannot("the agent does not tell whether it hosts the process", "manage-proc-bug")
	case status.Hosted:
		r.settle("manage-proc-bug", belief.No, "hosted after manage_proc")
	case o.Err == nil:
		r.settle("manage-proc-bug", belief.Yes, strings.TrimSpace(fmt.Sprintf("not hosted after manage_proc: code %d %s", o.Code, o.Message)))
	default:
		r.cannot(o.Err.Error(), "manage-proc-bug")
	}
	return nil
}

// rest says of every other belief why it is not told.
func (r *probe) rest() {
	r.put(r.renamedResults())
	r.progress()
	for _, b := range belief.All() {
		why := "the step that settles it ended early"
		switch {
		case b.Settled == belief.SettledByNothing:
			why = b.Untold.English
		case !b.On(r.face()) && !b.On(belief.JOB) && !b.On(belief.CMDB):
			continue // it does not arise here
		}
		r.cannot(why, b.ID)
	}
}

// progress says what was seen of operations in progress, whose codes the provider goes by.
func (r *probe) progress() {
	l := Line{ID: "in-progress", What: "what is in progress", State: Untold, Found: "every result was there at once"}
	if len(r.pending) > 0 {
		l.State, l.Found = Well, ""
		for _, where := range slices.Sorted(maps.Keys(r.pending)) {
			l.Found += fmt.Sprintf("%s, %q; ", where, r.pending[where])
		}
		l.Found = strings.TrimSuffix(l.Found, "; ")
	}
	r.report.add(l)
}

func (r *probe) renamedResults() Line {
	switch {
	case !r.seen:
		return unsettled("results-renamed", "there were no results")
	case r.renamed:
		return settled("results-renamed", belief.Yes, "some named the host otherwise")
	}
	return settled("results-renamed", belief.No, "all named the host as the request did")
}
