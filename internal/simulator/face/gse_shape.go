package face

import (
	"encoding/json"
	"maps"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// The request shapes of GSE's process APIs, after the ESB documents of the same names. Names and required
// fields are the documents'. If the tables and the samples spell a field differently, both spellings are
// accepted. What real clients send beyond the documents is accepted and reported as a finding.

var metaShape = object(map[string]field{
	"namespace": required(nameShape),
	"name":      required(nameShape),
	"labels":    optional(shape{kind: kindMap, elem: &shape{kind: kindText}}), // GSEKit sends numbers
})

// namespaceShape is the meta of sync_proc_status, which has no name.
var namespaceShape = object(map[string]field{
	"namespace": required(nameShape),
})

var pageShape = object(map[string]field{
	"start": required(countShape),
	"limit": required(shape{kind: kindInteger, check: func(v any) (string, string) {
		if n := jsontree.Integer(v); n < 1 || n > pageLimit {
			return "", "must be between 1 and 1000"
		}
		return "", ""
	}}),
})

const pageLimit = 1000

// ipShape accepts IPv6: only the first generation refuses it, per host.
var ipShape = shape{kind: kindString, check: func(v any) (string, string) {
	if _, err := core.NewTarget(0, 0, v.(string)); err != nil { //nolint:forcetypeassert // its kind was checked
		return "", err.Error()
	}
	return "", ""
}}

// hostsShape differs by generation: only the first distinguishes suppliers.
func hostsShape(supplier bool) shape {
	host := map[string]field{
		"ip":          required(ipShape),
		"bk_cloud_id": required(countShape),
	}
	if supplier {
		host["bk_supplier_id"] = required(countShape)
	}
	return shape{kind: kindList, elem: &shape{kind: kindObject, fields: host}, check: notEmpty}
}

func notEmpty(v any) (string, string) {
	if items, ok := v.([]any); ok && len(items) == 0 {
		return "", "must not be empty"
	}
	return "", ""
}

var identityFields = map[string]field{
	"index_key":   optional(textShape), // in the samples only
	"proc_name":   required(nameShape),
	"setup_path":  required(absolutePathShape),
	"pid_path":    required(absolutePathShape),
	"config_path": optional(emptyOrAbsolutePathShape),
	"log_path":    optional(emptyOrAbsolutePathShape),
	"user":        nullable(nameShape), // GSEKit sends null for some processes
}

var controlShape = object(map[string]field{
	"start_cmd":   optional(textShape),
	"stop_cmd":    optional(textShape),
	"restart_cmd": optional(textShape),
	"reload_cmd":  optional(textShape),
	"kill_cmd":    optional(textShape),
	"version_cmd": optional(textShape),
	"health_cmd":  optional(textShape),
})

var resourceShape = object(map[string]field{
	"cpu":  required(numberShape),
	"mem":  required(numberShape),
	"fd":   optional(countShape),
	"disk": optional(countShape),
	"net":  optional(countShape),
})

var autoTypeShape = shape{kind: kindInteger, check: func(v any) (string, string) {
	if n := jsontree.Integer(v); n < 0 || n > 2 {
		return "", "must be 0, 1 or 2"
	}
	return "", ""
}}

// policyShape differs by generation: only the second has op_timeout.
func policyShape(opTimeout bool) shape {
	policy := map[string]field{
		"auto_type":        required(autoTypeShape),
		"start_check_secs": optional(countShape),
		"stop_check_secs":  optional(countShape),
		"start_retries":    optional(countShape),
		"start_interval":   optional(countShape),
		"crontab_rule":     optional(textShape), // as in the tables
		"crotab_rule":      optional(textShape), // as in the samples
	}
	if opTimeout {
		policy["op_timeout"] = optional(countShape)
	}
	return object(policy)
}

var specFields = map[string]field{
	"identity":           required(object(identityFields)),
	"control":            required(controlShape),
	"warn_report_policy": optional(object(map[string]field{"report_id": optional(integerShape)})),
	"configmap": optional(list(object(map[string]field{
		"path": optional(emptyOrAbsolutePathShape),
		"md5":  optional(textShape),
	}))),
}

// registerSpecShape is the spec of register_proc_info and update_proc_info.
var registerSpecShape = object(with(specFields, map[string]field{
	"resource":       required(resourceShape),
	"monitor_policy": required(policyShape(false)),
}))

// operateSpecFields are the spec of operate_proc_v2 and operate_proc_multi. Their documents have no
// resource, but real clients send it. monitor_policy is the older name of the policy.
var operateSpecFields = with(specFields, map[string]field{
	"resource":             optional(resourceShape),
	"monitor_policy":       optional(policyShape(true)),
	"alive_monitor_policy": optional(policyShape(true)),
})

// onePolicy requires the policy under one of its two names.
func onePolicy(v any) (string, string) {
	spec, _ := v.(map[string]any)
	older, newer := spec["monitor_policy"] != nil, spec["alive_monitor_policy"] != nil
	switch {
	case older && newer:
		return "monitor_policy", "is another name of alive_monitor_policy, which is given too"
	case !older && !newer:
		return "alive_monitor_policy", missingField
	}
	return "", ""
}

// The spec of an operation. Unhosting needs no paths (GSEKit sends none), and a query only the name of a
// binary (nodemgr).
var (
	operateSpecShape = shape{kind: kindObject, fields: operateSpecFields, check: onePolicy}
	unhostSpecShape  = shape{kind: kindObject, check: onePolicy, fields: with(operateSpecFields, map[string]field{
		"identity": required(object(with(identityFields, map[string]field{
			"setup_path": required(neededPathShape),
			"pid_path":   required(neededPathShape),
		}))),
	})}
	querySpecShape = shape{kind: kindObject, lint: onePolicy, fields: with(operateSpecFields, map[string]field{
		"identity": required(object(with(identityFields, map[string]field{
			"setup_path": wanted(neededPathShape),
			"pid_path":   wanted(neededPathShape),
			"user":       wanted(nameShape),
		}))),
		"control": wanted(controlShape),
	})}
)

// operateFields returns the fields of an operation with this spec.
func operateFields(spec shape) map[string]field {
	return map[string]field{
		"meta":    required(metaShape),
		"hosts":   required(hostsShape(false)),
		"op_type": required(integerShape),
		"spec":    required(spec),
	}
}

// operateShape returns the shape of an operation. edit adapts its fields to a face.
func operateShape(edit func(map[string]field) map[string]field) shape {
	usual, unhost, query := edit(operateFields(operateSpecShape)), edit(operateFields(unhostSpecShape)), edit(operateFields(querySpecShape))
	return shape{kind: kindObject, choose: func(members map[string]any) map[string]field {
		switch n, _ := members["op_type"].(json.Number); n {
		case "2":
			return query
		case "4":
			return unhost
		default:
			return usual
		}
	}}
}

func asAtESB(fields map[string]field) map[string]field { return with(fields, credentialFields) }

func asItem(fields map[string]field) map[string]field { return fields }

// requestFields are the bodies, without credentials, by API name.
var requestFields = map[string]map[string]field{
	"register_proc_info": {
		"meta":  required(metaShape),
		"hosts": required(hostsShape(true)),
		"spec":  required(registerSpecShape),
	},
	"update_proc_info": {
		"meta":  required(metaShape),
		"hosts": required(hostsShape(true)),
		"spec":  required(registerSpecShape),
	},
	"unregister_proc_info": {
		"meta":  required(metaShape),
		"hosts": required(hostsShape(true)),
	},
	"operate_proc": {
		"meta":    required(metaShape),
		"hosts":   required(hostsShape(true)),
		"op_type": required(integerShape),
	},
	"get_proc_operate_result": {
		"task_id": required(nameShape),
	},
	"get_proc_operate_result_v2": {
		"task_id": required(nameShape),
	},
	"get_proc_status": {
		"meta":  required(metaShape),
		"hosts": required(hostsShape(true)),
	},
	"get_agent_info":   agentHostsFields,
	"get_agent_status": agentHostsFields,
	"get_proc_status_v2": {
		"meta":  required(metaShape),
		"hosts": required(hostsShape(false)),
	},
	"sync_proc_status": {
		"meta": required(namespaceShape),
		"page": required(pageShape),
	},
}

// requestShapes are the bodies at the ESB, with credentials.
var requestShapes = func() map[string]shape {
	item := operateShape(asItem)
	shapes := map[string]shape{
		"operate_proc_v2": operateShape(asAtESB),
		"operate_proc_multi": object(asAtESB(map[string]field{
			"proc_operate_req": required(shape{kind: kindList, elem: &item, check: notEmpty}),
		})),
	}
	for api, fields := range requestFields {
		shapes[api] = object(asAtESB(fields))
	}
	return shapes
}()

func with(base, more map[string]field) map[string]field {
	fields := maps.Clone(base)
	maps.Copy(fields, more)
	return fields
}
