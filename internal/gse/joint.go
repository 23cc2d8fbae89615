package gse

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// multiRequest is the body of operate_proc_multi. The whole list becomes one task.
type multiRequest struct {
	Requests []operateRequest `json:"proc_operate_req"`
}

var _ fleet.Joint = (*Process)(nil)

// share is a number of hosts of one process in one request, all named in one way.
type share struct {
	*Process
	part  int // index of the part, of which there is one for each process
	hosts []fleet.Host
}

// OperateJointly implements fleet.Joint. It splits what does not fit into one request.
func (p *Process) OperateJointly(ctx context.Context, op fleet.Operation, parts []fleet.Part) []fleet.Results {
	var (
		results = make([]fleet.Results, len(parts))
		mu      sync.Mutex
		wg      sync.WaitGroup
	)
	for i := range parts {
		results[i] = make(fleet.Results, len(parts[i].Hosts))
	}
	merge := func(part int, partial fleet.Results) {
		mu.Lock()
		defer mu.Unlock()
		results[part].Merge(partial)
	}
	requests, others := p.client.requests(parts)
	for _, i := range others {
		wg.Go(func() { merge(i, parts[i].Process.Operate(ctx, op, parts[i].Hosts, parts[i].Observe)) })
	}
	for _, shares := range requests {
		wg.Go(func() {
			for i, partial := range p.submitJointly(ctx, op, shares, parts) {
				merge(shares[i].part, partial)
			}
		})
	}
	wg.Wait()
	return results
}

// requests splits parts into requests that are as full as possible. others are the indexes of the parts that
// belong to other clients.
func (c *Client) requests(parts []fleet.Part) (requests [][]share, others []int) {
	var (
		request []share
		room    = c.opts.MaxHosts
	)
	for i, part := range parts {
		process, ours := part.Process.(*Process)
		if !ours || process.client != c {
			others = append(others, i)
			continue
		}
		for _, hosts := range byForm(part.Hosts) {
			for len(hosts) > 0 {
				n := min(room, len(hosts))
				request = append(request, share{process, i, hosts[:n:n]})
				hosts, room = hosts[n:], room-n
				if room == 0 {
					requests, request, room = append(requests, request), nil, c.opts.MaxHosts
				}
			}
		}
	}
	if len(request) > 0 {
		requests = append(requests, request)
	}
	return requests, others
}

func (p *Process) submitJointly(ctx context.Context, op fleet.Operation, shares []share, parts []fleet.Part) []fleet.Results {
	var (
		body    multiRequest
		asked   = make([]procapi.Part, len(shares))
		readers = make([]*taskResults, len(shares))
		all     []fleet.Host
		check   time.Duration // the longest of all processes
	)
	for i, s := range shares {
		defer s.changed()
		body.Requests = append(body.Requests, s.request(op, s.hosts))
		readers[i] = &taskResults{Process: s.Process, hosts: s.hosts}
		asked[i] = procapi.Part{Call: procapi.CallOf(op, s.spec.oneShot()), Keys: readers[i].keys, Hosts: s.hosts, Observe: parts[s.part].Observe}
		all = append(all, s.hosts...)
		check = max(check, fleet.StartCheck(s, op))
	}
	api := p.client.face.endpoint(apiMulti, procapi.Repeatable(op))
	r := procapi.Request{Call: procapi.Call{Name: string(op)}, Repeatable: api.Repeatable, Send: p.client.send(api, body), StartCheck: check}
	tasks := procapi.Tasks{Options: p.client.opts, Result: func(ctx context.Context, id string) (procapi.ResultMap, bkapi.Reply, error) {
		answers, reply, err := p.client.taskResult(ctx, id)
		for _, reader := range readers {
			reader.look(ctx, reader.own(answers))
		}
		return answers, reply, err
	}}
	return tasks.SubmitParts(bkapi.WithLogFields(ctx, procapi.HostsField(all)), r, asked)
}

func (t *taskResults) own(answers procapi.ResultMap) procapi.ResultMap {
	own := make(procapi.ResultMap)
	for key, answer := range answers {
		if strings.HasSuffix(key, ":"+t.meta.Namespace+":"+t.meta.Name) {
			own[key] = answer
		}
	}
	return own
}
