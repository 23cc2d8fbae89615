package job

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// Unset fields are not sent, so that JOB's defaults apply. Set fields are sent, even if they are 0.
func TestRequests_omitWhatIsNotSaid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		info Info
		want string
	}{
		"nothing":  {Info{ProcName: "p", SetupPath: "/s", PIDPath: "/p.pid"}, `{"proc_name":"p","setup_path":"/s","pid_path":"/p.pid"}`},
		"zeroes":   {Info{ProcName: "p", SetupPath: "/s", PIDPath: "/p.pid", CPULmt: new(int64(0)), StopCmd: new("")}, `{"proc_name":"p","setup_path":"/s","pid_path":"/p.pid","cpu_lmt":0,"stop_cmd":""}`},
		"periodic": {Info{ProcName: "p", SetupPath: "/s", PIDPath: "/p.pid", Type: new(int64(TypePeriodic)), CycleTime: new(int64(60))}, `{"proc_name":"p","setup_path":"/s","pid_path":"/p.pid","type":0,"cycle_time":60}`},
	} {
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

// Unset values take the times of GSE's documents.
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
