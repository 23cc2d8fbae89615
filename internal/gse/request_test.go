package gse

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// Source: operate_proc_v2, `op_type`. 2 is LiveStatus.
func TestOperate_opTypes(t *testing.T) {
	t.Parallel()
	for op, want := range map[fleet.Operation]int{
		fleet.Start: 0, fleet.Stop: 1, procapi.Query: 2, fleet.Supervise: 3, fleet.Unsupervise: 4, fleet.Restart: 7, fleet.Reload: 8, fleet.Kill: 9,
	} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			script, url := newScript(t, exchange{API: apiOperate, Reply: refusal(1, "null")})
			p := quick(t, url).Process(sampleMeta, sampleSpec())
			if op == procapi.Query {
				_, _ = p.LiveStatus(t.Context(), hosts(1))
			} else {
				p.Operate(t.Context(), op, hosts(1), nil)
			}
			var body struct {
				OpType *int `json:"op_type"`
			}
			if err := json.Unmarshal(script.Requests()[0], &body); err != nil || body.OpType == nil || *body.OpType != want {
				t.Errorf("got %v, %v, want %d", body.OpType, err, want)
			}
		})
	}
}

// What is not set takes as long as the documents say.
func TestSpec_Settles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec           *Spec
		command, check time.Duration
	}{
		"no-spec": {nil, 60 * time.Second, 5 * time.Second},
		"not-set": {&Spec{}, 60 * time.Second, 5 * time.Second},
		"set":     {&Spec{OpTimeout: new(int64(7)), MonitorPolicy: MonitorPolicy{StartCheckSecs: new(int64(30))}}, 7 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if command, check := c.spec.Settles(); command != c.command || check != c.check {
				t.Errorf("got %s and %s, want %s and %s", command, check, c.command, c.check)
			}
		})
	}
}
