package main

import (
	"errors"
	"flag"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// served is the simulator that flags make.
func served(t *testing.T, args ...string) *simulator.Server {
	t.Helper()
	o, err := parseOptions(append([]string{"-quiet", "-local"}, args...), io.Discard)
	simtest.Must(t, err)
	sim, err := o.server(io.Discard)
	simtest.Must(t, err)
	return sim
}

// field is the field of the simulator that has the name of a switch.
func field(sim *simulator.Server, name string) reflect.Value {
	name = strings.ReplaceAll(name, "-", "")
	return reflect.ValueOf(sim).Elem().FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, name) })
}

// Each switch sets the field of its name in the simulator, and is a row of the table of beliefs. The only
// exception is the switch that test networks need. The same is true of a profile. The help explains each
// with what holds without it, and the other flags.
func TestQuirks(t *testing.T) {
	t.Parallel()
	var help strings.Builder
	_, err := parseOptions([]string{"-h"}, &help)
	simtest.Want(t, "error of the help", errors.Is(err, flag.ErrHelp), true)
	wants := []string{"-admit CIDR", "-root directory", "-tenant", "export BK_ENDPOINT=http://127.0.0.1:8091", "BK_GATEWAY=apigw", "/api/v2/proc/", "/jobv3/", "/_sim/"}
	for _, name := range simulator.Switches() {
		b, known := belief.Find(name)
		wants = append(wants, name, strings.ReplaceAll(b.Holds.English, "`", ""))
		if set := field(served(t, "-with", name), name); !set.IsValid() || !set.Bool() {
			t.Errorf("-with: the field of %s is not set", name)
		}
		if name == "admit-agents" {
			continue
		}
		if !known || !b.Switch || b.Expected != belief.No || b.Kind != belief.YesNo {
			t.Errorf("%s is no switch among the beliefs: %+v", name, b)
		}
		if !field(served(t, "-platform", put(t, "platform.json", `{"format": 1, "beliefs": {"`+name+`": "yes"}}`)), name).Bool() {
			t.Errorf("-platform: the field of %s is not set", name)
		}
	}
	for _, b := range belief.All() {
		if b.Switch && !slices.Contains(simulator.Switches(), b.ID) {
			t.Errorf("the simulator has no switch %s", b.ID)
		}
	}
	simtest.WantIn(t, "help", help.String(), wants...)
}

// What is no switch is taken from a profile as well, or the greeting says that it is not.
func TestPlatform(t *testing.T) {
	t.Parallel()
	file := put(t, "platform.json", `{"format": 1, "beliefs": {"status-lag": "90s", "labels-added": "yes", "start-replaces": "no", "second-stop": "0"}}`)
	sim := served(t, "-platform", file, "-with", "hosting-once")
	if sim.Lag != 90*time.Second || len(sim.RowLabels) != 1 || sim.StartReplaces || !sim.HostingOnce {
		t.Errorf("lag %s, labels %v, start-replaces %t, hosting-once %t", sim.Lag, sim.RowLabels, sim.StartReplaces, sim.HostingOnce)
	}
	sim = served(t, "-platform", file, "-row-label", "bk=1", "-tenant", "system", "-hosts", "0:10.0.0.1,"+simtest.AgentA)
	simtest.Want(t, "labels of a flag", sim.RowLabels, map[string]string{"bk": "1"})
	simtest.Want(t, "tenant", sim.TenantID, "system")
	simtest.Must(t, sim.Register("0:10.0.0.1", "web", "nginx", nil, ""), sim.Register(simtest.AgentA, "web", "nginx", nil, ""))
	r := start(t, io.Discard, "-quiet", "-local", "-platform", file)
	simtest.WantIn(t, "greeting", r.greeting, "Not simulated of this platform: second-stop = 0.", "Not in the profile, so as the provider believes: register-hosts,")
}

// Every boolean that distinguishes platforms has a switch.
func TestQuirks_complete(t *testing.T) {
	t.Parallel()
	own := map[string]bool{"Local": true, "StopProcesses": true} // flags of their own
	for f := range reflect.TypeFor[simulator.Server]().Fields() {
		if f.Type.Kind() != reflect.Bool || !f.IsExported() || own[f.Name] {
			continue
		}
		if !slices.ContainsFunc(simulator.Switches(), func(name string) bool { return strings.EqualFold(strings.ReplaceAll(name, "-", ""), f.Name) }) {
			t.Errorf("no switch for %s", f.Name)
		}
	}
}

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

// Hosts of a topology are those of the process service and of CMDB.
func TestRun_topology(t *testing.T) {
	t.Parallel()
	sim := served(t, "-topology", put(t, "topology.json", `{"businesses":[{"id":3,"name":"shop","sets":[{"name":"gz","modules":[{"name":"nginx","hosts":[{"ip":"10.0.0.1","agent_id":"`+simtest.AgentA+`"}]}]}]}]}`))
	simtest.Must(t, sim.Register(simtest.AgentA, "web", "nginx", nil, ""), sim.CMDB().Remove("0:10.0.0.1"))
}
