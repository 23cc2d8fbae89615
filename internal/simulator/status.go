package simulator

import (
	"cmp"
	"maps"
	"slices"
)

// row is one process in the cached status.
type row struct {
	Namespace, Name    string
	Labels             map[string]string
	IP                 string // empty where no address is known
	Cloud, Supplier    int64
	AgentID            string // of the host, if one is known
	Wanted, Actual     int    // statusRunning or statusStopped
	Hosted             bool
	Message            string
	PID                int
	Version            string
	RegisterTime       int64
	LastStartTime      int64
	ReportTime         int64
	CPUUsage, MemUsage float64
}

// statusCache is what lies between the processes and the cached status.
type statusCache struct {
	// index holds the keys of a namespace in paging order. It is made when asked
	// for and dropped when a key comes or goes.
	index map[string][]procKey
	// frozen holds all rows as they were at FreezeStatus, if it is non-nil.
	frozen map[procKey]row
	// lagging holds old rows that LagCalls still shows.
	lagging map[procKey]*lag
}

// lag is an old row, absent if the process had none, and how many answers still
// show it.
type lag struct {
	row    row
	absent bool
	left   int
}

func (c *statusCache) forget(namespace string) { delete(c.index, namespace) }

// FreezeStatus makes the cached status answer from what it says now, as it does
// when reports are late. Queries (op 2) stay live.
func (g *GSE) FreezeStatus() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	g.status.frozen = make(map[procKey]row, len(g.procs))
	for key, p := range g.procs {
		if p.listed() {
			g.status.frozen[key] = g.rowLocked(p)
		}
	}
	g.status.index = nil
}

// ThawStatus ends FreezeStatus.
func (g *GSE) ThawStatus() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status.frozen = nil
	g.status.index = nil
}

// beforeChangeLocked keeps the row that LagCalls will go on to show.
func (g *GSE) beforeChangeLocked(key procKey) {
	if g.LagCalls <= 0 {
		return
	}
	if g.status.lagging == nil {
		g.status.lagging = make(map[procKey]*lag)
	}
	old := g.status.lagging[key]
	if old == nil {
		old = &lag{absent: true}
		if p := g.procs[key]; p != nil && p.listed() {
			old.row, old.absent = g.rowLocked(p), false
		}
		g.status.lagging[key] = old
		g.status.forget(key.namespace)
	}
	old.left = g.LagCalls
}

func (g *GSE) rowLocked(p *process) row {
	g.observeLocked(p)
	r := row{
		Namespace: p.key.namespace, Name: p.key.name, Labels: maps.Clone(p.labels),
		IP: p.target.address(), Cloud: p.target.cloud, Supplier: p.target.supplier, AgentID: g.agentIDLocked(p.target),
		Wanted: p.wanted, Actual: statusStopped, Hosted: p.hosted,
		Message: p.message, PID: p.pid, Version: p.version,
		RegisterTime: p.registerTime, LastStartTime: p.lastStartTime, ReportTime: g.now().Unix(),
	}
	if p.running {
		use := g.usageLocked(p)
		r.Actual, r.CPUUsage, r.MemUsage = statusRunning, use.cpu, use.mem
	}
	return r
}

// showLocked returns the row of a process as the cached status has it now, and
// counts the answer where it lags.
func (g *GSE) showLocked(key procKey) (row, bool) {
	if g.status.frozen != nil {
		r, ok := g.status.frozen[key]
		return r, ok
	}
	if old := g.status.lagging[key]; old != nil {
		old.left--
		if old.left <= 0 {
			delete(g.status.lagging, key)
			g.status.forget(key.namespace)
		}
		return old.row, !old.absent
	}
	p := g.procs[key]
	if p == nil || !p.listed() {
		return row{}, false
	}
	return g.rowLocked(p), true
}

// Status answers get_proc_status_v2. A host without a row is left out: that is
// how an unregistered process looks.
func (g *GSE) Status(api string, it *item) []row {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	rows := make([]row, 0, len(it.targets))
	for _, t := range it.targets {
		key := procKey{t.key, it.namespace, it.name}
		if g.Faults.HidesRow(api, key) {
			continue
		}
		if r, ok := g.showLocked(key); ok {
			if t.agent == "" {
				r.IP = t.spelling
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// Sync answers sync_proc_status: one page of a namespace and the number of all
// its rows.
func (g *GSE) Sync(api, namespace string, start, limit int) (rows []row, total int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	rows = []row{}
	for _, key := range g.indexLocked(namespace) {
		if !g.existsLocked(key) {
			continue
		}
		if total >= start && len(rows) < limit && !g.Faults.HidesRow(api, key) {
			if r, ok := g.showLocked(key); ok {
				rows = append(rows, r)
			}
		}
		total++
	}
	return rows, total
}

// existsLocked is showLocked without a look at the row.
func (g *GSE) existsLocked(key procKey) bool {
	if g.status.frozen != nil {
		_, ok := g.status.frozen[key]
		return ok
	}
	if old := g.status.lagging[key]; old != nil {
		return !old.absent
	}
	p := g.procs[key]
	return p != nil && p.listed()
}

func (g *GSE) indexLocked(namespace string) []procKey {
	if keys, ok := g.status.index[namespace]; ok {
		return keys
	}
	var keys []procKey
	add := func(key procKey) {
		if key.namespace == namespace {
			keys = append(keys, key)
		}
	}
	if g.status.frozen != nil {
		for key := range g.status.frozen {
			add(key)
		}
	} else {
		for key := range g.procs {
			add(key)
		}
		for key := range g.status.lagging {
			if _, also := g.procs[key]; !also {
				add(key)
			}
		}
	}
	slices.SortFunc(keys, func(a, b procKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.host, b.host))
	})
	if g.status.index == nil {
		g.status.index = make(map[string][]procKey)
	}
	g.status.index[namespace] = keys
	return keys
}
