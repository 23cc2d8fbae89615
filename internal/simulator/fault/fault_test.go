package fault_test

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFault_polls(t *testing.T) {
	t.Parallel()
	const q, gone = simulator.CodeTaskQueued, -2
	one := []string{"0:10.0.0.1"}
	tests := map[string]struct {
		faults []simulator.Fault
		want   []int // about 10.0.0.1
		other  []int // about 10.0.0.2, in the polls after those
		to     string
	}{
		"none":            {nil, []int{0, 0}, []int{0}, "-Hr"},
		"pending":         {[]simulator.Fault{{Hosts: one, Pending: 2}}, []int{115, 115, 0, 0}, []int{0}, "-Hr"},
		"pending-forever": {[]simulator.Fault{{Hosts: one, Pending: -1}}, []int{115, 115, 115}, []int{0}, "-Hr"},
		"missing":         {[]simulator.Fault{{Hosts: one, Missing: 2}}, []int{gone, gone, 0}, []int{0}, "-Hr"},
		"missing-forever": {[]simulator.Fault{{Hosts: one, Missing: -1}}, []int{gone, gone}, []int{0}, "-Hr"},
		"queued":          {[]simulator.Fault{{Queued: 2}}, []int{q, q, 0}, []int{0}, "-Hr"},
		"all-three":       {[]simulator.Fault{{Queued: 1, Missing: 1, Pending: 1}}, []int{q, gone, 115, 0}, []int{0}, "-Hr"},
		"by-poll":         {[]simulator.Fault{{API: "get_proc_operate_result_v2", Hosts: one, Pending: 1}}, []int{115, 0}, []int{0}, "-Hr"},
		"other-op":        {[]simulator.Fault{{Op: new(simulator.OpStop), Pending: 1}}, []int{0}, []int{0}, "-Hr"},
		"other-name":      {[]simulator.Fault{{Name: "apache", Pending: 1}}, []int{0}, []int{0}, "-Hr"},
		"code":            {[]simulator.Fault{{Hosts: one, Code: new(65535)}}, []int{65535, 65535}, []int{0}, "---"},
		"code-applied":    {[]simulator.Fault{{Hosts: one, Code: new(836), Apply: true}}, []int{836}, []int{0}, "-Hr"},
		"code-late":       {[]simulator.Fault{{Hosts: one, Code: new(-1), Pending: 1}}, []int{115, -1}, []int{0}, "---"},
		"away":            {[]simulator.Fault{{Hosts: one, Unreachable: "117"}}, []int{117}, []int{0}, "---"},
		"away-silently":   {[]simulator.Fault{{Hosts: one, Unreachable: "pending"}}, []int{115, 115}, []int{0}, "---"},
		"used-up":         {[]simulator.Fault{{Op: new(simulator.OpQuery), Times: 1, Code: new(-1)}}, []int{0}, []int{0}, "-Hr"},
		"skipped":         {[]simulator.Fault{{Hosts: one, Skip: 1, Code: new(-1)}}, []int{0, 0}, []int{0}, "-Hr"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			for _, f := range test.faults {
				c.Sim.Inject(f)
			}
			id := c.Operate(simulator.OpStart, "10.0.0.1", "10.0.0.2")
			simtest.Want(t, "polls say", c.Codes(id, "10.0.0.1", len(test.want)), test.want)
			simtest.Want(t, "about the other host polls say", c.Codes(id, "10.0.0.2", len(test.other)), test.other)
			simtest.Want(t, "then", simtest.State(c.Sim, "10.0.0.1"), test.to)
		})
	}
}

