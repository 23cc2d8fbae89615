package gse

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"

	json "github.com/go-json-experiment/json/v1"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// statusRequest is the body of get_proc_status_v2.
type statusRequest struct {
	Meta Meta `json:"meta"`
	target
}

// statusAnswer is `data` of get_proc_status_v2 and sync_proc_status.
type statusAnswer struct {
	Count     procapi.Number `json:"count"`
	ProcInfos procRows       `json:"proc_infos"`
}

// Plain implements [bkapi.Plain] for the usual case, in which every row can be read.
func (a *statusAnswer) Plain() (form any, take func() bool) {
	var wire struct {
		Count     procapi.Number `json:"count"`
		ProcInfos []procRow      `json:"proc_infos"`
	}
	return &wire, func() bool {
		a.Count, a.ProcInfos.rows = wire.Count, wire.ProcInfos
		return len(wire.ProcInfos) > 0
	}
}

// UnmarshalJSON reads any other form. A non-empty object with neither a count nor a member for rows is the
// answer to another question, so it counts as unreadable.
func (a *statusAnswer) UnmarshalJSON(raw []byte) error {
	var wire struct {
		Count     procapi.Number `json:"count"`
		ProcInfos procRows       `json:"proc_infos"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return err
	}
	a.Count, a.ProcInfos = wire.Count, wire.ProcInfos
	if !a.Count.Known && !a.ProcInfos.given {
		var others map[string]json.RawMessage
		a.ProcInfos.unreadable = json.Unmarshal(raw, &others) != nil || len(others) > 0
	}
	return nil
}

// isList reports whether the answer lists rows, or says how many there are. With a count, null may stand for no
// rows.
func (a *statusAnswer) isList() bool {
	return a.Count.Known || len(a.ProcInfos.rows) > 0 || a.ProcInfos.listed
}

// procRows holds the rows that could be read. unreadable says that some could not, so a host without a row may
// have one of those. given says that the answer has a member for rows, and listed that it is not null.
type procRows struct {
	rows          []procRow
	unreadable    bool
	given, listed bool
}

// UnmarshalJSON never fails.
func (r *procRows) UnmarshalJSON(raw []byte) error {
	*r = procRows{given: true, listed: string(raw) != "null"}
	if json.Unmarshal(raw, &r.rows) == nil { // usually all can be read
		return nil
	}
	r.rows = nil
	var all procapi.Many[json.RawMessage]
	_ = all.UnmarshalJSON(raw)
	for _, one := range all {
		var row procRow
		if json.Unmarshal(one, &row) != nil {
			r.unreadable = true
			continue
		}
		r.rows = append(r.rows, row)
	}
	return nil
}

// procRow is one process on one host in the cached status. According to the document, flag is the desired state
// and status the actual one: 0 unregistered, 1 running, 2 stopped.
type procRow struct {
	Meta struct {
		Namespace procapi.Text  `json:"namespace"`
		Name      procapi.Text  `json:"name"`
		Labels    procapi.Texts `json:"labels"`
	} `json:"meta"`
	Host struct {
		IP         procapi.Text   `json:"ip"`
		CloudID    procapi.Number `json:"bk_cloud_id"`
		SupplierID procapi.Number `json:"bk_supplier_id"`
		AgentID    procapi.Text   `json:"bk_agent_id"`
	} `json:"host"`
	AgentID      procapi.Text   `json:"bk_agent_id"`
	Status       procapi.Number `json:"status"`
	IsAuto       procapi.Flag   `json:"isauto"`
	PID          procapi.Number `json:"pid"`
	Version      procapi.Text   `json:"version"`
	RegisterTime procapi.Time   `json:"register_time"`
	StartTime    procapi.Time   `json:"last_start_time"`
	CPUUsage     procapi.Number `json:"cpu_usage"`
	MemUsage     procapi.Number `json:"mem_usage"`

	assumed bool // the cloud area was taken from a host in the request
}

// rowNames returns a row with only the members that name a host, from the content of a result.
func rowNames(content string) procRow {
	var row procRow
	_ = json.Unmarshal([]byte(content), &row.Host) // unreadable content has no names
	return row
}

// byAddress returns the host of a row by its address and cloud area. The gateway may omit `host`, put
// bk_agent_id inside it, or put the address in place of the agent id.
func (r procRow) byAddress(supplier int) (fleet.Host, bool) {
	ip, cloud := r.ip(), r.Host.CloudID
	if whole := cloud.Known && cloud.Value == float64(cloud.Int()); !whole || !ip.IsValid() {
		h, err := fleet.ParseHost(r.agentID(), supplier)
		return h, err == nil && h.AgentID() == ""
	}
	if r.Host.SupplierID.Known {
		supplier = int(r.Host.SupplierID.Int())
	}
	return fleet.NewHost(int(cloud.Int()), supplier, ip), true
}

// ip returns the address of a row, or the zero Addr if it has none.
func (r procRow) ip() netip.Addr {
	ip, _ := netip.ParseAddr(string(r.Host.IP))
	return ip.Unmap()
}

func (r procRow) byAgent() (fleet.Host, bool) {
	id := r.agentID()
	if id == "" {
		return fleet.Host{}, false
	}
	h, err := fleet.ParseHost(id, 0)
	return h, err == nil && h.AgentID() != ""
}

func (r procRow) agentID() string { return cmp.Or(string(r.AgentID), string(r.Host.AgentID)) }

func (c *Client) statusOf(r procRow) fleet.Status {
	s := fleet.Status{
		State:        fleet.Unknown,
		Hosted:       r.IsAuto.Value,
		HostedKnown:  r.IsAuto.Known,
		Labels:       r.Meta.Labels,
		PID:          r.PID.Int(),
		Version:      c.opts.Redact(procapi.CleanVersion(string(r.Version))),
		CPUUsage:     r.CPUUsage.Value,
		MemUsage:     r.MemUsage.Value,
		RegisterTime: int64(r.RegisterTime),
		StartTime:    int64(r.StartTime),
	}
	switch {
	case !r.Status.Known:
		s.Message = "the platform's row has no status"
	case r.Status.Value == 0:
		s.State = fleet.Unregistered
	case r.Status.Value == 1:
		s.State = fleet.Running
	case r.Status.Value == 2:
		s.State = fleet.Stopped
	default:
		s.Message = fmt.Sprintf("the platform's row has status %v, which no document explains", r.Status.Value)
	}
	return s
}

// LiveStatus implements fleet.Process by means of operation 2 and its result. It returns an error only if the
// call itself failed and no host got an answer.
func (p *Process) LiveStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	if p.spec == nil {
		return nil, fleet.ErrNoSpec
	}
	kept := procapi.Contents{Name: p.meta.Name}
	results := p.operate(ctx, procapi.Query, hosts, procapi.Request{Contents: &kept})
	return kept.Statuses(hosts, results)
}
