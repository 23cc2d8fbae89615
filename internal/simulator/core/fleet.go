package core

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Cell is one process on one machine, with the platform's and the machine's state. A machine without any
// process is a cell without a name.
type Cell struct {
	Host       string `json:"host"` // "cloud:ip", or an agent id without a known address
	AgentID    string `json:"agent_id,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
	Registered bool   `json:"registered,omitempty"` // under any name of the machine
	Hosted     bool   `json:"hosted,omitempty"`
	Running    bool   `json:"running,omitempty"`
	PID        int    `json:"pid,omitempty"`
	// Away says that the agent is disconnected; see [GSE.SetReachable].
	Away bool `json:"away,omitempty"`
	// Busy says that an operation was accepted and has no verdict.
	Busy bool `json:"busy,omitempty"`
	Last Last `json:"last,omitzero"`
}

// Last is the last operation on a process, other than a query, and its result, which a fault may have set.
type Last struct {
	Action  string    `json:"action"` // see [Execution]
	Code    int       `json:"code"`
	Message string    `json:"message,omitempty"`
	At      time.Time `json:"at"`
}

// keptMissed bounds missed.
const keptMissed = 10_000

// noteLocked records the result of an operation for Fleet. A failed operation that should have created
// its process is recorded in missed.
func (g *GSE) noteLocked(o *operation) {
	if o.busy != nil {
		o.busy.busy--
		o.busy = nil
	}
	action, known := actionNames[o.item.Op]
	if !known {
		return
	}
	last := Last{Action: action, Code: o.verdict.code, Message: o.verdict.message, At: o.settled}
	if o.code != nil {
		last.Code, last.Message = *o.code, cmp.Or(o.instead.Message, CodeMessage(*o.code))
	}
	key := ProcKey{o.target.Machine, o.item.Namespace, o.item.Name}
	delete(g.missed, key)
	if p := g.findLocked(o.key()); p != nil {
		p.last = last
		return
	}
	switch o.item.Op {
	case OpRegister, OpUpdate, OpHost, OpStart, OpRestart:
		if last.Code != CodeOK && len(g.missed) < keptMissed {
			g.missed[key] = last
		}
	}
}

// markBusyLocked marks a process as busy until noteLocked.
func (g *GSE) markBusyLocked(o *operation) {
	p := g.findLocked(o.key())
	if p == nil || o.state == operationSettled || o.unreachable == "pending" || o.item.Op == OpQuery {
		return
	}
	p.busy++
	o.busy = p.instance
}

// Fleet returns a cell for each process on each machine, and for each declared machine without one,
// ordered by namespace, name and host. Addresses that are only admitted have no cell until the first
// request about them.
func (g *GSE) Fleet() []Cell {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	cells := make(map[ProcKey]Cell, len(g.procs)+len(g.hosts))
	seen := make(map[HostKey]bool, len(g.hosts))
	at := func(key ProcKey) Cell {
		seen[key.Host] = true
		if c, found := cells[key]; found {
			return c
		}
		return Cell{
			Host: string(key.Host), AgentID: g.agentIDs[key.Host], Namespace: key.Namespace, Name: key.Name,
			Away: g.unreachable[key.Host],
		}
	}
	for key, p := range g.procs {
		g.observeLocked(p)
		key.Host = g.machineLocked(key.Host)
		c := at(key)
		c.Registered = c.Registered || p.registered
		c.Hosted, c.Running, c.PID, c.Busy, c.Last = p.hosted, p.running, max(p.pid, 0), p.busy > 0, p.last
		cells[key] = c
	}
	for key, last := range g.missed {
		if c := at(key); !c.Registered && !c.Hosted && !c.Running {
			c.Last = last
			cells[key] = c
		}
	}
	for host := range g.hosts {
		if !seen[host] {
			cells[ProcKey{Host: host}] = at(ProcKey{Host: host})
		}
	}
	return slices.SortedFunc(maps.Values(cells), compareCells)
}

func compareCells(a, b Cell) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), CompareHosts(a.Host, b.Host))
}

// CompareHosts orders hosts in natural order: by cloud area, then by address. Agent ids
// come last.
func CompareHosts(a, b string) int {
	cloudA, ipA, _ := strings.Cut(a, ":")
	cloudB, ipB, _ := strings.Cut(b, ":")
	addrA, errA := netip.ParseAddr(ipA)
	addrB, errB := netip.ParseAddr(ipB)
	switch {
	case errA != nil && errB != nil:
		return cmp.Compare(a, b)
	case errA != nil:
		return 1
	case errB != nil:
		return -1
	}
	return cmp.Or(cmp.Compare(len(cloudA), len(cloudB)), cmp.Compare(cloudA, cloudB), addrA.Compare(addrB))
}

// Lagging reports whether the cached status is frozen, and by how many answers it lags; see
// [GSE.FreezeStatus] and [GSE.SetLag].
func (g *GSE) Lagging() (frozen bool, answers int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.status.frozen != nil, g.status.behind
}