func TestFault_timesCountOperations(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Op: new(simulator.OpQuery), Skip: 1, Times: 2, Pending: 2})
	var got [][]int
	for range 4 {
		got = append(got, c.Codes(c.Operate(simulator.OpQuery, "10.0.0.1"), "10.0.0.1", 3))
	}
	want := [][]int{{0, 0, 0}, {115, 115, 0}, {115, 115, 0}, {0, 0, 0}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFault_firstGenerationIsRepeated(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault  simulator.Fault
		want   []int
		states []string
	}{
		"pending":         {simulator.Fault{Pending: 2}, []int{115, 115, 0, 115}, []string{"---", "---", "R--", "R--"}},
		"pending-once":    {simulator.Fault{Pending: 1, Times: 1}, []int{115, 0, 850}, []string{"---", "R--", "R--"}},
		"pending-applied": {simulator.Fault{Pending: 1, Times: 1, Apply: true}, []int{115, 850}, []string{"R--", "R--"}},
		"code":            {simulator.Fault{Code: new(-1), Times: 1}, []int{-1, 0}, []string{"---", "R--"}},
		"away":            {simulator.Fault{Unreachable: "117", Times: 1}, []int{117, 0}, []string{"---", "R--"}},
		"away-silently":   {simulator.Fault{Unreachable: "pending"}, []int{115, 115}, []string{"---", "---"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			c.Sim.Inject(test.fault)
			for i, want := range test.want {
				v := c.Call("register_proc_info", "10.0.0.1")
				if got := simtest.State(c.Sim, "10.0.0.1"); v.Code != want || got != test.states[i] {
					t.Errorf("call %d: %d, then %s; want %d, then %s", i+1, v.Code, got, want, test.states[i])
				}
			}
		})
	}
}

func TestFault_clear(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{API: "register_proc_info", Pending: -1})
	id := c.Sim.Inject(simulator.Fault{Op: new(simulator.OpQuery), Code: new(-1)})
	simtest.WantCode(t, "before", c.Call("register_proc_info", "10.0.0.1"), 115)
	c.Sim.ClearFault(id)
	simtest.WantCode(t, "one is cleared", c.Do(simulator.OpQuery, "10.0.0.1"), 0)
	simtest.WantCode(t, "the other is not", c.Call("register_proc_info", "10.0.0.1"), 115)
	c.Sim.ClearFaults()
	simtest.WantCode(t, "all are cleared", c.Call("register_proc_info", "10.0.0.1"), 0)
}

func TestFault_queuedData(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Queued: 1, Times: 1, QueuedData: map[string]any{}})
	c.Sim.Inject(simulator.Fault{Queued: 1, Skip: 1})
	if env := c.Poll(c.Operate(simulator.OpQuery, "10.0.0.1")); env.Code != 1000115 || env.Data == nil || len(env.Data) != 0 {
		t.Errorf("first task: %+v", env)
	}
	if env := c.Poll(c.Operate(simulator.OpQuery, "10.0.0.1")); env.Code != 1000115 || env.Data != nil {
		t.Errorf("second task: %+v", env)
	}
}

func TestFault_takes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	c := simtest.NewVirtual(t, &simulator.Server{Now: func() time.Time { return now }})
	c.Sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Takes: 5 * time.Second})
	id := c.Operate(simulator.OpStart, "10.0.0.1")
	accepted := now

	now = now.Add(4 * time.Second)
	if got := c.Codes(id, "10.0.0.1", 1); got[0] != 115 || simtest.State(c.Sim, "10.0.0.1") != "---" {
		t.Errorf("too early: %v, %s", got, simtest.State(c.Sim, "10.0.0.1"))
	}
	if info := c.Sim.Tasks()[0]; !info.Settled.IsZero() {
		t.Errorf("too early: %+v", info)
	}
	now = now.Add(3 * time.Second)
	if got := c.Codes(id, "10.0.0.1", 1); got[0] != 0 || simtest.State(c.Sim, "10.0.0.1") != "-Hr" {
		t.Errorf("in time: %v, %s", got, simtest.State(c.Sim, "10.0.0.1"))
	}
	want := simulator.TaskInfo{ID: id, Op: 0, Accepted: accepted, Settled: accepted.Add(5 * time.Second), Polls: 2, Hosts: 1}
	if info := c.Sim.Tasks(); len(info) != 1 || info[0] != want {
		t.Errorf("got %+v, want %+v", info, want)
	}
}

func TestFault_expiredTask(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	id := c.Operate(simulator.OpQuery, "10.0.0.1")
	c.Sim.ExpireTask(id)
	if env := c.Poll(id); env.Code != 1000115 || env.Data != nil {
		t.Errorf("expired: %+v", env)
	}
	empty := simtest.NewClient(t, &simulator.Server{ExpiredEmpty: true})
	if env := empty.Poll("GSETASK:gone"); env.Code != 0 || env.Data == nil || len(env.Data) != 0 {
		t.Errorf("expired and empty: %+v", env)
	}
}

