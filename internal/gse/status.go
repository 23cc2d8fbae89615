package gse

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// statusRequest is the body of get_proc_status_v2.
type statusRequest struct {
	Meta Meta `json:"meta"`
	target
}

// statusAnswer is `data` of get_proc_status_v2 and sync_proc_status.
type statusAnswer struct {
	Count     number        `json:"count"`
	ProcInfos many[procRow] `json:"proc_infos"`
}

// procRow is one process on one host as the platform has it on file. The
// document calls flag the wanted and status the actual state: 0 unregistered,
// 1 running, 2 stopped.
type procRow struct {
	Meta struct {
		Namespace text  `json:"namespace"`
		Name      text  `json:"name"`
		Labels    texts `json:"labels"`
	} `json:"meta"`
	Host struct {
		IP         text   `json:"ip"`
		CloudID    number `json:"bk_cloud_id"`
		SupplierID number `json:"bk_supplier_id"`
		AgentID    text   `json:"bk_agent_id"`
	} `json:"host"`
	AgentID      text   `json:"bk_agent_id"`
	Status       number `json:"status"`
	IsAuto       flag   `json:"isauto"`
	PID          number `json:"pid"`
	Version      text   `json:"version"`
	RegisterTime number `json:"register_time"`
	CPUUsage     number `json:"cpu_usage"`
	MemUsage     number `json:"mem_usage"`
}

// host is where a row belongs by its address. The gateway may leave the address
// out, or put the agent id inside it.
func (r procRow) host(supplier int) (fleet.Host, bool) {
	ip, err := netip.ParseAddr(string(r.Host.IP))
	if err != nil {
		return fleet.Host{}, false
	}
	if r.Host.SupplierID.known {
		supplier = int(r.Host.SupplierID.int())
	}
	return fleet.NewHost(int(r.Host.CloudID.int()), supplier, ip), true
}

// agent is where a row belongs by its agent id.
func (r procRow) agent() (fleet.Host, bool) {
	h, err := fleet.ParseHost(cmp.Or(string(r.AgentID), string(r.Host.AgentID)), 0)
	return h, err == nil && h.AgentID() != ""
}

func (r procRow) status() fleet.Status {
	s := fleet.Status{
		State:        fleet.Unknown,
		Hosted:       r.IsAuto.value,
		HostedKnown:  r.IsAuto.known,
		Labels:       r.Meta.Labels,
		PID:          r.PID.int(),
		Version:      cleanVersion(string(r.Version)),
		CPUUsage:     r.CPUUsage.value,
		MemUsage:     r.MemUsage.value,
		RegisterTime: r.RegisterTime.int(),
	}
	switch {
	case !r.Status.known:
		s.Message = "the platform's row has no status"
	case r.Status.value == 0:
		s.State = fleet.Unregistered
	case r.Status.value == 1:
		s.State = fleet.Running
	case r.Status.value == 2:
		s.State = fleet.Stopped
	default:
		s.Message = fmt.Sprintf("the platform's row has status %v, which no document explains", r.Status.value)
	}
	return s
}

// CachedStatus implements fleet.Process. A host without a row is not registered.
func (p *Process) CachedStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	var (
		statuses = make(map[fleet.Host]fleet.Status, len(hosts))
		api      = p.client.face.endpoint(apiStatus, true)
		mu       sync.Mutex
	)
	group, ctx := errgroup.WithContext(ctx)
	for _, batch := range p.client.batches(hosts) {
		group.Go(func() error {
			var answer statusAnswer
			// The labels play no part in the question.
			meta := Meta{Namespace: p.meta.Namespace, Name: p.meta.Name}
			if _, err := p.client.api.Call(ctx, api, statusRequest{Meta: meta, target: targetOf(batch)}, &answer); err != nil {
				return err
			}
			rows := make(map[fleet.Host]fleet.Status, len(answer.ProcInfos))
			for _, row := range answer.ProcInfos {
				if string(row.Meta.Namespace) != meta.Namespace || string(row.Meta.Name) != meta.Name {
					continue
				}
				if h, ok := row.agent(); ok {
					rows[h] = row.status()
				}
				if h, ok := row.host(0); ok {
					rows[h.Place()] = row.status()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for _, h := range batch {
				status, found := rows[h.Place()]
				if !found {
					status = fleet.Status{State: fleet.Unregistered}
				}
				statuses[h] = status
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return statuses, nil
}

// LiveStatus implements fleet.Process: operation 2, and its result. An error is
// returned only where no host got an answer because the call itself failed.
func (p *Process) LiveStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	results, kept := p.operate(ctx, query, hosts)
	var (
		statuses = make(map[fleet.Host]fleet.Status, len(hosts))
		failed   error
		answered bool
	)
	for _, h := range hosts {
		o := results[h]
		switch o.Verdict {
		case fleet.Done:
			statuses[h] = parseStatus(kept.of(h))
			answered = true
			continue
		case fleet.Pending:
			o.Meaning = cmp.Or(o.Meaning, "the agent had not answered")
			answered = answered || (o.TaskID != "" && fleet.Ended(o.Err))
		case fleet.Failed:
			answered = answered || o.Err == nil
		default: // nothing came back
		}
		if o.Err != nil {
			failed = o.Err
			if o.Meaning == "" || !fleet.Ended(o.Err) {
				o.Message = cmp.Or(o.Message, o.Err.Error())
			}
		}
		statuses[h] = fleet.Status{State: fleet.Unknown, Code: o.Code, Message: joinReason(o.Meaning, o.Message)}
	}
	if !answered && failed != nil {
		return nil, failed
	}
	return statuses, nil
}

// contents keeps the content of query results by host.
type contents struct {
	mu     sync.Mutex
	byHost map[fleet.Host]json.RawMessage
}

func (c *contents) keep(answers resultMap, hosts []fleet.Host, key func(fleet.Host) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHost == nil {
		c.byHost = make(map[fleet.Host]json.RawMessage, len(hosts))
	}
	for _, h := range hosts {
		if answer, found := answers[key(h)]; found && answer.code == CodeOK {
			c.byHost[h] = answer.content
		}
	}
}

func (c *contents) of(h fleet.Host) json.RawMessage { return c.byHost[h] }

func joinReason(meaning, message string) string {
	switch message = excerpt(message); {
	case meaning == "":
		return message
	case message == "":
		return meaning
	}
	return meaning + ": " + message
}
