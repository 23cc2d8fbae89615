// Package core is BlueKing's process service without the HTTP API. It has hosts and their agents,
// processes, tasks, supervision, commands, the cached status and the state file. It imports neither the
// faces, which call it, nor the faults, which it gets from [Faults].
package core

import (
	"encoding/json"
	"io"
	"maps"
	"net/netip"
	"sync"
	"time"
)

// GSE is the process service and its agents: hosts, processes, tasks and the cached status. It does not
// know the API; faces translate to it. Its methods are safe for concurrent use, after Configure.
type GSE struct {
	Settings

	closing chan struct{} // closed by Close
	wg      sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	hosts       map[HostKey]bool
	addresses   map[string]Target  // by agent id
	agentIDs    map[HostKey]string // by address
	upgraded    map[HostKey]bool   // machines, by upgrade_to_agent_id
	admitted    []netip.Prefix
	unreachable map[HostKey]bool
	procs       map[ProcKey]*process
	registered  map[ProcKey]int64 // the last register_time assigned, kept after the process is deleted
	nextPID     int
	tasks       map[string]*task
	taskOrder   []string
	taskSeq     int
	due         []*operation // operations that take effect later
	repeats     map[repeatKey]*operation
	status      statusCache
	executions  []Execution
	missed      map[ProcKey]Last // failed operations that should have created a process
	procFiles   map[HostKey]keptFile
	changed     chan struct{} // capacity 1: there is something to save
	saving      sync.Mutex
	locals      map[ProcKey]*localProcess
}

// Settings are the differences between platforms. The fields of the same names of the package simulator's
// Server describe them.
type Settings struct {
	AdmitAgents         bool
	EntryPerName        bool
	RegisterHosts       bool
	UpdateRefuses       bool
	SuppliersApart      bool
	HostingStarts       bool
	StartReplaces       bool
	HostingOnce         bool
	HostingSilent       bool
	RestartKeepsHosting bool
	ExpiredEmpty        bool
	AgentsWithoutTimes  bool

	ReregisteringKeepsTime bool
	StartingKeepsTime      bool
	HostingKeepsTime       bool

	// ProcPath is where agents keep what they host, DefaultProcPath if empty.
	ProcPath string

	LagCalls  int
	Lag       time.Duration
	RowLabels map[string]string

	Local         bool
	Root          string
	Second        time.Duration
	Supervise     time.Duration
	StopProcesses bool
	StateFile     string

	MaxTasks      int
	MaxExecutions int

	ErrorLog io.Writer
	Now      func() time.Time
	// Faults, if non-nil, decides which faults apply.
	Faults Faults
	// CMDB is kept in the state file as well, if non-nil.
	CMDB Kept
}

// Kept is another package's data that is stored in the state file. That package calls GSE.Changed after a
// change.
type Kept interface {
	json.Marshaler
	json.Unmarshaler
}

// New returns a process service without hosts.
func New() *GSE {
	return &GSE{
		Settings:    Settings{Faults: noFaults{}},
		closing:     make(chan struct{}),
		hosts:       make(map[HostKey]bool),
		addresses:   make(map[string]Target),
		agentIDs:    make(map[HostKey]string),
		upgraded:    make(map[HostKey]bool),
		unreachable: make(map[HostKey]bool),
		procs:       make(map[ProcKey]*process),
		registered:  make(map[ProcKey]int64),
		tasks:       make(map[string]*task),
		repeats:     make(map[repeatKey]*operation),
		locals:      make(map[ProcKey]*localProcess),
		missed:      make(map[ProcKey]Last),
		procFiles:   make(map[HostKey]keptFile),
		changed:     make(chan struct{}, 1),
		nextPID:     1000,
	}
}

// Configure gives the service its settings, before it is used.
func (g *GSE) Configure(set Settings) {
	if set.Faults == nil {
		set.Faults = noFaults{}
	}
	g.Settings = set
	g.status.behind = set.LagCalls
	g.status.labels = maps.Clone(set.RowLabels)
}

// Start loads the state file and begins supervision and saving, if the settings say so.
func (g *GSE) Start() error {
	if g.StateFile != "" {
		if err := g.loadState(); err != nil {
			return err
		}
		g.wg.Go(g.saveLoop)
	}
	if g.Supervise > 0 {
		g.wg.Go(g.superviseLoop)
	}
	return nil
}

// Close ends what Start began, waits for commands, and saves.
func (g *GSE) Close() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil
	}
	g.closed = true
	g.mu.Unlock()
	close(g.closing)
	g.wg.Wait()
	if g.StopProcesses {
		g.stopLocalProcesses()
	}
	if g.StateFile != "" {
		return g.saveState()
	}
	return nil
}

// Closing returns a channel that is closed when Close is called.
func (g *GSE) Closing() <-chan struct{} { return g.closing }

func (g *GSE) now() time.Time {
	if g.Now != nil {
		return g.Now()
	}
	return time.Now()
}

// Changed requests a save after a change of [Kept] data.
func (g *GSE) Changed() { g.changedLocked() }

// changedLocked requests a save.
func (g *GSE) changedLocked() {
	select {
	case g.changed <- struct{}{}:
	default:
	}
}
