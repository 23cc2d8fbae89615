package face

import (
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// The request shapes of JOB's process APIs, after the ESB documents of the same
// names.

// Op types of manage_proc.
const (
	jobRegister   = 1
	jobUnregister = 2
)

// jobAliases are the older names of APIs.
var jobAliases = map[string]string{
	"gse_process_manage": "manage_proc",
	"gse_proc_operate":   "operate_process",
}

// jobProcessFields are the common fields of manage_proc and operate_process.
var jobProcessFields = map[string]field{
	"proc_name":              required(nameShape),
	"cfg_path":               optional(emptyOrAbsolutePathShape),
	"log_path":               optional(emptyOrAbsolutePathShape),
	"start_cmd":              optional(textShape),
	"stop_cmd":               optional(textShape),
	"restart_cmd":            optional(textShape),
	"reload_cmd":             optional(textShape),
	"kill_cmd":               optional(textShape),
	"func_id":                optional(textShape),
	"instance_id":            optional(textShape),
	"value_key":              optional(textShape),
	"account":                optional(textShape), // manage_proc's document lacks it, but its server reads it
	"type":                   optional(autoTypeShape),
	"cpu_lmt":                optional(integerShape), // out of range is no error: see jobLimit
	"mem_lmt":                optional(integerShape),
	"cycle_time":             optional(countShape),
	"instance_num":           optional(countShape),
	"op_timeout":             optional(countShape),
	"start_check_begin_time": optional(countShape),
	"start_check_end_time":   optional(countShape),
	"ip_list":                required(hostsShape(false)),
}

// jobShapes are the bodies, without credentials, by API name.
var jobShapes = func() map[string]shape {
	shapes := map[string]shape{
		"manage_proc": jobOperateShape(shape{kind: kindInteger, check: func(v any) (string, string) {
			if n := jsontree.Integer(v); n != jobRegister && n != jobUnregister {
				return "", "must be 1 or 2"
			}
			return "", ""
		}}, map[string]field{
			"proc_owner": wanted(nameShape), // its server ignores it
			"setup_path": optional(emptyOrAbsolutePathShape),
			"pid_path":   optional(emptyOrAbsolutePathShape),
		}),
		"operate_process": jobOperateShape(jobOpShape, map[string]field{
			"contact":    optional(textShape),
			"setup_path": required(absolutePathShape),
			"pid_path":   required(absolutePathShape),
		}),
		"get_proc_result": jobShape(map[string]field{"bk_gse_taskid": required(nameShape)}),
	}
	for alias, name := range jobAliases {
		shapes[alias] = shapes[name]
	}
	return shapes
}()

func jobOperateShape(op shape, process map[string]field) shape {
	elem := object(with(jobProcessFields, process))
	return jobShape(map[string]field{
		"op_type":       required(op),
		"process_infos": required(shape{kind: kindList, elem: &elem, check: notEmpty}),
	})
}

// jobShape adds the credentials and the scope, which must be named in one of two ways.
func jobShape(fields map[string]field) shape {
	return shape{
		kind: kindObject,
		fields: with(with(fields, credentialFields), map[string]field{
			"bk_biz_id":     optional(bizShape),
			"bk_scope_type": optional(scopeTypeShape),
			"bk_scope_id":   optional(nameShape),
		}),
		check: oneScope,
	}
}

// jobOpShape accepts JOB's op types; any other is an illegal parameter.
var jobOpShape = shape{kind: kindInteger, check: func(v any) (string, string) {
	if op := (&core.Item{Op: int(jsontree.Integer(v))}); op.Op < core.OpStart || op.Illegal() {
		return "", "no such operation"
	}
	return "", ""
}}

var bizShape = shape{kind: kindInteger, check: func(v any) (string, string) {
	if jsontree.Integer(v) < 1 {
		return "", "must be at least 1"
	}
	return "", ""
}}

var scopeTypeShape = shape{kind: kindString, check: func(v any) (string, string) {
	if v != "biz" && v != "biz_set" {
		return "", `must be "biz" or "biz_set"`
	}
	return "", ""
}}

func oneScope(v any) (string, string) {
	body, _ := v.(map[string]any)
	biz, kind, id := body["bk_biz_id"] != nil, body["bk_scope_type"] != nil, body["bk_scope_id"] != nil
	switch {
	case biz && (kind || id):
		return "bk_biz_id", "is another way to say bk_scope_type and bk_scope_id, which are given too"
	case biz, kind && id:
		return "", ""
	case kind:
		return "bk_scope_id", "required field is missing"
	case id:
		return "bk_scope_type", "required field is missing"
	default:
		return "bk_scope_type", "required field is missing, or bk_biz_id"
	}
}

// hasBlankPath reports whether a process lacks one of the paths that JOB's server requires.
func hasBlankPath(tree map[string]any) bool {
	infos, _ := tree["process_infos"].([]any)
	for _, v := range infos {
		info := jsontree.Object(v)
		if strings.TrimSpace(jsontree.String(info["setup_path"])) == "" || strings.TrimSpace(jsontree.String(info["pid_path"])) == "" {
			return true
		}
	}
	return false
}
