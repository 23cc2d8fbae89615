package processstatus_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestAccProcessStatusDataSource_modes(t *testing.T) {
	t.Parallel()
	for mode, more := range map[string]string{"live": providertest.WithSpec, "cached": `mode = "cached"`} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			hosted := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(3)}.String()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{Config: hosted},
					{
						PreConfig: func() {
							if err := sim.StartProcess(providertest.Address(1), "web", "nginx"); err != nil {
								t.Error(err)
							}
							sim.ResetCalls()
						},
						Config: hosted + providertest.StatusConfig(more),
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(providertest.StatusAddress, "running_count", "1"),
							resource.TestCheckResourceAttr(providertest.StatusAddress, "stopped_count", "2"),
							resource.TestCheckResourceAttr(providertest.StatusAddress, "unregistered_count", "0"),
							resource.TestCheckResourceAttr(providertest.StatusAddress, "unknown_count", "0"),
							resource.TestCheckResourceAttr(providertest.StatusAddress, "statuses.web-1.state", "running"),
							resource.TestCheckResourceAttr(providertest.StatusAddress, "statuses.web-1.hosted", "true"),
							resource.TestMatchResourceAttr(providertest.StatusAddress, "statuses.web-1.pid", regexp.MustCompile(`^[1-9]\d*$`)),
							resource.TestCheckResourceAttr(providertest.StatusAddress, "statuses.web-2.state", "stopped"),
							resource.TestCheckNoResourceAttr(providertest.StatusAddress, "statuses.web-2.pid"),
							sim.ExpectChanges(),
						),
					},
				},
			})
		})
	}
}

func TestAccProcessStatusDataSource_unknown(t *testing.T) {
	t.Parallel()
	op := 2
	for name, c := range map[string]struct {
		fault   simulator.Fault
		message string
		code    string
	}{
		"agent-abnormal":    {simulator.Fault{Unreachable: "117"}, "the agent is abnormal or not found", "117"},
		"never-finishes":    {simulator.Fault{Pending: -1}, "still in progress", "115"},
		"left-out-for-ever": {simulator.Fault{Missing: -1}, "the platform's result did not mention the host", ""},
		"unreadable":        {simulator.Fault{ContentShape: "broken"}, "the agent's answer is not JSON", ""},
		"no-instance":       {simulator.Fault{ContentShape: "no-instance"}, "the agent's answer names no instance with a pid", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			hosted := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(3)}.String()
			code := resource.TestCheckNoResourceAttr(providertest.StatusAddress, "statuses.web-2.error_code")
			if c.code != "" {
				code = resource.TestCheckResourceAttr(providertest.StatusAddress, "statuses.web-2.error_code", c.code)
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{Config: hosted},
					{
						PreConfig: func() {
							c.fault.API, c.fault.Op, c.fault.Hosts = "operate_proc_v2", &op, []string{providertest.Address(2)}
							sim.Inject(c.fault)
						},
						Config: hosted + providertest.StatusConfig(providertest.WithSpec+"\n  timeouts = { read = \"2s\" }"),
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(providertest.StatusAddress, "unknown_count", "1"),
							resource.TestCheckResourceAttr(providertest.StatusAddress, "stopped_count", "2"),
							resource.TestCheckResourceAttr(providertest.StatusAddress, "statuses.web-2.state", "unknown"),
							resource.TestMatchResourceAttr(providertest.StatusAddress, "statuses.web-2.error_message", regexp.MustCompile(c.message)),
							code,
						),
					},
				},
			})
		})
	}
}

func TestAccProcessStatusDataSource_unregistered(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{{
			Config: sim.ProviderConfig() + `
data "bk_process_status" "test" {
  meta  = { namespace = "web", name = "nginx" }
  hosts = { a = "0:10.0.0.1" }
  mode  = "cached"
}`,
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(providertest.StatusAddress, "unregistered_count", "1"),
				resource.TestCheckResourceAttr(providertest.StatusAddress, "statuses.a.state", "unregistered"),
			),
		}},
	})
}

// Without a spec the agents cannot be asked, and what the platform has on file will do: a
// process that was imported has none yet.
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
			if said := p.ValidateData("bk_process_status", c.config); len(said) > 0 {
				t.Errorf("validate: %s", said)
			}
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

// A file that cannot be read says nothing of who is registered.
func TestProcessStatusDataSource_unreadableFile(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string]map[string]any{
		"no-list": {"data/proc_infos": "none"},
		"a-row":   {"data/proc_infos/*/meta": 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			if err := sim.Register(providertest.Address(1), "web", "nginx", nil, "{}"); err != nil {
				t.Fatal(err)
			}
			sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: rows})
			config := providertest.FaceESB.Reference("./start.sh", 1)
			config["mode"] = "cached"
			values, said := sim.Configured(t).ReadData("bk_process_status", config)
			if got := providertest.StatesOf(values)["web-1"]; got != "unknown" || !strings.Contains(said.String(), "what the platform has on file could not be read") {
				t.Errorf("the state is %q; said:\n%s", got, said)
			}
		})
	}
}
