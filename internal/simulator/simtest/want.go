package simtest

import (
	"fmt"
	"reflect"
	"testing"
)

// Must ends the test at an error.
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
