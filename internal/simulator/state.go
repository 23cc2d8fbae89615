package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// savedState is the state file. Calls, faults and tasks are not in it: a task
// of an earlier life is unknown, like an expired one. Which hosts there are is
// said by AddHost and Admit each time.
type savedState struct {
	Version     int         `json:"version"`
	Unreachable []hostKey   `json:"unreachable"`
	TaskSeq     int         `json:"task_seq"`
	NextPID     int         `json:"next_pid"`
	Processes   []savedProc `json:"processes"`
	Forgotten   []savedTime `json:"forgotten"`
}

const stateVersion = 1

type savedProc struct {
	Process
	Wanted   int   `json:"wanted"`
	Died     bool  `json:"died"`
	Supplier int64 `json:"bk_supplier_id,omitempty"`
}

// savedTime is the last register_time of a process that is gone, kept so that a
// later registration gets a greater one.
type savedTime struct {
	Host         hostKey `json:"host"`
	Namespace    string  `json:"namespace"`
	Name         string  `json:"name"`
	RegisterTime int64   `json:"register_time"`
}

// saveDelay gathers the changes of a burst into one write.
const saveDelay = 200 * time.Millisecond

func (s *Server) saveLoop() {
	for {
		select {
		case <-s.closing:
			return // Close saves
		case <-s.changed:
		}
		s.pause(saveDelay)
		if err := s.saveState(); err != nil {
			s.logf("state file: %v", err)
		}
	}
}

func (s *Server) logf(format string, args ...any) {
	if s.ErrorLog != nil {
		_, _ = fmt.Fprintf(s.ErrorLog, format+"\n", args...)
	}
}

// saveState replaces the state file in one step, so that a crash leaves the old
// one or the new one.
func (s *Server) saveState() error {
	s.saving.Lock()
	defer s.saving.Unlock()
	data, err := json.Marshal(s.stateNow())
	if err != nil {
		return err
	}
	dir := filepath.Dir(s.StateFile)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(s.StateFile)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.StateFile)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func (s *Server) stateNow() savedState {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settleLocked()
	state := savedState{Version: stateVersion, TaskSeq: s.taskSeq, NextPID: s.nextPID}
	for key := range s.unreachable {
		state.Unreachable = append(state.Unreachable, key)
	}
	slices.Sort(state.Unreachable)
	for _, p := range s.procs {
		state.Processes = append(state.Processes, savedProc{Process: p.snapshot(), Wanted: p.wanted, Died: p.died, Supplier: p.target.supplier})
	}
	for key, at := range s.registered {
		if s.procs[key] == nil {
			state.Forgotten = append(state.Forgotten, savedTime{key.host, key.namespace, key.name, at})
		}
	}
	return state
}

// loadState reads the state file; there need not be one yet.
func (s *Server) loadState() error {
	data, err := os.ReadFile(s.StateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var state savedState
	if err := json.Unmarshal(data, &state); err != nil {
		return fmt.Errorf("state file %s: %w", s.StateFile, err)
	}
	if state.Version != stateVersion {
		return fmt.Errorf("state file %s: version %d is not %d", s.StateFile, state.Version, stateVersion)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taskSeq, s.nextPID = state.TaskSeq, state.NextPID
	for _, key := range state.Unreachable {
		s.unreachable[key] = true
	}
	for _, saved := range state.Forgotten {
		s.registered[procKey{saved.Host, saved.Namespace, saved.Name}] = saved.RegisterTime
	}
	for _, saved := range state.Processes {
		p, err := saved.process()
		if err != nil {
			return fmt.Errorf("state file %s: %w", s.StateFile, err)
		}
		s.procs[p.key] = p
		s.registered[p.key] = p.registerTime
	}
	s.status = statusCache{}
	return nil
}

func (saved savedProc) process() (*process, error) {
	t, err := targetOf(saved.Host)
	if err != nil {
		return nil, err
	}
	t.supplier = saved.Supplier
	sp, err := parseSpec(saved.Spec)
	if err != nil {
		return nil, fmt.Errorf("spec of %s:%s on %s: %w", saved.Namespace, saved.Name, saved.Host, err)
	}
	return &process{
		key:           procKey{t.key, saved.Namespace, saved.Name},
		target:        t,
		registered:    saved.Registered,
		hosted:        saved.Hosted,
		running:       saved.Running,
		wanted:        saved.Wanted,
		pid:           saved.PID,
		version:       saved.Version,
		registerTime:  saved.RegisterTime,
		lastStartTime: saved.LastStartTime,
		labels:        saved.Labels,
		spec:          sp,
		died:          saved.Died,
	}, nil
}
