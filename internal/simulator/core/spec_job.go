package core

import (
	"cmp"
	"encoding/json"

	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// jobSpec is what only a spec in JOB's form has.
type jobSpec struct{ contact string }

// NewJobSpec reads a spec in JOB's form. In JOB, an unset field is 0, so 0 means the agent's default.
func NewJobSpec(tree map[string]any) *Spec {
	raw, err := json.Marshal(tree)
	if err != nil {
		return nil
	}
	s := &Spec{
		Raw:       raw,
		ProcName:  jsontree.String(tree["proc_name"]),
		SetupPath: jsontree.String(tree["setup_path"]),
		pidPath:   jsontree.String(tree["pid_path"]),
		user:      cmp.Or(jsontree.String(tree["account"]), "root"),
		job:       &jobSpec{contact: cmp.Or(jsontree.String(tree["contact"]), jsontree.String(tree["proc_owner"]))},
		commands:  make(map[string]string),
		autoType:  jsontree.Integer(tree["type"]),
		cpu:       jobCeiling(tree["cpu_lmt"]),
		mem:       jobCeiling(tree["mem_lmt"]),
	}
	for _, name := range commandNames {
		if line := jsontree.String(tree[name]); line != "" {
			s.commands[name] = line
		}
	}
	s.setTimes(map[string]any{
		"start_check_secs": tree["start_check_begin_time"],
		"op_timeout":       tree["op_timeout"],
	}, func(v any) bool { return jsontree.Integer(v) != 0 })
	return s
}

// jobCeiling returns a limit, nil if it is 0.
func jobCeiling(v any) *float64 {
	if jsontree.Integer(v) == 0 {
		return nil
	}
	return jsontree.Float(v)
}
