package processstatus_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const agent1 = "0200000007525400f355781710390005465u"

// The listing has registrations of this provider and of others, and separates those that are not
// expected.
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

// hostsOf are the registrations of one process.
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

// row is one row of a listing.
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

// A machine may be expected under one name and listed under the other. Unless it is known that they are
// two machines, it is not an orphan.
//
// Promised in reference: A host that may be an expected one under another name is left out,
// with a warning.
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

// listing is a listing of these rows.
func listing(rows ...any) simulator.Fault {
	return simulator.Fault{API: "sync_proc_status", Replace: map[string]any{"data/proc_infos": rows, "data/count": len(rows)}}
}

// Rows that cannot be placed are named in a warning, and a listing that fails is an error.
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			c.fault.API = "sync_proc_status"
			sim.Inject(c.fault)
			values, said := sim.Configured(t).ReadData("bk_registrations", map[string]any{"namespace": "web"})
			if said.Failed() != c.fails || !strings.Contains(said.String(), c.says) {
				t.Errorf("said: %s", said)
			}
			providertest.Same(t, "unplaced", c.unplaced, values["unplaced"])
			if !c.fails && len(hostsOf(t, values, "redis")) != 1 {
				t.Errorf("the others are not there: %v", values)
			}
		})
	}
}

// An invalid expected host is rejected with its path, before any call.
func TestRegistrationsDataSource_badHost(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	_, said := sim.Configured(t).ReadData("bk_registrations", map[string]any{
		"namespace": "web", "expected": map[string]any{"nginx": map[string]any{"first": "10.0.0.1"}},
	})
	providertest.Says(t, said.String(), "ERROR", "has no bk_cloud_id")
	providertest.Same(t, "calls", []string(nil), sim.Calls().APIs())
}
