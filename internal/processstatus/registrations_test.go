package processstatus_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const agent1 = "0200000007525400f355781710390005465u"

// The listing has registrations of this provider and of others, and separates those that are not expected.
func TestRegistrationsDataSource(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	hosted := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := providertest.FaceESB.Reference("./start.sh", 2)
	hosted.Applied(config)
	sim.Colleague(t, "web", "redis", map[string]string{"team": "cache"}, 2)
	sim.Colleague(t, "other", "nginx", nil, 3)
	if err := sim.Register("0:7:"+addressOf(3), "web", "redis", nil, "{}"); err != nil { // with another supplier id
		t.Fatal(err)
	}
	sim.ResetCalls()
	values, said := sim.Configured(t).ReadData("bk_registrations", map[string]any{
		"namespace": "web", "expected": map[string]any{"nginx": map[string]any{"first": "0:7:" + addressOf(1)}},
	})
	providertest.Silent(t, said)
	fingerprint := hosted.Attribute("fingerprint")
	shown := hostsOf(t, values, "nginx")[providertest.Address(2)]
	owner, _ := shown["owner"].(string)
	if owner == "" {
		t.Errorf("no owner in %v", shown)
	}
	want := map[string]any{
		"state": "stopped", "hosted": true, "fingerprint": fingerprint, "owner": owner,
		"labels": map[string]any{"tf_spec": fingerprint, "tf_spec_owner": owner},
	}
	providertest.Same(t, "ours", want, shown)
	theirs := map[string]any{"state": "stopped", "hosted": false, "fingerprint": nil, "owner": nil, "labels": map[string]any{"team": "cache"}}
	providertest.Same(t, "theirs", theirs, hostsOf(t, values, "redis")[providertest.Address(2)])
	orphans := map[string]any{
		"nginx": map[string]any{providertest.Address(2): providertest.Address(2)},
		"redis": map[string]any{providertest.Address(2): providertest.Address(2), providertest.Address(3): "0:7:" + addressOf(3)},
	}
	providertest.Same(t, "orphans", any(orphans), values["orphans"])
	if processes, _ := values["registrations"].(map[string]any); len(processes) != 2 {
		t.Errorf("there are %d processes", len(processes))
	}
	providertest.Same(t, "calls", []string{"sync_proc_status"}, sim.Calls().APIs())
}

func addressOf(n int) string { return strings.TrimPrefix(providertest.Address(n), "0:") }

func hostsOf(t *testing.T, values map[string]any, name string) map[string]map[string]any {
	t.Helper()
	processes, _ := values["registrations"].(map[string]any)
	process, _ := processes[name].(map[string]any)
	hosts, _ := process["hosts"].(map[string]any)
	byAddress := make(map[string]map[string]any, len(hosts))
	for address, registration := range hosts {
		byAddress[address], _ = registration.(map[string]any)
	}
	return byAddress
}

func row(name, agent, ip string, more map[string]any) map[string]any {
	row := map[string]any{
		"meta": map[string]any{"namespace": "web", "name": name, "labels": map[string]any{}},
		"host": map[string]any{"ip": ip, "bk_cloud_id": 0}, "bk_agent_id": agent, "status": 2, "isauto": true,
	}
	for key, value := range more {
		row[key] = value
	}
	return row
}

