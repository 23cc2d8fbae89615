package face

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// jobNamespace is the namespace of JOB's processes in the core, since JOB has neither namespaces nor names.
// Their name here is the key by which the agent identifies them on one host, value_key or
// setup_path/proc_name. Their cached status is under this namespace; JOB itself cannot read it.
const jobNamespace = "job"

func jobKey(info map[string]any) string {
	if key := jsontree.String(info["value_key"]); key != "" {
		return key
	}
	return jobPathKey(jsontree.String(info["setup_path"]), jsontree.String(info["proc_name"]))
}

// jobPathKey joins with one slash, as the documents' sample does. It is an invention that a slash at the
// end of setup_path counts as that one.
func jobPathKey(setupPath, procName string) string {
	return strings.TrimSuffix(setupPath, "/") + "/" + procName
}

// newJobSpec reads one of process_infos and keeps what JOB's server passes on.
func newJobSpec(info map[string]any, operate bool) *core.Spec {
	kept := maps.Clone(info)
	delete(kept, "ip_list")
	for _, name := range []string{"cpu_lmt", "mem_lmt"} {
		kept[name] = jobLimit(info[name])
	}
	if begin, given := info["start_check_begin_time"]; operate && given {
		// operate_process overwrites the end with the beginning.
		kept["start_check_end_time"] = begin
	}
	return core.NewJobSpec(kept)
}

// jobLimit returns a limit as JOB's server reads it: a missing or invalid one is silently 0.
func jobLimit(v any) json.Number {
	n, _ := v.(json.Number)
	if limit := jsontree.Integer(v); limit < 0 || limit > 100 || n == "" {
		return "0"
	}
	return n
}
