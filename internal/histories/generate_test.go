package histories

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

type generator struct {
	*rand.Rand
	without map[string]bool // things that happen, faults, and what knownBroken has
	history History
	gateway string
}

func generate(chance *rand.Rand, without map[string]bool) History {
	g := &generator{Rand: chance, without: without, gateway: string(providertest.FaceGateway)}
	g.history = History{Machines: 1 + g.IntN(6)}
	g.history.EntryPerName = g.IntN(2) == 0
	g.history.SuppliersApart = g.IntN(4) == 0
	g.history.KeepsTime = KeepsTime{Reregistering: g.IntN(2) == 0, Starting: g.IntN(3) == 0, Hosting: g.IntN(3) == 0}
	if g.history.SuppliersApart || g.IntN(3) == 0 { // the gateway knows no suppliers
		g.switchGateway()
	}
	if g.IntN(2) == 0 { // there are strangers
		g.add(Step{Do: Console, To: actRegister, Hosts: g.some(2)})
		g.add(Step{Do: Console, To: g.one(actStart, actStop), Hosts: g.history.Steps[len(g.history.Steps)-1].Hosts})
	}
	g.add(Step{Do: Join, On: A, Hosts: g.some(g.history.Machines), To: g.form()})
	if g.IntN(2) == 0 {
		g.add(Step{Do: SetEnsure, On: A, To: "running"})
	}
	g.apply(A)
	for range 4 + g.IntN(7) {
		g.next()
	}
	g.history.Verify = g.IntN(2) == 0
	if g.without["times-kept-by-others"] && g.history.severalRegister() {
		g.history.KeepsTime.Reregistering = false
	}
	return g.history
}

// severalRegister reports whether more than one object registers, or somebody at a console.
func (h History) severalRegister() bool {
	return slices.ContainsFunc(h.Steps, func(s Step) bool {
		return s.On == B || s.Do == Console || s.Do == Recreate || s.Do == Taint || s.Do == Destroy
	})
}

func (g *generator) add(steps ...Step) { g.history.Steps = append(g.history.Steps, steps...) }

func (g *generator) one(values ...string) string { return values[g.IntN(len(values))] }

func (g *generator) some(most int) []int {
	all := g.Perm(g.history.Machines)
	hosts := all[:1+g.IntN(min(most, len(all)))]
	for i := range hosts {
		hosts[i]++
	}
	slices.Sort(hosts)
	return hosts
}

func (g *generator) form() string {
	return g.one(ByAddress, ByAddress, BySupplier, ByAgent, ByAgent)
}

func (g *generator) config() string {
	if g.IntN(4) == 0 {
		return B
	}
	return A
}

func (g *generator) switchGateway() {
	if g.gateway = string(providertest.FaceESB); g.IntN(4) == 0 {
		g.gateway = string(providertest.FaceGateway)
	}
	g.add(Step{Do: SetGateway, To: g.gateway})
}

func (g *generator) apply(on string) {
	s := Step{Do: Apply, On: on, Planned: g.IntN(3) == 0}
	if g.IntN(6) == 0 {
		s.Cut, s.Late = 1+g.IntN(6), g.IntN(2) == 0
	}
	s.Blind = g.IntN(8) == 0
	g.add(s)
}

// next adds one of the things that happen, and mostly an apply after it.
func (g *generator) next() {
	var (
		on     = g.config()
		things = map[string]func(){
			"join":              func() { g.add(Step{Do: Join, On: on, Hosts: g.some(3), To: g.form()}) },
			"leave":             func() { g.add(Step{Do: Leave, On: on, Hosts: g.some(2)}) },
			"rename":            func() { g.add(Step{Do: Rename, On: on, Hosts: g.some(6), To: g.form()}) },
			"rekey":             func() { g.add(Step{Do: Rekey, On: on, Hosts: g.some(3)}) },
			"double":            func() { g.add(Step{Do: Double, On: on, Hosts: g.some(2)}) },
			"single":            func() { g.add(Step{Do: Single, On: on}) },
			"spec":              func() { g.add(Step{Do: SetSpec, On: on, To: g.one("./a.sh", "./b.sh")}) },
			"label":             func() { g.add(Step{Do: SetLabel, On: on, To: g.one("one", "two")}) },
			"default-label":     func() { g.add(Step{Do: SetDefault, To: g.one("x", "y")}) },
			"ensure":            func() { g.add(Step{Do: SetEnsure, On: on, To: g.one("registered", "hosted", "running")}) },
			"on-destroy":        func() { g.add(Step{Do: SetOnDestroy, On: on, To: g.one("unregister", "stop", "kill")}) },
			"waves":             func() { g.add(Step{Do: SetWaves, On: on, Times: g.IntN(3)}) },
			"adopt":             func() { g.add(Step{Do: SetAdopt, On: on, To: g.one("true", "false")}) },
			"provider-supplier": func() { g.add(Step{Do: SetSupplier, To: g.one("0", "2", "3")}) },
			"gateway":           g.switchGateway,
			"destroy":           func() { g.add(Step{Do: Destroy, On: on, Blind: g.IntN(2) == 0}) },
			"refresh":           func() { g.add(Step{Do: Refresh, On: on}) },
			"taint":             func() { g.add(Step{Do: Taint, On: on}) },
			"recreate":          func() { g.add(Step{Do: Recreate, On: on}) },
			"operate": func() {
				g.add(Step{Do: SetTrigger, To: g.one("one", "two", "three")}, Step{Do: Operate, To: g.one("restart", "restart", "reload")})
			},
			"operate-again":       func() { g.add(Step{Do: Operate}) },
			"console":             g.console,
			"console-registers":   func() { g.add(Step{Do: Console, To: actRegister, Hosts: g.some(2)}) },
			"console-unregisters": func() { g.add(Step{Do: Console, To: actUnregister, Hosts: g.some(2)}) },
			"upgrade":             func() { g.add(Step{Do: Upgrade, Hosts: g.some(6)}) },
			"fault":               g.fault,
			"host-fault":          g.fault,
			"repair":              func() { g.add(Step{Do: Repair}) },
			"lag":                 func() { g.add(Step{Do: SetLag, Times: g.IntN(4) - 1}) },
			"freeze":              func() { g.add(Step{Do: Freeze}) },
			"row-labels":          func() { g.add(Step{Do: RowLabels}) },
			"unreachable":         func() { g.add(Step{Do: Unreachable, Hosts: g.some(2)}) },
			"reachable":           func() { g.add(Step{Do: Reachable, Hosts: g.some(6)}) },
			"supervise":           func() { g.add(Step{Do: Supervise}) },
		}
	)
	names := slices.Sorted(maps.Keys(things))
	// These happen more often than others.
	names = append(names, "rename", "rename", "rename", "join", "leave", "leave", "fault", "console", "destroy")
	if g.history.SuppliersApart {
		names = append(names, "provider-supplier", "provider-supplier", "provider-supplier", "provider-supplier")
	}
	if name := g.one(names...); !g.without[name] {
		things[name]()
	}
	if g.IntN(3) > 0 {
		g.apply(on)
	}
}

