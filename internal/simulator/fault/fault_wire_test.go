package fault_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

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
		if shortest < 50*time.Millisecond || longest >= 500*time.Millisecond || longest-shortest < 300*time.Millisecond {
			t.Errorf("all between %s and %s", shortest, longest)
		}
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