// A machine may be expected under one name and listed under the other. Unless these are known to be two
// machines, it is not an orphan.
//
// Promised in reference: A host that may be an expected one under another name is left out, with a warning.
func TestRegistrationsDataSource_orphans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows     []any
		expected map[string]any // hosts of nginx, null without
		want     any
		warns    string
	}{
		"nothing-expected":    {[]any{row("nginx", "", "10.0.0.1", nil)}, map[string]any{}, map[string]any{"nginx": map[string]any{"0:10.0.0.1": "0:10.0.0.1"}}, ""},
		"not-asked-for":       {[]any{row("nginx", "", "10.0.0.1", nil)}, nil, nil, ""},
		"expected":            {[]any{row("nginx", "", "10.0.0.1", nil)}, map[string]any{"a": "0:10.0.0.1"}, map[string]any{}, ""},
		"both-names":          {[]any{row("nginx", agent1, "10.0.0.1", nil)}, map[string]any{"a": "0:10.0.0.1"}, map[string]any{}, ""},
		"both-names-too":      {[]any{row("nginx", agent1, "10.0.0.1", nil)}, map[string]any{"a": agent1}, map[string]any{}, ""},
		"other-case":          {[]any{row("nginx", agent1, "10.0.0.1", nil)}, map[string]any{"a": strings.ToUpper(agent1)}, map[string]any{"nginx": map[string]any{agent1: agent1}}, ""},
		"one-name-unclear":    {[]any{row("nginx", agent1, "", nil)}, map[string]any{"a": "0:10.0.0.1"}, map[string]any{}, "nginx on " + agent1},
		"one-name-but-seen":   {[]any{row("nginx", agent1, "", nil), row("nginx", "", "10.0.0.1", nil)}, map[string]any{"a": "0:10.0.0.1"}, map[string]any{"nginx": map[string]any{agent1: agent1}}, ""},
		"of-another-process":  {[]any{row("redis", agent1, "", nil)}, map[string]any{"a": "0:10.0.0.1"}, map[string]any{"redis": map[string]any{agent1: agent1}}, ""},
		"name-of-another-row": {[]any{row("redis", agent1, "10.0.0.1", nil), row("nginx", agent1, "", nil)}, map[string]any{"a": "0:10.0.0.1"}, map[string]any{"redis": map[string]any{agent1: agent1}}, ""},
		"address-as-agent-id": {[]any{row("nginx", "0:10.0.0.1", "", nil)}, map[string]any{"a": "0:10.0.0.1"}, map[string]any{}, ""},
		"unregistered":        {[]any{row("nginx", agent1, "10.0.0.1", map[string]any{"status": 0})}, map[string]any{}, map[string]any{}, ""},
		"another-namespace":   {[]any{row("nginx", agent1, "10.0.0.1", map[string]any{"meta": map[string]any{"namespace": "other", "name": "nginx"}})}, map[string]any{}, map[string]any{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Inject(listing(c.rows...))
			config := map[string]any{"namespace": "web"}
			if c.expected != nil {
				config["expected"] = map[string]any{"nginx": c.expected}
			}
			values, said := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceGateway)).ReadData("bk_registrations", config)
			providertest.Same(t, "values", c.want, values["orphans"])
			if warned := strings.Contains(said.String(), "Orphans Not Told Apart"); said.Failed() || warned != (c.warns != "") || !strings.Contains(said.String(), c.warns) {
				t.Errorf("said: %s", said)
			}
		})
	}
}

func listing(rows ...any) simulator.Fault {
	return simulator.Fault{API: "sync_proc_status", Replace: map[string]any{"data/proc_infos": rows, "data/count": len(rows)}}
}

