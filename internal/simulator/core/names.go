package core

import (
	"fmt"
	"strings"
)

// A machine may have two names, its address and its agent id. Its agent knows neither, so a machine has
// one instance of a process. The cached status of the process is stored under one name, or under each
// name that was used: see EntryPerName.

// separateLocked reports whether the cached status has an entry for each name of a machine.
func (g *GSE) separateLocked(machine HostKey) bool { return g.EntryPerName && !g.upgraded[machine] }

// machineLocked returns the machine with a name.
func (g *GSE) machineLocked(name HostKey) HostKey {
	if known, ok := g.addresses[string(name)]; ok {
		return known.Machine
	}
	return name
}

// otherNameLocked returns the name under which a machine may have another entry.
func (g *GSE) otherNameLocked(name HostKey) (HostKey, bool) {
	machine := g.machineLocked(name)
	id, linked := g.agentIDs[machine]
	switch {
	case !linked || !g.separateLocked(machine):
		return "", false
	case machine == name:
		return HostKey(id), true
	default:
		return machine, true
	}
}

// underOtherNameLocked returns the same process under the machine's other name, nil if there is none.
func (g *GSE) underOtherNameLocked(key ProcKey) *process {
	other, known := g.otherNameLocked(key.Host)
	if !known {
		return nil
	}
	key.Host = other
	return g.procs[key]
}

// findLocked returns a process under either name of its host.
func (g *GSE) findLocked(key ProcKey) *process {
	if p := g.procs[key]; p != nil {
		return p
	}
	return g.underOtherNameLocked(key)
}

// viewLocked returns the process of an item on a host, for reading only.
func (g *GSE) viewLocked(it *Item, t Target) *process {
	key := ProcKey{t.Key, it.Namespace, it.Name}
	if p := g.procs[key]; p != nil {
		return p
	}
	p := &process{key: key, target: t, instance: newInstance()}
	if other := g.underOtherNameLocked(key); other != nil {
		p.instance = other.instance
	}
	return p
}

// Upgrade merges the cached status of a host's address and of its agent id into one entry. It undoes that
// if the agent id is the address itself. Of two entries the later registration stays, which is an
// invention. success are the upgraded hosts, as "cloud:ip". failed are unknown hosts, and those whose
// agent id belongs to another host.
func (g *GSE) Upgrade(api string, hosts []Target, agentIDs []string) (success, failed []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	success, failed = []string{}, []string{}
	for i, t := range hosts {
		o := &operation{api: api, item: &Item{Op: NoOp}, target: t}
		g.applyFaultsLocked(o, api, false)
		ok := o.code == nil
		if ok || o.apply {
			ok = g.upgradeLocked(t, agentIDs[i]) == nil && ok
		}
		if ok {
			success = append(success, t.CloudIP())
		} else {
			failed = append(failed, t.CloudIP())
		}
	}
	return success, failed
}

// UpgradeToAgentID is Upgrade of one host by another user. It fails only if the host or the agent id is
// invalid.
func (g *GSE) UpgradeToAgentID(agentID, addr string) error {
	t, err := ParseTarget(addr)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	return g.upgradeLocked(t, agentID)
}

func (g *GSE) upgradeLocked(t Target, agentID string) error {
	if !g.knownLocked(t) {
		return fmt.Errorf("host %s is not declared", t.Key)
	}
	if strings.Contains(agentID, ":") {
		back, err := ParseTarget(agentID)
		if err != nil || back.Machine != t.Machine {
			return fmt.Errorf("agent id %q is not the address of %s", agentID, t.Key)
		}
		delete(g.upgraded, t.Machine)
		g.changedLocked()
		return nil
	}
	if known, taken := g.addresses[agentID]; taken && known.Machine != t.Machine {
		return fmt.Errorf("agent id %s is that of %s", agentID, known.Key)
	}
	var moved []*process
	for key, p := range g.procs {
		if string(key.Host) == agentID {
			moved = append(moved, p)
			g.beforeChangeLocked(key)
			g.beforeChangeLocked(ProcKey{t.Machine, key.Namespace, key.Name})
		}
	}
	if err := g.linkLocked(agentID, string(t.Key)); err != nil {
		return err
	}
	g.upgraded[t.Machine] = true
	for _, p := range moved {
		g.forgetLocked(p)
		g.mergeLocked(p, g.resolveLocked(p.target))
	}
	g.changedLocked()
	return nil
}

// mergeLocked moves a process from the entry of an agent id to the one entry of its machine.
func (g *GSE) mergeLocked(p *process, t Target) {
	p.key.Host, p.target = t.Key, t
	there := g.procs[p.key]
	if there != nil && there.instance != p.instance && there.running && !p.running {
		p.instance = there.instance
	}
	if there != nil && there.listed() && (!p.listed() || there.registerTime > p.registerTime) {
		there.instance = p.instance
		return
	}
	g.procs[p.key] = p
	g.registered[p.key] = max(g.registered[p.key], p.registerTime)
	g.status.forget(p.key.Namespace)
	g.pruneLocked(p)
}
