// Package control is the control endpoint, /_sim/, with which another process can inspect the simulator,
// change its answers and act as another user.
package control

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/record"
)

// Endpoint is the control endpoint. It gives another process the methods that a test in this process can
// call.
type Endpoint struct {
	Core   *core.GSE
	CMDB   *cmdb.CMDB
	Faults *fault.List
	Record *record.Book
	// Started is when the simulator started, Now its clock.
	Started time.Time
	Now     func() time.Time
	// Scenario is the scenario that runs.
	Scenario Scenario
}

// Scenario is a series of faults, step by step.
type Scenario interface {
	Progress() Progress
	// Next does the next step now, without waiting for its condition.
	Next() error
}

// Progress is the progress of a scenario.
type Progress struct {
	Title   string   `json:"title,omitempty"`
	Teaches string   `json:"teaches,omitempty"`
	Steps   []string `json:"steps,omitempty"` // in words
	Done    int      `json:"done"`
}

// ServeHTTP answers a request whose path begins with /_sim/.
func (e Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + strings.TrimSuffix(r.URL.Path, "/") {
	case "GET /_sim":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		curl := "curl -s "
		if _, _, given := r.BasicAuth(); given { // the commands need the credentials as well
			curl += `-u "$BK_APP_CODE:$BK_APP_SECRET" `
		}
		_, _ = strings.NewReplacer("$SIM", "http://"+r.Host, "curl -s ", curl, "ODD-FILES", strings.Join(core.OddFiles(), ", ")).WriteString(w, index)
	case "GET /_sim/stream":
		e.stream(w, r)
	case "GET /_sim/calls":
		if seq := r.URL.Query().Get("seq"); seq != "" {
			e.exchange(w, seq)
			return
		}
		writeJSON(w, map[string]any{"calls": e.Record.Calls(), "max_in_flight": e.Record.MaxInFlight()})
	case "DELETE /_sim/calls":
		e.Record.Reset()
		e.Core.ResetExecutions()
		writeJSON(w, struct{}{})
	case "GET /_sim/violations":
		writeJSON(w, map[string]any{"violations": append([]string{}, e.Record.Violations()...)})
	case "DELETE /_sim/violations":
		e.Record.ResetViolations()
		writeJSON(w, struct{}{})
	case "GET /_sim/processes":
		writeJSON(w, map[string]any{"processes": e.Core.Processes()})
	case "GET /_sim/machines":
		writeJSON(w, map[string]any{"machines": e.Core.Machines()})
	case "GET /_sim/proc_file":
		e.procFile(w, r)
	case "GET /_sim/executions":
		writeJSON(w, map[string]any{"executions": append([]core.Execution{}, e.Core.Executions()...)})
	case "GET /_sim/tasks":
		writeJSON(w, map[string]any{"tasks": e.Core.Tasks()})
	case "GET /_sim/faults":
		writeJSON(w, map[string]any{"faults": e.Faults.Active()})
	case "POST /_sim/faults":
		e.fault(w, r)
	case "DELETE /_sim/faults":
		e.clear(w, r)
	case "POST /_sim/act":
		e.act(w, r)
	case "GET /_sim/cmdb":
		writeJSON(w, map[string]any{"modules": e.CMDB.Modules()})
	case "POST /_sim/cmdb":
		e.change(w, r)
	case "GET /_sim/scenario":
		writeJSON(w, e.Scenario.Progress())
	case "POST /_sim/scenario":
		answer(w, e.Scenario.Next())
	case "PUT /_sim/agents":
		e.agent(w, r)
	case "POST /_sim/status":
		e.status(w, r)
	case "POST /_sim/tick":
		e.Core.Tick()
		writeJSON(w, struct{}{})
	default:
		http.Error(w, "no such switch; GET /_sim/ lists them", http.StatusNotFound)
	}
}

// exchange answers with one call and both of its bodies.
func (e Endpoint) exchange(w http.ResponseWriter, seq string) {
	number, err := strconv.Atoi(seq)
	if err != nil {
		http.Error(w, "seq: "+err.Error(), http.StatusBadRequest)
		return
	}
	call, request, response, found := e.Record.Exchange(number)
	if !found {
		http.Error(w, fmt.Sprintf("call %d is no longer kept", number), http.StatusNotFound)
		return
	}
	call.Body, call.Spec = nil, nil // the request has both
	writeJSON(w, map[string]any{"call": call, "request": request, "response": response})
}

// procFile answers with the file of one host's agent, as it is on the host.
func (e Endpoint) procFile(w http.ResponseWriter, r *http.Request) {
	text, err := e.Core.ProcFile(r.URL.Query().Get("host"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

func (e Endpoint) fault(w http.ResponseWriter, r *http.Request) {
	var f fault.Fault
	if !readControl(w, r, &f) {
		return
	}
	id, err := e.Faults.Inject(f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, map[string]int{"id": id})
}

func (e Endpoint) clear(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("id")
	if given == "" {
		e.Faults.Clear()
		e.Core.ForgetRepeats()
		writeJSON(w, struct{}{})
		return
	}
	id, err := strconv.Atoi(given)
	if err != nil {
		http.Error(w, "id: "+err.Error(), http.StatusBadRequest)
		return
	}
	e.Faults.Remove(id)
	writeJSON(w, struct{}{})
}

func (e Endpoint) act(w http.ResponseWriter, r *http.Request) {
	var act Act
	if readControl(w, r, &act) {
		answer(w, e.Act(act))
	}
}

// answer sends an error, or an empty object if there is none.
func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, struct{}{})
}

func (e Endpoint) agent(w http.ResponseWriter, r *http.Request) {
	var agent struct {
		Host      string `json:"host"`
		AgentID   string `json:"agent_id"`
		Reachable *bool  `json:"reachable"`
	}
	if !readControl(w, r, &agent) {
		return
	}
	var err error
	if agent.AgentID != "" {
		err = e.Core.AddAgent(agent.AgentID, agent.Host)
	}
	if err == nil {
		err = e.Core.SetReachable(agent.Host, agent.Reachable == nil || *agent.Reachable)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, struct{}{})
}

func (e Endpoint) status(w http.ResponseWriter, r *http.Request) {
	var status Status
	if readControl(w, r, &status) {
		e.Bend(status)
		writeJSON(w, struct{}{})
	}
}

// limit is far beyond any request, including one with a spec.
const limit = 64 << 20

// readControl decodes a body strictly. It sends an error and returns false if it cannot.
func readControl(w http.ResponseWriter, r *http.Request, into any) bool {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(v)
}
