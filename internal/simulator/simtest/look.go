package simtest

import (
	"bytes"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// State returns registered, hosted, running as "RHr", with "-" for not.
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

// BodyOf returns the whole answer of the ESB.
func (c *Client) BodyOf(api, body string) string {
	c.T.Helper()
	got, err := c.Exchange(c.T.Context(), http.MethodPost, ESB(api), body, nil)
	Must(c.T, err)
	return got.Text
}

// Buffer is written by a server and read by a test.
type Buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Must ends the test if there is an error.
func Must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Want compares what a test got with what it wants.
func Want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

// Check fails the test unless a condition holds. The text says what happened instead.
func Check(t *testing.T, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// WantCode checks the code of a verdict.
func WantCode(t *testing.T, what string, v Verdict, code int) {
	t.Helper()
	if v.Code != code {
		t.Errorf("%s: got %+v, want code %d", what, v, code)
	}
}

// WantState checks the state of web:nginx on 10.0.0.1.
func (c *Client) WantState(what, want string) {
	c.T.Helper()
	Want(c.T, what, State(c.Sim, "10.0.0.1"), want)
}

// Does operates on 10.0.0.1, and requires a code and the state afterwards.
func (c *Client) Does(op, code int, state string) Verdict {
	c.T.Helper()
	return c.gives(fmt.Sprint("op ", op), c.Do(op, "10.0.0.1"), "10.0.0.1", code, state)
}

// Calls is Does for an API of the first generation.
func (c *Client) Calls(api string, code int, state string) Verdict {
	c.T.Helper()
	return c.gives(api, c.Call(api, "10.0.0.1"), "10.0.0.1", code, state)
}

func (c *Client) gives(what string, v Verdict, ip string, code int, state string) Verdict {
	c.T.Helper()
	if got := State(c.Sim, ip); v.Code != code || got != state {
		c.T.Errorf("%s: %+v, then %s; want %d, then %s", what, v, got, code, state)
	}
	return v
}

// WantIn checks that a text has parts.
func WantIn(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: want %s in %s", what, part, text)
		}
	}
}

// WantError checks that there is an error, with these words.
func WantError(t *testing.T, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got the error %v, want %q", err, words)
	}
}
