package core

import (
	"fmt"
)

// Item is one process on some hosts, and an operation on it: the unit to which every face translates.
type Item struct {
	Op              int // an op type, NoOp, or one of the first generation
	Namespace, Name string
	Labels          map[string]string
	Spec            *Spec // nil if the API has none
	Targets         []Target

	taskID string // of the accepted operation

	IPv4 bool // the API takes no other addresses
	// ByBinary says that contents name the process by its binary.
	ByBinary bool
	// ByRegistration says that the request has no spec: the registration's spec and labels are used, as
	// in the first generation's operate_proc.
	ByRegistration bool
	// Script is what OpScript runs. With Numbered, its task has a number instead of an id.
	Script   *Script
	Numbered bool
	// Whole says that op 3 also registers, and that op 4 leaves no row: the gateway has no other calls
	// for that.
	Whole bool
}

// Illegal reports whether no document has the op type. Its code is a result per host, as in the
// documents' table of codes.
func (it *Item) Illegal() bool {
	switch it.Op {
	case NoOp, OpRegister, OpUpdate, OpUnregister, OpScript, OpQuery, OpHost, OpUnhost:
		return false
	default:
		_, control := commandNames[it.Op]
		return !control
	}
}

// verdict is the result of an operation on one host.
type verdict struct {
	code    int
	message string
	content any // a string, a document or a Screen
}

func newVerdict(code int) verdict {
	return verdict{code: code, message: CodeMessage(code), content: ""}
}

func (v verdict) because(format string, args ...any) verdict {
	v.message = fmt.Sprintf(format, args...)
	return v
}

// applyLocked carries out an operation on a virtual host, or on a local host the part that runs no
// command. The op_type row of operate_proc_v2's document says what each op does to hosting; the rest is
// what clients report.
func (g *GSE) applyLocked(it *Item, t Target) verdict {
	key := ProcKey{t.Key, it.Namespace, it.Name}
	switch it.Op {
	case OpQuery:
		return g.queryLocked(it, t)
	case OpScript:
		v := newVerdict(CodeOK)
		v.content = g.runScriptLocked(it.Script, t.Machine)
		return v
	}
	g.beforeChangeLocked(key)
	v := g.changeLocked(it, t)
	g.executedLocked(it, t, v)
	if p := g.procs[key]; p != nil {
		g.pruneLocked(p)
	}
	g.changedLocked()
	return v
}

func (g *GSE) changeLocked(it *Item, t Target) verdict {
	p := g.processLocked(it, t)
	switch it.Op {
	case OpRegister:
		if p.registered {
			return newVerdict(CodeAlreadyRegistered)
		}
		g.registerLocked(p, it, t)
		return newVerdict(CodeOK)
	case OpUpdate:
		// At the gateway a hosted process counts as registered, however it was hosted.
		known := p.registered || (it.Whole && p.listed())
		if !known && g.UpdateRefuses {
			return newVerdict(CodeNotRegistered)
		}
		g.registerLocked(p, it, t)
		return newVerdict(CodeOK)
	case OpUnregister:
		if !p.registered || g.SuppliersApart && p.supplied && p.target.Supplier != t.Supplier {
			return newVerdict(CodeNotRunning).because("process is not registered")
		}
		p.registered = false
		p.unhost()
		return newVerdict(CodeOK)
	case OpHost:
		if it.Whole && g.HostingOnce && p.listed() {
			return newVerdict(CodeAlreadyRegistered)
		}
		g.hostLocked(p, it)
		if it.Whole {
			p.registered, p.supplied = true, false
		}
		return g.hostingVerdict(p, it)
	case OpUnhost:
		if added := g.dropAddedLocked(t.Machine, it.Namespace, it.Name); !added && !p.listed() {
			return newVerdict(CodeNotRunning).because("process is not hosted")
		}
		if it.Whole {
			p.registered = false
		}
		p.unhost()
		return g.hostingVerdict(p, it)
	case OpStart, OpStop, OpRestart, OpReload, OpKill:
		v := g.controlLocked(p, it)
		v.content = g.controlContentLocked(p, it, v.message)
		return v
	default:
		return newVerdict(CodeIllegalOp)
	}
}

// hostingVerdict returns the success of op 3 or 4. At the gateway it may have a content.
func (g *GSE) hostingVerdict(p *process, it *Item) verdict {
	v := newVerdict(CodeOK)
	if it.Whole && it.Spec != nil && !g.HostingSilent {
		v.content = g.controlContentLocked(p, it, v.message)
	}
	return v
}

