package hostedprocess_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// Every wrong configuration is refused before anything is called, at the path of
// the attribute.
func TestAccHostedProcessResource_validation(t *testing.T) {
	t.Parallel()
	valid := providertest.HostedConfig{Hosts: providertest.HostsConfig(1)}.String()
	replace := func(old, replacement string) string {
		t.Helper()
		if !strings.Contains(valid, old) {
			t.Fatalf("the valid configuration does not have %q", old)
		}
		return strings.Replace(valid, old, replacement, 1)
	}
	hosts := func(hcl string) string { return providertest.HostedConfig{Hosts: hcl}.String() }
	more := func(hcl string) string {
		return providertest.HostedConfig{Hosts: providertest.HostsConfig(1), More: hcl}.String()
	}
	for name, c := range map[string]struct{ config, want string }{
		"no-hosts":              {hosts("{}"), `hosts must contain at least one host`},
		"address-without-cloud": {hosts(`{ a = "10.0.0.1" }`), `"10.0.0.1" has no bk_cloud_id`},
		"address-not-an-ip":     {hosts(`{ a = "0:web-1" }`), `"web-1" is not an IP address`},
		"null-address":          {hosts(`{ a = null }`), `the address is null`},
		"same-host-twice":       {hosts(`{ a = "0:10.0.0.1", b = "0:0:10.0.0.1" }`), `is the same host as "0:10.0.0.1" under key "a"`},
		"ipv6-over-esb":         {hosts(`{ a = "0:2001:db8::1" }`), `hosts\["a"\]: "0:2001:db8::1" has an IPv6 address, and the ESB registers processes by IPv4 alone`},
		"ipv6-without-cloud":    {hosts(`{ a = "2001:db8::1" }`), `did you mean "0:2001:db8::1"\?`},
		"misspelt-command":      {replace(`start_cmd   =`, `start_command =`), `spec.control.start_cmd: the agent runs this command to revive a hosted process that has died, but it is not set. If you meant to set it, check the spelling`},
		"fraction":              {replace(`auto_type = 1`, `auto_type = 1, start_check_secs = 2.5`), `start_check_secs: the value must be a whole number, such as 3; got 2.5.`},
		"binary-with-directory": {replace(`= "nginx"`+"\n      setup", `= "/usr/sbin/nginx"`+"\n      setup"), `set proc_name to "nginx", and setup_path to the directory`},
		"null-label":            {providertest.HostedConfig{Hosts: providertest.HostsConfig(1), Labels: `{ team = null }`}.String(), `meta.labels\["team"\]: the label "team" is null; give it a value, or leave it out`},
		"agent-id-over-esb":     {hosts(`{ a = "0200000007525400f355781710390005465c" }`), `set gateway = "apigw"`},
		"setup-path-relative":   {replace(`"/srv/web"`, `"srv/web"`), `spec.identity.setup_path`},
		"pid-path-a-directory":  {replace(`"/srv/web/nginx.pid"`, `"/srv/web/"`), `absolute path of a file`},
		"log-path-relative":     {replace(`user       =`, "log_path = \"logs\"\n      user ="), `must be an absolute path`},
		"empty-user":            {replace(`"root"`, `""`), `spec.identity.user`},
		"cpu-zero":              {replace(`cpu = 30`, `cpu = 0`), `spec.resource.cpu: the value must be more than 0 and at most 100 percent of the whole machine; got 0`},
		"mem-over-100":          {replace(`mem = 10`, `mem = 101`), `spec.resource.mem: the value must be more than 0 and at most 100 percent of the whole machine; got 101`},
		"unlimited-over-esb":    {strings.Replace(more(`ensure = "registered"`), `resource       = { cpu = 30, mem = 10 }`, "", 1), `requires limits`},
		"auto-type-unknown":     {replace(`auto_type = 1`, `auto_type = 3`), `must be one of`},
		"start-check-secs-zero": {replace(`auto_type = 1`, `auto_type = 1, start_check_secs = 0`), `start_check_secs value must be at least 1`},
		"op-timeout-zero":       {replace(`auto_type = 1`, `auto_type = 1, op_timeout = 0`), `op_timeout value must be at least 1`},
		"blank-command":         {replace(`"./stop.sh"`, `" "`), `spec.control.stop_cmd: the command is nothing but white space; if there is none, leave the attribute out`},
		"md5":                   {replace(`monitor_policy =`, "configmap = [{ path = \"/etc/a\", md5 = \"abc\" }]\n    monitor_policy ="), `32 hexadecimal characters`},
		"namespace-with-colon":  {replace(`"web"`, `"we:b"`), `a name must not contain ":", which separates the parts of an import id`},
		"empty-name":            {replace(`"nginx"`+"\n    labels", `""`+"\n    labels"), `meta.name: the name is empty`},
		"reserved-label":        {providertest.HostedConfig{Hosts: providertest.HostsConfig(1), Labels: `{ tf_spec = "mine" }`}.String(), `writes the fingerprint of the spec into the label "tf_spec"`},
		"ensure":                {more(`ensure = "happy"`), `ensure value must be one of`},
		"running-but-one-shot":  {strings.Replace(more(`ensure = "running"`), "auto_type = 1", "auto_type = 2", 1), `Only a resident process`},
		"on-update":             {more(`on_update = "reboot"`), `on_update value must be one of`},
		"restart-not-set":       {strings.Replace(more(`on_update = "restart"`), `restart_cmd`, `restart_command`, 1), `restart_cmd: the operation "restart" runs this command, which is not set`},
		"restart-one-shot":      {strings.Replace(more(`on_update = "restart"`), "auto_type = 1", "auto_type = 2", 1), `on_update must be "register"`},
		"on-destroy":            {more(`on_destroy = "forget"`), `on_destroy value must be one of`},
		"on-partial-create":     {more(`on_partial_create = "ignore"`), `on_partial_create value must be one of`},
		"timeouts":              {more(`timeouts = { create = "soon" }`), `(?i)duration`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.HasSuffix(name, "-over-esb") {
				providertest.ESBOnly(t, "the gateway takes agent ids, IPv6, and processes without limits")
			}
			sim := providertest.NewSim(t)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{{
					Config:      sim.ProviderConfig() + c.config,
					PlanOnly:    true,
					ExpectError: providertest.Wrapped(c.want),
				}},
			})
			if calls := sim.Calls(); len(calls) > 0 {
				t.Errorf("calls were made for a configuration that is refused: %v", calls.APIs())
			}
		})
	}
}

