package gse

import "time"

// Meta identifies a process. Source: register_proc_info, `meta`.
type Meta struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// Spec is what the agent needs to know about a process. Its JSON is the `spec` of register_proc_info.
// operate_proc_v2 has another form (see operateSpec). A nil pointer is omitted from the request, so that the
// server's default applies.
type Spec struct {
	Identity         Identity          `json:"identity"`
	Control          Control           `json:"control"`
	Resource         *Resource         `json:"resource,omitempty"`
	MonitorPolicy    MonitorPolicy     `json:"monitor_policy"`
	WarnReportPolicy *WarnReportPolicy `json:"warn_report_policy,omitempty"`
	ConfigMap        []ConfigFile      `json:"configmap,omitempty"`
	// OpTimeout (seconds that a command may take) is part of the policy in the operate document. The register
	// document does not have it.
	OpTimeout *int64 `json:"-"`
}

// Settles returns how long the command of an operation may take on a host. startCheck is the time of the check
// after an operation that starts the process, and stopCheck after one that stops it. The defaults are the
// documented 60 and 5 seconds. stop_check_secs has no documented default.
func (s *Spec) Settles() (command, startCheck, stopCheck time.Duration) {
	opTimeout, check, stop := int64(60), int64(5), int64(0)
	if s != nil && s.OpTimeout != nil {
		opTimeout = *s.OpTimeout
	}
	if s != nil && s.MonitorPolicy.StartCheckSecs != nil {
		check = *s.MonitorPolicy.StartCheckSecs
	}
	if s != nil && s.MonitorPolicy.StopCheckSecs != nil {
		stop = *s.MonitorPolicy.StopCheckSecs
	}
	return time.Duration(opTimeout) * time.Second, time.Duration(check) * time.Second, time.Duration(stop) * time.Second
}

// Identity is `spec.identity`. Paths are absolute.
type Identity struct {
	IndexKey   *string `json:"index_key,omitempty"`
	ProcName   string  `json:"proc_name"`
	SetupPath  string  `json:"setup_path"`
	PIDPath    string  `json:"pid_path"`
	ConfigPath *string `json:"config_path,omitempty"`
	LogPath    *string `json:"log_path,omitempty"`
	User       string  `json:"user"`
}

// Control is `spec.control`: the commands, which the agent runs in SetupPath.
type Control struct {
	StartCmd   *string `json:"start_cmd,omitempty"`
	StopCmd    *string `json:"stop_cmd,omitempty"`
	RestartCmd *string `json:"restart_cmd,omitempty"`
	ReloadCmd  *string `json:"reload_cmd,omitempty"`
	KillCmd    *string `json:"kill_cmd,omitempty"`
	VersionCmd *string `json:"version_cmd,omitempty"`
	HealthCmd  *string `json:"health_cmd,omitempty"`
}

// Resource is `spec.resource`: the limits. CPU and Mem are percent of the whole machine. The document says that
// the other fields are reserved.
type Resource struct {
	CPU  float64 `json:"cpu"`
	Mem  float64 `json:"mem"`
	FD   *int64  `json:"fd,omitempty"`
	Disk *int64  `json:"disk,omitempty"`
	Net  *int64  `json:"net,omitempty"`
}

// Kinds of hosting (auto_type).
const (
	AutoPeriodic = 0
	AutoResident = 1
	AutoOneShot  = 2
)

// MonitorPolicy is `spec.monitor_policy` of register_proc_info. Times are in seconds. CrontabRule is spelled as
// in the tables of the documents, whose samples have crotab_rule.
type MonitorPolicy struct {
	AutoType       int64   `json:"auto_type"`
	StartCheckSecs *int64  `json:"start_check_secs,omitempty"`
	StopCheckSecs  *int64  `json:"stop_check_secs,omitempty"`
	StartRetries   *int64  `json:"start_retries,omitempty"`
	StartInterval  *int64  `json:"start_interval,omitempty"`
	CrontabRule    *string `json:"crontab_rule,omitempty"`
}

// WarnReportPolicy is `spec.warn_report_policy`.
type WarnReportPolicy struct {
	ReportID *int64 `json:"report_id,omitempty"`
}

// ConfigFile is an element of `spec.configmap`.
type ConfigFile struct {
	Path *string `json:"path,omitempty"`
	MD5  *string `json:"md5,omitempty"`
}

// operateSpec is the `spec` of operate_proc_v2. Its policy has another name and includes a timeout. Whether it
// has limits depends on the face.
type operateSpec struct {
	Identity           Identity           `json:"identity"`
	Control            Control            `json:"control"`
	Resource           *Resource          `json:"resource,omitempty"`
	AliveMonitorPolicy aliveMonitorPolicy `json:"alive_monitor_policy"`
	WarnReportPolicy   *WarnReportPolicy  `json:"warn_report_policy,omitempty"`
	ConfigMap          []ConfigFile       `json:"configmap,omitempty"`
}

type aliveMonitorPolicy struct {
	MonitorPolicy
	OpTimeout *int64 `json:"op_timeout,omitempty"`
}

func (s *Spec) forOperate() operateSpec {
	return operateSpec{
		Identity:           s.Identity,
		Control:            s.Control,
		AliveMonitorPolicy: aliveMonitorPolicy{MonitorPolicy: s.MonitorPolicy, OpTimeout: s.OpTimeout},
		WarnReportPolicy:   s.WarnReportPolicy,
		ConfigMap:          s.ConfigMap,
	}
}

func (s *Spec) oneShot() bool { return s.MonitorPolicy.AutoType == AutoOneShot }
