package cmdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// Process is a process of a service instance, with CMDB's values. "" and 0 also stand for null.
type Process struct {
	ID   int64
	Name string
	// Host has no Name, OS or Places.
	Host  Host
	Place Place

	FuncName, WorkPath, PIDFile, User                  string
	StartCmd, StopCmd, RestartCmd, ReloadCmd, FaceStop string
	ProcNum, Priority, Timeout, StartCheckSecs         int64
}

// String names a process in messages.
func (p Process) String() string {
	return fmt.Sprintf("process %d (%s) of %s in %s", p.ID, p.Name, p.Host, p.Place)
}

// processFields names the fields to return.
var processFields = []string{
	"bk_process_id", "bk_process_name", "bk_func_name", "work_path", "pid_file", "user", "start_cmd", "stop_cmd", "restart_cmd", "reload_cmd",
	"face_stop_cmd", "proc_num", "priority", "timeout", "bk_start_check_secs",
}

// processRow is a row of list_process_related_info.
type processRow struct {
	Set struct {
		ID   int64  `json:"bk_set_id"`
		Name string `json:"bk_set_name"`
	} `json:"set"`
	Module struct {
		ID   int64  `json:"bk_module_id"`
		Name string `json:"bk_module_name"`
	} `json:"module"`
	Host    hostFieldsRow    `json:"host"`
	Process processFieldsRow `json:"process"`
}

// processFieldsRow holds these fields. An empty field is null.
type processFieldsRow struct {
	ID             int64  `json:"bk_process_id"`
	Name           string `json:"bk_process_name"`
	FuncName       string `json:"bk_func_name"`
	WorkPath       string `json:"work_path"`
	PIDFile        string `json:"pid_file"`
	User           string `json:"user"`
	StartCmd       string `json:"start_cmd"`
	StopCmd        string `json:"stop_cmd"`
	RestartCmd     string `json:"restart_cmd"`
	ReloadCmd      string `json:"reload_cmd"`
	FaceStop       string `json:"face_stop_cmd"`
	ProcNum        int64  `json:"proc_num"`
	Priority       int64  `json:"priority"`
	Timeout        int64  `json:"timeout"`
	StartCheckSecs int64  `json:"bk_start_check_secs"`
}

func (r processRow) id() int64 { return r.Process.ID }

// partial describes a process without its place or host. CMDB looks for these after the processes
// (listProcessRelatedInfo in process_instance.go), and has 0 for what it does not find any more. If it reads a whole
// business, as for GSEKit, it also has processes whose module no longer exists. A list by modules has none of these.
func (r processRow) partial() string {
	if r.Set.ID > 0 && r.Module.ID > 0 && r.Host.ID > 0 {
		return ""
	}
	return fmt.Sprintf("process %d (%s) without its set, module or host", r.Process.ID, r.Process.Name)
}

func (r processRow) process() Process {
	return r.Process.process(r.Host.host(), Place{SetID: r.Set.ID, SetName: r.Set.Name, ModuleID: r.Module.ID, ModuleName: r.Module.Name})
}

func (p processFieldsRow) process(on Host, in Place) Process {
	return Process{
		ID: p.ID, Name: p.Name, Host: on, Place: in,
		FuncName: p.FuncName, WorkPath: p.WorkPath, PIDFile: p.PIDFile, User: p.User,
		StartCmd: p.StartCmd, StopCmd: p.StopCmd, RestartCmd: p.RestartCmd, ReloadCmd: p.ReloadCmd, FaceStop: p.FaceStop,
		ProcNum: p.ProcNum, Priority: p.Priority, Timeout: p.Timeout, StartCheckSecs: p.StartCheckSecs,
	}
}

// Processes returns the processes of a scope, sorted by id.
func (c *Client) Processes(ctx context.Context, s Scope) ([]Process, error) {
	return settled(listProcesses.name, func() (located, error) {
		to, err := c.resolve(ctx, s)
		if err != nil || !to.ofHosts() {
			return located{target: to}, err
		}
		hosts, err := c.hostsIn(ctx, s, to)
		return located{to, hosts}, err
	}, func(in located) ([]Process, error) { return c.processesIn(ctx, s.Business, in) })
}

func (c *Client) processesIn(ctx context.Context, biz int64, in located) ([]Process, error) {
	switch {
	case in.modules != nil:
		return c.processes(ctx, biz, "module", "bk_module_ids", in.modules)
	case in.sets != nil:
		return c.processes(ctx, biz, "set", "bk_set_ids", in.sets)
	}
	if err := placed(in.hosts); err != nil {
		return nil, err
	}
	wanted := make(map[int64]bool, len(in.hosts))
	var modules []int64
	for _, h := range in.hosts {
		wanted[h.ID] = true
		for _, place := range h.Places {
			modules = append(modules, place.ModuleID)
		}
	}
	all, err := c.processes(ctx, biz, "module", "bk_module_ids", modules)
	return slices.DeleteFunc(all, func(p Process) bool { return !wanted[p.Host.ID] }), err
}

// processes returns the processes in some modules or sets, in as many requests as that takes.
// list_process_related_info has a form of filter of its own. CMDB ignores the documented filter by process,
// so it is not used.
func (c *Client) processes(ctx context.Context, biz int64, object, field string, ids []int64) ([]Process, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	chunks := slices.Collect(slices.Chunk(ids, maxFilter))
	rows, err := steady(listProcesses.name, len(chunks), func() ([]processRow, error) {
		return inChunks(chunks, func(chunk []int64) ([]processRow, error) {
			list := listing[processRow, int64]{endpoint: listProcesses, limit: 500, sort: "bk_process_id", id: processRow.id, partial: processRow.partial, params: params{
				"bk_biz_id": biz, "fields": processFields, object: params{field: chunk},
			}}
			return list.read(ctx, c)
		})
	})
	if err != nil {
		return nil, err
	}
	asked := make(map[int64]bool, len(ids))
	for _, id := range ids {
		asked[id] = true
	}
	var processes []Process
	for _, row := range rows {
		p := row.process()
		id := p.Place.ModuleID
		if object == "set" {
			id = p.Place.SetID
		}
		if p.ID <= 0 || !asked[id] {
			return nil, &BeyondError{API: listProcesses.name, What: p.String()}
		}
		processes = append(processes, p)
	}
	slices.SortFunc(processes, func(a, b Process) int { return cmp.Compare(a.ID, b.ID) })
	return processes, nil
}
