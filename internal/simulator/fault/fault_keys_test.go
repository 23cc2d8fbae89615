package fault_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// A host's key has another form, or is there twice.
func TestFault_keys(t *testing.T) {
	t.Parallel()
	const key = "0:10.0.0.1:web:nginx"
	odd := map[string]any{"error_code": 115, "error_msg": "first", "content": ""}
	for name, test := range map[string]struct {
		fault simulator.Fault
		want  []string // in this order
		not   string
	}{
		"none":             {simulator.Fault{}, []string{`"` + key + `"`}, "first"},
		"supplier":         {simulator.Fault{Keys: "supplier"}, []string{`"0:0:10.0.0.1:web:nginx"`}, `"` + key + `"`},
		"the-same-twice":   {simulator.Fault{FirstKeys: map[string]any{key: odd}}, []string{`"` + key + `":{"content":"","error_code":115`, `"` + key + `":{"content":`}, "nobody"},
		"another-besides":  {simulator.Fault{FirstKeys: map[string]any{"other": odd}}, []string{`"other":`, `"` + key + `":`}, "nobody"},
		"nothing-in-front": {simulator.Fault{FirstKeys: map[string]any{}}, []string{`"` + key + `":`}, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			id := c.Operate(simulator.OpQuery, "10.0.0.1")
			test.fault.API = "get_proc_operate_result_v2"
			c.Sim.Inject(test.fault)
			rest := c.BodyOf("get_proc_operate_result_v2", simtest.Signed(`{"task_id":"`+id+`"}`))
			for _, part := range test.want {
				_, after, found := strings.Cut(rest, part)
				if !found || strings.Contains(rest, test.not) {
					t.Fatalf("want %s and not %s: %s", part, test.not, rest)
				}
				rest = after
			}
		})
	}
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Keys: "no-supplier"})
	env := c.Send("register_proc_info", simtest.FirstBody("register_proc_info", "{}", "10.0.0.1"))
	simtest.WantCode(t, "without the supplier", simtest.VerdictOf(t, env.Data, key), 0)
	simtest.Want(t, "keys without the supplier", len(env.Data), 1)
}

// With the fault, a start that fails hosts the process, and no other operation does.
func TestFault_stillHosts(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Code: new(65535), StillHosts: true})
	c.Does(simulator.OpStop, 65535, "---")
	c.Does(simulator.OpStart, 65535, "-H-")
	c.Sim.ClearFaults()
	if v := c.Does(simulator.OpQuery, 0, "-H-"); !strings.Contains(v.Text(), `"isAuto": true`) {
		t.Errorf("a query: %s", v.Text())
	}
}