func (g *GSE) queryLocked(it *Item, t Target) verdict {
	p := g.viewLocked(it, t)
	g.countQueryLocked(p)
	v := newVerdict(CodeOK)
	v.content = g.queryContentLocked(p, it)
	return v
}

// controlLocked simulates a command on a virtual host.
func (g *GSE) controlLocked(p *process, it *Item) verdict {
	if v, refused := refuseControl(p, it); refused {
		return v
	}
	if it.Spec.opTimeout == 0 {
		// 0 does not mean "no limit", and clients have learnt not to send it.
		return newVerdict(CodeCommandFailed).because("%s timed out after 0s", commandNames[it.Op])
	}
	switch it.Op {
	case OpStart, OpRestart:
		if it.Spec.autoType == autoOnce {
			p.lastStartTime = max(g.now().Unix(), p.registerTime)
			p.stopped()
			g.commandHostsLocked(p, it)
			return newVerdict(CodeCheckFailed)
		}
		g.startedLocked(p, g.newPIDLocked())
		if _, given := it.Spec.commands["version_cmd"]; given {
			p.version = virtualVersion
		}
		if it.Spec.startCheckSecs == 0 {
			// The check comes before the process has written its pid file.
			return newVerdict(CodeCheckFailed)
		}
		g.commandHostsLocked(p, it)
		p.wanted = statusRunning
	case OpStop, OpKill:
		p.stopped()
		p.unhost()
		p.wanted = statusStopped
	case OpReload:
	}
	return newVerdict(CodeOK)
}

// virtualVersion is what the version_cmd of every virtual process prints.
const virtualVersion = "1.0.0"

// refuseControl makes the agent's checks before a command, on virtual and local hosts. A refusal leaves
// hosting as it was, as clients have seen: a real 829 says isAuto true.
func refuseControl(p *process, it *Item) (verdict, bool) {
	switch {
	case it.Op == OpStart && p.running:
		return newVerdict(CodeAlreadyRunning), true
	case (it.Op == OpStop || it.Op == OpKill) && !p.running:
		return newVerdict(CodeNotRunning), true
	case it.Op == OpReload && !p.running:
		return newVerdict(CodeCheckFailed).because("reload check failed: process is not running"), true
	case it.Spec.commands[commandNames[it.Op]] == "":
		return newVerdict(CodeCommandFailed).because("%s is not given", commandNames[it.Op]), true
	}
	return verdict{}, false
}

// commandNames are the fields of spec.control that the control ops run.
var commandNames = map[int]string{
	OpStart:   "start_cmd",
	OpStop:    "stop_cmd",
	OpRestart: "restart_cmd",
	OpReload:  "reload_cmd",
	OpKill:    "kill_cmd",
}

func (g *GSE) registerLocked(p *process, it *Item, t Target) {
	listed := p.listed()
	p.registered = true
	p.target.Supplier, p.supplied = t.Supplier, !it.Whole
	p.store(it)
	g.observeLocked(p)
	g.stampLocked(p, listed, g.ReregisteringKeepsTime)
	p.wanted = statusStopped
	if p.running || p.hosted {
		p.wanted = statusRunning
	}
	if p.hosted {
		g.wroteLocked(p, OpHost)
	}
	if g.RegisterHosts {
		g.hostLocked(p, it)
	}
}

func (g *GSE) hostLocked(p *process, it *Item) {
	listed, keeps := p.listed(), g.HostingKeepsTime
	if it.Whole { // at the gateway, hosting registers
		keeps = g.ReregisteringKeepsTime
	}
	p.store(it)
	p.host()
	g.wroteLocked(p, OpHost)
	p.wanted = statusRunning
	p.retries = 0
	p.died = g.HostingStarts && !p.running
	g.stampLocked(p, listed, keeps)
}

// commandHostsLocked hosts a process after a successful start or restart, even a one-shot process, which
// clients unhost again. Whether that replaces the spec of an earlier registration is unknown, so the spec
// stays unless StartReplaces is set.
func (g *GSE) commandHostsLocked(p *process, it *Item) {
	if it.Op == OpRestart && g.RestartKeepsHosting {
		return
	}
	listed := p.listed()
	if !listed || g.StartReplaces || p.spec == nil {
		p.store(it)
	}
	p.host()
	g.wroteLocked(p, it.Op)
	p.retries = 0
	g.stampLocked(p, listed, g.StartingKeepsTime)
}

// host marks the process as hosted, by a request under this name.
func (p *process) host() { p.hosted, p.hosts = true, true }

// unhost ends the hosting under all names, since the agent does not know them.
func (p *process) unhost() {
	p.hosted, p.hosts = false, false
	p.died = false
	p.retries = 0
	p.byHand = nil
}
