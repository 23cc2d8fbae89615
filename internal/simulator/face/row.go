package face

import "github.com/blueking/terraform-provider-bk/internal/simulator/core"

// shownRow is one of proc_infos, with the names of get_proc_status_v2's document.
type shownRow struct {
	Meta          rowMeta  `json:"meta"`
	AgentID       *string  `json:"bk_agent_id,omitempty"` // at the gateway
	Host          *rowHost `json:"host,omitempty"`
	Flag          int      `json:"flag"`   // wanted: 1 running, 2 stopped
	Status        int      `json:"status"` // actual: 1 running, 2 stopped
	IsAuto        bool     `json:"isauto"`
	Message       string   `json:"message"`
	PID           int      `json:"pid"`
	Version       string   `json:"version"`
	RegisterTime  int64    `json:"register_time"`
	LastStartTime int64    `json:"last_start_time"`
	ReportTime    int64    `json:"report_time"`
	CPUUsage      float64  `json:"cpu_usage"`
	MemUsage      float64  `json:"mem_usage"`
	FD            int      `json:"fd"`
	Disk          int      `json:"disk"`
	Net           int      `json:"net"`
}

type rowMeta struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
}

type rowHost struct {
	IP         string `json:"ip"`
	CloudID    int64  `json:"bk_cloud_id"`
	SupplierID *int64 `json:"bk_supplier_id,omitempty"`
}

func showRow(r core.Row) shownRow {
	shown := shownRow{
		Meta:         rowMeta{Namespace: r.Namespace, Name: r.Name, Labels: r.Labels},
		Host:         &rowHost{IP: r.IP, CloudID: r.Cloud},
		Flag:         r.Wanted,
		Status:       r.Actual,
		IsAuto:       r.Hosted,
		Message:      r.Message,
		PID:          r.PID,
		Version:      r.Version,
		RegisterTime: r.RegisterTime, LastStartTime: r.LastStartTime, ReportTime: r.ReportTime,
		CPUUsage: r.CPUUsage, MemUsage: r.MemUsage,
	}
	if shown.Meta.Labels == nil {
		shown.Meta.Labels = map[string]string{}
	}
	return shown
}

func esbRows(rows []core.Row, supplier bool) []shownRow {
	shown := make([]shownRow, 0, len(rows))
	for _, r := range rows {
		s := showRow(r)
		if supplier {
			s.Host.SupplierID = &r.Supplier
		}
		shown = append(shown, s)
	}
	return shown
}

// rows returns rows with bk_agent_id, which is empty if only the host's address is known, and with host,
// whose ip is empty if no address is known. Clients disagree about both, so the settings may omit either,
// and a fault may choose what is included.
func (f gatewayFace) rows(rows []core.Row, names string) []shownRow {
	host, agent := !f.RowsWithoutHost, !f.RowsWithoutAgentID
	if names != "" {
		host, agent = names == "host" || names == "both", names == "agent" || names == "both"
	}
	shown := make([]shownRow, 0, len(rows))
	for _, r := range rows {
		s := showRow(r)
		if agent {
			s.AgentID = &r.AgentID
		}
		if !host {
			s.Host = nil
		}
		shown = append(shown, s)
	}
	return shown
}
