package fault_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFault_polls(t *testing.T) {
	t.Parallel()
	const q, gone = simulator.CodeTaskQueued, -2
	one := []string{"0:10.0.0.1"}
	for name, test := range map[string]struct {
		fault simulator.Fault
		want  []int // about 10.0.0.1
		to    string
	}{
		"none":            {simulator.Fault{}, []int{0, 0}, "-Hr"},
		"pending":         {simulator.Fault{Hosts: one, Pending: 2}, []int{115, 115, 0, 0}, "-Hr"},
		"pending-forever": {simulator.Fault{Hosts: one, Pending: -1}, []int{115, 115, 115}, "-Hr"},
		"missing":         {simulator.Fault{Hosts: one, Missing: 2}, []int{gone, gone, 0}, "-Hr"},
		"missing-forever": {simulator.Fault{Hosts: one, Missing: -1}, []int{gone, gone}, "-Hr"},
		"queued":          {simulator.Fault{Queued: 2}, []int{q, q, 0}, "-Hr"},
		"all-three":       {simulator.Fault{Queued: 1, Missing: 1, Pending: 1}, []int{q, gone, 115, 0}, "-Hr"},
		"by-poll":         {simulator.Fault{API: "get_proc_operate_result_v2", Hosts: one, Pending: 1}, []int{115, 0}, "-Hr"},
		"other-op":        {simulator.Fault{Op: new(simulator.OpStop), Pending: 1}, []int{0}, "-Hr"},
		"other-name":      {simulator.Fault{Name: "apache", Pending: 1}, []int{0}, "-Hr"},
		"code":            {simulator.Fault{Hosts: one, Code: new(65535)}, []int{65535, 65535}, "---"},
		"code-applied":    {simulator.Fault{Hosts: one, Code: new(836), Apply: true}, []int{836}, "-Hr"},
		"code-late":       {simulator.Fault{Hosts: one, Code: new(-1), Pending: 1}, []int{115, -1}, "---"},
		"away":            {simulator.Fault{Hosts: one, Unreachable: "117"}, []int{117}, "---"},
		"away-silently":   {simulator.Fault{Hosts: one, Unreachable: "pending"}, []int{115, 115}, "---"},
		"used-up":         {simulator.Fault{Op: new(simulator.OpQuery), Times: 1, Code: new(-1)}, []int{0}, "-Hr"},
		"skipped":         {simulator.Fault{Hosts: one, Skip: 1, Code: new(-1)}, []int{0, 0}, "-Hr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			c.Sim.Inject(test.fault)
			id := c.Operate(simulator.OpStart, "10.0.0.1", "10.0.0.2")
			simtest.Want(t, "polls", c.Codes(id, "10.0.0.1", len(test.want)), test.want)
			simtest.Want(t, "a later poll about the other host", c.Codes(id, "10.0.0.2", 1), []int{0})
			c.WantState("then", test.to)
		})
	}
}

func TestFault_answers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
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
		"another-op":        {simulator.Fault{Op: new(simulator.OpStop), HTTPStatus: 502}, 200, `"code":0`, [2]string{}, "R--"},
		"another-host":      {simulator.Fault{Hosts: []string{"0:10.0.0.2"}, HTTPStatus: 502}, 200, `"code":0`, [2]string{}, "R--"},
		"delay":             {simulator.Fault{Delay: time.Millisecond}, 200, `"code":0`, [2]string{}, "R--"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			c.Sim.Inject(test.fault)
			got, err := c.Exchange(t.Context(), http.MethodPost, simtest.ESB("register_proc_info"), registerBody("10.0.0.1"), nil)
			simtest.Must(t, err)
			simtest.Check(t, got.Status == test.status && strings.Contains(got.Text, test.body), "HTTP %d: %s", got.Status, got.Text)
			simtest.Want(t, "header", got.Header.Get(test.header[0]), test.header[1])
			c.WantState("then", test.to)
			simtest.Want(t, "recorded status", c.Sim.Calls().Last().Status, test.status)
		})
	}
}

