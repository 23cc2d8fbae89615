package hostedprocess_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// values maps the paths of attributes to values. nil removes an attribute.
type values map[string]any

func (v values) put(config map[string]any) {
	for at, value := range v {
		parts := strings.Split(at, ".")
		in := config
		for _, part := range parts[:len(parts)-1] {
			in, _ = in[part].(map[string]any)
		}
		in[parts[len(parts)-1]] = value
	}
}

// refused fails the test unless validation or the plan refuses the configuration, without a call.
func (w *world) refused(config map[string]any, want string) {
	w.Helper()
	resource := w.object()
	said := resource.Validate(config)
	if !said.Failed() {
		_, said = resource.Plan(config)
	}
	providertest.Check(w, said.Failed() && strings.Contains(words(said.String()), want), "said: %s\nwant: %s", said, want)
	calls := w.sim.Calls()
	providertest.Check(w, len(calls) == 0, "calls were made for a configuration that is refused: %v", calls.APIs())
}

// A wrong configuration is refused before any call, at the path of the attribute.
//
// Promised in limits.md: refused by the plan, because its APIs register by IPv4 alone.
func TestHostedProcess_validation(t *testing.T) {
	t.Parallel()
	hosts := func(address any) values { return values{"hosts": map[string]any{"a": address}} }
	for name, c := range map[string]struct {
		set  values
		want string
	}{
		"no-hosts":              {values{"hosts": map[string]any{}}, `hosts must contain at least one host`},
		"address-without-cloud": {hosts("10.0.0.1"), `"10.0.0.1" has no bk_cloud_id`},
		"address-not-an-ip":     {hosts("0:web-1"), `"web-1" is not an IP address`},
		"null-address":          {hosts(nil), `the address is null`},
		"same-host-twice":       {values{"hosts": map[string]string{"a": "0:10.0.0.1", "b": "0:0:10.0.0.1"}}, `is the same host as "0:10.0.0.1" under key "a"`},
		"ipv6-over-esb":         {hosts("0:2001:db8::1"), `hosts["a"]: "0:2001:db8::1" has an IPv6 address, and the ESB registers processes by IPv4 alone`},
		"ipv6-without-cloud":    {hosts("2001:db8::1"), `did you mean "0:2001:db8::1"?`},
		"misspelt-command":      {values{"spec.control.start_cmd": nil}, `spec.control.start_cmd: the agent runs this command to revive a hosted process that has died, but it is not set. If it comes from CMDB, set it there. If you have written it, check the spelling`},
		"fraction":              {values{"spec.monitor_policy.start_check_secs": 2.5}, `start_check_secs: the value must be a whole number, such as 3; got 2.5.`},
		"binary-with-directory": {values{"spec.identity.proc_name": "/usr/sbin/nginx"}, `set proc_name to "nginx", and setup_path to the directory`},
		"null-label":            {values{"meta.labels": map[string]any{"team": nil}}, `meta.labels["team"]: the label "team" is null; give it a value, or leave it out`},
		"agent-id-over-esb":     {hosts(agents["web-1"]), `set gateway = "apigw"`},
		"setup-path-relative":   {values{"spec.identity.setup_path": "srv/web"}, `spec.identity.setup_path`},
		"pid-path-a-directory":  {values{"spec.identity.pid_path": "/srv/web/"}, `absolute path of a file`},
		"log-path-relative":     {values{"spec.identity.log_path": "logs"}, `must be an absolute path`},
		"empty-user":            {values{"spec.identity.user": ""}, `spec.identity.user`},
		"cpu-zero":              {values{"spec.resource.cpu": 0}, `spec.resource.cpu: the value must be more than 0 and at most 100 percent of the whole machine; got 0`},
		"mem-over-100":          {values{"spec.resource.mem": 101}, `spec.resource.mem: the value must be more than 0 and at most 100 percent of the whole machine; got 101`},
		"unlimited-over-esb":    {values{"ensure": "registered", "spec.resource": nil}, `requires limits`},
		"auto-type-unknown":     {values{"spec.monitor_policy.auto_type": 3}, `must be one of`},
		"start-check-secs-zero": {values{"spec.monitor_policy.start_check_secs": 0}, `start_check_secs value must be at least 1`},
		"op-timeout-zero":       {values{"spec.monitor_policy.op_timeout": 0}, `op_timeout value must be at least 1`},
		"blank-command":         {values{"spec.control.stop_cmd": " "}, `spec.control.stop_cmd: the command is nothing but white space; if there is none, leave the attribute out`},
		"md5":                   {values{"spec.configmap": []any{map[string]any{"path": "/etc/a", "md5": "abc"}}}, `32 hexadecimal characters`},
		"namespace-with-colon":  {values{"meta.namespace": "we:b"}, `a name must not contain ":", which separates the parts of an import id`},
		"empty-name":            {values{"meta.name": ""}, `meta.name: the name is empty`},
		"reserved-label":        {values{"meta.labels": map[string]any{"tf_spec": "mine"}}, `writes the fingerprint of the spec into the label "tf_spec"`},
		"reserved-label-owner":  {values{"meta.labels": map[string]any{"tf_spec_owner": "me"}}, `writes the owner of the registration into the label "tf_spec_owner"`},
		"ensure":                {values{"ensure": "happy"}, `ensure value must be one of`},
		"running-but-one-shot":  {values{"ensure": "running", "spec.monitor_policy.auto_type": 2}, `Only a resident process`},
		"on-update":             {values{"on_update": "reboot"}, `on_update value must be one of`},
		"restart-not-set":       {values{"on_update": "restart", "spec.control.restart_cmd": nil}, `restart_cmd: the operation "restart" runs this command, which is not set`},
		"restart-one-shot":      {values{"on_update": "restart", "spec.monitor_policy.auto_type": 2}, `on_update must be "register"`},
		"on-destroy":            {values{"on_destroy": "forget"}, `on_destroy value must be one of`},
		"stop-not-set":          {values{"on_destroy": "stop", "spec.control.stop_cmd": nil}, `stop_cmd: the operation "stop" runs this command, which is not set`},
		"on-partial-create":     {values{"on_partial_create": "ignore"}, `on_partial_create value must be one of`},
		"gate-of-what-rests":    {values{"rollout": map[string]any{"waves": []any{"1"}, "healthy": map[string]any{"stable_for": "10s"}}}, `it watches processes that are meant to run, and this resource starts none`},
		"timeouts":              {values{"timeouts": map[string]any{"create": "soon"}}, `uration`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			faces := gse
			if strings.HasSuffix(name, "-over-esb") { // the gateway takes agent ids, IPv6, and processes without limits
				faces = faces[:1]
			}
			through(t, faces, func(w *world) {
				config := w.declares(1)
				c.set.put(config)
				w.refused(config, c.want)
			})
			if len(faces) == 1 {
				w := newWorld(t, gateway)
				config := w.declares(1)
				c.set.put(config)
				_, said := w.object().Plan(config)
				providertest.Check(t, !said.Failed(), "over the gateway: %s", said)
			}
		})
	}
}

