package hostedprocess_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// console operates the process on a host as GSEKit does, with GSEKit's labels and without limits.
func (w *world) console(n int, ops ...int) {
	w.Helper()
	client := &simtest.Client{T: w.T, URL: w.sim.URL, Sim: w.sim.Server}
	address := providertest.Address(n)
	ip := strings.TrimPrefix(address, "0:")
	for _, op := range ops {
		verdict := simtest.Verdict{Code: simulator.CodePending}
		if w.by == gateway {
			verdict = client.GatewayOperate(op, simtest.CloudHosts(ip), address)
		} else {
			verdict = client.Do(op, ip)
		}
		providertest.Check(w, verdict.Code == simulator.CodeOK, "the console's operation %d: %+v", op, verdict)
	}
}

// unlimited declares n hosts with a spec from bk_cmdb_processes, which has no resource limits.
func (w *world) unlimited(n int, more ...map[string]any) map[string]any {
	config := w.declares(n, more...)
	spec, _ := config["spec"].(map[string]any)
	spec = maps.Clone(spec)
	delete(spec, "resource")
	config["spec"] = spec
	return config
}

// After a console operation on one host of three, the plan reports the drift and the apply repairs it. It starts a
// process only with ensure = "running", and never restarts or stops one.
//
// Promised in from-gsekit.md: | 重启 (restart), 重载 (reload) | nothing | nothing | nothing |
// Promised in from-gsekit.md: | 停止 (stop), then 启动 (start) | `other_spec: registered anew by another tool` | nothing | registers it again, or nothing |
// Promised in from-gsekit.md: | 停止 (stop), 强制停止 (kill) | `unregistered: …` | `not_hosted: not hosted` | hosts it, and does not start it |
// Promised in from-gsekit.md: | the same with `ensure = "running"` | `unregistered: …` | `not_hosted: not running, not hosted` | hosts and starts it |
// Promised in from-gsekit.md: | 取消托管 (unhost) | `unregistered: …` | `unregistered: …` | hosts it again; it runs on |
// Promised in from-gsekit.md: | 托管 (host) | `other_spec: registered anew by another tool` | the same | registers it again; it runs on |
// Promised in drift-in-ci.md: Through the ESB, a process without `spec.resource`, such as one from CMDB, is `unregistered` instead
// Promised in from-gsekit.md: On a platform that replaces labels at a start, 重启 and 启动 are `other_spec` by both.
func TestHostedProcess_console(t *testing.T) {
	t.Parallel()
	const (
		nothing      = ""
		unregistered = "unregistered: the platform no longer knows the process here"
		anew         = "other_spec: registered anew by another tool"
		unhosted     = "not_hosted: not hosted"
		down         = "not_hosted: not running, not hosted"
	)
	stop, kill, start := simulator.OpStop, simulator.OpKill, simulator.OpStart
	for name, c := range map[string]struct {
		ops                   []int
		ensure                string
		esb, gateway, limited string // the reason in out_of_sync, of a process without limits, or with limits through the ESB
		replaced              string // the reason where a start replaces labels, if that differs
	}{
		"restart":       {[]int{simulator.OpRestart}, "hosted", nothing, nothing, nothing, anew},
		"reload":        {[]int{simulator.OpReload}, "hosted", nothing, nothing, nothing, ""},
		"stop-start":    {[]int{stop, start}, "hosted", anew, nothing, nothing, anew},
		"stop":          {[]int{stop}, "hosted", unregistered, unhosted, unhosted, ""},
		"kill":          {[]int{kill}, "hosted", unregistered, unhosted, unhosted, ""},
		"stop, running": {[]int{stop}, "running", unregistered, down, down, ""},
		"kill, running": {[]int{kill}, "running", unregistered, down, down, ""},
		"unhost":        {[]int{simulator.OpUnhost}, "hosted", unregistered, unregistered, unhosted, ""},
		"host":          {[]int{simulator.OpHost}, "hosted", anew, anew, anew, ""},
	} {
		play := func(t *testing.T, limited, replaces bool) {
			t.Helper()
			through(t, gse, func(w *world) {
				w.sim.StartReplaces = replaces
				declares, want := w.unlimited, map[bool]string{false: c.esb, true: c.gateway}[w.by == gateway]
				if limited {
					declares = w.declares
				}
				switch {
				case replaces && c.replaced != "":
					want = c.replaced
				case limited && w.by == esb:
					want = c.limited
				}
				config, object := declares(3, attribute("ensure", c.ensure)), w.objectOfCLI()
				object.Applied(config)
				if c.ensure != "running" {
					w.do(w.sim.StartProcess, 1, 2, 3)
				}
				w.console(2, c.ops...)
				before := w.at(2)
				object.Protocol = w.open()
				plan, said := object.Plan(config)
				reasons, kind := map[string]string{}, providertest.PlanNothing
				if want != nothing {
					reasons["web-2"], kind = want, providertest.PlanUpdate
				}
				providertest.Same(w, "out_of_sync", reasons, object.Reasons("out_of_sync"))
				providertest.Check(w, plan.Action == kind && len(said) == 0, "%s, want %s; said: %s", plan.Action, kind, said)
				object.Applied(config)
				after, runs := w.at(2), before.Running || c.ensure == "running"
				providertest.Check(w, after.Hosted && after.Running == runs && (after.PID == before.PID || !before.Running), "%+v, and before the apply %+v", after, before)
				providertest.Check(w, w.at(1).Running && w.at(3).Running, "another host was stopped")
			})
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, false, false)
			t.Run("limited", func(t *testing.T) { t.Parallel(); play(t, true, false) })
			t.Run("replaced", func(t *testing.T) { t.Parallel(); play(t, false, true) })
		})
	}
}

// Through the ESB, a process without limits that is stopped on every host is registered nowhere.
//
// Promised in drift-in-ci.md: If no host is registered anymore, the resource stays in state, and the next apply registers every host again.
func TestHostedProcess_consoleStopsAll(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config, object := w.unlimited(2), w.objectOfCLI()
		object.Applied(config)
		w.do(w.sim.StartProcess, 1, 2)
		w.console(1, simulator.OpStop)
		w.console(2, simulator.OpKill)
		object.Protocol = w.open()
		plan, said := object.Plan(config)
		reasons := object.Reasons("out_of_sync")
		providertest.Check(w, plan.Action == providertest.PlanUpdate && len(reasons) == 2, "%s; out_of_sync: %v; said: %s", plan.Action, reasons, said)
		object.Applied(config)
		for _, n := range []int{1, 2} {
			providertest.Check(w, w.at(n).Hosted && !w.at(n).Running, "web-%d: %+v", n, w.at(n))
		}
	})
}

// A host on which hosting failed stays not_hosted while nothing says that it is hosted.
func TestHostedProcess_hostingUnknown(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config, object := w.declares(2), w.object()
		object.Applied(config)
		w.do(w.sim.Unhost, 2)
		object.Protocol = w.open()
		object.Refresh()
		w.onOp(simulator.OpHost, failing, 2)
		object.Protocol = w.open()
		object.Apply(config)
		before := codes(object)
		w.repair()
		w.sim.Inject(simulator.Fault{Op: new(simulator.OpQuery), ContentShape: "no-isauto"})
		w.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos/*/isauto": nil}})
		object.Protocol = w.open()
		object.Refresh()
		providertest.Same(w, "out_of_sync", before, codes(object))
	})
}
