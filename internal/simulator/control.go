package simulator

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// serveControl answers the control endpoint, which lets another process do what
// a test in this one does with methods.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	if !s.maySwitch(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="bk-simulator"`)
		http.Error(w, "the simulator has a secret of its own: curl -u <app code>:<app secret>", http.StatusUnauthorized)
		return
	}
	switch r.Method + " " + strings.TrimSuffix(r.URL.Path, "/") {
	case "GET /_sim":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, strings.ReplaceAll(controlIndex, "$SIM", "http://"+r.Host))
	case "GET /_sim/calls":
		writeJSON(w, map[string]any{"calls": s.Calls(), "max_in_flight": s.MaxInFlight()})
	case "DELETE /_sim/calls":
		s.ResetCalls()
		writeJSON(w, struct{}{})
	case "GET /_sim/violations":
		writeJSON(w, map[string]any{"violations": append([]string{}, s.Violations()...)})
	case "DELETE /_sim/violations":
		s.ResetViolations()
		writeJSON(w, struct{}{})
	case "GET /_sim/processes":
		writeJSON(w, map[string]any{"processes": s.Processes()})
	case "GET /_sim/executions":
		writeJSON(w, map[string]any{"executions": append([]Execution{}, s.Executions()...)})
	case "GET /_sim/tasks":
		writeJSON(w, map[string]any{"tasks": s.Tasks()})
	case "POST /_sim/faults":
		s.controlFault(w, r)
	case "DELETE /_sim/faults":
		s.controlClear(w, r)
	case "POST /_sim/act":
		s.controlAct(w, r)
	case "PUT /_sim/agents":
		s.controlAgent(w, r)
	case "POST /_sim/status":
		s.controlStatus(w, r)
	case "POST /_sim/tick":
		s.Tick()
		writeJSON(w, struct{}{})
	default:
		http.Error(w, "no such switch; GET "+controlPrefix+" lists them", http.StatusNotFound)
	}
}

func (s *Server) controlFault(w http.ResponseWriter, r *http.Request) {
	var f Fault
	if !readControl(w, r, &f) {
		return
	}
	id, err := s.inject(f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, map[string]int{"id": id})
}

func (s *Server) controlClear(w http.ResponseWriter, r *http.Request) {
	given := r.URL.Query().Get("id")
	if given == "" {
		s.ClearFaults()
		writeJSON(w, struct{}{})
		return
	}
	id, err := strconv.Atoi(given)
	if err != nil {
		http.Error(w, "id: "+err.Error(), http.StatusBadRequest)
		return
	}
	s.ClearFault(id)
	writeJSON(w, struct{}{})
}

func (s *Server) controlAct(w http.ResponseWriter, r *http.Request) {
	var act struct {
		Action    string            `json:"action"`
		Host      string            `json:"host"`
		Namespace string            `json:"namespace"`
		Name      string            `json:"name"`
		Labels    map[string]string `json:"labels"`
		Spec      json.RawMessage   `json:"spec"`
		TaskID    string            `json:"task_id"`
	}
	if !readControl(w, r, &act) {
		return
	}
	do := map[string]func(addr, namespace, name string) error{
		"unregister": s.Unregister,
		"host":       s.Host,
		"unhost":     s.Unhost,
		"start":      s.StartProcess,
		"stop":       s.StopProcess,
		"kill":       s.KillProcess,
		"register": func(addr, namespace, name string) error {
			return s.Register(addr, namespace, name, act.Labels, string(act.Spec))
		},
		"expire": func(string, string, string) error {
			s.ExpireTask(act.TaskID)
			return nil
		},
	}[act.Action]
	if do == nil {
		http.Error(w, fmt.Sprintf("action: %q is unknown", act.Action), http.StatusBadRequest)
		return
	}
	if err := do(act.Host, act.Namespace, act.Name); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, struct{}{})
}

func (s *Server) controlAgent(w http.ResponseWriter, r *http.Request) {
	var agent struct {
		Host      string `json:"host"`
		AgentID   string `json:"agent_id"`
		Reachable *bool  `json:"reachable"`
	}
	if !readControl(w, r, &agent) {
		return
	}
	if agent.AgentID != "" {
		if err := s.addAgent(agent.AgentID, agent.Host); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	if _, err := parseTarget(agent.Host); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.SetReachable(agent.Host, agent.Reachable == nil || *agent.Reachable)
	writeJSON(w, struct{}{})
}

func (s *Server) controlStatus(w http.ResponseWriter, r *http.Request) {
	var status struct {
		Frozen bool `json:"frozen"`
	}
	if !readControl(w, r, &status) {
		return
	}
	if status.Frozen {
		s.FreezeStatus()
	} else {
		s.ThawStatus()
	}
	writeJSON(w, struct{}{})
}

// readControl decodes a body strictly, and answers itself if it cannot.
func readControl(w http.ResponseWriter, r *http.Request, into any) bool {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit))
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
