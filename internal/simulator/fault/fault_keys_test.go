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
	for name, tt := range map[string]struct {
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
			tt.fault.API = "get_proc_operate_result_v2"
			c.Sim.Inject(tt.fault)
			rest := c.BodyOf("get_proc_operate_result_v2", `{`+simtest.Credentials+`,"task_id":"`+id+`"}`)
			for _, part := range tt.want {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Fatalf("%s does not follow: %s", part, rest)
				}
				rest = after
			}
			if strings.Contains(rest, tt.not) {
				t.Errorf("has %s: %s", tt.not, rest)
			}
		})
	}
}

func TestFault_keysWithoutSupplier(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Keys: "no-supplier"})
	env := c.Send("register_proc_info", simtest.FirstBody("register_proc_info", "{}", "10.0.0.1"))
	if v := simtest.VerdictOf(t, env.Data, "0:10.0.0.1:web:nginx"); v.Code != 0 || len(env.Data) != 1 {
		t.Errorf("got %+v of %v", v, env.Data)
	}
}

// With the fault, a start that fails hosts the process, and no other operation does.
func TestFault_stillHosts(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Code: new(65535), StillHosts: true})
	for _, step := range []struct {
		op     int
		hosted bool
	}{{simulator.OpStop, false}, {simulator.OpStart, true}} {
		if v := c.Do(step.op, "10.0.0.1"); v.Code != 65535 {
			t.Errorf("op %d: %+v", step.op, v)
		}
		if p, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx"); p.Hosted != step.hosted || p.Running {
			t.Errorf("after op %d: %+v", step.op, p)
		}
	}
	c.Sim.ClearFaults()
	if v := c.Do(simulator.OpQuery, "10.0.0.1"); !strings.Contains(v.Text(), `"isAuto": true`) {
		t.Errorf("a query: %s", v.Text())
	}
}
