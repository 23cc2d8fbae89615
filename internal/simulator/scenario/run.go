package scenario

import (
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator/control"
	"github.com/blueking/terraform-provider-bk/internal/simulator/record"
)

// Run carries out the steps of a scenario, each when it is due. A nil Run has none.
type Run struct {
	scenario *Scenario
	by       control.Endpoint
	log      io.Writer

	mu     sync.Mutex
	next   int
	seen   int // calls that the next step waits for
	timer  *time.Timer
	faults map[string]int // numbers by name
	ended  bool
}

// NewRun begins a scenario. It writes its steps to log, if that is not nil.
func NewRun(s *Scenario, by control.Endpoint, log io.Writer) *Run {
	if log == nil {
		log = io.Discard
	}
	r := &Run{scenario: s, by: by, log: log, faults: make(map[string]int)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.goOn()
	return r
}

// Saw counts a call that was carried out and is not answered yet.
func (r *Run) Saw(call record.Call) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.next == len(r.scenario.Steps) || r.timer != nil {
		return
	}
	when := r.scenario.Steps[r.next].When
	if when == nil || !when.matches(call) {
		return
	}
	if r.seen++; r.seen >= max(when.Calls, 1) {
		r.await()
	}
}

func (w *When) matches(call record.Call) bool {
	named, err := path.Match(w.API, call.API)
	return (w.API == "" || named && err == nil) && (w.Op == nil || *w.Op == call.Op) &&
		(w.Namespace == "" || w.Namespace == call.Namespace) && (w.Name == "" || w.Name == call.Name)
}

// goOn prepares the next step. One without When waits only for its time.
func (r *Run) goOn() {
	r.seen = 0
	if r.next < len(r.scenario.Steps) && r.scenario.Steps[r.next].When == nil {
		r.await()
	}
}

// await carries out the next step after its time.
func (r *Run) await() {
	step, number := r.scenario.Steps[r.next], r.next
	if step.After == 0 {
		r.do()
		return
	}
	r.timer = time.AfterFunc(time.Duration(step.After), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.ended && r.next == number {
			r.do()
		}
	})
}

// do carries out the next step now.
func (r *Run) do() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	step := r.scenario.Steps[r.next]
	r.next++
	what := step.Say
	if err := r.perform(step); err != nil {
		what += ": " + err.Error()
	}
	_, _ = fmt.Fprintf(r.log, "scenario: %d of %d: %s\n", r.next, len(r.scenario.Steps), what)
	r.goOn()
}

func (r *Run) perform(step Step) error {
	switch {
	case step.Fault != nil:
		id, err := r.by.Faults.Inject(*step.Fault)
		r.faults[step.Name] = id
		return err
	case step.End != "":
		r.by.Faults.Remove(r.faults[step.End])
		return nil
	case step.Act != nil:
		return r.by.Act(*step.Act)
	case step.Status != nil:
		r.by.Bend(*step.Status)
		return nil
	default:
		return r.by.CMDB.Apply(*step.CMDB)
	}
}

// Next carries out the next step now, without waiting for its condition.
func (r *Run) Next() error {
	if r == nil {
		return errors.New("no scenario is played; start the simulator with -scenario")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.next == len(r.scenario.Steps) {
		return errors.New("the scenario is over")
	}
	r.do()
	return nil
}

// Progress returns the steps and how many are done.
func (r *Run) Progress() control.Progress {
	if r == nil {
		return control.Progress{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	progress := control.Progress{Title: r.scenario.Title, Teaches: r.scenario.Teaches, Done: r.next}
	for _, step := range r.scenario.Steps {
		progress.Steps = append(progress.Steps, step.Say)
	}
	return progress
}

// Close ends the scenario.
func (r *Run) Close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	if r.timer != nil {
		r.timer.Stop()
	}
}
