package gse

import (
	"context"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Names of endpoints, which are the same on every face that has them.
const (
	apiRegister   = "register_proc_info"
	apiUpdate     = "update_proc_info"
	apiUnregister = "unregister_proc_info"
	apiMulti      = "operate_proc_multi"
	apiOperate    = "operate_proc_v2"
	apiResult     = "get_proc_operate_result_v2"
	apiStatus     = "get_proc_status_v2"
	apiSync       = "sync_proc_status"
)

// face is one way to reach GSE, with its own paths and requests.
type face interface {
	// endpoint returns the API of this name. repeatable says whether calling it twice is safe.
	endpoint(name string, repeatable bool) bkapi.API
	// register, reregister and unregister implement the methods of fleet.Process, whose endpoints differ most
	// between the faces.
	register(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results
	reregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results
	unregister(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results
	// supervise hosts or unhosts a process (operation 3 or 4), if hosting is all that registering means for it.
	supervise(ctx context.Context, p *Process, op fleet.Operation, hosts []fleet.Host) fleet.Results
	// place returns the host of a listed row, by the name that requests on this face use for it.
	place(row procRow, supplier int) (fleet.Host, bool)
	// renames reports whether a result may name a host differently from the request.
	renames() bool
	// hostingRegisters reports whether hosting registers a process on this face even if it has limits.
	hostingRegisters() bool
	// limitsOperations reports whether an operation that leaves the process running carries the limits, in case
	// it registers the process. No document lists limits there, but NodeMan sends them.
	limitsOperations() bool
}

// hostV1 is a host in the v1 documents (register, update, unregister).
type hostV1 struct {
	IP         string `json:"ip"`
	CloudID    int    `json:"bk_cloud_id"`
	SupplierID int    `json:"bk_supplier_id"`
}

// hostV2 is a host in the v2 documents (operate, status).
type hostV2 struct {
	IP      string `json:"ip"`
	CloudID int    `json:"bk_cloud_id"`
}

func hostsV1(hosts []fleet.Host) []hostV1 {
	list := make([]hostV1, len(hosts))
	for i, h := range hosts {
		list[i] = hostV1{IP: h.IP().String(), CloudID: h.CloudID(), SupplierID: h.SupplierID()}
	}
	return list
}

// target names the hosts of a v2 request by agent id or by address. If both are given, the platform ignores the
// addresses.
type target struct {
	Hosts    []hostV2 `json:"hosts,omitempty"`
	AgentIDs []string `json:"agent_id_list,omitempty"`
}

// targetOf requires that all hosts are named in the same way (see batches).
func targetOf(hosts []fleet.Host) target {
	var t target
	for _, h := range hosts {
		if id := h.AgentID(); id != "" {
			t.AgentIDs = append(t.AgentIDs, id)
		} else {
			t.Hosts = append(t.Hosts, hostV2{IP: h.IP().String(), CloudID: h.CloudID()})
		}
	}
	return t
}

// keyV1 returns bk_cloud_id:bk_supplier_id:ip:namespace:name.
func keyV1(h fleet.Host, m Meta) string {
	return strings.Join([]string{strconv.Itoa(h.CloudID()), strconv.Itoa(h.SupplierID()), h.IP().String(), m.Namespace, m.Name}, ":")
}

// keyV2 returns bk_cloud_id:ip:namespace:name, or bk_agent_id:namespace:name if the request named the host by
// agent id.
func keyV2(id fleet.HostID, m Meta) string {
	return strings.Join([]string{id.Address(), m.Namespace, m.Name}, ":")
}