func TestFault_lostAnswers(t *testing.T) {
	t.Parallel()
	for drop, to := range map[string]string{"before": "---", "after": "R--", "mid": "R--", "reset": "R--"} {
		t.Run(drop, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t, &simulator.Server{UpdateRefuses: true})
			c.Sim.Inject(simulator.Fault{Drop: drop, Times: 1})
			answer, err := c.Exchange(t.Context(), http.MethodPost, simtest.ESB("register_proc_info"), registerBody("10.0.0.1"), nil)
			simtest.Check(t, err != nil && errors.Is(err, syscall.ECONNRESET) == (drop == "reset"), "got %v: %s", err, answer.Text)
			c.WantState("then", to)
			simtest.Want(t, "calls", c.Sim.Calls().APIs(), []string{"register_proc_info"})
			if drop == "reset" {
				simtest.Want(t, "recorded status", c.Sim.Calls().Last().Status, 0)
			}
			v := c.Call("update_proc_info", "10.0.0.1")
			simtest.Want(t, "the next call succeeds", v.Code == 0, to == "R--")
		})
	}
}

func TestFault_json(t *testing.T) {
	t.Parallel()
	in := `{"api":"get_*","op":0,"hosts":["0:10.0.0.1"],"times":1,"pending":-1,"code":0,"takes":"500ms","delay":"1s","delay_max":"2s","chance":0.5,"envelope":{"result":null}}`
	var f simulator.Fault
	simtest.Must(t, json.Unmarshal([]byte(in), &f))
	simtest.Check(t, f.Takes == 500*time.Millisecond && f.Delay == time.Second && f.Op != nil && *f.Op == 0 && f.Code != nil, "got %+v", f)
	out, err := json.Marshal(f)
	var sent, got any
	simtest.Must(t, err, json.Unmarshal([]byte(in), &sent), json.Unmarshal(out, &got))
	simtest.Want(t, "in JSON", got, sent)
	for _, bad := range []string{`{"pendign":1}`, `{"takes":5}`, `{"takes":"soon"}`} {
		simtest.WantError(t, json.Unmarshal([]byte(bad), &f), "")
	}
}

// The data of a queued task, of one that is forgotten, and an id that a task does not have.
func TestFault_tasks(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Queued: 1, Times: 1, QueuedData: map[string]any{}})
	c.Sim.Inject(simulator.Fault{Queued: 1, Skip: 1, Times: 1})
	first, second, third := c.Operate(simulator.OpQuery, "10.0.0.1"), c.Operate(simulator.OpQuery, "10.0.0.1"), c.Operate(simulator.OpQuery, "10.0.0.1")
	c.Sim.ExpireTask(third)
	empty := simtest.NewVirtual(t, &simulator.Server{ExpiredEmpty: true})
	for name, test := range map[string]struct {
		got  simtest.Reply
		code int
		data map[string]any
	}{
		"queued":            {c.Poll(first), simulator.CodeTaskQueued, map[string]any{}},
		"queued-no-data":    {c.Poll(second), simulator.CodeTaskQueued, nil},
		"expired":           {c.Poll(third), simulator.CodeTaskQueued, nil},
		"expired-and-empty": {empty.Poll("GSETASK:gone"), 0, map[string]any{}},
	} {
		simtest.Want(t, name, test.got.Code, test.code)
		simtest.Want(t, name, test.got.Data, test.data)
	}
	c.Sim.Inject(simulator.Fault{API: "operate_*", TaskID: new("")})
	env := c.Send("operate_proc_v2", simtest.GatewayBody(simulator.OpQuery, "{}", simtest.CloudHosts("10.0.0.1")))
	id, given := env.Data["task_id"]
	simtest.Check(t, env.Code == 0 && given && id == "", "got %+v", env)
}

func TestFault_contents(t *testing.T) {
	t.Parallel()
	text := func(content any) string { s, _ := content.(string); return s }
	for name, test := range map[string]struct {
		fault simulator.Fault
		good  func(v simtest.Verdict) bool
	}{
		"object": {simulator.Fault{ContentShape: "object"}, func(v simtest.Verdict) bool { m, ok := v.Content.(map[string]any); return ok && m["process"] != nil }},
		"null":   {simulator.Fault{ContentShape: "null"}, func(v simtest.Verdict) bool { return v.Content == nil }},
		"empty":  {simulator.Fault{ContentShape: "empty"}, func(v simtest.Verdict) bool { return v.Content == "" }},
		"broken": {simulator.Fault{ContentShape: "broken"}, func(v simtest.Verdict) bool {
			return strings.HasPrefix(text(v.Content), "{") && !json.Valid([]byte(text(v.Content)))
		}},
		"no-instance": {simulator.Fault{ContentShape: "no-instance"}, func(v simtest.Verdict) bool {
			return json.Valid([]byte(text(v.Content))) && strings.Contains(text(v.Content), `"instance": []`)
		}},
		"given": {simulator.Fault{Code: new(0), Message: "line one\nline two", Content: map[string]any{"a": 1}}, func(v simtest.Verdict) bool {
			return v.Message == "line one\nline two" && reflect.DeepEqual(v.Content, map[string]any{"a": 1.0})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			c.Sim.Inject(test.fault)
			v := c.Do(simulator.OpQuery, "10.0.0.1")
			simtest.Check(t, v.Code == 0 && test.good(v), "got %#v", v)
		})
	}
}

