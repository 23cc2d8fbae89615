package fault_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
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
				if !strings.Contains(body, want) || strings.Contains(body, test.not) {
					t.Errorf("want %s and not %s: %s", want, test.not, body)
				}
			}
			c.WantState("then", "R--") // the request is processed
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
		if one < 0 || two < 0 || (one > two) != backwards || !json.Valid([]byte(body)) {
			t.Errorf("backwards %t: %s", backwards, body)
		}
	}
}

// If a client does not wait for the answer, its request is processed after a stall but not after a delay.
func TestFault_stall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault simulator.Fault
		to    string
	}{
		"stall": {simulator.Fault{Stall: time.Hour}, "R--"},
		"drip":  {simulator.Fault{Drip: time.Hour}, "R--"},
		"delay": {simulator.Fault{Delay: time.Hour}, "---"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			c.Sim.Inject(test.fault)
			far := func() bool {
				return c.Sim.Calls().Count("register_proc_info") == 1 && simtest.State(c.Sim, "10.0.0.1") == test.to
			}
			if answer, err := c.Impatient("register_proc_info", registerBody("10.0.0.1"), far); err == nil {
				t.Errorf("an answer arrived: %s", answer)
			}
			c.WantState("then", test.to)
		})
	}
}

// A body may come byte by byte. One of a given size is generated while it is sent: a client that stops reading
// early ends it.
func TestFault_bodyBytes(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Drip: time.Microsecond, Times: 1})
	if body := c.BodyOf("register_proc_info", registerBody("10.0.0.1")); !json.Valid([]byte(body)) {
		t.Errorf("got %s", body)
	}
	c.Sim.Inject(simulator.Fault{HTTPStatus: 200, Body: "ab", BodyBytes: 5, Times: 1})
	simtest.Want(t, "body", c.BodyOf("register_proc_info", registerBody("10.0.0.1")), "ababa")
	simtest.Want(t, "bytes sent", c.Sim.Calls().Last().Sent, 5)
	c.Sim.Inject(simulator.Fault{HTTPStatus: 200, Body: " ", BodyBytes: 1 << 30})
	resp, err := c.Open(t.Context(), http.MethodPost, simtest.ESB("register_proc_info"), registerBody("10.0.0.1"), nil)
	simtest.Must(t, err)
	_, _ = io.CopyN(io.Discard, resp.Body, 1<<20)
	_ = resp.Body.Close()
	if sent := c.Sim.Calls().Last().Sent; sent == 1<<30 {
		t.Error("all of it was sent")
	}
}
