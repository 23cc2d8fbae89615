package processstatus_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A whole resource provides all parts of the process, and no other attribute may do so.
func TestProcessStatusDataSource_wholeResource(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]providertest.Face{"bk_process_status": providertest.FaceESB, "bk_job_process_status": providertest.FaceJOB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := providertest.ConfiguredWith(t, sim.SettingsFor(by))
			parts := by.Reference("./start.sh", 2)
			p.CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{}).Applied(parts)
			namespace, process := by.Process()
			providertest.NoError(t, sim.StartProcess(providertest.Address(1), namespace, process))
			sim.ResetCalls()
			want, _ := p.ReadData(name, parts)
			asked := sim.Calls().APIs()
			sim.ResetCalls()
			got, said := p.ReadData(name, map[string]any{"hosted_process": parts})
			providertest.Same(t, "statuses", want["statuses"], got["statuses"])
			providertest.Same(t, "calls", asked, sim.Calls().APIs())
			if len(said) > 0 || got["running_count"] != 1 {
				t.Errorf("%v; said: %s", got, said)
			}
			twice, bare := maps.Clone(parts), maps.Clone(parts)
			twice["hosted_process"] = parts
			delete(bare, "hosts")
			for says, config := range map[string]map[string]any{
				"hosted_process is set, and holds":          twice,
				"it has no hosts; set hosted_process = bk_": {"hosted_process": bare},
			} {
				if said := p.ValidateData(name, config); !strings.Contains(said.String(), says) {
					t.Errorf("want %q, said: %s", says, said)
				}
			}
		})
	}
}

func start(t *testing.T, sim *providertest.Sim, hosts ...int) {
	t.Helper()
	for _, address := range providertest.AddressList(hosts) {
		providertest.NoError(t, sim.StartProcess(address, "web", "nginx"))
	}
}

// A process that the agent neither runs nor hosts, and without a row on the platform, is not registered,
// in either mode. In live mode, a row of a host on which it runs or is hosted does not matter, nor that of a host
// whose agent tells when it was registered.
func TestProcessStatusDataSource_unregistered(t *testing.T) {
	t.Parallel()
	const running, stopped, unregistered, unknown = "running", "stopped", "unregistered", "unknown"
	whole := map[string]string{"web-1": running, "web-2": stopped, "web-3": unregistered}
	// agents are the states where the cached status cannot be read, and none those in it.
	agents, none := map[string]string{"web-1": running, "web-2": stopped, "web-3": stopped}, map[string]string{"web-1": unknown, "web-2": unknown, "web-3": unknown}
	unreadable := func(at string, value any) *simulator.Fault {
		return &simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{at: value}}
	}
	for name, c := range map[string]struct {
		lag          bool // the cached status is from before any registration
		timeless     bool // agents do not tell when it was registered
		fault        *simulator.Fault
		live, cached map[string]string
		said         string // in live mode
	}{
		"all": {live: whole, cached: whole},
		"late-file": {
			lag: true, live: whole,
			cached: map[string]string{"web-1": unregistered, "web-2": unregistered, "web-3": unregistered},
		},
		"late-file-timeless": {
			lag: true, timeless: true,
			live:   map[string]string{"web-1": running, "web-2": unregistered, "web-3": unregistered},
			cached: map[string]string{"web-1": unregistered, "web-2": unregistered, "web-3": unregistered},
		},
		"no-list": {fault: unreadable("data/proc_infos", "none"), live: agents, cached: none},
		"odd-row": {timeless: true, fault: unreadable("data/proc_infos/*/meta", 7), live: agents, cached: none},
		"no-meta": {timeless: true, fault: unreadable("data/proc_infos/*/meta", nil), live: agents, cached: none},
		"no-file": {
			fault: &simulator.Fault{API: "get_proc_status_v2", EnvelopeCode: new(1), EnvelopeMessage: "broken"},
			said:  "Unable to Read Process Status",
		},
		"hosting-not-reported": {
			timeless: true,
			fault: &simulator.Fault{API: "operate_proc_v2", Hosts: []string{providertest.Address(3)}, Code: new(0),
				Content: map[string]any{"process": []any{map[string]any{"instance": []any{map[string]any{"pid": -1}}}}}},
			live: agents, cached: whole,
		},
		"agent-away": {
			timeless: true,
			fault:    &simulator.Fault{API: "operate_proc_v2", Hosts: []string{providertest.Address(3)}, Code: new(117)},
			live:     map[string]string{"web-1": running, "web-2": stopped, "web-3": unknown}, cached: whole,
			said: "WARNING: Process Status Unknown\n\nProcess \"nginx\" in namespace \"web\" has an unknown status on 1 of 3 hosts.\n\n" +
				"  web-3 (0:10.0.0.4): 117, the agent is abnormal or not found\n\nCheck the agents on these hosts.",
		},
	} {
		for _, face := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
			t.Run(name+"-"+string(face), func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				sim.AgentsWithoutTimes = c.timeless
				if c.lag {
					sim.FreezeStatus()
				}
				sim.Registered(t, 2)
				start(t, sim, 1)
				if c.fault != nil {
					sim.Inject(*c.fault)
				}
				p := providertest.ConfiguredWith(t, sim.SettingsFor(face))
				config := face.Reference("./start.sh", 3)
				values, said := p.ReadData("bk_process_status", config)
				if said.Failed() != (c.live == nil) || !strings.Contains(said.String(), c.said) {
					t.Errorf("live: %s", said)
				}
				providertest.Same(t, "live", c.live, providertest.StatesOf(values))
				if calls := len(sim.Calls().Of("get_proc_status_v2")); calls == 0 {
					t.Error("the file was not read")
				}
				config["mode"] = "cached"
				values, said = p.ReadData("bk_process_status", config)
				providertest.Same(t, "cached", c.cached, providertest.StatesOf(values))
				if strings.Contains(said.String(), "the cached status could not be read") != (c.cached["web-1"] == unknown) {
					t.Errorf("cached: %s", said)
				}
				sim.Changed(t)
			})
		}
	}
}

