package job

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

type exchange = procapitest.Exchange

var (
	host  = procapitest.Host
	hosts = procapitest.Hosts
	said  = procapitest.Said
	code  = procapitest.Code
)

var (
	bizScope = Scope{BizID: new(int64(1))}
	scope    = Scope{Type: "biz", ID: "1"}
	setScope = Scope{Type: "biz_set", ID: "7"}
)

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

func operateInfo() Info {
	return Info{
		ProcName: "gseagent", SetupPath: "/usr/local/xxx", PIDPath: "/usr/local/xxx",
		Account: new("root"), Contact: new("root"), CPULmt: new(int64(50)), MemLmt: new(int64(30)),
	}
}

func newScript(t *testing.T, steps ...exchange) (*procapitest.Script, string) {
	t.Helper()
	return procapitest.NewScript(t, "/api/c/compapi/v2/jobv3/%s/", steps...)
}

// scripted is the process of operateInfo, of a JOB that is scripted.
func scripted(t *testing.T, by Registration, steps ...exchange) (*Process, *procapitest.Script) {
	t.Helper()
	return retrying(t, 0, by, steps...)
}

// retrying is that process of a client that tries a request again so many times.
func retrying(t *testing.T, times int, by Registration, steps ...exchange) (*Process, *procapitest.Script) {
	t.Helper()
	script, url := newScript(t, steps...)
	client := newTestClient(t, url, func(cfg *bkapi.Config, _ *Options) { cfg.MaxRetries = times })
	return client.Process(scope, by, operateInfo()), script
}

// scene is a call for hosts 1 and 2 of the process of operateInfo, of a JOB that is scripted, and what is made of the answers.
type scene struct {
	by      Registration
	edit    func(*Info)
	retries int
	call    procapitest.Call
	steps   []exchange
	want    any     // see procapitest.WantOf
	asked   []asked // nil, or the requests
}

func play(t *testing.T, scenes map[string]scene) {
	t.Helper()
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := retrying(t, s.retries, s.by, s.steps...)
			if s.edit != nil {
				s.edit(&p.info)
			}
			procapitest.WantOf(t, s.want, s.call(t.Context(), p, hosts(2)))
			if s.asked != nil {
				wantAsked(t, script, s.asked...)
			}
		})
	}
}

func on[V any](first, second V) map[string]V {
	return map[string]V{host(1).Address(): first, host(2).Address(): second}
}

// codes is one answer about task T, with these codes for hosts 1 and 2.
func codes(first, second int) exchange {
	return result(said(key(1), code(first), key(2), code(second)))
}

func newTestClient(t *testing.T, endpoint string, edit func(*bkapi.Config, *Options)) *Client {
	t.Helper()
	cfg := bkapi.Config{
		Endpoint: endpoint, Gateway: bkapi.ESB,
		AppCode: "esb_test", AppSecret: "xxx", Token: "xxx",
		RetryWaitMin: time.Millisecond, RetryWaitMax: time.Millisecond,
	}
	opts := Options{Backoff: poll.Backoff{First: time.Millisecond}}
	if edit != nil {
		edit(&cfg, &opts)
	}
	api, err := bkapi.New(cfg)
	procapitest.NoError(t, err)
	t.Cleanup(api.Close)
	return NewClient(api, opts)
}

func refusal(code int, message string) http.HandlerFunc {
	return procapitest.Refusal(code, message, "null")
}

var (
	// accepted and registered are accepted operations with task T.
	accepted   = exchange{API: apiOperate, Reply: procapitest.Data(`{"bk_gse_taskid":"T"}`)}
	registered = exchange{API: apiManage, Reply: procapitest.Data(`{"bk_gse_taskid":"T"}`)}
)

var (
	queued     = exchange{API: apiResult, Reply: procapitest.Data(`{"status":115,"result":{}}`)}
	oldQueued  = exchange{API: apiResult, Reply: refusal(1000115, "redis reply is not string")}
	gseTrouble = exchange{API: apiResult, Reply: refusal(codeGSEError, "GSE error")}
)

// result is one answer about task T, with the status of the document's sample.
func result(body string) exchange {
	return exchange{API: apiResult, Reply: procapitest.Data(`{"status":115,"result":` + body + `}`)}
}

// foundOn is the query after a manage_proc, with the answers of these hosts' agents.
func foundOn(instance string, numbers ...int) []exchange {
	pairs := make([]string, 0, 2*len(numbers))
	for _, n := range numbers {
		pairs = append(pairs, key(n), answered(instance))
	}
	return []exchange{accepted, result(said(pairs...))}
}

// key is the result key of host n and the process of operateInfo, from the document rather than from the code under test.
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
		procapitest.NoError(t, json.Unmarshal(raw, &body))
		if body.OpType == nil {
			continue // a poll
		}
		request := asked{OpType: *body.OpType}
		for _, address := range body.Infos[0].IPList {
			request.Hosts = append(request.Hosts, procapitest.NumberOf(procapitest.Parse(t, "0:"+address.IP)[0]))
		}
		got = append(got, request)
	}
	procapitest.WantEqual(t, "asked", want, got)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
