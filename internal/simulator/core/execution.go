package core

import (
	"slices"
	"time"
)

// Execution is an operation that reached one host, and its result there. Each one that was carried out or
// refused is recorded, whatever happened to the answer. Queries are not recorded.
type Execution struct {
	Host      string `json:"host"` // "cloud:ip", or an agent id without a known address
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Action is "register", "update", "unregister", "host", "unhost", "start",
	// "stop", "restart", "reload" or "kill". At the gateway, hosting registers and
	// unhosting unregisters.
	Action string `json:"action"`
	// TaskID is the task that it belongs to, empty for a call that answers at once.
	TaskID string `json:"task_id,omitempty"`
	// Code is the host's own verdict, not that of a fault: a start with
	// CodeAlreadyRunning found the process running and did nothing.
	Code int       `json:"code"`
	At   time.Time `json:"at"`
}

var actionNames = map[int]string{
	OpRegister: "register", OpUpdate: "update", OpUnregister: "unregister", OpHost: "host", OpUnhost: "unhost",
	OpStart: "start", OpStop: "stop", OpRestart: "restart", OpReload: "reload", OpKill: "kill",
}

// Executions returns the recorded executions, oldest first. ResetExecutions deletes them, and
// MaxExecutions bounds them.
func (g *GSE) Executions() []Execution {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	return slices.Clone(g.executions)
}

// ResetExecutions deletes the recorded executions.
func (g *GSE) ResetExecutions() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.executions = nil
	clear(g.missed)
}

func (g *GSE) executedLocked(it *Item, t Target, v verdict) {
	action, known := actionNames[it.Op]
	if !known {
		return
	}
	g.executions = append(g.executions, Execution{
		Host: string(t.Key), Namespace: it.Namespace, Name: it.Name,
		Action: action, TaskID: it.taskID, Code: v.code, At: g.now(),
	})
	if g.MaxExecutions > 0 && len(g.executions) > g.MaxExecutions {
		g.executions = g.executions[len(g.executions)-g.MaxExecutions:]
	}
}
