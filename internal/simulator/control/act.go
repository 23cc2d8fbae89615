package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
)

// Act is a change by another user. Each action uses some of the members.
type Act struct {
	Action    string            `json:"action"`
	Host      string            `json:"host,omitempty"`
	Hosts     []string          `json:"hosts,omitempty"` // in place of Host
	Namespace string            `json:"namespace,omitempty"`
	Name      string            `json:"name,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Spec      json.RawMessage   `json:"spec,omitempty"`
	TaskID    string            `json:"task_id,omitempty"`
	AgentID   string            `json:"agent_id,omitempty"`
	// For the file in which an agent keeps what it hosts.
	File   core.ProcFile   `json:"file,omitzero"`
	Fields map[string]any  `json:"fields,omitempty"`
	Entry  json.RawMessage `json:"entry,omitempty"`
}

var actions = map[string]func(e Endpoint, act Act, host string) error{
	"unregister": func(e Endpoint, a Act, host string) error { return e.Core.Unregister(host, a.Namespace, a.Name) },
	"host":       func(e Endpoint, a Act, host string) error { return e.Core.Host(host, a.Namespace, a.Name) },
	"unhost":     func(e Endpoint, a Act, host string) error { return e.Core.Unhost(host, a.Namespace, a.Name) },
	"start":      func(e Endpoint, a Act, host string) error { return e.Core.StartProcess(host, a.Namespace, a.Name) },
	"stop":       func(e Endpoint, a Act, host string) error { return e.Core.StopProcess(host, a.Namespace, a.Name) },
	"kill":       func(e Endpoint, a Act, host string) error { return e.Core.KillProcess(host, a.Namespace, a.Name) },
	"register": func(e Endpoint, a Act, host string) error {
		return e.Core.Register(host, a.Namespace, a.Name, a.Labels, string(a.Spec))
	},
	"upgrade":   func(e Endpoint, a Act, host string) error { return e.Core.UpgradeToAgentID(a.AgentID, host) },
	"proc_file": func(e Endpoint, a Act, host string) error { return e.Core.SetProcFile(host, a.File) },
	"edit_entry": func(e Endpoint, a Act, host string) error {
		return e.Core.EditProc(host, a.Namespace, a.Name, a.Fields)
	},
	"add_entry": func(e Endpoint, a Act, host string) error { return e.Core.AddProc(host, string(a.Entry)) },
	"expire": func(e Endpoint, a Act, _ string) error {
		e.Core.ExpireTask(a.TaskID)
		return nil
	},
}

// Check returns an error if the act is known to be invalid.
func (a Act) Check() error {
	if actions[a.Action] == nil {
		return fmt.Errorf("action: %q is unknown; it is %s", a.Action, strings.Join(slices.Sorted(maps.Keys(actions)), ", "))
	}
	if a.Action == "expire" {
		return nil
	}
	for _, host := range a.hosts() {
		if err := core.CheckHost(host); err != nil {
			return err
		}
	}
	return nil
}

func (a Act) hosts() []string {
	if a.Hosts == nil {
		return []string{a.Host}
	}
	return a.Hosts
}

// Act makes the change on each host on which it is possible.
func (e Endpoint) Act(act Act) error {
	if err := act.Check(); err != nil {
		return err
	}
	var errs []error
	for _, host := range act.hosts() {
		errs = append(errs, actions[act.Action](e, act, host))
	}
	return errors.Join(errs...)
}

// Status is a change of the cached status; see the methods of the same names of [core.GSE].
type Status struct {
	Frozen *bool             `json:"frozen,omitempty"`
	Lag    *int              `json:"lag,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Bend changes the cached status.
func (e Endpoint) Bend(status Status) {
	if status.Frozen != nil && *status.Frozen {
		e.Core.FreezeStatus()
	} else if status.Frozen != nil {
		e.Core.ThawStatus()
	}
	if status.Lag != nil {
		e.Core.SetLag(*status.Lag)
	}
	if status.Labels != nil {
		e.Core.SetRowLabels(status.Labels)
	}
}
