package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// savedState is the state file. Calls, faults and tasks are not in it: an earlier task is unknown, like
// an expired one. Hosts are declared by AddHost and Admit at each start, and by CMDB.
type savedState struct {
	Version     int         `json:"version"`
	Unreachable []HostKey   `json:"unreachable"`
	TaskSeq     int         `json:"task_seq"`
	NextPID     int         `json:"next_pid"`
	Processes   []savedProc `json:"processes"`
	Forgotten   []savedTime `json:"forgotten"`
	// Upgraded are the machines with one entry for both names, by agent id.
	Upgraded map[string]HostKey `json:"upgraded,omitempty"`
	CMDB     json.RawMessage    `json:"cmdb,omitempty"`
	// ProcFiles are the agents' files that were changed by hand.
	ProcFiles map[HostKey]keptFile `json:"proc_files,omitempty"`
}

const stateVersion = 1

type savedProc struct {
	Process
	Wanted   int   `json:"wanted"`
	Died     bool  `json:"died"`
	Supplier int64 `json:"bk_supplier_id,omitempty"`
	Supplied bool  `json:"supplied,omitempty"`

	WrittenBy int            `json:"written_by,omitempty"`
	WrittenAt int64          `json:"written_at,omitempty"`
	ByHand    map[string]any `json:"by_hand,omitempty"`
}

// savedTime is the last register_time of a process that was deleted. It is kept so that a later
// registration gets a greater one.
type savedTime struct {
	Host         HostKey `json:"host"`
	Namespace    string  `json:"namespace"`
	Name         string  `json:"name"`
	RegisterTime int64   `json:"register_time"`
}

// saveDelay combines the changes of a burst into one write.
const saveDelay = 200 * time.Millisecond

func (g *GSE) saveLoop() {
	for {
		select {
		case <-g.closing:
			return // Close saves
		case <-g.changed:
		}
		g.pause(saveDelay)
		if err := g.saveState(); err != nil {
			g.logf("state file: %v", err)
		}
	}
}

func (g *GSE) logf(format string, args ...any) {
	if g.ErrorLog != nil {
		_, _ = fmt.Fprintf(g.ErrorLog, format+"\n", args...)
	}
}

// saveState replaces the state file atomically, so that a crash leaves the old one or the new one.
func (g *GSE) saveState() error {
	g.saving.Lock()
	defer g.saving.Unlock()
	state := g.stateNow()
	var err error
	if g.CMDB != nil {
		// CMDB calls this service while it holds its own lock, so it must not be called with ours held.
		if state.CMDB, err = g.CMDB.MarshalJSON(); err != nil {
			return err
		}
	}
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	dir := filepath.Dir(g.StateFile)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(g.StateFile)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), g.StateFile)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func (g *GSE) stateNow() savedState {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	state := savedState{Version: stateVersion, TaskSeq: g.taskSeq, NextPID: g.nextPID, ProcFiles: maps.Clone(g.procFiles)}
	for key := range g.unreachable {
		state.Unreachable = append(state.Unreachable, key)
	}
	slices.Sort(state.Unreachable)
	for _, p := range g.procs {
		state.Processes = append(state.Processes, savedProc{
			Process: p.snapshot(), Wanted: p.wanted, Died: p.died, Supplier: p.target.Supplier, Supplied: p.supplied,
			WrittenBy: p.writtenBy, WrittenAt: p.writtenAt, ByHand: p.byHand,
		})
	}
	for machine := range g.upgraded {
		if state.Upgraded == nil {
			state.Upgraded = make(map[string]HostKey)
		}
		state.Upgraded[g.agentIDs[machine]] = machine
	}
	for key, at := range g.registered {
		if g.procs[key] == nil {
			state.Forgotten = append(state.Forgotten, savedTime{key.Host, key.Namespace, key.Name, at})
		}
	}
	return state
}

func (g *GSE) loadState() error {
	data, err := os.ReadFile(g.StateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var state savedState
	if err := json.Unmarshal(data, &state); err != nil {
		return fmt.Errorf("state file %s: %w", g.StateFile, err)
	}
	if state.Version != stateVersion {
		return fmt.Errorf("state file %s: version %d is not %d", g.StateFile, state.Version, stateVersion)
	}
	// CMDB comes first, because hosts added to it have processes here.
	if g.CMDB != nil && len(state.CMDB) > 0 {
		if err := g.CMDB.UnmarshalJSON(state.CMDB); err != nil {
			return fmt.Errorf("state file %s: %w", g.StateFile, err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taskSeq, g.nextPID = state.TaskSeq, state.NextPID
	for _, key := range state.Unreachable {
		g.unreachable[key] = true
	}
	for agentID, machine := range state.Upgraded {
		if err := g.linkLocked(agentID, string(machine)); err != nil {
			return fmt.Errorf("state file %s: %w", g.StateFile, err)
		}
		g.upgraded[machine] = true
	}
	for _, saved := range state.Forgotten {
		g.registered[ProcKey{saved.Host, saved.Namespace, saved.Name}] = saved.RegisterTime
	}
	for _, saved := range state.Processes {
		p, err := saved.process()
		if err != nil {
			return fmt.Errorf("state file %s: %w", g.StateFile, err)
		}
		p.target = g.resolveLocked(p.target)
		if other := g.underOtherNameLocked(p.key); other != nil {
			p.instance = other.instance
		}
		g.procs[p.key] = p
		g.registered[p.key] = p.registerTime
	}
	maps.Copy(g.procFiles, state.ProcFiles)
	g.status.index, g.status.lagging, g.status.machines = nil, nil, nil
	return nil
}

func (saved savedProc) process() (*process, error) {
	t, err := targetOf(saved.Host)
	if err != nil {
		return nil, err
	}
	t.Supplier = saved.Supplier
	sp, err := parseSpec(saved.Spec)
	if err != nil {
		return nil, fmt.Errorf("spec of %s:%s on %s: %w", saved.Namespace, saved.Name, saved.Host, err)
	}
	return &process{
		key:          ProcKey{t.Key, saved.Namespace, saved.Name},
		target:       t,
		registered:   saved.Registered,
		hosts:        saved.Hosted,
		supplied:     saved.Supplied,
		registerTime: saved.RegisterTime,
		labels:       saved.Labels,
		spec:         sp,
		instance: &instance{
			hosted:        saved.Hosted,
			running:       saved.Running,
			wanted:        saved.Wanted,
			pid:           saved.PID,
			version:       saved.Version,
			lastStartTime: saved.LastStartTime,
			died:          saved.Died,
			writtenBy:     saved.WrittenBy,
			writtenAt:     saved.WrittenAt,
			byHand:        saved.ByHand,
		},
	}, nil
}
