package job

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// What is not said is not sent, so that JOB's defaults apply; what is said is,
// even if it is 0.
func TestRequests_omitWhatIsNotSaid(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		info Info
		want string
	}{
		"nothing":  {Info{ProcName: "p", SetupPath: "/s", PIDPath: "/p.pid"}, `{"proc_name":"p","setup_path":"/s","pid_path":"/p.pid"}`},
		"zeroes":   {Info{ProcName: "p", SetupPath: "/s", PIDPath: "/p.pid", CPULmt: new(int64(0)), StopCmd: new("")}, `{"proc_name":"p","setup_path":"/s","pid_path":"/p.pid","cpu_lmt":0,"stop_cmd":""}`},
		"periodic": {Info{ProcName: "p", SetupPath: "/s", PIDPath: "/p.pid", Type: new(int64(TypePeriodic)), CycleTime: new(int64(60))}, `{"proc_name":"p","setup_path":"/s","pid_path":"/p.pid","type":0,"cycle_time":60}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, url := newScript(t, exchange{API: apiOperate, Reply: refusal(1, "no")})
			quick(t, url).Process(scope, RegisterByOperate, test.info).Register(t.Context(), hosts(1))
			var body struct {
				ProcessInfos []map[string]json.RawMessage `json:"process_infos"`
			}
			if err := json.Unmarshal(script.Requests()[0], &body); err != nil {
				t.Fatal(err)
			}
			delete(body.ProcessInfos[0], "ip_list")
			info, err := json.Marshal(body.ProcessInfos[0])
			if err != nil {
				t.Fatal(err)
			}
			if diff := procapitest.DiffJSON(t, []byte(test.want), info); diff != "" {
				t.Errorf("(-want +sent):\n%s", diff)
			}
		})
	}
}

// Source: operate_process and manage_proc, `op_type`.
func TestRequests_opTypes(t *testing.T) {
	t.Parallel()
	type call = func(context.Context, *Process) error
	operate := func(op fleet.Operation) call {
		return func(ctx context.Context, p *Process) error {
			p.Operate(ctx, op, hosts(1), nil)
			return nil
		}
	}
	tests := map[string]struct {
		by   Registration
		call call
		api  string
		want int
	}{
		"start":   {RegisterByOperate, operate(fleet.Start), apiOperate, 0},
		"stop":    {RegisterByOperate, operate(fleet.Stop), apiOperate, 1},
		"host":    {RegisterByOperate, operate(fleet.Supervise), apiOperate, 3},
		"unhost":  {RegisterByOperate, operate(fleet.Unsupervise), apiOperate, 4},
		"restart": {RegisterByOperate, operate(fleet.Restart), apiOperate, 7},
		"reload":  {RegisterByOperate, operate(fleet.Reload), apiOperate, 8},
		"kill":    {RegisterByOperate, operate(fleet.Kill), apiOperate, 9},
		"live": {RegisterByManage, func(ctx context.Context, p *Process) error {
			_, err := p.LiveStatus(ctx, hosts(1))
			return err
		}, apiOperate, 2},
		"cached": {RegisterByManage, func(ctx context.Context, p *Process) error {
			_, err := p.CachedStatus(ctx, hosts(1))
			return err
		}, apiOperate, 2},
		"host-by-manage": {RegisterByManage, operate(fleet.Supervise), apiOperate, 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, url := newScript(t, exchange{API: test.api, Reply: refusal(1, "no")})
			asks := name == "live" || name == "cached"
			if err := test.call(t.Context(), quick(t, url).Process(scope, test.by, operateInfo())); (err != nil) != asks {
				t.Errorf("got error %v", err)
			}
			var body struct {
				OpType *int `json:"op_type"`
			}
			if err := json.Unmarshal(script.Requests()[0], &body); err != nil || body.OpType == nil || *body.OpType != test.want {
				t.Errorf("got %v, %v, want %d", body.OpType, err, test.want)
			}
		})
	}
}

func TestClient_generations(t *testing.T) {
	t.Parallel()
	for api, base := range map[API]string{"": "jobv3", V3: "jobv3", V2: "job"} {
		t.Run("api-"+string(api), func(t *testing.T) {
			t.Parallel()
			_, url := procapitest.NewScript(t, "/api/c/compapi/v2/"+base+"/%s/", accepted, result(said(key(1), code(0))))
			p := NewClient(quick(t, url).api, Options{API: api}).Process(scope, "", operateInfo())
			if got := p.Operate(t.Context(), fleet.Start, hosts(1), nil)[host(1)]; !got.OK() {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// What is not set takes as long as GSE's documents say.
func TestInfo_Settles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info           Info
		command, check time.Duration
	}{
		"not-set": {Info{}, 60 * time.Second, 5 * time.Second},
		"set":     {Info{OpTimeout: new(int64(7)), StartCheckEndTime: new(int64(30))}, 7 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if command, check := c.info.Settles(); command != c.command || check != c.check {
				t.Errorf("got %s and %s, want %s and %s", command, check, c.command, c.check)
			}
		})
	}
}