// Reading the cached status costs a call only if it may say more than the agents.
func TestProcessStatusDataSource_fileNotRead(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Registered(t, 2)
	start(t, sim, 1, 2)
	values, said := sim.Configured(t).ReadData("bk_process_status", providertest.FaceESB.Reference("./start.sh", 2))
	if got := sim.Calls().APIs(); values["running_count"] != 2 || !slices.Equal(got, []string{"operate_proc_v2", "get_proc_operate_result_v2"}) {
		t.Errorf("%v after %q; said %s", values, got, said)
	}
}

// Without a spec the agents cannot be asked, so the cached status is used: an imported process has no spec yet.
//
// Promised in reference: requires `spec`, and without one, as after an import, warns and takes what is cached
// Promised in import-and-adoption.md: A `bk_process_status` that is read before the first apply
// has no `spec` yet. It reads the cached status with a warning.
func TestProcessStatusDataSource_withoutSpec(t *testing.T) {
	t.Parallel()
	const process = `{"meta":{"namespace":"web","name":"nginx"},"hosts":{"web-1":"0:10.0.0.2"}}`
	parts := map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(1)}
	with := func(config map[string]any, mode string) map[string]any {
		config = maps.Clone(config)
		config["mode"] = mode
		return config
	}
	for name, c := range map[string]struct {
		config map[string]any
		warns  bool
	}{
		"parts":          {parts, true},
		"parts-live":     {with(parts, "live"), true},
		"parts-cached":   {with(parts, "cached"), false},
		"process":        {map[string]any{"process": process}, true},
		"process-cached": {with(map[string]any{"process": process}, "cached"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Registered(t, 1)
			p := sim.Configured(t)
			providertest.Silent(t, p.ValidateData("bk_process_status", c.config))
			values, said := p.ReadData("bk_process_status", c.config)
			if warned := strings.Contains(said.String(), "WARNING: Status Read From The Cache\n\nweb:nginx has no spec here"); warned != c.warns || (len(said) > 0) != c.warns {
				t.Errorf("%s", said)
			}
			if values["stopped_count"] != 1 {
				t.Errorf("%v", values)
			}
			if calls := len(sim.Calls()); calls != 1 || len(sim.Calls().Of("get_proc_status_v2")) != 1 {
				t.Errorf("calls: %v", sim.Calls())
			}
		})
	}
}

// A value that is not a process is an error, and the only diagnostic.
func TestProcessStatusDataSource_noProcess(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	_, said := sim.Configured(t).ReadData("bk_process_status", map[string]any{"process": "web:nginx"})
	providertest.Fails(t, said, "Invalid Process")
	providertest.Check(t, !strings.Contains(said.String(), "Read From The Cache"), "said: %s", said)
}

func TestMain(m *testing.M) { providertest.Main(m) }

// Each host has the output of the health command. Hosts on which the process runs and the command printed
// nothing are counted, if there is such a command and the agents were asked.
//
// Promised in reference: Number of hosts on which the process runs and its `health_cmd` printed nothing.
func TestProcessStatusDataSource_health(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command any
		mode    string
		want    any
		health  any
	}{
		"live":        {"./health.sh", "live", 1, "fine"},
		"as-process":  {"./health.sh", "process", 1, "fine"},
		"no-command":  {nil, "live", nil, "fine"},
		"cached":      {"./health.sh", "cached", nil, nil},
		"not-running": {"./health.sh", "down", 0, "fine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Colleague(t, "web", "nginx", nil, 1, 2)
			says := func(n int, health string) {
				pid := map[bool]int{true: -1, false: 11}[c.mode == "down"]
				instance := map[string]any{"isAuto": true, "pid": pid, "health": health}
				sim.Inject(simulator.Fault{
					API: "operate_proc_v2", Hosts: []string{providertest.Address(n)}, Code: new(0),
					Content: map[string]any{"process": []any{map[string]any{"instance": []any{instance}}}},
				})
			}
			says(1, "fine\n")
			says(2, " ")
			config := providertest.FaceESB.Reference("./start.sh", 2)
			if c.mode == "cached" {
				config["mode"] = c.mode
			}
			if c.command != nil {
				spec := providertest.WholeSpec("./start.sh")
				spec["control"].(map[string]any)["health_cmd"] = c.command //nolint:forcetypeassert // it is made so
				config["spec"] = spec
			}
			if c.mode == "process" { // the same values in one object
				text, err := json.Marshal(config)
				providertest.NoError(t, err)
				config = map[string]any{"process": string(text)}
			}
			values, said := sim.Configured(t).ReadData("bk_process_status", config)
			if said.Failed() {
				t.Fatal(said)
			}
			providertest.Same(t, "unhealthy_count", c.want, values["unhealthy_count"])
			for key, want := range map[string]any{"web-1": c.health, "web-2": nil} {
				status, _ := values["statuses"].(map[string]any)[key].(map[string]any)
				providertest.Same(t, "health of "+key, want, status["health"])
			}
		})
	}
}
