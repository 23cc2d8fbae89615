package processoperation_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// processes excludes every other attribute that names a process, and must not be empty.
func TestProcesses_mistakes(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	gse, job := []providertest.Face{providertest.FaceESB}, []providertest.Face{providertest.FaceJOB}
	oneShot := `{"bk_biz_id": 2, "process": {"proc_name": "a", "setup_path": "/a", "pid_path": "/a/a", "type": 2, "start_cmd": "a"}, "hosts": {"a": "0:10.0.0.1"}}`
	leaveOut := func(name string) string {
		return "Attribute " + name + ": processes is set, and says which processes the operation is for; leave out " + name + "."
	}
	for name, c := range map[string]struct {
		only   []providertest.Face
		config map[string]any
		said   string
	}{
		"meta":        {gse, operation("start", stack(), map[string]any{"meta": entry("web", 1)["meta"]}), leaveOut("meta")},
		"process":     {gse, operation("start", stack(), map[string]any{"process": "{}"}), leaveOut("process")},
		"scope":       {job, operation("start", stack(), map[string]any{"scope": map[string]any{"type": "biz", "id": "2"}}), leaveOut("scope")},
		"bk_biz_id":   {job, operation("start", stack(), map[string]any{"bk_biz_id": 2}), leaveOut("bk_biz_id")},
		"declaration": {job, operation("start", stack(), map[string]any{"declaration": "{}"}), leaveOut("declaration")},
		"all-of-job": {
			job, operation("start", stack(), map[string]any{"bk_biz_id": 2, "process": map[string]any{"proc_name": "a", "setup_path": "/a", "pid_path": "/a/a", "type": 1, "start_cmd": "a"}}),
			"Attribute bk_biz_id: processes is set, and says which processes the operation is for; leave out bk_biz_id, process.",
		},
		"hosts":    {nil, operation("start", stack(), map[string]any{"hosts": providertest.HostsOf(1)}), leaveOut("hosts")},
		"none":     {gse, map[string]any{"operation": "start"}, "Attribute process: set process = bk_hosted_process.<name>.process, or meta, hosts and spec, or processes for several processes; not set: meta, hosts, spec."},
		"none-job": {job, map[string]any{"operation": "start"}, "Attribute declaration: set declaration = bk_job_hosted_process.<name>.declaration, or process, hosts and either scope or bk_biz_id, or processes for several processes; not set: scope or bk_biz_id, process, hosts."},
		"empty":    {nil, operation("start", map[string]any{}, nil), "Attribute processes: there is no process in it; name at least one."},
		"no-hosts": {nil, operation("start", map[string]any{"a": with(entry("a", 1), map[string]any{"hosts": map[string]string{}})}, nil), `Attribute processes["a"].hosts must contain at least one host, got: 0`},
		"unordered": {
			gse, with(entry("web", nil, 1), map[string]any{"operation": "start", "order": "descending", "priority": nil}),
			"Attribute order: it says in which order the operation takes several processes, and there is one; leave it out, or set processes.",
		},
		"no-order": {nil, operation("start", stack(), map[string]any{"order": "up"}), `Attribute order value must be one of: ["ascending" "descending"], got: "up"`},
		"negative": {nil, operation("start", map[string]any{"a": entry("a", -1, 1)}, nil), `Attribute processes["a"].priority value must be at least 0, got: -1`},
		"two-scopes": {
			job, operation("start", map[string]any{"a": with(entry("a", 1, 1), map[string]any{"bk_biz_id": 2})}, nil),
			`"processes[\"a\"].bk_biz_id" cannot be specified when "processes[\"a\"].scope" is specified`,
		},
		"gate-of-one-shot": {
			job, operation("start", map[string]any{"a": map[string]any{"declaration": oneShot, "priority": 1}}, map[string]any{"rollout": map[string]any{"healthy": map[string]any{"stable_for": "30s"}}}),
			"Attribute rollout.healthy: only a resident process goes on running, and this one does not (type 2); leave it out.",
		},
	} {
		through := c.only
		if through == nil {
			through = ways
		}
		onFaces(t, name, through, func(s trial) {
			t, by := s.t, s.by
			typ, config := by.TypeName(providertest.OnRestart), way{by}.config(t, c.config)
			for object, said := range map[string]string{"resource": p.CoreOf(typ, &providertest.Kept{}).Validate(config).String(), "action": p.ValidateAction(typ, config)} {
				if !strings.Contains(said, c.said) || strings.Count(said, "ERROR") != 1 {
					t.Errorf("%s said:\n%s\nwant:\n%s", object, said, c.said)
				}
			}
		})
	}
}

// A canary is a host of any of the processes.
func TestProcesses_canary(t *testing.T) {
	t.Parallel()
	onFaces(t, "", ways, func(s trial) {
		t, w := s.t, way{s.by}
		resource := w.resource(t, providertest.NewSim(t))
		canary := func(key string) map[string]any {
			return w.config(t, operation("start", stack(), map[string]any{"rollout": map[string]any{"canary": []any{key}, "batch_size": 9}}))
		}
		if _, said := resource.Plan(canary("web-3")); len(said) > 0 {
			t.Error(said)
		}
		if _, said := resource.Plan(canary("web-4")); !strings.Contains(said.String(), `"web-4" is not the key of a host in hosts`) {
			t.Error(said)
		}
	})
}

// More than 100 hosts of one priority are taken down at once, rather than hosts of all priorities
// together.
func TestProcesses_manyAtOnce(t *testing.T) {
	t.Parallel()
	onFaces(t, "", ways, func(s trial) {
		t, w := s.t, way{s.by}
		resource := w.resource(t, providertest.NewSim(t))
		many := func(n int) map[string]any {
			one := entry("a", 1)
			one["hosts"] = manyHosts(n)
			other := maps.Clone(one)
			other["meta"], other["priority"] = map[string]any{"namespace": "web", "name": "b"}, 2
			return w.config(t, operation("restart", map[string]any{"a": one, "b": other}, nil))
		}
		if _, said := resource.Plan(many(100)); len(said) > 0 {
			t.Error(said)
		}
		if _, said := resource.Plan(many(101)); !strings.Contains(said.String(), w.id("a")+","+w.id("b")+": restart goes to 101 hosts at the same time: web-001…web-101.") {
			t.Errorf("said %s", said)
		}
	})
}
