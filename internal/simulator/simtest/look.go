package simtest

import (
	"fmt"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// State is registered, hosted, running as three letters, "-" for not.
func State(sim *simulator.Server, ip string) string {
	p, _ := sim.Process("0:"+ip, "web", "nginx")
	out := []byte("---")
	for i, is := range []bool{p.Registered, p.Hosted, p.Running} {
		if is {
			out[i] = "RHr"[i]
		}
	}
	return string(out)
}

// Executed lists the recorded executions, each with its verdict.
func (c *Client) Executed() []string {
	list := []string{}
	for _, e := range c.Sim.Executions() {
		list = append(list, fmt.Sprintf("%s %s:%s %s %d", e.Host, e.Namespace, e.Name, e.Action, e.Code))
	}
	return list
}

// Sync reads one page of the namespace web and returns its ips.
func (c *Client) Sync(start, limit int) []string {
	c.T.Helper()
	out := []string{}
	for _, row := range RowsOf(c.T, c.Send("sync_proc_status", fmt.Sprintf(`{"meta":{"namespace":"web"},"page":{"start":%d,"limit":%d}}`, start, limit))) {
		host, _ := row["host"].(map[string]any)
		out = append(out, fmt.Sprint(host["ip"]))
	}
	return out
}

// Codes polls several times and returns what each poll says about a host: its code, -2 if it is omitted,
// or the envelope's code.
func (c *Client) Codes(id, ip string, polls int) []int {
	c.T.Helper()
	var out []int
	for range polls {
		env := c.Poll(id)
		switch {
		case env.Code != 0:
			out = append(out, env.Code)
		case env.Data["0:"+ip+":web:nginx"] == nil:
			out = append(out, -2)
		default:
			out = append(out, VerdictOf(c.T, env.Data, "0:"+ip+":web:nginx").Code)
		}
	}
	return out
}

// SwitchOn calls the control endpoint and returns the status and the body.
func (c *Client) SwitchOn(method, path, body string) (int, string) {
	c.T.Helper()
	got, err := c.Exchange(c.T.Context(), method, "/_sim/"+path, body, nil)
	Must(c.T, err)
	return got.Status, got.Text
}

// Switch calls the control endpoint, and requires a status and a part of the answer.
func (c *Client) Switch(method, path, body string, status int, want string) {
	c.T.Helper()
	if got, answer := c.SwitchOn(method, path, body); got != status || !strings.Contains(answer, want) {
		c.T.Errorf("%s %s %s: HTTP %d, want %d and %q: %s", method, path, body, got, status, want, answer)
	}
}
