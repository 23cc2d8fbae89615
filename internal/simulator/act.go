package simulator

import (
	"errors"
	"fmt"
)

// What somebody else does: a colleague at a console, another tool, the process
// itself. None of it is recorded as a call or meets a fault.

// Register registers a process with a spec (a JSON object as a request has it)
// whether it is registered already or not.
func (s *Server) Register(addr, namespace, name string, labels map[string]string, spec string) error {
	parsed, err := parseSpec([]byte(spec))
	if err != nil {
		return fmt.Errorf("spec: %w", err)
	}
	if parsed == nil {
		return errors.New("spec: want a JSON object")
	}
	return s.act(addr, namespace, name, func(p *process) {
		p.labels, p.spec = labels, parsed
		p.registered = true
		s.stampLocked(p)
	})
}

// Unregister removes a registration and the hosting with it.
func (s *Server) Unregister(addr, namespace, name string) error {
	return s.act(addr, namespace, name, func(p *process) {
		p.registered = false
		p.unhost()
	})
}

// Host hosts a process, with the spec that it was registered with.
func (s *Server) Host(addr, namespace, name string) error {
	return s.act(addr, namespace, name, func(p *process) {
		s.hostLocked(p, &item{labels: p.labels})
	})
}

// Unhost removes the hosting and leaves the registration.
func (s *Server) Unhost(addr, namespace, name string) error {
	return s.act(addr, namespace, name, func(p *process) { p.unhost() })
}

// StartProcess starts a process that is registered or hosted, without hosting
// it. On a local host its start_cmd runs.
func (s *Server) StartProcess(addr, namespace, name string) error {
	return s.actOnProcess(addr, namespace, name, func(p *process) {
		if !p.running {
			s.startedLocked(p, s.newPIDLocked())
		}
	}, func(t target, sp *spec) {
		_, _ = s.shell(t, sp, sp.commands["start_cmd"])
	})
}

// StopProcess stops a process behind the agent's back, and unhosts it so that
// it stays down.
func (s *Server) StopProcess(addr, namespace, name string) error {
	return s.actOnProcess(addr, namespace, name, func(p *process) {
		p.unhost()
		p.stopped()
	}, s.stopForGood)
}

// KillProcess lets a process die. If it is hosted, supervision brings it back:
// a virtual one at the next Tick.
func (s *Server) KillProcess(addr, namespace, name string) error {
	return s.actOnProcess(addr, namespace, name, func(p *process) {
		// A look at it may have found it dead already.
		if p.running {
			p.died = p.hosted
		}
		p.stopped()
	}, func(t target, sp *spec) {
		path := s.localPath(t, sp.pidPath)
		if pid := livePID(path); pid > 0 {
			_ = killPID(pid)
			_ = s.waitGone(path, s.seconds(sp.stopCheckSecs))
		}
	})
}

func (s *Server) act(addr, namespace, name string, change func(*process)) error {
	t, err := parseTarget(addr)
	if err != nil {
		return err
	}
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settleLocked()
	t = s.resolveLocked(t)
	if !s.knownLocked(t) {
		return fmt.Errorf("host %s is not declared", addr)
	}
	it := &item{namespace: namespace, name: name}
	s.beforeChangeLocked(procKey{t.key, namespace, name})
	p := s.processLocked(it, t)
	change(p)
	s.pruneLocked(p)
	s.changedLocked()
	return nil
}

// actOnProcess is act for what happens to the process itself, which on a local
// host is done for real and then looked at.
func (s *Server) actOnProcess(addr, namespace, name string, virtual func(*process), local func(target, *spec)) error {
	s.init()
	s.mu.Lock()
	p, err := s.lookup(addr, namespace, name)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	t, sp := p.target, p.spec
	s.mu.Unlock()
	if sp == nil || !s.isLocal(t) {
		return s.act(addr, namespace, name, virtual)
	}
	local(t, sp)
	return s.act(addr, namespace, name, func(p *process) {
		if livePID(s.localPath(t, sp.pidPath)) == 0 {
			virtual(p)
		}
		s.observeLocked(p)
	})
}
