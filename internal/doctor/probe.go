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
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// Trial is the input of Probe.
type Trial struct {
	Host fleet.Host
	// Other is another name of the same machine, for platforms that do not return it.
	Other *fleet.Host
	// Namespace is an unused namespace.
	Namespace string
	User      string
	// Business is the host's business, which JOB requires; with 0, JOB is not checked.
	Business int64
	// Watch is how long Probe waits for an agent to start what it hosts, Patience for the cached status to
	// show a change.
	Watch, Patience time.Duration
}

// errLeft reports that the removal of the scratch process was not confirmed.
var errLeft = errors.New("the scratch process may be left")

// cleanup is how long the removal of the scratch process may take, without the wait for the cached status.
const cleanup = 5 * time.Minute

// apart is the pause between two registrations, so that their times are not in the same second.
const apart = 2 * time.Second

// Probe checks the beliefs of a face with one scratch process, and always removes it. It returns an error if
// it could not begin, was interrupted, or could not confirm the removal.
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

// scratchName returns an unused name.
func scratchName() string {
	random := make([]byte, 6)
	_, _ = rand.Read(random)
	return "bk-doctor-" + hex.EncodeToString(random)
}

// probe is one run of Probe.
type probe struct {
	*scratch

	trial   Trial
	report  *Report
	answers map[string]string
	timed   bool // the agent reports times
}

// settle records the answer to a belief, once.
func (r *probe) settle(id, value, found string) { r.put(settled(id, value, found)) }

// cannot records why beliefs cannot be checked.
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

// yesNo returns the value of a switch.
func yesNo(yes bool) string {
	if yes {
		return belief.Yes
	}
	return belief.No
}

// code returns the value of a code.
func code(got result) string { return strconv.FormatInt(got.Code, 10) }

// face returns the face of the probe.
func (r *probe) face() belief.Face { return belief.Face(r.p.Gateway) }

// mayBegin rejects a namespace that is not empty, and a host whose agent does not answer.
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
	if _, err := r.row(ctx, r.host); err != nil {
		return fmt.Errorf("nothing was done, because the cached status cannot be read: %w", err)
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

// aside checks the beliefs that need no process.
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
		r.cannot("a wrong secret was accepted", "unverified-status-400")
	default:
		r.cannot(err.Error(), "unverified-status-400")
	}
}

// onScratch runs the checks with the process, and removes it.
func (r *probe) onScratch(ctx context.Context) (err error) {
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup+r.trial.Patience)
		defer cancel()
		left := r.remove(bounded)
		if left == nil {
			left = r.forgotten(bounded, r.trial.Patience)
		}
		if left != nil {
			err = errors.Join(err, fmt.Errorf("%w: %s:%s on %s: %w; stop, unhost and unregister it there; while it is hosted, it does not end by itself",
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
			// The beliefs of this step have no answer. The next step starts afresh.
			r.trouble(err)
		}
	}
	return nil
}

// trouble adds a line about a step that did not complete.
func (r *probe) trouble(err error) {
	r.report.add(Line{ID: "trouble", What: "a step ended early", State: Found, Found: err.Error(), Next: "See bk-doctor check for permissions. After a start that failed, a process sleep may run on the host for half an hour."})
}

// unexpected returns the error of a call that must succeed for a step to continue.
func unexpected(what string, got result, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case got.Code != procapi.CodeOK:
		return fmt.Errorf("%s: %s", what, got.said())
	}
	return nil
}

// rest records why all other beliefs have no answer.
func (r *probe) rest() {
	r.put(r.renamedResults())
	r.progress()
	for _, b := range belief.All() {
		why := "the step that settles it ended early"
		switch {
		case b.Settled == belief.SettledByNothing:
			why = b.WhyUnsettled.English
		case !b.On(r.face()) && !b.On(belief.JOB) && !b.On(belief.CMDB):
			continue // it does not apply here
		}
		r.cannot(why, b.ID)
	}
}

// progress reports the observed codes of operations in progress, on which the provider relies.
func (r *probe) progress() {
	l := Line{ID: "in-progress", What: "what is in progress", State: Undetermined, Found: "every result was there at once"}
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