func TestJobHostedProcess_validation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  values
		want string
	}{
		"both-scopes":         {values{"bk_biz_id": 1}, `Exactly one of these attributes must be configured: [scope,bk_biz_id]`},
		"no-scope":            {values{"scope": nil}, `Exactly one of these attributes must be configured: [scope,bk_biz_id]`},
		"scope-type":          {values{"scope.type": "country"}, `must be one of`},
		"cpu-over-100":        {values{"process.cpu_lmt": 150}, `cpu_lmt value must be between 0 and 100`},
		"no-cycle-time":       {values{"process.type": nil}, `process.cycle_time: a periodic process`},
		"no-owner":            {values{"registration_api": "manage_proc"}, `manage_proc requires an owner`},
		"agent-id":            {values{"hosts": agents}, `only GSE's API gateway accepts agent ids`},
		"running-and-no-type": {values{"process.type": nil, "process.cycle_time": 5, "ensure": "running"}, `Only a resident process`},
		"restart-and-no-type": {values{"process.type": nil, "process.cycle_time": 5, "on_update": "restart"}, `on_update must be "register"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, job)
			config := w.declares(1)
			c.set.put(config)
			w.refused(config, c.want)
		})
	}
	t.Run("no-esb", func(t *testing.T) { // the gateway has no JOB
		t.Parallel()
		w := newWorld(t, job)
		w.settings["gateway"] = "apigw"
		w.refused(w.declares(1), `Set job_endpoint to the URL of the ESB`)
	})
}

func TestHostedProcess_unknownInput(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config, unknown := w.declares(2), w.declares(2)
		values{"ensure": "registered", "meta.labels": map[string]any{"team": "sre"}}.put(config)
		values{
			"ensure": providertest.NotKnown{}, "meta.namespace": providertest.NotKnown{}, "meta.labels": providertest.NotKnown{}, "spec.identity.setup_path": providertest.NotKnown{},
			"spec.resource.cpu": providertest.NotKnown{}, "hosts": map[string]any{"web-1": providertest.NotKnown{}, "web-2": providertest.Address(2)},
		}.put(unknown)
		resource := w.object()
		providertest.Silent(t, resource.Validate(unknown))
		for _, later := range []string{"ensure", "on_update"} { // either may mean that the process is to run
			gate := map[string]any{"waves": []any{"1"}, "healthy": map[string]any{"stable_for": "10s"}}
			said := resource.Validate(w.declares(2, map[string]any{"rollout": gate, later: providertest.NotKnown{}}))
			providertest.Check(t, len(said) == 0, "%s is not known: %s", later, said)
		}
		if kind, said := resource.ApplyResolved(unknown, config); kind != providertest.PlanCreate || len(said) > 0 || resource.Attribute("id") != "web:nginx" || len(codes(resource)) > 0 {
			t.Errorf("%s: %v; said: %s", kind, resource.Attribute("id"), said)
		}
		w.play(resource, step{name: "known", config: config, kind: providertest.PlanNothing})
	})
}

// warnedAbove is the number of hosts above which a plan warns.
const warnedAbove = 50000

// A resource may have fifty thousand hosts. With one more, validation warns.
//
// Promised in large-fleets.md: A resource with more than 50,000 hosts works, with a warning.
// Promised in limits.md: no limit; a plan with more than 50,000 warns.
func TestHosts_many(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	addresses := make(map[string]string, warnedAbove+1)
	validate := func() string {
		resp, err := p.Server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{
			TypeName: providertest.HostedType, Config: p.Dynamic(p.Schema.ResourceSchemas[providertest.HostedType], providertest.HostedConfigOf(addresses)),
		})
		providertest.NoError(t, err)
		return providertest.DiagnosticsText(resp.Diagnostics)
	}
	for i := range warnedAbove {
		addresses[fmt.Sprint(i)] = fmt.Sprintf("0:10.%d.%d.%d", i>>16, i>>8&255, i&255)
	}
	providertest.Same(t, fmt.Sprintf("%d hosts", warnedAbove), "", validate())
	addresses["one more"] = "0:10.255.0.1"
	if said := validate(); !strings.HasPrefix(said, "WARNING: Many Hosts") || !strings.Contains(said, "50001") || !strings.Contains(said, `"Large fleets"`) {
		t.Errorf("%d hosts: %q", warnedAbove+1, said)
	}
}

// In the example each host is in exactly one shard, so one more host changes one shard.
func TestAccExamples_largeFleets(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	text := providertest.ReadExample(t, "guides/large-fleets/main.tf")
	cli := providertest.NewCLI(t, sim, text)
	cli.Expect(0, "apply", "-auto-approve")
	providertest.Same(t, "hosts that are registered", 1000, len(sim.Processes()))
	cli.Expect(0, "plan", "-detailed-exitcode")

	cli.Configure(strings.Replace(text, "range(1000)", "range(1001)", 1))
	sim.ResetCalls()
	out := cli.Expect(0, "apply", "-auto-approve")
	providertest.Check(t, strings.Contains(out, "0 added, 1 changed, 0 destroyed"), "one more host changed more than one shard:\n%s", out)
	register, _ := providertest.FaultOn("register_proc_info")
	n := sim.Calls().Of(register).On("0:10.20.4.1")
	providertest.Check(t, len(n) > 0, "the new host was not registered")
}

// A plan warns if it changes many hosts without waves.
func TestHostedProcess_manyAtOnce(t *testing.T) {
	t.Parallel()
	other := attribute("hosts", addresses(200))
	stops, waves := attribute("on_destroy", "stop"), attribute("rollout", map[string]any{"waves": []any{"100%"}})
	w := newWorld(t, esb)
	resource := w.object()
	resource.Applied(w.declares(101, stops))
	w.sim.ResetCalls()
	for name, c := range map[string]struct {
		config map[string]any
		warns  string
	}{
		"changed":   {w.changed(101, stops), "web:nginx: 101 hosts are registered with something else at the same time: web-1…web-101. With waves"},
		"fewer":     {w.changed(100), ""},
		"in-waves":  {w.changed(101, waves), ""},
		"leave":     {w.declares(0, other), "web:nginx: unregister 101 hosts: web-1…web-101. No safety limits"},
		"end":       {w.declares(0, stops, other), `101 hosts are unregistered, with on_destroy = "stop", at the same time`},
		"killed":    {w.declares(0, attribute("on_destroy", "kill"), other), `101 hosts are unregistered, with on_destroy = "kill", at the same time`},
		"lost":      {w.changed(101, stops), "web:nginx: 101 hosts are registered with something else at the same time: web-1…web-101. With waves"},
		"unchanged": {w.declares(101), ""},
	} {
		planned := resource
		if name == "lost" { // private state
			planned = w.object()
			*planned.Kept = providertest.Kept{State: resource.State, Identity: resource.Identity}
		}
		_, said := planned.Plan(c.config)
		warned := strings.HasPrefix(said.String(), "WARNING")
		providertest.Check(t, warned == (c.warns != "") && strings.Contains(said.String(), c.warns), "%s: said %s", name, said)
	}
	w.sim.Changed(t)
}

// Errors that only the conversion to a request finds are reported by the plan, not first by the apply.
func TestHostedProcess_plannedAsApplied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	config := w.declares(1)
	values{"spec.configmap": []any{nil}}.put(config)
	_, said := w.object().Plan(config)
	providertest.Check(t, said.Failed() && strings.Count(said.String(), "ERROR") == 1, "said: %s", said)
}
