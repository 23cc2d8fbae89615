package job

import (
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Scope is the set of hosts that JOB allows a request to affect. It has Type ("biz" or "biz_set") and ID, or
// only BizID as in older documents.
type Scope struct {
	Type  string `json:"bk_scope_type,omitempty"`
	ID    string `json:"bk_scope_id,omitempty"`
	BizID *int64 `json:"bk_biz_id,omitempty"`
}

// Kinds of hosting (type).
const (
	TypePeriodic = 0
	TypeResident = 1
	TypeOneShot  = 2
)

// Info is what the agent needs to know about a process: an element of `process_infos` without its hosts. A nil
// pointer is omitted from the request, so that the server's default applies.
//
// SetupPath and PIDPath are optional in the document of manage_proc, but the server refuses a request without
// them.
type Info struct {
	ProcName  string  `json:"proc_name"`
	ProcOwner *string `json:"proc_owner,omitempty"` // manage_proc only
	Contact   *string `json:"contact,omitempty"`    // operate_process only
	SetupPath string  `json:"setup_path"`
	PIDPath   string  `json:"pid_path"`
	CfgPath   *string `json:"cfg_path,omitempty"`
	LogPath   *string `json:"log_path,omitempty"`
	// Account runs the commands. The document of manage_proc does not have it, but the server reads it. Without
	// it, the process would run as root.
	Account    *string `json:"account,omitempty"`
	StartCmd   *string `json:"start_cmd,omitempty"`
	StopCmd    *string `json:"stop_cmd,omitempty"`
	RestartCmd *string `json:"restart_cmd,omitempty"`
	ReloadCmd  *string `json:"reload_cmd,omitempty"`
	KillCmd    *string `json:"kill_cmd,omitempty"`
	FuncID     *string `json:"func_id,omitempty"`
	InstanceID *string `json:"instance_id,omitempty"`
	// ValueKey distinguishes processes with the same SetupPath and ProcName.
	ValueKey *string `json:"value_key,omitempty"`
	Type     *int64  `json:"type,omitempty"`
	// CPULmt and MemLmt are in percent. The server treats a limit outside [0, 100] as 0.
	CPULmt              *int64 `json:"cpu_lmt,omitempty"`
	MemLmt              *int64 `json:"mem_lmt,omitempty"`
	CycleTime           *int64 `json:"cycle_time,omitempty"` // the interval of TypePeriodic
	InstanceNum         *int64 `json:"instance_num,omitempty"`
	OpTimeout           *int64 `json:"op_timeout,omitempty"`
	StartCheckBeginTime *int64 `json:"start_check_begin_time,omitempty"`
	StartCheckEndTime   *int64 `json:"start_check_end_time,omitempty"`
}

// Settles returns how long the command of an operation may take on a host. startCheck is the time of the check
// after an operation that starts the process. JOB documents no defaults, so those of GSE's documents are used:
// 60 and 5 seconds. JOB has no check after a stop.
func (i Info) Settles() (command, startCheck, stopCheck time.Duration) {
	opTimeout, check := int64(60), int64(5)
	if i.OpTimeout != nil {
		opTimeout = *i.OpTimeout
	}
	if i.StartCheckEndTime != nil {
		check = *i.StartCheckEndTime
	}
	return time.Duration(opTimeout) * time.Second, time.Duration(check) * time.Second, 0
}

func (i Info) oneShot() bool { return i.Type != nil && *i.Type == TypeOneShot }

// request is the body of manage_proc and operate_process.
type request struct {
	Scope
	OpType       int           `json:"op_type"`
	ProcessInfos []processInfo `json:"process_infos"`
}

type processInfo struct {
	Info
	IPList []address `json:"ip_list"`
}

type address struct {
	CloudID int    `json:"bk_cloud_id"`
	IP      string `json:"ip"`
}

// requestOf returns a request with only those fields that the endpoint's document has (but see Account).
func requestOf(api string, scope Scope, opType int, info Info, hosts []fleet.Host) request {
	if api == apiManage {
		info.Contact = nil
	} else {
		info.ProcOwner = nil
	}
	return request{Scope: scope, OpType: opType, ProcessInfos: []processInfo{{Info: info, IPList: addressesOf(hosts)}}}
}
