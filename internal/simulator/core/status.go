package core

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Row is one process in the cached status.
type Row struct {
	Namespace, Name    string
	Labels             map[string]string
	IP                 string // empty if no address is known
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

// statusCache makes the cached status differ from the processes, and has indexes of both.
type statusCache struct {
	// index has the keys of a namespace in paging order. It is made on demand and dropped when a key is
	// added or removed.
	index map[string][]ProcKey
	// machines has the keys of each machine, in no order. It is made and dropped like index.
	machines map[HostKey][]ProcKey
	// frozen, if non-nil, has all rows as they were at FreezeStatus.
	frozen map[ProcKey]Row
	// lagging holds old rows that are still shown.
	lagging map[ProcKey]*lag
	// behind is LagCalls, or the value of SetLag.
	behind int
	// labels are added by the platform to every row.
	labels map[string]string
}

// lag is an old row, or absent if the process had none, and how many more answers show it.
type lag struct {
	row    Row
	absent bool
	left   int
	until  time.Time // with Lag, in place of left
}

func (c *statusCache) forget(namespace string) {
	delete(c.index, namespace)
	c.machines = nil
}

// FreezeStatus keeps the rows of the cached status as they are now, as when reports are late. Queries
// (op 2) stay live.
func (g *GSE) FreezeStatus() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	g.status.frozen = make(map[ProcKey]Row, len(g.procs))
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

// SetLag changes LagCalls: how many answers about a process still show its old row after a change. -1
// always shows the state before the last change, and 0 brings the rows up to date.
func (g *GSE) SetLag(answers int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	g.status.behind = answers
	if answers == 0 {
		g.status.lagging = nil
		g.status.index = nil
	}
}

// SetRowLabels sets labels that the platform adds to every row.
func (g *GSE) SetRowLabels(labels map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status.labels = maps.Clone(labels)
}

// beforeChangeLocked keeps the row that a cached status that lags will show.
func (g *GSE) beforeChangeLocked(key ProcKey) {
	if g.status.behind == 0 && g.Lag == 0 {
		return
	}
	g.keepRowLocked(key)
	if other, known := g.otherNameLocked(key.Host); known {
		key.Host = other
		g.keepRowLocked(key)
	}
}

func (g *GSE) keepRowLocked(key ProcKey) {
	if g.status.lagging == nil {
		g.status.lagging = make(map[ProcKey]*lag)
	}
	g.catchUpLocked(key)
	old := g.status.lagging[key]
	if old == nil || g.status.behind < 0 {
		old = &lag{absent: true}
		if p := g.procs[key]; p != nil && p.listed() {
			old.row, old.absent = g.rowLocked(p), false
		}
		g.status.lagging[key] = old
		g.status.forget(key.Namespace)
	}
	old.left = g.status.behind
	if g.Lag > 0 {
		old.left, old.until = -1, g.now().Add(g.Lag)
	}
}

// catchUpLocked ends a lag that has expired.
func (g *GSE) catchUpLocked(key ProcKey) {
	if old := g.status.lagging[key]; old != nil && !old.until.IsZero() && !g.now().Before(old.until) {
		delete(g.status.lagging, key)
		g.status.forget(key.Namespace)
	}
}

func (g *GSE) rowLocked(p *process) Row {
	g.observeLocked(p)
	r := Row{
		Namespace: p.key.Namespace, Name: p.key.Name, Labels: maps.Clone(p.labels),
		IP: p.target.address(), Cloud: p.target.Cloud, Supplier: p.target.Supplier, AgentID: g.agentIDLocked(p.target),
		Wanted: p.wanted, Actual: statusStopped, Hosted: p.hosted,
		Message: p.message, PID: p.pid, Version: p.version,
		RegisterTime: p.registerTime, LastStartTime: p.lastStartTime, ReportTime: g.now().Unix(),
	}
	for name, value := range g.status.labels {
		if _, declared := r.Labels[name]; !declared {
			if r.Labels == nil {
				r.Labels = make(map[string]string)
			}
			r.Labels[name] = value
		}
	}
	if p.running {
		use := g.usageLocked(p)
		r.Actual, r.CPUUsage, r.MemUsage = statusRunning, use.cpu, use.mem
	}
	return r
}

// showLocked returns the current row of a process in the cached status, and counts the answer if it lags.
func (g *GSE) showLocked(key ProcKey) (Row, bool) {
	if g.status.frozen != nil {
		r, ok := g.status.frozen[key]
		return r, ok
	}
	g.catchUpLocked(key)
	if old := g.status.lagging[key]; old != nil {
		if countdown(&old.left) && old.left == 0 {
			delete(g.status.lagging, key)
			g.status.forget(key.Namespace)
		}
		return old.row, !old.absent
	}
	p := g.procs[key]
	if p == nil || !p.listed() {
		return Row{}, false
	}
	return g.rowLocked(p), true
}

// Status answers get_proc_status_v2. A host without a row is omitted: that means that the process is not
// registered.
func (g *GSE) Status(api string, it *Item) []Row {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	rows := make([]Row, 0, len(it.Targets))
	for _, t := range it.Targets {
		key := ProcKey{t.Key, it.Namespace, it.Name}
		if g.Faults.HidesRow(api, ProcKey{t.Machine, it.Namespace, it.Name}) {
			continue
		}
		if r, ok := g.showLocked(key); ok {
			if t.Agent == "" {
				r.IP = t.Spelling
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// Sync answers sync_proc_status: one page of a namespace and the number of all
// its rows.
func (g *GSE) Sync(api, namespace string, start, limit int) (rows []Row, total int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	rows = []Row{}
	for _, key := range g.indexLocked(namespace) {
		if !g.existsLocked(key) {
			continue
		}
		if total >= start && len(rows) < limit && !g.Faults.HidesRow(api, ProcKey{g.machineLocked(key.Host), key.Namespace, key.Name}) {
			if r, ok := g.showLocked(key); ok {
				rows = append(rows, r)
			}
		}
		total++
	}
	return rows, total
}

// existsLocked reports whether showLocked would return a row, without counting an answer.
func (g *GSE) existsLocked(key ProcKey) bool {
	if g.status.frozen != nil {
		_, ok := g.status.frozen[key]
		return ok
	}
	g.catchUpLocked(key)
	if old := g.status.lagging[key]; old != nil {
		return !old.absent
	}
	p := g.procs[key]
	return p != nil && p.listed()
}

func (g *GSE) indexLocked(namespace string) []ProcKey {
	if keys, ok := g.status.index[namespace]; ok {
		return keys
	}
	var keys []ProcKey
	add := func(key ProcKey) {
		if key.Namespace == namespace {
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
	slices.SortFunc(keys, func(a, b ProcKey) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host))
	})
	if g.status.index == nil {
		g.status.index = make(map[string][]ProcKey)
	}
	g.status.index[namespace] = keys
	return keys
}
