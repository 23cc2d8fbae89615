package gse

import (
	"fmt"
	"strconv"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// The process of the documents' samples.
var sampleMeta = Meta{Namespace: "gse", Name: "proc-test", Labels: map[string]string{"proc_name": "proc-test"}}

// sampleSpec is the spec of the documents' samples, with every field set.
func sampleSpec() *Spec {
	return &Spec{
		Identity: Identity{
			IndexKey: new(""), ProcName: "proc-test", SetupPath: "/data/gsetest/", PIDPath: "/data/gsetest/proc-test.pid",
			ConfigPath: new("/data/gsetest/proc-test.conf"), LogPath: new("/data/gsetest/logs/"), User: "root",
		},
		Control: Control{
			StartCmd: new("./start.sh"), StopCmd: new("./stop.sh"), RestartCmd: new("./restart.sh"), ReloadCmd: new("./reload.sh"),
			KillCmd: new("./kill.sh"), VersionCmd: new("./version.sh"), HealthCmd: new("./health.sh"),
		},
		Resource: &Resource{CPU: 10, Mem: 10, FD: new(int64(10000)), Disk: new(int64(100)), Net: new(int64(0))},
		MonitorPolicy: MonitorPolicy{
			AutoType: AutoResident, StartCheckSecs: new(int64(5)), StopCheckSecs: new(int64(5)),
			StartRetries: new(int64(3)), StartInterval: new(int64(20)), CrontabRule: new(""),
		},
		WarnReportPolicy: &WarnReportPolicy{ReportID: new(int64(0))},
		ConfigMap:        []ConfigFile{{Path: new(""), MD5: new("")}},
		OpTimeout:        new(int64(30)),
	}
}

// minimalSpec has the fields that the documents require and no other.
func minimalSpec() *Spec {
	return &Spec{
		Identity:      Identity{ProcName: "nginx", SetupPath: "/usr/sbin", PIDPath: "/run/nginx.pid", User: "root"},
		Resource:      &Resource{CPU: 30, Mem: 12.5},
		MonitorPolicy: MonitorPolicy{AutoType: AutoPeriodic},
	}
}

// unlimitedSpec is minimalSpec without the limits, which the document of register_proc_info requires.
func unlimitedSpec() *Spec {
	spec := minimalSpec()
	spec.Resource = nil
	return spec
}

// v1 and v2 are the result keys of host n, from the documents rather than from
// the code under test.
func v1(n int) string { return fmt.Sprintf("0:0:10.0.0.%d:gse:proc-test", n) }
func v2(n int) string { return fmt.Sprintf("0:10.0.0.%d:gse:proc-test", n) }

// one is the content of a query about one instance.
func one(instance string) string {
	return `{"ip":"10.0.0.1","utctime":"2020-01-01 00:00:00","timezone":8,"process":[{"procname":"nginx","instance":[` + instance + `]}]}`
}

// asText is a JSON document inside a JSON string, as the platform sends it.
func asText(document string) string { return strconv.Quote(document) }

// outcome is the outcome of sample result n.
func outcome(verdict fleet.Verdict, n int) fleet.Outcome {
	message := fmt.Sprintf("message %d", n)
	return fleet.Outcome{Verdict: verdict, Code: int64(n), Message: message, Meaning: procapi.Meaning(int64(n), message), RequestID: "req-1", Away: n == procapi.CodeAgentAbnormal && verdict == fleet.Failed}
}

// ran is an outcome that the agent itself reported.
func ran(o fleet.Outcome) fleet.Outcome {
	o.Ran = true
	return o
}

// already is an outcome of a host that was already as wanted, or already taken.
func already(o fleet.Outcome) fleet.Outcome {
	o.AlreadyDone = true
	return o
}

// wasIdle is the outcome of a host whose agent had said that nothing was there.
func wasIdle(o fleet.Outcome) fleet.Outcome {
	o.WasIdle = true
	return o
}

// byTask is an outcome of task T.
func byTask(o fleet.Outcome) fleet.Outcome {
	o.TaskID = "T"
	return o
}