func TestFault_answers(t *testing.T) {
	t.Parallel()
	body := "{" + simtest.Credentials + "," + simtest.FirstBody("register_proc_info", "{}", "10.0.0.1")[1:]
	tests := map[string]struct {
		fault  simulator.Fault
		status int
		body   string
		header [2]string
		to     string
	}{
		"bad-gateway":       {simulator.Fault{HTTPStatus: 502, Body: "<html>bad gateway</html>"}, 502, "<html>bad gateway</html>", [2]string{"Content-Type", "text/html; charset=utf-8"}, "---"},
		"timeout-processed": {simulator.Fault{HTTPStatus: 504, Apply: true}, 504, "Gateway Timeout", [2]string{}, "R--"},
		"slow-down":         {simulator.Fault{HTTPStatus: 429, Header: map[string]string{"Retry-After": "1"}}, 429, "Too Many Requests", [2]string{"Retry-After", "1"}, "---"},
		"slow-down-no-hint": {simulator.Fault{HTTPStatus: 429}, 429, "Too Many Requests", [2]string{"Retry-After", ""}, "---"},
		"unauthorized":      {simulator.Fault{HTTPStatus: 401, Body: `{"code":1640001}`}, 401, `{"code":1640001}`, [2]string{}, "---"},
		"envelope":          {simulator.Fault{EnvelopeCode: new(1306201), EnvelopeMessage: "third party"}, 200, `"code":1306201,"data":null,"message":"third party"`, [2]string{}, "---"},
		"envelope-shape":    {simulator.Fault{Envelope: map[string]any{"code": "00", "result": nil}}, 200, `{"code":"00","data":{"0:7:`, [2]string{}, "R--"},
		"spelling":          {simulator.Fault{Spelling: "errcode"}, 200, `"errcode":0,"errmsg":"success"`, [2]string{}, "R--"},
		"extra-key":         {simulator.Fault{ExtraKeys: map[string]any{"x": 1}}, 200, `"x":1}`, [2]string{}, "R--"},
		"another-api":       {simulator.Fault{API: "update_*", HTTPStatus: 502}, 200, `"code":0`, [2]string{}, "R--"},
		"another-host":      {simulator.Fault{Hosts: []string{"0:10.0.0.2"}, HTTPStatus: 502}, 200, `"code":0`, [2]string{}, "R--"},
		"delay":             {simulator.Fault{Delay: time.Millisecond}, 200, `"code":0`, [2]string{}, "R--"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			c.Sim.Inject(test.fault)
			resp, err := c.Post("register_proc_info", body)
			simtest.Must(t, err)
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			simtest.Must(t, err)
			if resp.StatusCode != test.status || !strings.Contains(string(got), test.body) {
				t.Errorf("HTTP %d: %s", resp.StatusCode, got)
			}
			if test.header[0] != "" && resp.Header.Get(test.header[0]) != test.header[1] {
				t.Errorf("header %s: %q", test.header[0], resp.Header.Get(test.header[0]))
			}
			simtest.Want(t, "then", simtest.State(c.Sim, "10.0.0.1"), test.to)
			if last := c.Sim.Calls().Last(); last.Status != test.status {
				t.Errorf("recorded HTTP %d", last.Status)
			}
		})
	}
}

func TestFault_lostAnswers(t *testing.T) {
	t.Parallel()
	body := "{" + simtest.Credentials + "," + simtest.FirstBody("register_proc_info", "{}", "10.0.0.1")[1:]
	for drop, to := range map[string]string{"before": "---", "after": "R--", "mid": "R--"} {
		t.Run(drop, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t, &simulator.Server{UpdateRefuses: true})
			c.Sim.Inject(simulator.Fault{Drop: drop, Times: 1})
			resp, err := c.Post("register_proc_info", body)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if err == nil {
				t.Error("an answer arrived")
			}
			simtest.Want(t, "then", simtest.State(c.Sim, "10.0.0.1"), to)
			if calls := c.Sim.Calls(); len(calls) != 1 {
				t.Errorf("%d calls: %v", len(calls), calls.APIs())
			}
			if v := c.Call("update_proc_info", "10.0.0.1"); (v.Code == 0) != (to == "R--") {
				t.Errorf("the next call: %+v", v)
			}
		})
	}
}