// Values that are not known before apply are not refused.
func TestAccHostedProcessResource_unknownInput(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := fmt.Sprintf(`
resource "terraform_data" "input" {
  input = { address = "0:10.0.0.1", namespace = "web", path = "/srv/web", cpu = 30, labels = { team = "sre" }, ensure = "registered" }
}

resource "bk_hosted_process" "test" {
  meta   = { namespace = terraform_data.input.output.namespace, name = "nginx", labels = terraform_data.input.output.labels }
  hosts  = { a = terraform_data.input.output.address, b = "0:10.0.0.2" }
  ensure = terraform_data.input.output.ensure
  spec   = %s
}

data "bk_process_status" "test" {
  meta  = bk_hosted_process.test.meta
  hosts = bk_hosted_process.test.hosts
  spec  = bk_hosted_process.test.spec
}
`, strings.NewReplacer(`"/srv/web"`, "terraform_data.input.output.path", "cpu = 30", "cpu = terraform_data.input.output.cpu").Replace(providertest.SpecConfig("./start.sh")))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{{
			Config: sim.ProviderConfig() + config,
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(providertest.HostedAddress, "id", "web:nginx"),
				resource.TestCheckResourceAttr("data.bk_process_status.test", "stopped_count", "2"),
			),
		}},
	})
}

// warnedAbove is how many hosts a resource may have before a plan warns.
const warnedAbove = 50000