// A process of a bad release dies after a number of queries, is restarted if it is hosted, and prints the
// given output. Started again with a good release, it is healthy.
func TestFault_ailing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  simulator.Fault
		op     int
		unhost bool
		pids   []int // since the operation, the first that was seen is 1; -1 for none
		health string
	}{
		"dies":          {simulator.Fault{Command: "start.sh", Dies: 2}, simulator.OpStart, false, []int{1, -1, -1}, ""},
		"dies-at-once":  {simulator.Fault{Dies: 1}, simulator.OpStart, false, []int{-1, -1}, ""},
		"flaps":         {simulator.Fault{Dies: 2, Revived: true}, simulator.OpRestart, false, []int{1, 2, 2, 3, 3, 4}, ""},
		"not-hosted":    {simulator.Fault{Dies: 2, Revived: true}, simulator.OpStart, true, []int{1, -1, -1}, ""},
		"prints":        {simulator.Fault{Health: "disk full"}, simulator.OpStart, false, []int{1, 1}, "disk full"},
		"other-command": {simulator.Fault{Command: "v2", Dies: 1, Health: "disk full"}, simulator.OpStart, false, []int{1, 1}, ""},
		"other-op":      {simulator.Fault{Op: new(simulator.OpReload), Dies: 1}, simulator.OpStart, false, []int{1, 1}, ""},
		"of-no-start":   {simulator.Fault{Op: new(simulator.OpStop), Dies: 1}, simulator.OpStart, false, []int{1, 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			query := func() (pid int, health any) {
				instance := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1"))
				number, _ := instance["pid"].(float64)
				return int(number), instance["health"]
			}
			c.Sim.Inject(test.fault)
			c.Do(test.op, "10.0.0.1")
			if test.unhost {
				c.Do(simulator.OpUnhost, "10.0.0.1")
			}
			var got []int
			first := 0
			for range test.pids {
				pid, health := query()
				if pid > 0 {
					first = cmp.Or(first, pid)
					pid += 1 - first
				}
				got = append(got, pid)
				simtest.Want(t, "health", health, any(test.health))
			}
			simtest.Want(t, "pids", got, test.pids)

			c.Sim.ClearFaults()
			c.Does(simulator.OpRestart, 0, "-Hr")
			for range 3 {
				pid, health := query()
				simtest.Check(t, pid > 0 && health == "", "after a good release: pid %d, %v", pid, health)
			}
			c.WantState("then", "-Hr")
		})
	}
}

// Only a fault of a status API hides rows, those that it names.
func TestFault_hidesRows(t *testing.T) {
	t.Parallel()
	const status = "get_proc_status_v2"
	for name, test := range map[string]struct {
		fault simulator.Fault
		rows  int
	}{
		"its-own":           {simulator.Fault{API: status, Namespace: "web", Name: "nginx", Hosts: []string{"0:10.0.0.1"}}, 0},
		"of-any-api":        {simulator.Fault{}, 1},
		"of-another-api":    {simulator.Fault{API: "sync_*"}, 1},
		"of-an-operation":   {simulator.Fault{API: status, Op: new(simulator.OpStop)}, 1},
		"another-host":      {simulator.Fault{API: status, Hosts: []string{"0:10.0.0.2"}}, 1},
		"another-namespace": {simulator.Fault{API: status, Namespace: "db"}, 1},
		"another-name":      {simulator.Fault{API: status, Name: "apache"}, 1},
		"later":             {simulator.Fault{API: status, Skip: 1}, 1},
	} {
		c := simtest.NewVirtual(t)
		c.Call("register_proc_info", "10.0.0.1")
		test.fault.Missing = -1
		id := c.Sim.Inject(test.fault)
		simtest.Want(t, name, len(c.Rows("10.0.0.1")), test.rows)
		c.Sim.ClearFault(id)
		simtest.Want(t, name+", removed", len(c.Rows("10.0.0.1")), 1)
	}
}