func TestFault_taskID(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{API: "operate_*", TaskID: new("")})
	env := c.Send("operate_proc_v2", `{`+simtest.Meta("{}")+`,`+simtest.CloudHosts("10.0.0.1")+`,"op_type":2,"spec":`+simtest.OperateSpec+`}`)
	if id, given := env.Data["task_id"]; env.Code != 0 || !given || id != "" {
		t.Errorf("got %+v", env)
	}
}

func TestFault_contentShapes(t *testing.T) {
	t.Parallel()
	tests := map[string]func(content any) bool{
		"object": func(content any) bool { m, ok := content.(map[string]any); return ok && m["process"] != nil },
		"null":   func(content any) bool { return content == nil },
		"empty":  func(content any) bool { return content == "" },
		"broken": func(content any) bool {
			s, ok := content.(string)
			return ok && strings.HasPrefix(s, "{") && !json.Valid([]byte(s))
		},
		"no-instance": func(content any) bool {
			s, ok := content.(string)
			return ok && json.Valid([]byte(s)) && strings.Contains(s, `"instance": []`)
		},
	}
	for shape, good := range tests {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			c.Sim.Inject(simulator.Fault{ContentShape: shape})
			if v := c.Do(simulator.OpQuery, "10.0.0.1"); v.Code != 0 || !good(v.Content) {
				t.Errorf("content: %#v", v.Content)
			}
		})
	}
}

func TestFault_messageAndContent(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Code: new(65535), Message: "line one\nline two", Content: map[string]any{"a": 1}})
	v := c.Do(simulator.OpStart, "10.0.0.1")
	if v.Message != "line one\nline two" || !reflect.DeepEqual(v.Content, map[string]any{"a": 1.0}) {
		t.Errorf("got %+v", v)
	}
}

func TestFault_unreachableAgentKeepsItsRow(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Do(simulator.OpStart, "10.0.0.1")
	c.Sim.SetReachable("0:10.0.0.1", false)
	simtest.WantCode(t, "stop", c.Do(simulator.OpStop, "10.0.0.1"), 117)
	if row := c.Rows("10.0.0.1")["10.0.0.1"]; row["status"] != 1.0 {
		t.Errorf("row: %v", row)
	}
	c.Sim.SetReachable("0:10.0.0.1", true)
	simtest.WantCode(t, "stop after its return", c.Do(simulator.OpStop, "10.0.0.1"), 0)
}

func TestFault_json(t *testing.T) {
	t.Parallel()
	in := `{"api":"get_*","op":0,"hosts":["0:10.0.0.1"],"times":1,"pending":-1,"code":0,"takes":"500ms","delay":"1s","delay_max":"2s","chance":0.5,"envelope":{"result":null}}`
	var f simulator.Fault
	simtest.Must(t, json.Unmarshal([]byte(in), &f))
	if f.Takes != 500*time.Millisecond || f.Delay != time.Second || f.Op == nil || *f.Op != 0 || f.Code == nil {
		t.Errorf("got %+v", f)
	}
	out, err := json.Marshal(f)
	simtest.Must(t, err)
	var a, b any
	if json.Unmarshal([]byte(in), &a) != nil || json.Unmarshal(out, &b) != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("got %s, want %s", out, in)
	}
	for _, bad := range []string{`{"pendign":1}`, `{"takes":5}`, `{"takes":"soon"}`} {
		if err := json.Unmarshal([]byte(bad), &f); err == nil {
			t.Errorf("%s is let in", bad)
		}
	}
}

func TestServer_concurrentCalls(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	// Each call is held until both have arrived.
	c.Sim.Inject(simulator.Fault{Delay: time.Hour})
	both := func() bool { return c.Sim.MaxInFlight() >= 2 }
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			_, _ = c.Impatient("sync_proc_status", `{`+simtest.Credentials+`,"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`, both)
		})
	}
	c.Eventually("two calls at once", both)
	calls.Wait()
	if got := c.Sim.MaxInFlight(); got != 2 {
		t.Errorf("%d in flight at most, want 2", got)
	}
}
