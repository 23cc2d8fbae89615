package core

import (
	"sync"
	"time"
)

// Tick makes one round of supervision, and returns when its commands have ended. Hosted processes of
// auto_type 1 that died are restarted, up to start_retries times. Local processes over their limits are
// stopped. Virtual processes are restarted at once, local ones at intervals of start_interval.
func (g *GSE) Tick() {
	var round sync.WaitGroup
	g.superviseRound(&round)
	round.Wait()
}

func (g *GSE) superviseLoop() {
	ticker := time.NewTicker(g.Supervise)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			// Rounds may overlap: one slow start_cmd must not leave the other processes without
			// supervision. A busy process is skipped.
			g.superviseRound(&g.wg)
		case <-g.closing:
			return
		}
	}
}

func (g *GSE) superviseRound(round *sync.WaitGroup) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	for _, p := range g.procs {
		if !p.hosted || !p.hosts || p.spec == nil || g.unreachable[p.target.Machine] {
			continue
		}
		if !g.isLocal(p.target) {
			g.reviveVirtualLocked(p)
			continue
		}
		key, lp := p.key, g.localLocked(p.target, p.key)
		if g.closed {
			continue
		}
		round.Go(func() {
			if lp.turn.TryLock() {
				defer lp.turn.Unlock()
				g.superviseLocal(key)
			}
		})
	}
}

func (g *GSE) reviveVirtualLocked(p *process) {
	if !p.died || p.spec.autoType != autoResident || p.spec.startRetries == 0 {
		return
	}
	g.beforeChangeLocked(p.key)
	g.startedLocked(p, g.newPIDLocked())
	g.changedLocked()
}

func (g *GSE) superviseLocal(key ProcKey) {
	g.mu.Lock()
	p := g.procs[key]
	if p == nil || !p.hosted || !p.hosts {
		g.mu.Unlock()
		return
	}
	g.lookLocked(p, p.spec)
	t, sp, now := p.target, p.spec, g.now()
	excess, revive := "", false
	switch {
	case p.running:
		excess = g.sampleLocked(p).over(sp)
		if p.retries > 0 && now.Sub(p.revivedAt) > g.seconds(sp.startInterval) {
			p.retries = 0 // the process has stayed up
		}
	case p.died && sp.autoType == autoResident && int64(p.retries) < sp.startRetries && !now.Before(p.nextTry):
		revive = sp.commands["start_cmd"] != ""
		p.retries++
		p.nextTry = now.Add(g.seconds(sp.startInterval))
	}
	g.mu.Unlock()

	switch {
	case excess != "":
		g.stopForGood(t, sp)
		g.mu.Lock()
		defer g.mu.Unlock()
		// Hosting continues, so the process is restarted and may be stopped again: clients have reported
		// this loop for limits that are too low.
		p.message = excess
		g.lookLocked(p, sp)
		g.changedLocked()
	case revive:
		_, _ = g.shell(t, sp, sp.commands["start_cmd"])
		g.pause(g.seconds(sp.startCheckSecs))
		pid := livePID(g.localPath(t, sp.pidPath))
		g.mu.Lock()
		defer g.mu.Unlock()
		if pid > 0 {
			// It may have been unregistered meanwhile, but it runs.
			p = g.processLocked(&Item{Namespace: key.Namespace, Name: key.Name}, t)
			g.startedLocked(p, pid)
			p.revivedAt = g.now()
			if p.spec == nil {
				p.spec = sp
			}
		}
		g.changedLocked()
	}
}

// stopForGood stops a local process by its stop_cmd, or kills it if that fails.
func (g *GSE) stopForGood(t Target, sp *Spec) {
	pidPath := g.localPath(t, sp.pidPath)
	if line := sp.commands["stop_cmd"]; line != "" {
		_, _ = g.shell(t, sp, line)
		if g.waitGone(pidPath, g.seconds(sp.stopCheckSecs)) == 0 {
			return
		}
	}
	if pid := livePID(pidPath); pid > 0 {
		_ = killPID(pid)
		_ = g.waitGone(pidPath, g.seconds(sp.stopCheckSecs))
	}
}

// stopLocalProcesses stops all processes of local hosts. Hosting stays: a server that starts with the
// same state file restarts the processes.
func (g *GSE) stopLocalProcesses() {
	type victim struct {
		target Target
		spec   *Spec
	}
	g.mu.Lock()
	var victims []victim
	for _, p := range g.procs {
		g.observeLocked(p)
		if p.running && p.spec != nil && g.isLocal(p.target) {
			victims = append(victims, victim{p.target, p.spec})
		}
	}
	g.mu.Unlock()
	var wg sync.WaitGroup
	for _, v := range victims {
		wg.Go(func() { g.stopForGood(v.target, v.spec) })
	}
	wg.Wait()
}