// Terraform merges two keys that it normalizes to one (NFC). That loses no host, and makes no expected host an
// orphan.
func TestRegistrationsDataSource_spelling(t *testing.T) {
	t.Parallel()
	const composed, decomposed = "caf\u00e9_1", "cafe\u0301_1"
	at := func(seconds, status int) map[string]any {
		return map[string]any{"register_time": seconds, "status": status}
	}
	for name, c := range map[string]struct {
		rows     []any
		expected map[string]any
		hosts    map[string]string // and their states
		orphans  map[string]any
		warns    bool
	}{
		"two-hosts": {
			[]any{row(composed, "", "10.0.0.1", nil), row(decomposed, "", "10.0.0.2", nil)}, map[string]any{"a": "0:10.0.0.1", "b": "0:10.0.0.2"},
			map[string]string{"0:10.0.0.1": "stopped", "0:10.0.0.2": "stopped"}, map[string]any{}, true,
		},
		"one-is-not-expected": {
			[]any{row(composed, "", "10.0.0.1", nil), row(decomposed, "", "10.0.0.2", nil)}, map[string]any{"a": "0:10.0.0.1"},
			map[string]string{"0:10.0.0.1": "stopped", "0:10.0.0.2": "stopped"}, map[string]any{composed: map[string]any{"0:10.0.0.2": "0:10.0.0.2"}}, true,
		},
		"one-host": {
			[]any{row(decomposed, "", "10.0.0.1", at(2000, 1)), row(composed, "", "10.0.0.1", at(1000, 2))}, map[string]any{"a": "0:10.0.0.1"},
			map[string]string{"0:10.0.0.1": "running"}, map[string]any{}, true,
		},
		"its-old-row-is-kept": { // of what was unregistered before
			[]any{row(composed, "", "10.0.0.1", at(1000, 0)), row(composed, "", "10.0.0.1", at(2000, 1))}, map[string]any{},
			map[string]string{"0:10.0.0.1": "running"}, map[string]any{composed: map[string]any{"0:10.0.0.1": "0:10.0.0.1"}}, false,
		},
		"one-spelling": {
			[]any{row(decomposed, "", "10.0.0.1", nil), row(decomposed, "", "10.0.0.2", nil)}, map[string]any{"a": "0:10.0.0.1", "b": "0:10.0.0.2"},
			map[string]string{"0:10.0.0.1": "stopped", "0:10.0.0.2": "stopped"}, map[string]any{}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Inject(listing(c.rows...))
			values, said := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceGateway)).ReadData("bk_registrations", map[string]any{
				"namespace": "web", "expected": map[string]any{composed: c.expected}})
			registrations, _ := values["registrations"].(map[string]any)
			process, _ := registrations[composed].(map[string]any)
			listed, _ := process["hosts"].(map[string]any)
			states := make(map[string]string)
			for host, registration := range listed {
				states[host], _ = registration.(map[string]any)["state"].(string)
			}
			providertest.Same(t, "hosts", c.hosts, states)
			providertest.Same(t, "processes", 1, len(registrations))
			providertest.Same(t, "orphans", any(c.orphans), values["orphans"])
			warning := strings.Contains(said.String(), `"cafe\u0301_1" and "caf\u00e9_1"`)
			providertest.Check(t, !said.Failed() && warning == c.warns && (len(said) > 0) == c.warns, "said: %s", said)
		})
	}
}

// Rows that cannot be placed are named in a warning, and a listing that fails is an error. So is an invalid expected host, before any call.
//
// Promised in reference: These are not in `registrations`, and a warning names them.
func TestRegistrationsDataSource_trouble(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    simulator.Fault
		unplaced any
		fails    bool
		says     string
	}{
		"no-host":    {listing(row("nginx", "", "", nil), row("redis", "", "10.0.0.1", nil)), []any{"nginx"}, false, `rows that name no host, of ["nginx"]`},
		"unreadable": {listing(7, row("redis", "", "10.0.0.1", nil)), []any{}, false, "rows that could not be read"},
		"short":      {simulator.Fault{Replace: map[string]any{"data/proc_infos": []any{row("redis", "", "10.0.0.1", nil)}, "data/count": 900}}, nil, true, `pages of namespace "web" have only 1 of the 900 rows that they count`},
		"refused":    {simulator.Fault{EnvelopeCode: new(1306000), EnvelopeMessage: "no permission"}, nil, true, "no permission"},
		"bad-host":   {simulator.Fault{HTTPStatus: 500}, nil, true, "has no bk_cloud_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			c.fault.API = "sync_proc_status"
			sim.Inject(c.fault)
			config := map[string]any{"namespace": "web"}
			if name == "bad-host" {
				config["expected"] = map[string]any{"nginx": map[string]any{"first": "10.0.0.1"}}
			}
			values, said := sim.Configured(t).ReadData("bk_registrations", config)
			if said.Failed() != c.fails || name == "bad-host" && len(sim.Calls()) > 0 || !strings.Contains(said.String(), c.says) {
				t.Errorf("said: %s", said)
			}
			providertest.Same(t, "unplaced", c.unplaced, values["unplaced"])
			if !c.fails && len(hostsOf(t, values, "redis")) != 1 {
				t.Errorf("the others are not there: %v", values)
			}
		})
	}
}

var throughJob = map[string]any{"gateway": "esb", "hosted_specs": map[string]any{"job_scope": map[string]any{"id": "2"}}}

