package gse

import (
	"encoding/json"
	"testing"

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
