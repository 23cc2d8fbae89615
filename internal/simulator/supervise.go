package simulator

import (
	"sync"
	"time"
)

// Tick is one round of supervision, and returns when its commands are done:
// hosted processes of auto_type 1 that died are started again, as often as
// start_retries allows; local ones over their limits are stopped. Virtual
// processes revive at once, local ones start_interval apart.
func (s *Server) Tick() {
	s.init()
	var round sync.WaitGroup
	s.superviseRound(&round)
	round.Wait()
}

func (s *Server) superviseLoop() {
	ticker := time.NewTicker(s.Supervise)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// Rounds overlap on purpose: one slow start_cmd must not leave the
			// other processes unwatched. A process that is busy is skipped.
			s.superviseRound(&s.wg)
		case <-s.closing:
			return
		}
	}
}

func (s *Server) superviseRound(round *sync.WaitGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settleLocked()
	for _, p := range s.procs {
		if !p.hosted || p.spec == nil || s.unreachable[p.key.host] {
			continue
		}
		if !s.isLocal(p.target) {
			s.reviveVirtualLocked(p)
			continue
		}
		key, lp := p.key, s.localLocked(p.key)
		if s.closed {
			continue
		}
		round.Go(func() {
			if lp.turn.TryLock() {
				defer lp.turn.Unlock()
				s.superviseLocal(key)
			}
		})
	}
}

func (s *Server) reviveVirtualLocked(p *process) {
	if !p.died || p.spec.autoType != autoResident || p.spec.startRetries == 0 {
		return
	}
	s.beforeChangeLocked(p.key)
	s.startedLocked(p, s.newPIDLocked())
	s.changedLocked()
}

// superviseLocal looks after one hosted local process.
func (s *Server) superviseLocal(key procKey) {
	s.mu.Lock()
	p := s.procs[key]
	if p == nil || !p.hosted {
		s.mu.Unlock()
		return
	}
	s.lookLocked(p, p.spec)
	t, sp, now := p.target, p.spec, s.now()
	excess, revive := "", false
	switch {
	case p.running:
		excess = s.sampleLocked(p).over(sp)
		if p.retries > 0 && now.Sub(p.revivedAt) > s.seconds(sp.startInterval) {
			p.retries = 0 // it has stayed up
		}
	case p.died && sp.autoType == autoResident && int64(p.retries) < sp.startRetries && !now.Before(p.nextTry):
		revive = sp.commands["start_cmd"] != ""
		p.retries++
		p.nextTry = now.Add(s.seconds(sp.startInterval))
	}
	s.mu.Unlock()

	switch {
	case excess != "":
		s.stopForGood(t, sp)
		s.mu.Lock()
		defer s.mu.Unlock()
		// Hosting goes on, so the process comes back and may be stopped again:
		// the loop that clients have reported of limits set too low.
		p.message = excess
		s.lookLocked(p, sp)
		s.changedLocked()
	case revive:
		_, _ = s.shell(t, sp, sp.commands["start_cmd"])
		s.pause(s.seconds(sp.startCheckSecs))
		pid := livePID(s.localPath(t, sp.pidPath))
		s.mu.Lock()
		defer s.mu.Unlock()
		if pid > 0 {
			// It may have been unregistered meanwhile, yet there it is.
			p = s.processLocked(&item{namespace: key.namespace, name: key.name}, t)
			s.startedLocked(p, pid)
			p.revivedAt = s.now()
			if p.spec == nil {
				p.spec = sp
			}
		}
		s.changedLocked()
	}
}

// stopForGood stops a local process by its stop_cmd, or kills it if that does
// not help.
func (s *Server) stopForGood(t target, sp *spec) {
	pidPath := s.localPath(t, sp.pidPath)
	if line := sp.commands["stop_cmd"]; line != "" {
		_, _ = s.shell(t, sp, line)
		if s.waitGone(pidPath, s.seconds(sp.stopCheckSecs)) == 0 {
			return
		}
	}
	if pid := livePID(pidPath); pid > 0 {
		_ = killPID(pid)
		_ = s.waitGone(pidPath, s.seconds(sp.stopCheckSecs))
	}
}

// stopLocalProcesses stops what local hosts still run. It leaves hosting as it
// is: a server that starts with the same state file brings the processes back.
func (s *Server) stopLocalProcesses() {
	type victim struct {
		target target
		spec   *spec
	}
	s.mu.Lock()
	var victims []victim
	for _, p := range s.procs {
		s.observeLocked(p)
		if p.running && p.spec != nil && s.isLocal(p.target) {
			victims = append(victims, victim{p.target, p.spec})
		}
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, v := range victims {
		wg.Go(func() { s.stopForGood(v.target, v.spec) })
	}
	wg.Wait()
}