// ways are the ways to run the script, each with its calls for one batch.
var ways = map[string]struct {
	settings map[string]any
	calls    []string
}{
	"gateway": {map[string]any{"gateway": "apigw"}, []string{"async_execute_script", "get_execute_script_result"}},
	"job":     {throughJob, []string{"fast_execute_script", "get_job_instance_status", "batch_get_job_instance_ip_log"}},
}

// nginxSpec is the entry of providertest's process in a file, with some fields changed by path.
func nginxSpec(change map[string]any) map[string]any {
	spec := map[string]any{
		"identity":       map[string]any{"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "user": "root"},
		"control":        map[string]any{"start_cmd": "./start.sh", "stop_cmd": nil, "restart_cmd": nil, "reload_cmd": nil, "kill_cmd": nil, "version_cmd": nil, "health_cmd": nil},
		"resource":       map[string]any{"cpu": 30, "mem": 10},
		"monitor_policy": map[string]any{"auto_type": 1, "start_check_secs": 5, "op_timeout": 60},
	}
	for name, value := range change {
		object, field, _ := strings.Cut(name, ".")
		spec[object].(map[string]any)[field] = value //nolint:forcetypeassert // it is made so
	}
	return spec
}

// hostedOn are n hosts that host providertest's process, and that can be read both ways.
func hostedOn(t *testing.T, n int) *providertest.Sim {
	t.Helper()
	sim := providertest.NewSim(t)
	sim.Registered(t, n)
	for i := range n {
		providertest.NoError(t, sim.Host(providertest.Address(i+1), "web", "nginx"))
	}
	sim.ResetCalls()
	return sim
}

// specsOf are the specs of a host without their times, which must be present.
func specsOf(t *testing.T, values map[string]any, host string) map[string]any {
	t.Helper()
	byHost, _ := values["specs"].(map[string]any)
	byName, _ := byHost[host].(map[string]any)
	for name, spec := range byName {
		object, _ := spec.(map[string]any)
		if object["written_at"] == nil {
			t.Errorf("%s of %s was written at no time", name, host)
		}
		delete(object, "written_at")
	}
	return byName
}

// The agent's own file says what it hosts, whatever was sent to the platform. An unusual file is read, or
// the diagnostic says why not; tests of the package gse have more of them. Its secrets appear nowhere.
//
// Promised in reference: `specs` lacks these hosts, and a warning names them.
func TestHostedSpecsDataSource(t *testing.T) {
	t.Parallel()
	hand := `{"valuekey":"web:cron","contact":"web","procName":"cron","password":"` + simulator.SecretPassword + `","timestamp":7}`
	adds := func(entries ...string) func(sim *providertest.Sim) error {
		return func(sim *providertest.Sim) error {
			var failed error
			for _, entry := range entries {
				failed = errors.Join(failed, sim.AddProc(providertest.Address(1), entry))
			}
			return failed
		}
	}
	for name, c := range map[string]struct {
		odd    string
		change func(sim *providertest.Sim) error
		want   map[string]any
		why    string
	}{
		"as-agents-write-it": {want: map[string]any{"nginx": nginxSpec(nil)}},
		"by-hand": {
			change: func(sim *providertest.Sim) error {
				edited := map[string]any{"stopCmd": "./stop.sh -9", "memlmt": 0, "opTimeOut": 7, "type": 0}
				return errors.Join(sim.EditProc(providertest.Address(1), "web", "nginx", edited), adds(hand)(sim))
			},
			want: map[string]any{
				"nginx": nginxSpec(map[string]any{"control.stop_cmd": "./stop.sh -9", "resource.mem": nil, "monitor_policy.op_timeout": 7, "monitor_policy.auto_type": 0}),
				"cron": map[string]any{
					"identity": map[string]any{"proc_name": "cron", "setup_path": nil, "pid_path": nil, "user": nil},
					"control":  nginxSpec(map[string]any{"control.start_cmd": nil})["control"], "resource": nil,
					"monitor_policy": map[string]any{"auto_type": nil, "start_check_secs": nil, "op_timeout": nil},
				},
			},
		},
		"odd-entry":           {change: adds(`{"contact":"web","startCmd":7,"valuekey":"web:odd"}`), why: "web:odd: its entry in the agent's file has a value of an unknown form"},
		"odd-entry-of-others": {change: adds(`{"contact":"x","startCmd":7,"valuekey":"x:odd"}`), want: map[string]any{"nginx": nginxSpec(nil)}},
		"names-spelt-alike": { // which would be one key of a map
			change: adds(`{"valuekey":"web:cafe\u0301_1","contact":"web"}`, `{"valuekey":"web:caf\u00e9_1","contact":"web"}`),
			why:    `it hosts processes whose names Terraform spells alike: "cafe\u0301_1" and "caf\u00e9_1"`,
		},
		"missing":   {odd: "missing", want: map[string]any{}},
		"twice":     {odd: "twice", want: map[string]any{"nginx": nginxSpec(map[string]any{"control.stop_cmd": "./stop.sh twice"})}},
		"truncated": {odd: "truncated", why: "no JSON"},
		"away":      {change: func(sim *providertest.Sim) error { sim.SetReachable(providertest.Address(1), false); return nil }, why: "the agent is abnormal or not found"},
	} {
		for way, w := range ways {
			t.Run(name+"-"+way, func(t *testing.T) {
				t.Parallel()
				sim := hostedOn(t, 2)
				sim.SetProcFile(providertest.Address(1), simulator.ProcFile{Odd: c.odd})
				if c.change != nil {
					providertest.NoError(t, c.change(sim))
				}
				p := sim.Configured(t, w.settings)
				var log providertest.LogBuffer
				p.Until = tflogtest.RootLogger(t.Context(), &log)
				values, said := p.ReadData("bk_hosted_specs", map[string]any{"namespace": "web", "hosts": providertest.FaceESB.Reference("", 2)["hosts"]})
				specs := specsOf(t, values, "web-1")
				if c.why == "" {
					providertest.Same(t, "specs", fmt.Sprint(c.want), fmt.Sprint(specs))
				}
				providertest.Same(t, "specs of web-2", fmt.Sprint(map[string]any{"nginx": nginxSpec(nil)}), fmt.Sprint(specsOf(t, values, "web-2")))
				unreadable, _ := values["unreadable"].(map[string]any)
				why, _ := unreadable["web-1"].(string)
				warned := strings.Contains(said.String(), "Hosted Specs Not Read") && strings.Contains(said.String(), "web-1")
				if said.Failed() || (c.why != "") != warned || len(unreadable) > 0 != warned || !strings.Contains(why, c.why) || (c.why != "") != (specs == nil) {
					t.Errorf("unreadable: %q, said: %s", unreadable, said)
				}
				if text := fmt.Sprint(values) + said.String() + log.String(); strings.Contains(text, simulator.SecretPassword) || strings.Contains(text, simulator.SecretUserPwd) {
					t.Errorf("a secret of the file is in %s", text)
				}
				if got := sim.Calls().APIs(); c.why == "" && !slices.Equal(got, w.calls) {
					t.Errorf("called %q, want %q", got, w.calls)
				}
			})
		}
	}
}

// Windows has another script, at another path.
func TestHostedSpecsDataSource_windows(t *testing.T) {
	t.Parallel()
	for way, w := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			sim := hostedOn(t, 1)
			sim.SetProcFile(providertest.Address(1), simulator.ProcFile{Path: `c:\gse2_bkte\agent\etc\.proc`})
			config := map[string]any{"namespace": "web", "hosts": providertest.FaceESB.Reference("", 1)["hosts"], "os": "windows"}
			values, said := sim.Configured(t, w.settings).ReadData("bk_hosted_specs", config)
			providertest.Same(t, "specs", fmt.Sprint(map[string]any{"nginx": nginxSpec(nil)}), fmt.Sprint(specsOf(t, values, "web-1")))
			providertest.Silent(t, said)
		})
	}
}

