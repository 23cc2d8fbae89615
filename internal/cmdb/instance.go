package cmdb

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	json "github.com/go-json-experiment/json/v1"
	"golang.org/x/sync/errgroup"
)

// instanceRow is a row of list_service_instance_detail: a service instance, which is on
// one host in one module.
type instanceRow struct {
	ID       int64 `json:"id"`
	HostID   int64 `json:"bk_host_id"`
	ModuleID int64 `json:"bk_module_id"`
	// Processes is null if the instance has none.
	Processes json.RawMessage `json:"process_instances"`
}

func (r instanceRow) id() int64 { return r.ID }

func (r instanceRow) processes() ([]processFieldsRow, error) {
	var instances []struct {
		Process processFieldsRow `json:"process"`
	}
	if len(r.Processes) == 0 {
		return nil, fmt.Errorf("the answer of %s does not say which processes service instance %d has", listInstances.name, r.ID)
	}
	if err := decode(r.Processes, &instances, fmt.Sprintf("%s about service instance %d", listInstances.name, r.ID), "process_instances."); err != nil {
		return nil, err
	}
	processes := make([]processFieldsRow, len(instances))
	for i, instance := range instances {
		processes[i] = instance.Process
	}
	return processes, nil
}

// ProcessesOfInstances returns the same as [Client.Processes], but uses APIs that every site can grant. It
// reads the hosts of the scope, then the service instances of each of their modules, with a call for each.
func (c *Client) ProcessesOfInstances(ctx context.Context, s Scope) ([]Process, error) {
	return settled(listInstances.name, func() (located, error) {
		to, err := c.resolve(ctx, s)
		if err != nil {
			return located{}, err
		}
		hosts, err := c.hostsIn(ctx, s, to)
		return located{to, hosts}, err
	}, func(in located) ([]Process, error) { return c.processesOf(ctx, s.Business, in) })
}

func (c *Client) processesOf(ctx context.Context, biz int64, on located) ([]Process, error) {
	if err := placed(on.hosts); err != nil {
		return nil, err
	}
	places := make(map[int64]Place)
	byID := make(map[int64]Host, len(on.hosts))
	for _, h := range on.hosts {
		byID[h.ID] = h
		for _, place := range h.Places {
			places[place.ModuleID] = place
		}
	}
	instances, err := c.instances(ctx, biz, slices.Sorted(maps.Keys(places)))
	if err != nil {
		return nil, err
	}
	if on.ofHosts() { // the modules have other hosts, too
		instances = slices.DeleteFunc(instances, func(in instanceRow) bool { _, wanted := byID[in.HostID]; return !wanted })
	}
	var processes []Process
	for _, in := range instances {
		h, place := byID[in.HostID], places[in.ModuleID]
		if !slices.Contains(h.Places, place) {
			return nil, &ListError{API: listInstances.name, Why: fmt.Sprintf("has service instance %d of host %d in module %d, where %s has no such host",
				in.ID, in.HostID, in.ModuleID, listHosts.name)}
		}
		h.Name, h.OS, h.Places = "", "", nil
		rows, err := in.processes()
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			p := row.process(h, place)
			if p.ID <= 0 {
				return nil, &BeyondError{API: listInstances.name, What: p.String()}
			}
			processes = append(processes, p)
		}
	}
	slices.SortFunc(processes, func(a, b Process) int { return cmp.Compare(a.ID, b.ID) })
	for i, p := range processes {
		if i > 0 && processes[i-1].ID == p.ID {
			return nil, &ListError{API: listInstances.name, Why: fmt.Sprintf("has process %d in two service instances", p.ID)}
		}
	}
	return processes, nil
}

// instances returns the service instances of modules.
func (c *Client) instances(ctx context.Context, biz int64, modules []int64) ([]instanceRow, error) {
	answers := make([][]instanceRow, len(modules))
	requests, within := errgroup.WithContext(ctx)
	for i, module := range modules {
		requests.Go(func() error {
			list := listing[instanceRow, int64]{endpoint: listInstances, limit: 1000, sort: "id", id: instanceRow.id, params: params{
				"bk_biz_id": biz, "bk_module_id": module,
			}}
			rows, err := list.read(within, c)
			answers[i] = rows
			if at := slices.IndexFunc(rows, func(in instanceRow) bool { return in.ModuleID != module || in.HostID <= 0 }); err == nil && at >= 0 {
				return &BeyondError{API: listInstances.name, What: fmt.Sprintf("service instance %d of host %d in module %d", rows[at].ID, rows[at].HostID, rows[at].ModuleID)}
			}
			return err
		})
	}
	err := requests.Wait()
	return slices.Concat(answers...), err
}
