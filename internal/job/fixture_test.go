package job

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

var (
	bizScope = Scope{BizID: new(int64(1))}
	scope    = Scope{Type: "biz", ID: "1"}
	setScope = Scope{Type: "biz_set", ID: "7"}
)

// sampleInfo is the process of manage_proc's samples, with all their fields.
func sampleInfo() Info {
	return Info{
		ProcName: "nginx", ProcOwner: new("root"), SetupPath: "/data/home/nginx/bin/", PIDPath: "/data/var/run/nginx/",
		CfgPath: new("/data/etc/nginx.conf"), LogPath: new("/data/logs/nginx/"),
		StartCmd: new("echo start"), StopCmd: new("echo stop"), RestartCmd: new("echo restart"),
		ReloadCmd: new("echo reload"), KillCmd: new("echo kill"),
		FuncID: new(""), InstanceID: new(""), ValueKey: new("key_test"),
		Type: new(int64(TypeOneShot)), CPULmt: new(int64(20)), MemLmt: new(int64(30)), CycleTime: new(int64(10)),
		InstanceNum: new(int64(2)), StartCheckBeginTime: new(int64(5)), StartCheckEndTime: new(int64(5)), OpTimeout: new(int64(5)),
	}
}

// operateInfo is the process of operate_process's sample.
func operateInfo() Info {
	return Info{
		ProcName: "gseagent", SetupPath: "/usr/local/xxx", PIDPath: "/usr/local/xxx",
		Account: new("root"), Contact: new("root"), CPULmt: new(int64(50)), MemLmt: new(int64(30)),
	}
}

// key is the result key of host n and the process of operateInfo, from the
// document rather than from the code under test.
func key(n int) string { return fmt.Sprintf("/usr/local/xxx/gseagent:0:10.0.0.%d", n) }

// answered is the result of a query about one instance.
func answered(instance string) string {
	return `{"error_code":0,"error_msg":"success","content":` + contentOf(instance) + `}`
}

// Instances in an agent's answer.
const (
	hostedInstance   = `{"pid":-1,"isAuto":true}`
	unhostedInstance = `{"pid":-1,"isAuto":false}`
)

func contentOf(instance string) string {
	return `{"ip":"10.0.0.1","timezone":8,"process":[{"procname":"gseagent","instance":[` + instance + `]}]}`
}

// outcome is the outcome of code(n) in task T.
func outcome(verdict fleet.Verdict, n int) fleet.Outcome {
	message := fmt.Sprintf("message %d", n)
	return fleet.Outcome{
		Verdict: verdict, Code: int64(n), Message: message, Meaning: procapi.Meaning(int64(n), message),
		TaskID: "T", RequestID: "req-1", Away: n == procapi.CodeAgentAbnormal && verdict == fleet.Failed,
	}
}

// ran is an outcome that the agent itself reported.
func ran(o fleet.Outcome) fleet.Outcome {
	o.Ran = true
	return o
}

func already(o fleet.Outcome) fleet.Outcome {
	o.AlreadyDone = true
	return o
}

// asked is a request: its operation, and its hosts.
type asked struct {
	OpType int
	Hosts  []int
}

func wantAsked(t *testing.T, s *procapitest.Script, want ...asked) {
	t.Helper()
	var got []asked
	for _, raw := range s.Requests() {
		var body struct {
			OpType *int `json:"op_type"`
			Infos  []struct {
				IPList []struct {
					IP string `json:"ip"`
				} `json:"ip_list"`
			} `json:"process_infos"`
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		if body.OpType == nil {
			continue // a poll
		}
		request := asked{OpType: *body.OpType}
		for _, address := range body.Infos[0].IPList {
			request.Hosts = append(request.Hosts, procapitest.NumberOf(procapitest.Parse(t, "0:"+address.IP)[0]))
		}
		got = append(got, request)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}
