package histories

import (
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// passing are faults that only a deadline ends if they do not pass by themselves: the affected request is
// repeated again and again.
var passing = map[string]bool{
	"register-late": true, "result-lost": true, "result-missing": true, "queued": true, "all-lost": true, "all-unsent": true,
}

// faults are what goes wrong, by name. The same calls have other names on the other
// face, so a fault may be several.
var faults = map[string][]simulator.Fault{
	"register-fails":  onRegister(simulator.Fault{Code: new(simulator.CodeAgentAbnormal), Message: "agent abnormal"}),
	"register-lost":   onRegister(simulator.Fault{Drop: "after"}),
	"register-unsent": onRegister(simulator.Fault{Drop: "before"}),
	"register-late":   onRegister(simulator.Fault{Pending: 2}),
	"release-fails":   onRelease(simulator.Fault{Code: new(simulator.CodeAgentAbnormal), Message: "agent abnormal"}),
	"release-refused": onRelease(simulator.Fault{EnvelopeCode: new(1306101), EnvelopeMessage: "no permission"}),
	"release-403":     onRelease(simulator.Fault{HTTPStatus: 403, Body: "no permission"}),
	"release-lost":    onRelease(simulator.Fault{Drop: "after"}),
	"operate-fails": {
		{API: "operate_proc_v2", Op: new(simulator.OpStart), Code: new(simulator.CodeCommandFailed)},
		{API: "operate_proc_v2", Op: new(simulator.OpRestart), Code: new(simulator.CodeCommandFailed)},
		{API: "operate_proc_v2", Op: new(simulator.OpStop), Code: new(simulator.CodeCommandFailed)},
	},
	"operate-lost": {
		{API: "operate_proc_v2", Op: new(simulator.OpStart), Drop: "after"},
		{API: "operate_proc_v2", Op: new(simulator.OpRestart), Drop: "after"},
		{API: "operate_proc_v2", Op: new(simulator.OpStop), Drop: "after"},
		{API: "operate_proc_v2", Op: new(simulator.OpReload), Drop: "after"},
	},
	"hosting-fails":  {{API: "operate_proc_v2", Op: new(simulator.OpHost), Code: new(simulator.CodeFailed)}},
	"query-fails":    {{API: "operate_proc_v2", Op: new(simulator.OpQuery), Code: new(simulator.CodeAgentAbnormal)}},
	"result-lost":    {{API: "get_proc_operate_result_v2", Drop: "after"}},
	"result-missing": {{API: "get_proc_operate_result_v2", Missing: 2}},
	"queued":         {{API: "get_proc_operate_result_v2", Queued: 2}},
	"status-503":     {{API: "get_proc_status_v2", HTTPStatus: 503}},
	"status-lost":    {{API: "get_proc_status_v2", Drop: "mid"}},
	"rows-hidden":    {{API: "get_proc_status_v2", Missing: -1}},
	"rows-unnamed":   {{API: "*proc_status*", Rows: "none"}},
	"rows-by-agent":  {{API: "*proc_status*", Rows: "agent"}},
	"rows-by-host":   {{API: "*proc_status*", Rows: "host"}},
	"backwards":      {{Backwards: true}},
	"all-lost":       {{Drop: "after"}},
	"all-unsent":     {{Drop: "before"}},
}

func onRegister(f simulator.Fault) []simulator.Fault {
	register, update, multi := f, f, f
	register.API, update.API = "register_proc_info", "update_proc_info"
	multi.API, multi.Op = "operate_proc_multi", new(simulator.OpHost)
	return []simulator.Fault{register, update, multi}
}

func onRelease(f simulator.Fault) []simulator.Fault {
	unregister, multi := f, f
	unregister.API = "unregister_proc_info"
	multi.API, multi.Op = "operate_proc_multi", new(simulator.OpUnhost)
	return []simulator.Fault{unregister, multi}
}