// A platform that does not let the application run scripts, and a provider without a way to run them.
func TestHostedSpecsDataSource_noWay(t *testing.T) {
	t.Parallel()
	config := map[string]any{"namespace": "web", "hosts": providertest.FaceESB.Reference("", 2)["hosts"]}
	sim := hostedOn(t, 2)
	sim.Inject(simulator.Fault{API: "async_execute_script", HTTPStatus: 403, Body: `{"code":1640301,"message":"no permission"}`})
	p := sim.Configured(t, ways["gateway"].settings)
	values, said := p.ReadData("bk_hosted_specs", config)
	unreadable, _ := values["unreadable"].(map[string]any)
	if said.Failed() || len(unreadable) != 2 || !strings.Contains(said.String(), "async_extensions_execute_script: HTTP 403 Forbidden") ||
		!strings.Contains(said.String(), "request id ") {
		t.Errorf("unreadable: %q, said: %s", unreadable, said)
	}
	again, _ := p.ReadData("bk_hosted_specs", config)
	providertest.Same(t, "unreadable, which an output may hold", unreadable, again["unreadable"])
	wrong := map[string]any{"namespace": "web", "hosts": map[string]string{"web-1": "10.0.0.1"}}
	for says, read := range map[string]struct {
		settings, config map[string]any
	}{
		"hosted_specs.job_scope is not set": {map[string]any{"gateway": "esb"}, config},
		"Provider Not Configured Yet":       {map[string]any{"app_secret": providertest.NotKnown{}}, config},
		"has no bk_cloud_id":                {ways["gateway"].settings, wrong},
	} {
		if _, said := sim.Configured(t, read.settings).ReadData("bk_hosted_specs", read.config); !said.Failed() || !strings.Contains(said.String(), says) {
			t.Errorf("want %q, said: %s", says, said)
		}
	}
}

