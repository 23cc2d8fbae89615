package core

import (
	"math"
	"path/filepath"
	"sync"
	"time"
)

// localProcess is what the agent of a local host keeps about a process besides its instance.
type localProcess struct {
	// turn is held while a command runs. An agent does one thing at a time with a process, otherwise a
	// stop could overtake an earlier start.
	turn    sync.Mutex
	sampled sample
}

// localLocked returns the localProcess of a machine, whatever the host's name.
func (g *GSE) localLocked(t Target, key ProcKey) *localProcess {
	key.Host = t.Machine
	lp := g.locals[key]
	if lp == nil {
		lp = &localProcess{}
		g.locals[key] = lp
	}
	return lp
}

// needsAgent reports whether an operation runs commands. Registering and
// hosting do not; a query runs version_cmd and health_cmd.
func (g *GSE) needsAgent(it *Item) bool {
	switch it.Op {
	case OpStart, OpStop, OpQuery, OpRestart, OpReload, OpKill:
		return it.Spec != nil
	default:
		return false
	}
}

// runLocked carries out an operation on a local host in the background. Until that ends, the operation is
// in progress.
func (g *GSE) runLocked(o *operation) {
	if g.closed {
		g.settleOperationLocked(o, newVerdict(CodeAgentAbnormal), g.now())
		return
	}
	o.state = operationRunning
	lp := g.localLocked(o.target, o.key())
	g.wg.Go(func() {
		v := g.runItem(lp, o.item, o.target)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.settleOperationLocked(o, v, g.now())
	})
}

