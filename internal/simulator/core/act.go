package core

import (
	"errors"
	"fmt"
	"maps"
)

// Changes by others: a user at a console, another tool, the process itself. None of them is recorded as a
// call, and faults do not apply.

// Register registers a process, whether or not it is registered already. spec is a JSON object as a
// request has it. Without one, the process keeps its spec.
func (g *GSE) Register(addr, namespace, name string, labels map[string]string, spec string) error {
	var parsed *Spec
	if spec != "" {
		var err error
		if parsed, err = parseSpec([]byte(spec)); err != nil {
			return fmt.Errorf("spec: %w", err)
		}
		if parsed == nil {
			return errors.New("spec: want a JSON object")
		}
	}
	return g.act(addr, namespace, name, func(p *process) {
		listed := p.listed()
		p.labels = maps.Clone(labels)
		if parsed != nil {
			p.spec = parsed
		}
		p.registered = true
		if p.hosted {
			g.wroteLocked(p, OpHost)
		}
		g.stampLocked(p, listed, g.ReregisteringKeepsTime)
	})
}

// Unregister removes a registration and the hosting with it.
func (g *GSE) Unregister(addr, namespace, name string) error {
	return g.act(addr, namespace, name, func(p *process) {
		p.registered = false
		p.unhost()
	})
}

// Host hosts a process, with the spec that it was registered with.
func (g *GSE) Host(addr, namespace, name string) error {
	return g.act(addr, namespace, name, func(p *process) {
		g.hostLocked(p, &Item{Labels: p.labels})
	})
}

// Unhost removes the hosting and leaves the registration.
func (g *GSE) Unhost(addr, namespace, name string) error {
	return g.act(addr, namespace, name, func(p *process) {
		p.unhost()
		g.dropAddedLocked(p.target.Machine, namespace, name)
	})
}

// StartProcess starts a process that is registered or hosted, without hosting
// it. On a local host its start_cmd runs.
func (g *GSE) StartProcess(addr, namespace, name string) error {
	return g.actOnProcess(addr, namespace, name, func(p *process) {
		if !p.running {
			g.startedLocked(p, g.newPIDLocked())
		}
	}, func(t Target, sp *Spec) {
		_, _ = g.shell(t, sp, sp.commands["start_cmd"])
	})
}

// StopProcess stops a process without the agent, and unhosts it so that it stays down.
func (g *GSE) StopProcess(addr, namespace, name string) error {
	return g.actOnProcess(addr, namespace, name, func(p *process) {
		p.unhost()
		p.stopped()
	}, g.stopForGood)
}

// KillProcess makes a process die. If it is hosted, supervision restarts it: a virtual one at the next
// Tick.
func (g *GSE) KillProcess(addr, namespace, name string) error {
	return g.actOnProcess(addr, namespace, name, func(p *process) {
		// An earlier check may have found it dead already.
		if p.running {
			p.died = p.hosted
		}
		p.stopped()
	}, func(t Target, sp *Spec) {
		path := g.localPath(t, sp.pidPath)
		if pid := livePID(path); pid > 0 {
			_ = killPID(pid)
			_ = g.waitGone(path, g.seconds(sp.stopCheckSecs))
		}
	})
}

func (g *GSE) act(addr, namespace, name string, change func(*process)) error {
	t, err := ParseTarget(addr)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	t = g.resolveLocked(t)
	if !g.knownLocked(t) {
		return fmt.Errorf("host %s is not declared", addr)
	}
	it := &Item{Namespace: namespace, Name: name}
	g.beforeChangeLocked(ProcKey{t.Key, namespace, name})
	p := g.processLocked(it, t)
	change(p)
	g.pruneLocked(p)
	g.changedLocked()
	return nil
}

// actOnProcess is act for a change of the process itself. On a local host the change is real, and its
// result is observed.
func (g *GSE) actOnProcess(addr, namespace, name string, virtual func(*process), local func(Target, *Spec)) error {
	g.mu.Lock()
	p, err := g.lookup(addr, namespace, name)
	if err != nil {
		g.mu.Unlock()
		return err
	}
	t, sp := p.target, p.spec
	g.mu.Unlock()
	if sp == nil || !g.isLocal(t) {
		return g.act(addr, namespace, name, virtual)
	}
	local(t, sp)
	return g.act(addr, namespace, name, func(p *process) {
		if livePID(g.localPath(t, sp.pidPath)) == 0 {
			virtual(p)
		}
		g.observeLocked(p)
	})
}
