package scenario_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// withSteps is a scenario whose first step begins in line 3.
func withSteps(steps string) string { return "{\"title\": \"t\",\n\"steps\": [\n" + steps + "\n]}" }

func TestParse_saysWhereAndWhatWouldBeRight(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"not-json":         {"{\n\"title\": \"t\",,", "x.json:2: not JSON: "},
		"cut-off":          {"{\"title\": \"t\",\n\"steps\": [", "x.json:2: the file ends in the middle"},
		"two":              {withSteps(`{"say":"s","end":"a"}`) + "\n{}", "x.json:5: the file continues"},
		"empty":            {"{}", `x.json:1: a scenario has "title"`},
		"misspelt":         {"{\n\"titel\": \"t\"}", `x.json:2: "titel" is not known here; did you mean "title"?`},
		"unknown":          {withSteps(`{"say":"s",` + "\n" + `"perhaps":1}`), `x.json:4: "perhaps" is not known here; a scenario has title, teaches, simulator, steps, and a step say, when, after,`},
		"misspelt-in-step": {withSteps(`{"say":"s","fault":{` + "\n\n" + `"pendign":1}}`), `x.json:5: "pendign" is not known here; did you mean "pending"?`},
		"misspelt-act":     {withSteps(`{"say":"s","act":{` + "\n" + `"namspace":"web"}}`), `x.json:4: "namspace" is not known here; did you mean "namespace"?`},
		"type":             {withSteps(`{"say":"s",` + "\n" + `"when":{"calls":"2"},"end":"a"}`), `x.json:4: when.calls is a JSON string; want a number`},
		"duration":         {withSteps(`{"say":"s",` + "\n" + `"after":"soon","end":"a"}`), `x.json:4: "soon" is no duration; write it as "5s"`},
		"negative":         {withSteps(`{"say":"s","after":"-5s","end":"a"}`), `x.json:3: "-5s" is no duration`},
		"silent":           {withSteps(`{"end":"a"}`), `x.json:3: step 1: "say" is missing`},
		"nothing":          {withSteps(`{"say":"s"}`), `x.json:3: step 1: a step does one thing, and this one 0: give one of fault, end, act, status and cmdb`},
		"too-much":         {withSteps(`{"say":"s","fault":{},"status":{}}`), `this one 2`},
		"second-step":      {withSteps(`{"say":"s","fault":{}},` + "\n" + `{"say":"s"}`), `x.json:4: step 2: a step does one thing`},
		"alike":            {withSteps(`{"say":"s",` + "\n" + `"fault":{}},` + "\n" + `{}`), `x.json:5: step 2: "say" is missing`},
		"end-of-nothing":   {withSteps(`{"say":"s","end":"a"}`), `x.json:3: step 1: end: no step before this one has a fault with "name": "a"`},
		"name-of-nothing":  {withSteps(`{"say":"s","name":"a","status":{}}`), `"name" is for a fault`},
		"bad-fault":        {withSteps(`{"say":"s","fault":{"unreachable":"116"}}`), `x.json:3: step 1: unreachable: "116" is none of`},
		"bad-act":          {withSteps(`{"say":"s","act":{"action":"dance"}}`), `"dance" is unknown; it is add_entry, edit_entry, expire`},
		"bad-host":         {withSteps(`{"say":"s","act":{"action":"kill","host":"web-1"}}`), `host "web-1": want "cloud:ip"`},
		"bad-pattern":      {withSteps(`{"say":"s","when":{"api":"["},"end":"a"}`), `when: api is a name or a pattern`},
	}
	for name, test := range tests {
		_, err := simulator.ParseScenario("x.json", []byte(test.text))
		simtest.Check(t, err != nil && strings.Contains(err.Error(), test.want), "%s: %v, want %s", name, err, test.want)
	}
}

// Each shipped scenario can be read, says what it teaches, and has a configuration.
func TestParse_shipped(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../examples/scenarios/*/scenario.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		s, err := simulator.ParseScenario(file, []byte(simtest.ReadFile(t, file)))
		simtest.Check(t, err == nil && s.Teaches != "" && s.Simulator["admit"]+s.Simulator["hosts"] != "", "%s: %v, %+v", file, err, s)
	}
}

// played serves a simulator with a scenario.
func played(t *testing.T, steps string) (*simtest.Client, *strings.Builder) {
	t.Helper()
	s, err := simulator.ParseScenario("x.json", []byte(withSteps(steps)))
	simtest.Must(t, err)
	var log strings.Builder
	return simtest.NewVirtual(t, &simulator.Server{Scenario: s, ErrorLog: &log}), &log
}

// A step waits for its calls, counted from the previous step. It happens after the call that it waits for
// was carried out. It happens before the next call, so that a fault applies to the poll.
func TestRun_waitsForCalls(t *testing.T) {
	t.Parallel()
	c, log := played(t, `
		{"say":"first","when":{"api":"operate_*","op":2,"namespace":"web","name":"nginx","calls":2},"name":"bad","fault":{"op":2,"code":-1}},
		{"say":"second","when":{"api":"operate_*"},"end":"bad"},
		{"say":"third","act":{"action":"register","host":"0:10.0.0.1","namespace":"web","name":"other"}},
		{"say":"fourth","act":{"action":"kill","host":"0:10.0.0.1","namespace":"web","name":"nobody"}},
		{"say":"fifth","when":{"op":7},"status":{"lag":1}}`)
	c.Call("register_proc_info", "10.0.0.1") // which does not match
	for i, want := range []int{0, -1, -1, 0} {
		simtest.WantCode(t, fmt.Sprint("query ", i+1), c.Do(simulator.OpQuery, "10.0.0.1"), want)
		_, found := c.Sim.Process("0:10.0.0.1", "web", "other")
		simtest.Want(t, fmt.Sprintf("after query %d the other process is there", i+1), found, i >= 2)
	}
	c.Switch("GET", "scenario", "", 200, `"done": 4`+"\n")
	simtest.Want(t, "log", log.String(), "scenario: 1 of 5: first\nscenario: 2 of 5: second\nscenario: 3 of 5: third\nscenario: 4 of 5: fourth: no process web:nobody on 0:10.0.0.1\n")
}

// A step that waits for a time can be done earlier, and is not done twice.
func TestRun_nextStepNow(t *testing.T) {
	t.Parallel()
	c, _ := played(t, `
		{"say":"in an hour","after":"1h","act":{"action":"register","host":"0:10.0.0.1","namespace":"web","name":"nginx"}},
		{"say":"soon","after":"1ms","act":{"action":"register","host":"0:10.0.0.2","namespace":"web","name":"nginx"}},
		{"say":"after a call","when":{"op":7},"cmdb":{"action":"empty","module":"a/b/c"}}`)
	c.Switch("GET", "scenario", "", 200, `"done": 0`+"\n")
	c.Switch("POST", "scenario", "", 200, "")
	c.Eventually("the second step", func() bool { return len(c.Sim.Processes()) == 2 })
	c.Switch("GET", "scenario", "", 200, `"done": 2`+"\n")
	c.Switch("POST", "scenario", "", 200, "")
	c.Switch("POST", "scenario", "", 400, "")
	simtest.NewVirtual(t).Switch("POST", "scenario", "", 400, "-scenario")
}
