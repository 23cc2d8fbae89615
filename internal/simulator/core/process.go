package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// ProcKey identifies a process: one name in one namespace on one host.
type ProcKey struct {
	Host            HostKey
	Namespace, Name string
}

// process is the cached status about one process under one name of its host.
type process struct {
	key    ProcKey
	target Target

	registered bool // by register_proc_info, or op 3 at the gateway
	hosts      bool // hosting was requested under this name
	supplied   bool // it was registered under the supplier id of target

	registerTime int64 // epoch seconds
	labels       map[string]string
	spec         *Spec

	*instance
}

// instance is the agent's data about a process. There is one per machine, however many names the machine
// has.
type instance struct {
	hosted  bool // the agent restarts it if it dies
	running bool
	wanted  int // flag of the cached status: statusRunning or statusStopped
	pid     int
	version string
	health  string
	message string

	lastStartTime int64 // epoch seconds

	// died is set if a hosted process died without a stop: only such processes are restarted.
	died      bool
	retries   int
	nextTry   time.Time
	revivedAt time.Time

	// The entry in the agent's file: the op that last wrote it, when, and changes by hand.
	writtenBy int
	writtenAt int64 // epoch seconds
	byHand    map[string]any

	busy int // operations without a verdict
	last Last

	// ailment is the fault of a virtual process, queriesLeft how many queries it survives.
	ailment     Ailment
	queriesLeft int
}

func newInstance() *instance { return &instance{pid: -1, wanted: statusStopped} }

// Numbers of flag and status in a cached status row. 0 is "not registered", but no row has it, because
// such a process has no row.
const (
	statusRunning = 1
	statusStopped = 2
)

// listed reports whether the cached status has a row for the process.
func (p *process) listed() bool { return p.registered || (p.hosts && p.hosted) }

// Process is a copy of the simulator's data about one process.
type Process struct {
	Host       string `json:"host"` // "cloud:ip", or an agent id without a known address
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Registered bool   `json:"registered"` // by register_proc_info, or op 3 at the gateway
	Hosted     bool   `json:"hosted"`     // revived when it dies
	Running    bool   `json:"running"`
	PID        int    `json:"pid"` // -1 when not running
	Version    string `json:"version"`
	// RegisterTime and LastStartTime are epoch seconds. RegisterTime grows with every registration and
	// hosting, even within one second.
	RegisterTime  int64             `json:"register_time"`
	LastStartTime int64             `json:"last_start_time"`
	Labels        map[string]string `json:"labels"`
	Spec          json.RawMessage   `json:"spec"` // as sent, keys sorted; null if none was
}

func (p *process) snapshot() Process {
	out := Process{
		Host: string(p.key.Host), Namespace: p.key.Namespace, Name: p.key.Name,
		Registered: p.registered, Hosted: p.hosted, Running: p.running,
		PID: p.pid, Version: p.version,
		RegisterTime: p.registerTime, LastStartTime: p.lastStartTime,
		Labels: maps.Clone(p.labels),
		Spec:   json.RawMessage("null"),
	}
	if p.spec != nil {
		out.Spec = slices.Clone(p.spec.Raw)
	}
	return out
}

// Process returns one process, and false if there is no data about it: it is then neither registered nor
// hosted nor running.
func (g *GSE) Process(addr, namespace, name string) (Process, bool) {
	t, err := ParseTarget(addr)
	if err != nil {
		return Process{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	p := g.procs[ProcKey{g.resolveLocked(t).Key, namespace, name}]
	if p == nil {
		return Process{}, false
	}
	g.observeLocked(p)
	return p.snapshot(), true
}

// Processes returns all processes, ordered by namespace, name and host.
func (g *GSE) Processes() []Process {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	out := make([]Process, 0, len(g.procs))
	for _, p := range g.procs {
		g.observeLocked(p)
		out = append(out, p.snapshot())
	}
	slices.SortFunc(out, func(a, b Process) int {
		return cmp.Or(
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Host, b.Host),
		)
	})
	return out
}

// processLocked returns the process of an item on a host, and creates it if it is missing.
func (g *GSE) processLocked(it *Item, t Target) *process {
	key := ProcKey{t.Key, it.Namespace, it.Name}
	p := g.procs[key]
	if p == nil {
		p = &process{key: key, target: t, instance: newInstance()}
		if other := g.underOtherNameLocked(key); other != nil {
			p.instance = other.instance
		}
		g.procs[key] = p
		g.status.forget(key.Namespace)
	}
	return p
}

// pruneLocked deletes the entries of a process that have no data left, under this name and the other one.
func (g *GSE) pruneLocked(p *process) {
	other := g.underOtherNameLocked(p.key)
	if other != nil && !other.listed() {
		g.forgetLocked(other)
		other = nil
	}
	if !p.listed() && (!p.running || other != nil) {
		g.forgetLocked(p)
	}
}

func (g *GSE) forgetLocked(p *process) {
	if g.procs[p.key] == p {
		delete(g.procs, p.key)
		g.status.forget(p.key.Namespace)
	}
}

// stampLocked sets the time of a registration. It is the clock's, but never one that this process had
// before on the machine, under any name. So clients can distinguish two registrations within one second.
// A process that was listed before may keep its time.
func (g *GSE) stampLocked(p *process, listed, keeps bool) {
	if listed && keeps {
		return
	}
	latest, otherKey := g.registered[p.key], p.key
	if other, known := g.otherNameLocked(p.key.Host); known {
		otherKey.Host = other
		latest = max(latest, g.registered[otherKey])
	}
	p.registerTime = max(g.now().Unix(), latest+1)
	g.registered[p.key] = p.registerTime
}

func (g *GSE) startedLocked(p *process, pid int) {
	p.running = true
	p.pid = pid
	p.lastStartTime = max(g.now().Unix(), p.registerTime) // which may be ahead of the clock
	p.died = false
	p.ailment, p.health = Ailment{}, ""
}

func (p *process) stopped() {
	p.running = false
	p.pid = -1
}

// newPIDLocked makes up the pid of a virtual process.
func (g *GSE) newPIDLocked() int {
	g.nextPID++
	return g.nextPID
}

func (p *process) store(it *Item) {
	p.labels = it.Labels
	if it.Spec != nil {
		p.spec = it.Spec
	}
}

func (g *GSE) lookup(addr, namespace, name string) (*process, error) {
	t, err := ParseTarget(addr)
	if err != nil {
		return nil, err
	}
	p := g.findLocked(ProcKey{g.resolveLocked(t).Key, namespace, name})
	if p == nil {
		return nil, fmt.Errorf("no process %s:%s on %s", namespace, name, addr)
	}
	return p, nil
}
