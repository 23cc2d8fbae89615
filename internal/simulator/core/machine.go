package core

import (
	"cmp"
	"maps"
	"slices"
)

// Machine is the real state of one machine, under all its names. It is what is true, whatever
// faults, lost answers or a cached status that lags show.
type Machine struct {
	Host      string           `json:"host"` // "cloud:ip", or an agent id without a known address
	AgentID   string           `json:"agent_id,omitempty"`
	Processes []MachineProcess `json:"processes"`
}

// MachineProcess is one process of a machine: its cached status under each name, its state, and the
// operations that reached its agent.
type MachineProcess struct {
	Namespace  string    `json:"namespace"`
	Name       string    `json:"name"`
	Hosted     bool      `json:"hosted"`
	Running    bool      `json:"running"`
	PID        int       `json:"pid"` // -1 when not running
	Entries    []Entry   `json:"entries"`
	Operations []Reached `json:"operations"`
}

// Entry is the cached status of a process under one name of its host.
type Entry struct {
	Host         string            `json:"host"` // the name
	Registered   bool              `json:"registered"`
	RegisterTime int64             `json:"register_time"`
	Labels       map[string]string `json:"labels"`
	Spec         string            `json:"spec,omitempty"` // as sent, keys sorted
}

// Reached is an operation that reached the agent, and how often: more than once for one task means that
// it was repeated.
type Reached struct {
	TaskID string `json:"task_id,omitempty"` // empty for a call that answers at once
	Action string `json:"action"`            // see [Execution]
	Code   int    `json:"code"`              // the host's own verdict
	Times  int    `json:"times"`
}

// Process returns one process of a machine, neither hosted nor running if it does not exist.
func (m Machine) Process(namespace, name string) MachineProcess {
	for _, p := range m.Processes {
		if p.Namespace == namespace && p.Name == name {
			return p
		}
	}
	return MachineProcess{Namespace: namespace, Name: name, PID: -1}
}

// Registered reports whether the process is registered under any name.
func (p MachineProcess) Registered() bool {
	for _, e := range p.Entries {
		if e.Registered {
			return true
		}
	}
	return false
}

func compareProcess(a, b MachineProcess) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// Machines returns the real state of machines with processes or executions, ordered by host. Operations
// are those since ResetExecutions.
func (g *GSE) Machines() []Machine {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	found := make(map[HostKey]map[ProcKey]*MachineProcess)
	at := func(key ProcKey) *MachineProcess {
		key.Host = g.machineLocked(key.Host)
		if found[key.Host] == nil {
			found[key.Host] = make(map[ProcKey]*MachineProcess)
		}
		if found[key.Host][key] == nil {
			found[key.Host][key] = &MachineProcess{
				Namespace: key.Namespace, Name: key.Name, PID: -1, Entries: []Entry{}, Operations: []Reached{},
			}
		}
		return found[key.Host][key]
	}
	for key, p := range g.procs {
		g.observeLocked(p)
		addEntry(at(key), p)
	}
	for _, e := range g.executions {
		addReached(at(ProcKey{HostKey(e.Host), e.Namespace, e.Name}), e)
	}
	machines := make([]Machine, 0, len(found))
	for host, processes := range found {
		m := Machine{Host: string(host), AgentID: g.agentIDs[host], Processes: make([]MachineProcess, 0, len(processes))}
		for _, p := range processes {
			slices.SortFunc(p.Entries, func(a, b Entry) int { return cmp.Compare(a.Host, b.Host) })
			m.Processes = append(m.Processes, *p)
		}
		slices.SortFunc(m.Processes, compareProcess)
		machines = append(machines, m)
	}
	slices.SortFunc(machines, func(a, b Machine) int { return cmp.Compare(a.Host, b.Host) })
	return machines
}

// Machine returns the real state of one machine, given by any of its names.
func (g *GSE) Machine(addr string) Machine {
	key, err := g.HostKey(addr)
	if err != nil {
		return Machine{}
	}
	for _, m := range g.Machines() {
		if m.Host == string(key) {
			return m
		}
	}
	return Machine{Host: string(key)}
}

func addEntry(m *MachineProcess, p *process) {
	m.Hosted, m.Running, m.PID = p.hosted, p.running, p.pid
	if !p.listed() {
		return
	}
	entry := Entry{Host: string(p.key.Host), Registered: p.registered, RegisterTime: p.registerTime, Labels: maps.Clone(p.labels)}
	if p.spec != nil {
		entry.Spec = string(p.spec.Raw)
	}
	m.Entries = append(m.Entries, entry)
}

func addReached(m *MachineProcess, e Execution) {
	for i := range m.Operations {
		if r := &m.Operations[i]; r.TaskID == e.TaskID && r.Action == e.Action && r.Code == e.Code {
			r.Times++
			return
		}
	}
	m.Operations = append(m.Operations, Reached{TaskID: e.TaskID, Action: e.Action, Code: e.Code, Times: 1})
}
