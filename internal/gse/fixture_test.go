package gse

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// The words that the tables are written in.
type exchange = procapitest.Exchange

var (
	host  = procapitest.Host
	hosts = procapitest.Hosts
	said  = procapitest.Said
	code  = procapitest.Code
)

const (
	agentA = "0200000007525400f355781710390005465c"
	agentB = "02000000075254005d52cc171039000570a1"

	stage = "/api/bk-gse/prod"
)

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
		Identity: Identity{ProcName: "nginx", SetupPath: "/usr/sbin", PIDPath: "/run/nginx.pid", User: "root"},
		Resource: &Resource{CPU: 30, Mem: 12.5}, MonitorPolicy: MonitorPolicy{AutoType: AutoPeriodic},
	}
}

// unlimitedSpec is minimalSpec without the limits, which the document of register_proc_info requires.
func unlimitedSpec() *Spec {
	spec := minimalSpec()
	spec.Resource = nil
	return spec
}

// scripted is process gse:proc-test at a face that is scripted.
func scripted(t *testing.T, face string, steps ...exchange) (*Process, *procapitest.Script) {
	t.Helper()
	return configured(t, face, nil, steps...)
}

// configured is that process of a client whose configuration edit changes first.
func configured(t *testing.T, face string, edit func(*bkapi.Config, *procapi.Options), steps ...exchange) (*Process, *procapitest.Script) {
	t.Helper()
	path, base := "/api/c/compapi/v2/gse/%s/", ""
	if face == "apigw" {
		path, base = stage+"/api/v2/proc/%s", stage
	}
	script, url := procapitest.NewScript(t, path, steps...)
	client := newTestClient(t, url+base, func(cfg *bkapi.Config, opts *procapi.Options) {
		if face == "apigw" {
			cfg.Gateway = bkapi.APIGW
		}
		if edit != nil {
			edit(cfg, opts)
		}
	})
	return client.Process(sampleMeta, sampleSpec()), script
}

// retrying lets a client try a request again so many times.
func retrying(times int) func(*bkapi.Config, *procapi.Options) {
	return func(cfg *bkapi.Config, _ *procapi.Options) { cfg.MaxRetries = times }
}

// scene is a call of process gse:proc-test at a face that is scripted, and what is made of the answers.
type scene struct {
	face    string // "" is the ESB
	edit    func(*Process)
	retries int
	call    procapitest.Call
	hosts   []string // host 1 if there are none
	steps   []exchange
	want    any      // see procapitest.WantOf
	sent    []string // nil, or by which selectors hosts were named in requests
}

func play(t *testing.T, scenes map[string]scene) {
	t.Helper()
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := configured(t, cmp.Or(s.face, "esb"), retrying(s.retries), s.steps...)
			if s.edit != nil {
				s.edit(p)
			}
			if s.hosts == nil {
				s.hosts = host1
			}
			procapitest.WantOf(t, s.want, s.call(t.Context(), p, procapitest.Parse(t, s.hosts...)))
			var sent []string
			for _, body := range script.Requests() {
				if !strings.Contains(string(body), `"task_id"`) {
					sent = append(sent, selectorOf(t, body))
				}
			}
			if s.sent != nil {
				procapitest.WantEqual(t, "hosts of requests", s.sent, sent)
			}
		})
	}
}

var (
	host1  = []string{"0:10.0.0.1"}
	host12 = []string{"0:10.0.0.1", "0:10.0.0.2"}
)

// on1 is a value for host 1, and on12 are values for two hosts.
func on1[V any](v V) map[string]V { return map[string]V{host12[0]: v} }
func on12[V any](first, second V) map[string]V {
	return map[string]V{host12[0]: first, host12[1]: second}
}

// newTestClient is a client of endpoint that waits a millisecond between polls and does not retry requests. edit changes that first.
func newTestClient(tb testing.TB, endpoint string, edit func(*bkapi.Config, *procapi.Options)) *Client {
	tb.Helper()
	cfg := bkapi.Config{
		Endpoint: endpoint, Gateway: bkapi.ESB, AppCode: "bk_test", AppSecret: "s3cret", Username: "admin", RetryWaitMin: time.Millisecond,
		RetryWaitMax: time.Millisecond,
	}
	opts := procapi.Options{Backoff: poll.Backoff{First: time.Millisecond}}
	if edit != nil {
		edit(&cfg, &opts)
	}
	api, err := bkapi.New(cfg)
	procapitest.NoError(tb, err)
	tb.Cleanup(api.Close)
	return NewClient(api, cfg.Gateway, opts)
}

// simAt is process gse:proc-test at a face of a simulator, which also knows agentA and agentB.
func simAt(t *testing.T, face string, sim *simulator.Server, maxHosts int) *Process {
	t.Helper()
	sim.AddHost(agentA, agentB)
	url := procapitest.Serve(t, sim)
	client := newTestClient(t, url, func(cfg *bkapi.Config, opts *procapi.Options) {
		cfg.MaxRetries, opts.MaxHosts = 2, maxHosts
		if face == "apigw" {
			cfg.Gateway, cfg.Endpoint = bkapi.APIGW, url+stage
		}
	})
	return client.Process(sampleMeta, sampleSpec())
}