// An invalid expected host is rejected with its path, before any call: without it, a host that is expected would be an
// orphan.
func TestRegistrationsDataSource_badHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		expected any
		says     string // "" for nothing
	}{
		"no-area":    {map[string]any{"nginx": map[string]any{"first": "10.0.0.1"}}, `expected["nginx"]["first"]: not a host address: "10.0.0.1" has no bk_cloud_id`},
		"null":       {map[string]any{"nginx": map[string]any{"first": nil, "second": "0:10.0.0.2"}}, `expected["nginx"]["first"]: the address is null; give the host an address or leave it out; `},
		"null-hosts": {map[string]any{"nginx": nil}, `expected["nginx"]: the hosts are null; give the process its hosts or leave it out`},
		"later":      {map[string]any{"nginx": map[string]any{"first": providertest.NotKnown{}}, "redis": providertest.NotKnown{}}, ""},
		"all-later":  {providertest.NotKnown{}, ""},
		"no-hosts":   {map[string]any{"nginx": map[string]any{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := sim.Configured(t)
			config := map[string]any{"namespace": "web", "expected": c.expected}
			validated := p.ValidateData("bk_registrations", config)
			if c.says == "" {
				providertest.Silent(t, validated)
				return
			}
			_, read := p.ReadData("bk_registrations", config)
			for _, said := range []providertest.Diagnostics{validated, read} {
				if len(said) != 1 || !said.Failed() || !strings.Contains(said.String(), c.says) {
					t.Errorf("said: %s", said)
				}
			}
			providertest.Same(t, "calls", []string(nil), sim.Calls().APIs())
		})
	}
}

// A later row may show that an earlier one is the same machine under its other name. The order of rows does
// not matter.
func TestRegistrations_orphansInAnyOrder(t *testing.T) {
	t.Parallel()
	const address = "10.0.0.1"
	both, one, agent, other := row("nginx", agent1, address, nil), row("nginx", "", address, nil), row("nginx", agent1, "", nil), row("redis", agent1, address, nil)
	for name, c := range map[string]struct {
		rows     []any
		expected string
	}{
		"both-names-first":    {[]any{both, one}, agent1},
		"both-names-last":     {[]any{one, both}, agent1},
		"by-address":          {[]any{agent, both}, "0:" + address},
		"other-process-first": {[]any{other, one, agent}, agent1},
		"other-process-last":  {[]any{one, agent, other}, agent1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Inject(listing(c.rows...))
			expected := map[string]any{"nginx": map[string]any{"a": c.expected}, "redis": map[string]any{"a": agent1}}
			values, said := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceGateway)).ReadData("bk_registrations", map[string]any{"namespace": "web", "expected": expected})
			providertest.Same(t, "orphans", any(map[string]any{}), values["orphans"])
			providertest.Silent(t, said)
		})
	}
}