// runItem carries out one operation on a local host and returns when it is done.
func (g *GSE) runItem(lp *localProcess, it *Item, t Target) verdict {
	lp.turn.Lock()
	defer lp.turn.Unlock()
	if it.Op == OpQuery {
		return g.queryLocal(it, t)
	}

	g.mu.Lock()
	p := g.processLocked(it, t)
	g.lookLocked(p, it.Spec)
	v, refused := refuseControl(p, it)
	if refused {
		g.executedLocked(it, t, v)
		v.content = g.controlContentLocked(p, it, v.message)
		g.pruneLocked(p)
	}
	g.mu.Unlock()
	if refused {
		return v
	}

	v, pid := g.command(it, t)
	version := ""
	if pid > 0 && (it.Op == OpStart || it.Op == OpRestart) {
		version = g.ask(t, it.Spec, "version_cmd")
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	g.beforeChangeLocked(ProcKey{t.Key, it.Namespace, it.Name})
	// The process may have been unregistered meanwhile.
	p = g.processLocked(it, t)
	g.conclude(p, it, v.code, pid, version)
	g.executedLocked(it, t, v)
	v.content = g.controlContentLocked(p, it, v.message)
	g.pruneLocked(p)
	g.changedLocked()
	return v
}

// conclude records the result of a command. pid is the process that runs afterwards, 0 if there is none.
func (g *GSE) conclude(p *process, it *Item, code, pid int, version string) {
	switch {
	case pid == 0:
		p.stopped()
	case it.Op == OpStart || it.Op == OpRestart:
		g.startedLocked(p, pid)
		p.version = version
	default:
		p.running, p.pid = true, pid
	}
	if pid > 0 && p.spec == nil {
		p.spec = it.Spec
	}
	starts := it.Op == OpStart || it.Op == OpRestart
	if starts && code == CodeCheckFailed && it.Spec.autoType == autoOnce {
		g.commandHostsLocked(p, it) // the command has succeeded
	}
	if code != CodeOK {
		return
	}
	switch it.Op {
	case OpStart, OpRestart:
		g.commandHostsLocked(p, it)
		p.wanted = statusRunning
	case OpStop, OpKill:
		p.unhost()
		p.wanted = statusStopped
	}
}

// command runs the command of an operation and the check after it.
func (g *GSE) command(it *Item, t Target) (v verdict, pid int) {
	field := commandNames[it.Op]
	pidPath := g.localPath(t, it.Spec.pidPath)
	output, err := g.shell(t, it.Spec, it.Spec.commands[field])
	if err != nil {
		return newVerdict(CodeCommandFailed).because("%s: %v\n%s", field, err, output), livePID(pidPath)
	}
	switch it.Op {
	case OpStart, OpRestart:
		g.pause(g.seconds(it.Spec.startCheckSecs))
		if pid := livePID(pidPath); pid > 0 {
			return newVerdict(CodeOK), pid
		}
		return newVerdict(CodeCheckFailed).because("start check failed: no process by %s", it.Spec.pidPath), 0
	case OpStop, OpKill:
		if pid := g.waitGone(pidPath, g.seconds(it.Spec.stopCheckSecs)); pid > 0 {
			return newVerdict(CodeCheckFailed).because("stop check failed: process %d is still running", pid), pid
		}
		return newVerdict(CodeOK), 0
	default:
		if pid := livePID(pidPath); pid > 0 {
			return newVerdict(CodeOK), pid
		}
		return newVerdict(CodeCheckFailed).because("%s check failed: process is not running", field), 0
	}
}

// queryLocal runs version_cmd and health_cmd, and answers a query.
func (g *GSE) queryLocal(it *Item, t Target) verdict {
	g.mu.Lock()
	sp := it.Spec
	if hosted := g.viewLocked(it, t).spec; sp.pidPath == "" && hosted != nil {
		sp = hosted // a query that names only the binary is about the hosted process
	}
	g.mu.Unlock()
	version := g.ask(t, sp, "version_cmd")
	health := g.ask(t, sp, "health_cmd")
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.viewLocked(it, t)
	g.lookLocked(p, sp)
	p.version, p.health = version, health
	v := newVerdict(CodeOK)
	v.content = g.queryContentLocked(p, it)
	return v
}

// ask returns the output of an optional command, untrimmed, as the real agent does: the whole output is
// the version.
func (g *GSE) ask(t Target, sp *Spec, field string) string {
	if sp.commands[field] == "" {
		return ""
	}
	output, err := g.shell(t, sp, sp.commands[field])
	if err != nil {
		return ""
	}
	return output
}

func (g *GSE) observeLocked(p *process) {
	if p.spec != nil && g.isLocal(p.target) {
		g.lookLocked(p, p.spec)
	}
}

// lookLocked updates a local process from its pid file. A hosted process that ended without a stop has
// died, and supervision may restart it.
func (g *GSE) lookLocked(p *process, sp *Spec) {
	pid := livePID(g.localPath(p.target, sp.pidPath))
	switch {
	case pid > 0:
		if !p.running && p.lastStartTime == 0 {
			p.lastStartTime = g.now().Unix()
		}
		p.running, p.pid, p.died = true, pid, false
		if p.spec == nil {
			p.spec = sp // so that it can be found again
		}
	case p.running:
		p.stopped()
		p.died = p.hosted
	}
}

// localPath maps a path of a spec to this machine; see Root. No path leads above the root of a host's
// tree.
func (g *GSE) localPath(t Target, path string) string {
	if g.Root == "" {
		return path
	}
	return filepath.Join(g.localRoot(t), filepath.Clean(string(filepath.Separator)+filepath.FromSlash(path)))
}

func (g *GSE) localRoot(t Target) string { return filepath.Join(g.Root, t.IP.String()) }

// seconds returns a duration of a monitor policy, whose seconds last Second. It does not overflow.
func (g *GSE) seconds(n int64) time.Duration {
	second := g.Second
	if second == 0 {
		second = time.Second
	}
	if n > math.MaxInt64/int64(second) {
		return math.MaxInt64
	}
	return time.Duration(n) * second
}

// pause waits for d, or until the server is closed.
func (g *GSE) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.closing:
	}
}

func (g *GSE) isClosing() bool {
	select {
	case <-g.closing:
		return true
	default:
		return false
	}
}

// waitGone waits until the process has ended and returns 0, or its pid if it still exists after limit.
func (g *GSE) waitGone(pidPath string, limit time.Duration) int {
	deadline := time.Now().Add(limit)
	for {
		pid := livePID(pidPath)
		if pid == 0 || !time.Now().Before(deadline) || g.isClosing() {
			return pid
		}
		g.pause(min(10*time.Millisecond, max(limit/10, time.Millisecond)))
	}
}