func (g *generator) console() {
	g.add(Step{Do: Console, To: g.one(actStart, actStop, actKill, actUnhost, actHost), Hosts: g.some(2)})
}

func (g *generator) fault() {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(faults)), func(name string) bool { return g.without[name] })
	s := Step{Do: Inject, To: g.one(names...), Times: g.IntN(4)}
	if g.IntN(2) == 0 {
		s.Hosts = g.some(2)
	}
	g.add(s)
}

// passing are faults that only a deadline ends if they do not pass by themselves: the affected request is repeated again and again.
var passing = map[string]bool{"register-late": true, "result-lost": true, "result-missing": true, "queued": true, "all-lost": true, "all-unsent": true}

// faults are what goes wrong, by name. The same calls have other names on the other face, so a fault may be several.
var faults = map[string][]simulator.Fault{
	"register-fails":  onRegister(simulator.Fault{Code: new(simulator.CodeAgentAbnormal), Message: "agent abnormal"}),
	"register-lost":   onRegister(simulator.Fault{Drop: "after"}),
	"register-unsent": onRegister(simulator.Fault{Drop: "before"}),
	"register-late":   onRegister(simulator.Fault{Pending: 2}),
	"release-fails":   onRelease(simulator.Fault{Code: new(simulator.CodeAgentAbnormal), Message: "agent abnormal"}),
	"release-refused": onRelease(simulator.Fault{EnvelopeCode: new(1306101), EnvelopeMessage: "no permission"}),
	"release-403":     onRelease(simulator.Fault{HTTPStatus: 403, Body: "no permission"}),
	"release-lost":    onRelease(simulator.Fault{Drop: "after"}),
	"operate-fails": {
		{API: "operate_proc_v2", Op: new(simulator.OpStart), Code: new(simulator.CodeCommandFailed)},
		{API: "operate_proc_v2", Op: new(simulator.OpRestart), Code: new(simulator.CodeCommandFailed)},
		{API: "operate_proc_v2", Op: new(simulator.OpStop), Code: new(simulator.CodeCommandFailed)},
	},
	"operate-lost": {
		{API: "operate_proc_v2", Op: new(simulator.OpStart), Drop: "after"},
		{API: "operate_proc_v2", Op: new(simulator.OpRestart), Drop: "after"},
		{API: "operate_proc_v2", Op: new(simulator.OpStop), Drop: "after"},
		{API: "operate_proc_v2", Op: new(simulator.OpReload), Drop: "after"},
	},
	"hosting-fails":  {{API: "operate_proc_v2", Op: new(simulator.OpHost), Code: new(simulator.CodeFailed)}},
	"query-fails":    {{API: "operate_proc_v2", Op: new(simulator.OpQuery), Code: new(simulator.CodeAgentAbnormal)}},
	"result-lost":    {{API: "get_proc_operate_result_v2", Drop: "after"}},
	"result-missing": {{API: "get_proc_operate_result_v2", Missing: 2}},
	"queued":         {{API: "get_proc_operate_result_v2", Queued: 2}},
	"status-503":     {{API: "get_proc_status_v2", HTTPStatus: 503}},
	"status-lost":    {{API: "get_proc_status_v2", Drop: "mid"}},
	"rows-hidden":    {{API: "get_proc_status_v2", Missing: -1}},
	"rows-unnamed":   {{API: "*proc_status*", Rows: "none"}},
	"rows-by-agent":  {{API: "*proc_status*", Rows: "agent"}},
	"rows-by-host":   {{API: "*proc_status*", Rows: "host"}},
	"backwards":      {{Backwards: true}},
	"all-lost":       {{Drop: "after"}},
	"all-unsent":     {{Drop: "before"}},
}

func onRegister(f simulator.Fault) []simulator.Fault {
	register, update, multi := f, f, f
	register.API, update.API = "register_proc_info", "update_proc_info"
	multi.API, multi.Op = "operate_proc_multi", new(simulator.OpHost)
	return []simulator.Fault{register, update, multi}
}

func onRelease(f simulator.Fault) []simulator.Fault {
	unregister, multi := f, f
	unregister.API = "unregister_proc_info"
	multi.API, multi.Op = "operate_proc_multi", new(simulator.OpUnhost)
	return []simulator.Fault{unregister, multi}
}