// Fifty thousand hosts are fine. One more is fine as well, with a word about it.
//
// Promised in large-fleets.md: A resource with more than 50,000 hosts works, with a warning.
// Promised in reference: More than 50,000 hosts cause a warning.
func TestHosts_many(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	addresses := make(map[string]string, warnedAbove+1)
	validate := func() string {
		resp, err := p.Server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{
			TypeName: providertest.HostedType, Config: p.Dynamic(p.Schema.ResourceSchemas[providertest.HostedType], providertest.HostedConfigOf(addresses)),
		})
		if err != nil {
			t.Fatal(err)
		}
		return providertest.DiagnosticsText(resp.Diagnostics)
	}
	for i := range warnedAbove {
		addresses[fmt.Sprint(i)] = fmt.Sprintf("0:10.%d.%d.%d", i>>16, i>>8&255, i&255)
	}
	if said := validate(); said != "" {
		t.Errorf("%d hosts: %s", warnedAbove, said)
	}
	addresses["one more"] = "0:10.255.0.1"
	if said := validate(); !strings.HasPrefix(said, "WARNING: Many Hosts") || !strings.Contains(said, "50001") || !strings.Contains(said, `"Large fleets"`) {
		t.Errorf("%d hosts: %q", warnedAbove+1, said)
	}
}

// Every host of the example is in one shard, and one more host changes one.
func TestAccExamples_largeFleets(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	text := providertest.ReadExample(t, "guides/large-fleets/main.tf")
	cli := providertest.NewCLI(t, sim, text)
	cli.Expect(0, "apply", "-auto-approve")
	if n := len(sim.Processes()); n != 1000 {
		t.Errorf("%d hosts are registered", n)
	}
	cli.Expect(0, "plan", "-detailed-exitcode")

	cli.Configure(strings.Replace(text, "range(1000)", "range(1001)", 1))
	sim.ResetCalls()
	if out := cli.Expect(0, "apply", "-auto-approve"); !strings.Contains(out, "0 added, 1 changed, 0 destroyed") {
		t.Errorf("one more host changed more than one shard:\n%s", out)
	}
	register, _ := providertest.FaultOn("register_proc_info")
	if n := sim.Calls().Of(register).On("0:10.20.4.1"); len(n) == 0 {
		t.Error("the new host was not registered")
	}
}

// A change of many hosts without waves is warned of.
func TestHostedProcess_manyAtOnce(t *testing.T) {
	t.Parallel()
	hosts := make(map[string]string)
	for n := range 101 {
		hosts[fmt.Sprintf("web-%03d", n+1)] = providertest.Address(n + 1)
	}
	fewer := maps.Clone(hosts)
	delete(fewer, "web-101")
	const by = providertest.FaceESB
	stop, all := map[string]any{"on_destroy": "stop"}, map[string]any{"rollout": map[string]any{"waves": []any{"100%"}}}
	with := func(config map[string]any, hosts map[string]string) map[string]any {
		config["hosts"] = hosts
		return config
	}
	sim := providertest.NewSim(t)
	resource := hostedBy(t, sim, by)
	if kind, said := resource.Apply(with(fleetOf(by, 0, stop), hosts)); len(said) > 0 {
		t.Fatal(kind, said)
	}
	for name, c := range map[string]struct {
		config map[string]any
		warns  string
	}{
		"changed":   {with(restartedBy(by, 0, nil), hosts), "web:nginx: 101 hosts are registered with something else at the same time: web-001…web-101. With waves"},
		"fewer":     {with(restartedBy(by, 0, nil), fewer), ""},
		"all":       {with(restartedBy(by, 0, all), hosts), ""},
		"leave":     {with(fleetOf(by, 0, nil), map[string]string{"other": providertest.Address(200)}), ""},
		"end":       {with(fleetOf(by, 0, stop), map[string]string{"other": providertest.Address(200)}), `101 hosts are let go of, with on_destroy = "stop", at the same time`},
		"unchanged": {with(fleetOf(by, 0, nil), hosts), ""},
	} {
		_, said := resource.Plan(c.config)
		if warned := strings.HasPrefix(said.String(), "WARNING"); warned != (c.warns != "") || !strings.Contains(said.String(), c.warns) {
			t.Errorf("%s: said %s", name, said)
		}
	}
	if diff := cmp.Diff([]string{}, slices.DeleteFunc(sim.Changes(), func(call string) bool {
		return strings.HasPrefix(call, "register") || strings.HasPrefix(call, "operate_proc_v2/3")
	})); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
