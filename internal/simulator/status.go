package simulator

import (
	"cmp"
	"maps"
	"slices"
)

// row is one process in the cached status. Its JSON names are those of
// proc_infos in get_proc_status_v2's document.
type row struct {
	Meta          rowMeta `json:"meta"`
	Host          rowHost `json:"host"`
	Flag          int     `json:"flag"`   // wanted: 1 running, 2 stopped
	Status        int     `json:"status"` // actual: 1 running, 2 stopped
	IsAuto        bool    `json:"isauto"`
	Message       string  `json:"message"`
	PID           int     `json:"pid"`
	Version       string  `json:"version"`
	RegisterTime  int64   `json:"register_time"`
	LastStartTime int64   `json:"last_start_time"`
	ReportTime    int64   `json:"report_time"`
	CPUUsage      float64 `json:"cpu_usage"`
	MemUsage      float64 `json:"mem_usage"`
	FD            int     `json:"fd"`
	Disk          int     `json:"disk"`
	Net           int     `json:"net"`

	agentID  string // which the gateway shows
	supplier int64
}

type rowMeta struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
}

type rowHost struct {
	IP      string `json:"ip"`
	CloudID int64  `json:"bk_cloud_id"`
	// SupplierID is in the rows of sync_proc_status at the ESB alone.
	SupplierID *int64 `json:"bk_supplier_id,omitempty"`
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
func (s *Server) FreezeStatus() {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settleLocked()
	s.status.frozen = make(map[procKey]row, len(s.procs))
	for key, p := range s.procs {
		if p.listed() {
			s.status.frozen[key] = s.rowLocked(p)
		}
	}
	s.status.index = nil
}

// ThawStatus ends FreezeStatus.
func (s *Server) ThawStatus() {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.frozen = nil
	s.status.index = nil
}

// beforeChangeLocked keeps the row that LagCalls will go on to show.
func (s *Server) beforeChangeLocked(key procKey) {
	if s.LagCalls <= 0 {
		return
	}
	if s.status.lagging == nil {
		s.status.lagging = make(map[procKey]*lag)
	}
	old := s.status.lagging[key]
	if old == nil {
		old = &lag{absent: true}
		if p := s.procs[key]; p != nil && p.listed() {
			old.row, old.absent = s.rowLocked(p), false
		}
		s.status.lagging[key] = old
		s.status.forget(key.namespace)
	}
	old.left = s.LagCalls
}

func (s *Server) rowLocked(p *process) row {
	s.observeLocked(p)
	r := row{
		Meta:          rowMeta{Namespace: p.key.namespace, Name: p.key.name, Labels: maps.Clone(p.labels)},
		Host:          rowHost{IP: p.target.address(), CloudID: p.target.cloud},
		Flag:          p.wanted,
		Status:        statusStopped,
		IsAuto:        p.hosted,
		Message:       p.message,
		PID:           p.pid,
		Version:       p.version,
		RegisterTime:  p.registerTime,
		LastStartTime: p.lastStartTime,
		ReportTime:    s.now().Unix(),
		agentID:       s.agentIDLocked(p.target),
		supplier:      p.target.supplier,
	}
	if r.Meta.Labels == nil {
		r.Meta.Labels = map[string]string{}
	}
	if p.running {
		use := s.usageLocked(p)
		r.Status, r.CPUUsage, r.MemUsage = statusRunning, use.cpu, use.mem
	}
	return r
}

// showLocked returns the row of a process as the cached status has it now, and
// counts the answer where it lags.
func (s *Server) showLocked(key procKey) (row, bool) {
	if s.status.frozen != nil {
		r, ok := s.status.frozen[key]
		return r, ok
	}
	if old := s.status.lagging[key]; old != nil {
		old.left--
		if old.left <= 0 {
			delete(s.status.lagging, key)
			s.status.forget(key.namespace)
		}
		return old.row, !old.absent
	}
	p := s.procs[key]
	if p == nil || !p.listed() {
		return row{}, false
	}
	return s.rowLocked(p), true
}

// statusLocked answers get_proc_status_v2. A host without a row is left out:
// that is how an unregistered process looks.
func (s *Server) statusLocked(api string, it *item) []row {
	rows := make([]row, 0, len(it.targets))
	for _, t := range it.targets {
		key := procKey{t.key, it.namespace, it.name}
		if s.hiddenLocked(api, key) {
			continue
		}
		if r, ok := s.showLocked(key); ok {
			if t.agent == "" {
				r.Host.IP = t.spelling
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// syncLocked answers sync_proc_status: one page of a namespace and the number
// of all its rows.
func (s *Server) syncLocked(api, namespace string, start, limit int) (rows []row, total int) {
	rows = []row{}
	for _, key := range s.indexLocked(namespace) {
		if !s.existsLocked(key) {
			continue
		}
		if total >= start && len(rows) < limit && !s.hiddenLocked(api, key) {
			if r, ok := s.showLocked(key); ok {
				rows = append(rows, r)
			}
		}
		total++
	}
	return rows, total
}

// existsLocked is showLocked without a look at the row.
func (s *Server) existsLocked(key procKey) bool {
	if s.status.frozen != nil {
		_, ok := s.status.frozen[key]
		return ok
	}
	if old := s.status.lagging[key]; old != nil {
		return !old.absent
	}
	p := s.procs[key]
	return p != nil && p.listed()
}

func (s *Server) indexLocked(namespace string) []procKey {
	if keys, ok := s.status.index[namespace]; ok {
		return keys
	}
	var keys []procKey
	add := func(key procKey) {
		if key.namespace == namespace {
			keys = append(keys, key)
		}
	}
	if s.status.frozen != nil {
		for key := range s.status.frozen {
			add(key)
		}
	} else {
		for key := range s.procs {
			add(key)
		}
		for key := range s.status.lagging {
			if _, also := s.procs[key]; !also {
				add(key)
			}
		}
	}
	slices.SortFunc(keys, func(a, b procKey) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.host, b.host))
	})
	if s.status.index == nil {
		s.status.index = make(map[string][]procKey)
	}
	s.status.index[namespace] = keys
	return keys
}