// A request about no process matches only a fault that names none.
func TestFault_requestsAboutNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simulator.Fault{
		"": {}, "op": {Op: new(simulator.OpQuery)}, "namespace": {Namespace: "web"}, "name": {Name: "nginx"}, "command": {Command: "start.sh"}, "host": {Hosts: []string{"0:10.0.0.1"}},
	} {
		c := simtest.NewVirtual(t)
		fault.EnvelopeCode = new(7)
		c.Sim.Inject(fault)
		got := c.Poll("GSETASK:gone").Code
		simtest.Check(t, (got == 7) == (name == ""), "a fault with the %s: code %d", name, got)
	}
}

// Of effects that exclude each other, that of the first fault applies.
func TestList_first(t *testing.T) {
	t.Parallel()
	status := simulator.Fault{
		HTTPStatus: 502, Body: "a", Drop: "mid", Keys: "agent", Rows: "host", Page: "empty", JobStatus: new(3), Spelling: "errcode", TaskID: new("a"), CountOff: 1, Apply: true,
		Header: map[string]string{"X": "a"},
	}
	code := simulator.Fault{
		EnvelopeCode: new(7), Drop: "after", Keys: "supplier", Rows: "both", Page: "larger", JobStatus: new(4), Spelling: "", TaskID: new("b"), CountOff: 1,
		Header: map[string]string{"X": "b"},
	}
	for name, order := range map[string][]simulator.Fault{"status": {status, code}, "code": {code, status}} {
		list := fault.NewList(1, nil)
		for _, f := range order {
			_, err := list.Inject(f)
			simtest.Must(t, err)
		}
		first := order[0]
		want := fault.Effects{
			Status: first.HTTPStatus, Body: first.Body, EnvelopeCode: first.EnvelopeCode, Apply: first.Apply, Drop: first.Drop, Keys: first.Keys, Rows: first.Rows, Page: first.Page,
			JobStatus: first.JobStatus, Spelling: "errcode", TaskID: first.TaskID, CountOff: 2, Header: first.Header,
		}
		want.Wire.Half = first.Drop == "mid"
		simtest.Want(t, name, list.OnRequest("x", nil, nil), want)
	}
}

func TestFault_validate(t *testing.T) {
	t.Parallel()
	for _, good := range []simulator.Fault{{}, {HTTPStatus: 200}, {HTTPStatus: 599}, {ScriptStatus: 3}, {ScriptStatus: 6}, {Chance: 1}} {
		simtest.Must(t, good.Validate())
	}
	for _, bad := range []simulator.Fault{
		{HTTPStatus: 199}, {HTTPStatus: 600}, {ScriptStatus: 2}, {ScriptStatus: 7}, {Chance: -0.1}, {Chance: 1.1}, {API: "["}, {Hosts: []string{"x"}}, {Drop: "x"},
	} {
		simtest.WantError(t, bad.Validate(), "")
	}
}

func registerBody(ips ...string) string {
	return simtest.Signed(simtest.FirstBody("register_proc_info", "{}", ips...))
}

func TestFault_replace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		replace map[string]any
		want    []string
		not     string
	}{
		"one-member":     {map[string]any{"message": 7}, []string{`"message":7`}, `"message":""`},
		"every-member":   {map[string]any{"data/*/error_code": "zero"}, []string{`"error_code":"zero"`}, `"error_code":0`},
		"a-whole-host":   {map[string]any{"data/0:7:10.0.0.1:web:nginx": nil}, []string{`"0:7:10.0.0.1:web:nginx":null`, `"error_code":0`}, "nobody"},
		"leads-nowhere":  {map[string]any{"data/x/y": 1, "message/x": 1}, []string{`"error_code":0`}, `"y"`},
		"the-whole-data": {map[string]any{"data": []int{1}}, []string{`"data":[1]`}, "error_code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			c.Sim.Inject(simulator.Fault{Replace: test.replace})
			body := c.BodyOf("register_proc_info", registerBody("10.0.0.1", "10.0.0.2"))
			for _, want := range test.want {
				simtest.Check(t, strings.Contains(body, want) && !strings.Contains(body, test.not), "want %s and not %s: %s", want, test.not, body)
			}
			c.WantState("then", "R--") // the request is processed
			c.Sim.ClearFaults()
			c.Sim.Inject(simulator.Fault{Replace: map[string]any{"data/proc_infos/*/pid": "odd"}})
			simtest.Want(t, "in a list", c.Rows("10.0.0.1")["10.0.0.1"]["pid"], any("odd"))
		})
	}
}

