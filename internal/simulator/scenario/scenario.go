// Package scenario plays scripted faults: a file says what goes wrong, when, and what the user learns from
// it. A [Run] carries it out while the user works with the simulator.
package scenario

import (
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/simulator/control"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
)

// Scenario is the content of a file. Its steps happen in order.
type Scenario struct {
	Title   string `json:"title"`
	Teaches string `json:"teaches"`
	// Simulator are flags of bk-simulator by name, such as {"admit": "10.0.0.0/16"}.
	Simulator map[string]string `json:"simulator"`
	Steps     []Step            `json:"steps"`
}

// Step is one event: a Fault, the End of one, or a change by another user. It waits for the calls of When,
// if set, and then for the time After. Both count from the previous step, or from the start.
type Step struct {
	Say   string   `json:"say"` // a description
	When  *When    `json:"when,omitempty"`
	After Duration `json:"after,omitempty"`

	// Fault is injected. A later step ends it by its Name.
	Fault *fault.Fault `json:"fault,omitempty"`
	Name  string       `json:"name,omitempty"`
	// End is the Name of a fault to end.
	End    string          `json:"end,omitempty"`
	Act    *control.Act    `json:"act,omitempty"`
	Status *control.Status `json:"status,omitempty"`
	CMDB   *cmdb.Change    `json:"cmdb,omitempty"`
}

// When says which calls to wait for, and how many of them: one if Calls is 0. API is a name or a
// path.Match pattern.
type When struct {
	API       string `json:"api,omitempty"`
	Op        *int   `json:"op,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Calls     int    `json:"calls,omitempty"`
}

// Duration is a time.Duration that is written as "5s".
type Duration time.Duration

// UnmarshalText parses a text such as "5s".
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil || parsed < 0 {
		return fmt.Errorf("%q is no duration; write it as \"5s\" or \"500ms\"", text)
	}
	*d = Duration(parsed)
	return nil
}

// check returns an error for an invalid step. begun are the names of the faults before it.
func (s Step) check(begun map[string]bool) error {
	if s.Say == "" {
		return errors.New(`"say" is missing: what happens, in words`)
	}
	if s.actions() != 1 {
		return fmt.Errorf("a step does one thing, and this one %d: give one of fault, end, act, status and cmdb", s.actions())
	}
	if s.When != nil {
		if _, err := path.Match(s.When.API, ""); err != nil || s.When.Calls < 0 {
			return fmt.Errorf("when: api is a name or a pattern such as \"operate_*\", and calls a number from 1; they are %q and %d", s.When.API, s.When.Calls)
		}
	}
	switch {
	case s.Fault != nil:
		begun[s.Name] = true
		return s.Fault.Validate()
	case s.Name != "":
		return errors.New(`"name" is for a fault that a later step ends`)
	case s.End != "" && !begun[s.End]:
		return fmt.Errorf("end: no step before this one has a fault with \"name\": %q", s.End)
	case s.Act != nil:
		return s.Act.Check()
	}
	return nil
}

func (s Step) actions() int {
	count := 0
	for _, given := range []bool{s.Fault != nil, s.End != "", s.Act != nil, s.Status != nil, s.CMDB != nil} {
		if given {
			count++
		}
	}
	return count
}
