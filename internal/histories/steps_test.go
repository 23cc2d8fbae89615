package histories

import (
	"fmt"
	"maps"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func (w *world) do(s Step) {
	before := w.look(bystander)
	switch s.Do {
	case Join, Leave, Rename, Rekey, Double, Single, SetSpec, SetLabel, SetEnsure, SetOnDestroy, SetWaves, SetAdopt:
		w.configs[s.On].change(s, w.gateway())
	case SetDefault, SetSupplier, SetGateway, SetTrigger:
		w.set(s)
	case Apply:
		w.apply(w.configs[s.On], s)
	case Destroy:
		w.destroy(w.configs[s.On], s)
	case Refresh:
		w.refresh(w.configs[s.On])
	case Taint:
		o := w.configs[s.On].object
		o.kept.Tainted = o.exists()
	case Recreate:
		w.recreate(w.configs[s.On], s)
	case Operate:
		w.operate(s)
	default:
		w.others(s)
		return
	}
	if after := w.look(bystander); fmt.Sprint(before) != fmt.Sprint(after) {
		w.fail(&Breach{Invariant: LeavesOthersAlone, Kind: "bystander", Text: fmt.Sprintf("before: %v\nafter: %v", before, after)})
	}
}

func (c *config) change(s Step, gateway providertest.Face) {
	d := &c.want
	form := s.To
	if gateway == providertest.FaceESB && form == ByAgent {
		form = ByAddress
	}
	each := func(do func(machine int)) {
		for _, machine := range s.Hosts {
			do(machine)
		}
	}
	switch s.Do {
	case Join, Rename:
		each(func(machine int) {
			if d.has(machine) == (s.Do == Rename) {
				d.Forms[machine] = form
			}
		})
	case Leave:
		each(func(machine int) { delete(d.Forms, machine) })
	case Rekey:
		each(func(machine int) { d.Rekeyed[machine] = !d.Rekeyed[machine] })
	case Double:
		each(func(machine int) { d.Doubled[machine] = gateway == providertest.FaceGateway })
	case Single:
		clear(d.Doubled)
	case SetSpec:
		d.Start = s.To
	case SetLabel:
		d.Label = s.To
	case SetEnsure:
		d.Ensure = s.To
	case SetOnDestroy:
		d.OnDestroy = s.To
	case SetWaves:
		d.Waves = s.Times
	case SetAdopt:
		d.Adopt = s.To == "true"
	default:
	}
}

func (w *world) gateway() providertest.Face {
	name, _ := w.settings["gateway"].(string)
	return providertest.Face(name)
}

func (w *world) set(s Step) {
	switch s.Do {
	case SetDefault:
		w.labels = map[string]string{"site": s.To}
	case SetSupplier:
		var supplier int
		_, _ = fmt.Sscan(s.To, &supplier)
		w.settings["bk_supplier_id"] = supplier
	case SetTrigger:
		w.op.trigger = s.To
	case SetGateway:
		w.settings["gateway"] = s.To
		for _, c := range w.configs {
			for machine, form := range maps.Clone(c.want.Forms) {
				if w.gateway() != providertest.FaceESB {
					continue
				}
				delete(c.want.Doubled, machine)
				if form == ByAgent { // which the ESB does not have
					c.want.Forms[machine] = ByAddress
				}
			}
		}
	default:
	}
}

// others: what happens beside Terraform.
func (w *world) others(s Step) {
	for _, machine := range s.Hosts {
		switch s.Do {
		case Console:
			w.act(s.To, machine)
		case Upgrade:
			w.fine(w.sim.UpgradeToAgentID(agentID(machine), address(machine)))
			w.upgraded[machine] = true
		case Unreachable, Reachable:
			w.sim.SetReachable(address(machine), s.Do == Reachable)
		default:
		}
	}
	switch s.Do {
	case Inject:
		w.faulty = true
		for _, fault := range faults[s.To] {
			fault.Times = s.Times
			if passing[s.To] {
				fault.Times = max(s.Times, 1)
			}
			for _, machine := range s.Hosts {
				fault.Hosts = append(fault.Hosts, address(machine))
			}
			w.sim.Inject(fault)
		}
	case Repair:
		w.repair()
	case SetLag:
		w.sim.SetLag(s.Times)
		w.unsteady, w.stale = w.unsteady || s.Times > 0, true // what was to show by the lag of before still is
	case Freeze:
		w.sim.FreezeStatus()
		w.stale = true
	case RowLabels:
		w.sim.SetRowLabels(map[string]string{"bk_platform": "1"})
	case Supervise:
		w.sim.Tick()
	default:
	}
}

func (w *world) repair() {
	w.sim.ClearFaults()
	w.faulty = false
}

func (w *world) act(act string, machine int) {
	name := w.nameFound(machine)
	objects := w.objectsOn(machine)
	before, inDoubt := w.look(process)[machine], w.inDoubt(machine)
	switch act {
	case actStart:
		_ = w.sim.StartProcess(name, namespace, process)
	case actStop:
		_ = w.sim.StopProcess(name, namespace, process)
	case actKill:
		_ = w.sim.KillProcess(name, namespace, process)
	case actHost:
		w.fine(w.sim.Host(name, namespace, process))
	case actUnhost:
		w.fine(w.sim.Unhost(name, namespace, process))
	case actUnregister:
		w.fine(w.sim.Unregister(name, namespace, process))
	case actRegister:
		w.fine(w.sim.Register(name, namespace, process, map[string]string{"team": "console"}, consoleSpec))
		w.fine(w.sim.Host(name, namespace, process))
	}
	w.model.acted(act, machine, before, w.look(process)[machine], objects, inDoubt)
}

const consoleSpec = `{"identity":{"proc_name":"nginx","setup_path":"/srv/web","pid_path":"/srv/web/nginx.pid","user":"root"},` +
	`"control":{"start_cmd":"./console.sh"},"resource":{"cpu":30,"mem":10},"monitor_policy":{"auto_type":1}}`
