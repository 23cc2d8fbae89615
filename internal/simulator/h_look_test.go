package simulator_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// state is registered, hosted, running as three letters, "-" for not.
func state(sim *simulator.Server, ip string) string {
	p, _ := sim.Process("0:"+ip, "web", "nginx")
	out := []byte("---")
	for i, is := range []bool{p.Registered, p.Hosted, p.Running} {
		if is {
			out[i] = "RHr"[i]
		}
	}
	return string(out)
}

// executed lists what the hosts have done, each with its verdict.
func (c *client) executed() []string {
	list := []string{}
	for _, e := range c.sim.Executions() {
		list = append(list, fmt.Sprintf("%s %s:%s %s %d", e.Host, e.Namespace, e.Name, e.Action, e.Code))
	}
	return list
}

// sync reads one page of the namespace web and returns its ips.
func (c *client) sync(start, limit int) []string {
	c.t.Helper()
	env := c.send("sync_proc_status", fmt.Sprintf(`{"meta":{"namespace":"web"},"page":{"start":%d,"limit":%d}}`, start, limit))
	infos, _ := env.Data["proc_infos"].([]any)
	out := []string{}
	for _, info := range infos {
		row, _ := info.(map[string]any)
		host, _ := row["host"].(map[string]any)
		out = append(out, fmt.Sprint(host["ip"]))
	}
	return out
}

// codes polls so many times and returns what each poll says about a host: its
// code, -2 if it is left out, or the envelope's code.
func (c *client) codes(id, ip string, polls int) []int {
	c.t.Helper()
	var out []int
	for range polls {
		env := c.poll(id)
		switch {
		case env.Code != 0:
			out = append(out, env.Code)
		case env.Data["0:"+ip+":web:nginx"] == nil:
			out = append(out, -2)
		default:
			out = append(out, verdictOf(c.t, env.Data, "0:"+ip+":web:nginx").code)
		}
	}
	return out
}

// switchOn calls the control endpoint and returns the status and the body.
func (c *client) switchOn(method, path, body string) (int, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url+"/_sim/"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}