func TestFault_backwards(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	for api, backwards := range map[string]bool{"register_proc_info": false, "update_proc_info": true} {
		c.Sim.ClearFaults()
		c.Sim.Inject(simulator.Fault{Backwards: backwards})
		body := c.BodyOf(api, registerBody("10.0.0.1", "10.0.0.2"))
		one, two := strings.Index(body, "10.0.0.1"), strings.Index(body, "10.0.0.2")
		simtest.Check(t, one >= 0 && two >= 0 && (one > two) == backwards && json.Valid([]byte(body)), "backwards %t: %s", backwards, body)
	}
}

// A body may come byte by byte. One of a given size is generated while it is sent: a client that stops reading early ends it.
func TestFault_bodyBytes(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Drip: time.Microsecond, Times: 1})
	body := c.BodyOf("register_proc_info", registerBody("10.0.0.1"))
	simtest.Check(t, json.Valid([]byte(body)), "got %s", body)
	c.Sim.Inject(simulator.Fault{HTTPStatus: 200, Body: "ab", BodyBytes: 5, Times: 1})
	simtest.Want(t, "body", c.BodyOf("register_proc_info", registerBody("10.0.0.1")), "ababa")
	simtest.Want(t, "bytes sent", c.Sim.Calls().Last().Sent, 5)
	c.Sim.Inject(simulator.Fault{HTTPStatus: 200, Body: " ", BodyBytes: 1 << 30})
	resp, err := c.Open(t.Context(), http.MethodPost, simtest.ESB("register_proc_info"), registerBody("10.0.0.1"), nil)
	simtest.Must(t, err)
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<20)
	_ = resp.Body.Close()
	sent := c.Sim.Calls().Last().Sent
	simtest.Check(t, sent != 1<<30, "all of it was sent")
}

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
	simtest.WantIn(t, "a query", c.Does(simulator.OpQuery, 0, "-H-").Text(), `"isAuto": true`)
}

var statusBody = `{"meta":{"namespace":"web","name":"nginx"},` + simtest.CloudHosts("10.0.0.1") + `}`

// strikes shows which of n requests a fault with a chance has affected.
func strikes(t *testing.T, seed uint64, chance float64, n int) string {
	t.Helper()
	c := simtest.NewVirtual(t, &simulator.Server{Seed: seed})
	c.Sim.Inject(simulator.Fault{API: "get_proc_status_v2", EnvelopeCode: new(7), Chance: chance})
	pattern := ""
	for range n {
		pattern += map[int]string{7: "x", 0: "."}[c.Send("get_proc_status_v2", statusBody).Code]
	}
	return pattern
}

func TestFault_chance(t *testing.T) {
	t.Parallel()
	first := strikes(t, 1, 0.3, 100)
	// For fewer than one in 10^9 seeds, 0.3 gives a number outside this range.
	n := strings.Count(first, "x")
	simtest.Check(t, n >= 5 && n <= 65, "%d of 100 requests were hit: %s", n, first)
	simtest.Want(t, "the same seed", strikes(t, 1, 0.3, 100), first)
	other := strikes(t, 2, 0.3, 100)
	simtest.Check(t, other != first, "another seed gives the same: %s", other)
	simtest.Want(t, "for certain", strikes(t, 3, 1, 5), "xxxxx")
}

func TestFault_delayMax(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := &simulator.Server{Seed: 1}
		sim.AddHost("0:10.0.0.1")
		sim.Inject(simulator.Fault{Delay: 50 * time.Millisecond, DelayMax: 500 * time.Millisecond})
		shortest, longest := time.Hour, time.Duration(0)
		for range 50 {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/c/compapi/v2/gse/get_proc_status_v2/",
				strings.NewReader(simtest.Signed(statusBody)))
			req.Host, req.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
			began := time.Now()
			sim.ServeHTTP(httptest.NewRecorder(), req)
			shortest, longest = min(shortest, time.Since(began)), max(longest, time.Since(began))
		}
		simtest.Check(t, shortest >= 50*time.Millisecond && longest < 500*time.Millisecond && longest-shortest >= 300*time.Millisecond,
			"all between %s and %s", shortest, longest)
	})
}

func TestFault_takes(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	c := simtest.NewVirtual(t, &simulator.Server{Now: func() time.Time { return now }})
	c.Sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Takes: 5 * time.Second})
	id := c.Operate(simulator.OpStart, "10.0.0.1")
	for _, code := range []int{115, 0} {
		now = now.Add(3 * time.Second)
		simtest.Want(t, "poll", c.Codes(id, "10.0.0.1", 1), []int{code})
	}
	simtest.Want(t, "settled", c.Sim.Tasks()[0].Settled, now.Add(-time.Second))
}
