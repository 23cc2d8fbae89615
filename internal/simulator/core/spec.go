package core

import (
	"encoding/json"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// Spec is the agent's view of a checked body. Raw is the whole spec in canonical JSON, shared by the
// hosts of a request.
type Spec struct {
	Raw       json.RawMessage
	ProcName  string
	SetupPath string
	pidPath   string
	user      string
	commands  map[string]string // by field name: start_cmd, stop_cmd, ...
	autoType  int64

	startCheckSecs int64 // 5 if not given
	stopCheckSecs  int64 // 5 if not given: an invention, the documents name no default
	startRetries   int64 // 4 if not given
	startInterval  int64 // 10 if not given
	opTimeout      int64 // 60 if not given

	cpu, mem *float64 // percent of the whole machine, nil for no limit

	job *jobSpec // nil unless the spec is in JOB's form
}

// Auto types of a monitor policy.
const (
	autoPeriodic = 0
	autoResident = 1
	autoOnce     = 2
)

// NewSpec reads a spec in GSE's form. It returns nil if v is not an object.
func NewSpec(v any) *Spec {
	tree, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		return nil
	}
	identity := jsontree.Object(tree["identity"])
	s := &Spec{
		Raw:       raw,
		ProcName:  jsontree.String(identity["proc_name"]),
		SetupPath: jsontree.String(identity["setup_path"]),
		pidPath:   jsontree.String(identity["pid_path"]),
		user:      jsontree.String(identity["user"]),
		commands:  jsontree.Strings(tree["control"]),
	}
	policy := jsontree.Object(tree["monitor_policy"])
	if policy == nil {
		policy = jsontree.Object(tree["alive_monitor_policy"])
	}
	s.autoType = jsontree.Integer(policy["auto_type"])
	s.setTimes(policy, func(v any) bool { return v != nil })
	resource := jsontree.Object(tree["resource"])
	s.cpu = jsontree.Float(resource["cpu"])
	s.mem = jsontree.Float(resource["mem"])
	return s
}

// setTimes reads the times of a policy, with the documents' defaults for missing ones.
func (s *Spec) setTimes(policy map[string]any, given func(any) bool) {
	for name, setting := range map[string]struct {
		value *int64
		unset int64
	}{
		"start_check_secs": {&s.startCheckSecs, 5},
		"stop_check_secs":  {&s.stopCheckSecs, 5},
		"start_retries":    {&s.startRetries, 4},
		"start_interval":   {&s.startInterval, 10},
		"op_timeout":       {&s.opTimeout, 60},
	} {
		*setting.value = setting.unset
		if v := policy[name]; given(v) {
			*setting.value = jsontree.Integer(v)
		}
	}
}

// Runs reports whether any of its commands contains a text.
func (s *Spec) Runs(text string) bool {
	if s == nil {
		return false
	}
	for _, command := range s.commands {
		if strings.Contains(command, text) {
			return true
		}
	}
	return false
}

// parseSpec reads a spec kept as JSON, in GSE's form or in JOB's.
func parseSpec(raw []byte) (*Spec, error) {
	tree, err := jsontree.Decode(raw)
	if err != nil {
		return nil, err
	}
	if members := jsontree.Object(tree); members["identity"] == nil && members["proc_name"] != nil {
		return NewJobSpec(members), nil
	}
	return NewSpec(tree), nil
}