func start(p fleet.Process, ctx context.Context, hosts []fleet.Host) fleet.Results { //nolint:revive // as methods of a type are written
	return p.Operate(ctx, fleet.Start, hosts, nil)
}

func wantDone(t *testing.T, results fleet.Results) {
	t.Helper()
	if failures := results.Failures(); len(failures) > 0 {
		t.Fatal(failures)
	}
}

func refusal(code int) http.HandlerFunc {
	return procapitest.Refusal(code, "redis reply is not string", "null")
}

var accepted = exchange{API: apiOperate, Reply: procapitest.Data(`{"task_id":"T"}`)}

var hosting = exchange{API: apiMulti, Reply: procapitest.Data(`{"task_id":"T"}`)}

func result(body string) exchange { return exchange{API: apiResult, Reply: procapitest.Data(body)} }

var queued = exchange{API: apiResult, Reply: refusal(procapi.CodeTaskQueued)}

// v1 and v2 are the result keys of host n, from the documents rather than from the code under test.
func v1(n int) string { return fmt.Sprintf("0:0:10.0.0.%d:gse:proc-test", n) }

func v2(n int) string { return fmt.Sprintf("0:10.0.0.%d:gse:proc-test", n) }

// one is the content of a query about one instance.
func one(instance string) string {
	return `{"ip":"10.0.0.1","utctime":"2020-01-01 00:00:00","timezone":8,"process":[{"procname":"nginx","instance":[` + instance + `]}]}`
}

// asText is a JSON document inside a JSON string, as the platform sends it.
func asText(document string) string { return strconv.Quote(document) }

// agentSays is an agent's answer to a query, as a pair for said.
func agentSays(address, instance string) []string {
	return []string{address + ":gse:proc-test", `{"error_code":0,"error_msg":"success","content":` + asText(one(instance)) + `}`}
}

// bareOn is a query whose answer is that nothing is hosted on these addresses.
func bareOn(m Meta, addresses ...string) []exchange {
	var pairs []string
	for _, address := range addresses {
		pairs = append(pairs, address+":"+m.Namespace+":"+m.Name, `{"error_code":0,"content":`+asText(one(`{"pid":-1,"isAuto":false}`))+`}`)
	}
	return []exchange{accepted, result(said(pairs...))}
}

func cachedRow(n, status int) string {
	return fmt.Sprintf(`{"meta":{"namespace":"gse","name":"proc-test"},"host":{"ip":"10.0.0.%d","bk_cloud_id":0},"status":%d}`, n, status)
}

// gatewayRow is a row of gse:proc-test with these members for its host.
func gatewayRow(where string, status int) string {
	return fmt.Sprintf(`{"meta":{"namespace":"gse","name":"proc-test"},%s,"status":%d}`, where, status)
}

func cached(rows ...string) exchange {
	return exchange{API: apiStatus, Reply: procapitest.Data(`{"proc_infos":[` + strings.Join(rows, ",") + `]}`)}
}

// outcome is the outcome of sample result n.
func outcome(verdict fleet.Verdict, n int) fleet.Outcome {
	message := fmt.Sprintf("message %d", n)
	return fleet.Outcome{Verdict: verdict, Code: int64(n), Message: message, Meaning: procapi.Meaning(int64(n), message), RequestID: "req-1", Away: n == procapi.CodeAgentAbnormal && verdict == fleet.Failed}
}

// already is the outcome of a host that was already in the requested state, or already registered.
func already(o fleet.Outcome) fleet.Outcome {
	o.AlreadyDone = true
	return o
}

func again(o fleet.Outcome) fleet.Outcome {
	o.Repeated = true
	return o
}

// wasIdle is the outcome of a host whose agent had reported that the process was neither hosted nor running.
func wasIdle(o fleet.Outcome) fleet.Outcome {
	o.WasIdle = true
	return o
}

func byTask(o fleet.Outcome) fleet.Outcome {
	o.TaskID = "T"
	return o
}

// selectorOf is the member by which a request names its hosts, and their names.
func selectorOf(t *testing.T, body []byte) string {
	t.Helper()
	type selector struct {
		Hosts []struct {
			IP string `json:"ip"`
		} `json:"hosts"`
		AgentIDs []string `json:"agent_id_list"`
	}
	var request struct {
		selector
		Requests []selector `json:"proc_operate_req"`
	}
	procapitest.NoError(t, json.Unmarshal(body, &request))
	named := request.selector
	if len(request.Requests) > 0 {
		named = request.Requests[0]
	}
	procapitest.Check(t, len(request.Requests) <= 1 && (len(named.Hosts) > 0) != (len(named.AgentIDs) > 0), "want one list of hosts in %s", body)
	if len(named.AgentIDs) > 0 {
		return "agents " + strings.Join(named.AgentIDs, " ")
	}
	text := "hosts"
	for _, h := range named.Hosts {
		text += " " + h.IP
	}
	return text
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
