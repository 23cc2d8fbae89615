package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// What a scenario declares is what the simulator starts with, and only that.
func TestRun_scenario(t *testing.T) {
	t.Parallel()
	const steps = `,"steps":[{"say":"away","fault":{"unreachable":"117"}}]}`
	var log simtest.Buffer
	scenario := put(t, "scenario.json", `{"title":"t","simulator":{"hosts":"0:10.0.0.1"}`+steps)
	r := start(t, &log, "-quiet", "-app-code", "app", "-app-secret", "shh", "-scenario", scenario)
	simtest.WantIn(t, "answer", r.send(http.MethodPost, simtest.ESB("register_proc_info"), registration), `"error_code":117`)
	simtest.Want(t, "log", log.String(), "scenario: 1 of 1: away\n")
	for want, text := range map[string]string{
		`scenario.json:2: "titel" is not known here; did you mean "title"?`:           "{\n\"titel\":\"t\"}",
		`simulator: a scenario cannot set "root", only admit, hosts, row-label, with`: `{"title":"t","simulator":{"root":"/"}` + steps,
		`simulator: admit: `:  `{"title":"t","simulator":{"admit":"10"}` + steps,
		"no host is declared": `{"title":"t"` + steps,
	} {
		var stderr simtest.Buffer
		if err := run(t.Context(), []string{"-scenario", put(t, "scenario.json", text)}, io.Discard, &stderr); err == nil || !strings.Contains(stderr.String(), want) {
			t.Errorf("want %s: %v: %s", want, err, stderr.String())
		}
	}
}

func TestRun_topology(t *testing.T) {
	t.Parallel()
	file := put(t, "topology.json", `{"businesses":[{"id":3,"name":"shop","sets":[{"name":"gz","modules":[{"name":"nginx","hosts":[{"ip":"10.0.0.1","agent_id":"`+simtest.AgentA+`"}]}]}]}]}`)
	r := start(t, io.Discard, "-topology", file, "-app-code", "app", "-app-secret", "shh", "-quiet")
	const list = `{"bk_app_code":"app","bk_app_secret":"shh","bk_username":"admin","bk_biz_id":3,"fields":["bk_agent_id"],"page":{"start":0,"limit":500}}`
	simtest.WantIn(t, "CMDB", r.send(http.MethodPost, "/api/c/compapi/v2/cc/list_biz_hosts/", list), `{"bk_agent_id":"`+simtest.AgentA+`"}`)
	simtest.WantIn(t, "process service", r.send(http.MethodPost, simtest.ESB("register_proc_info"), registration), `"0:0:10.0.0.1:web:nginx":{"content":"","error_code":0`)
}
