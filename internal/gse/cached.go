package gse

import (
	"context"
	"maps"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// cachedRows is the platform's cached status of one process, for the hosts of one request.
type cachedRows struct {
	client     *Client
	hosts      []fleet.Host
	rows       []namedStatus
	unreadable bool
}

type namedStatus struct {
	names  []fleet.HostID
	status fleet.Status
}

// CachedStatus implements fleet.Process. A host without a row is not registered, unless it may be the host of a
// row whose host is unknown. To find that host, the agents are asked once for their other names. They cannot be
// asked without a spec.
func (p *Process) CachedStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	cached, err := p.readCached(ctx, hosts)
	if err != nil {
		return nil, err
	}
	statuses, unplaced := placeAll(cached)
	unnamed := p.client.unnamed(unplaced)
	if p.spec == nil || !p.client.face.renames() || len(unnamed) == 0 {
		return statuses, nil
	}
	p.askNames(ctx, unnamed)
	statuses, _ = placeAll(cached)
	return statuses, nil
}

// askNames asks the agents of hosts for their other names, each once. If another process is asking some of them,
// it waits for their answers.
func (p *Process) askNames(ctx context.Context, hosts []fleet.Host) {
	var (
		ask    []fleet.Host
		done   = make(chan struct{})
		asking = make(map[any]bool)
	)
	for _, h := range hosts {
		if other, asked := p.client.asked.LoadOrStore(h.WithoutSupplier(), done); asked {
			asking[other] = true
		} else {
			ask = append(ask, h)
		}
	}
	if len(ask) > 0 {
		_, _ = fleet.LiveStatusWithin(ctx, p, p.client.askPatience, ask) // agents that do not answer report no name
	}
	close(done)
	for other := range asking {
		select {
		case <-other.(chan struct{}): //nolint:forcetypeassert // nothing else is stored
		case <-ctx.Done():
		}
	}
}

// readCached returns the rows of hosts, and learns the other names of hosts from them.
func (p *Process) readCached(ctx context.Context, hosts []fleet.Host) ([]cachedRows, error) {
	var (
		cached []cachedRows
		api    = p.client.face.endpoint(apiStatus, true)
		mu     sync.Mutex
	)
	group, ctx := errgroup.WithContext(ctx)
	for batch := range p.client.batches(hosts) {
		group.Go(func() error {
			var answer statusAnswer
			// The query ignores labels.
			meta := Meta{Namespace: p.meta.Namespace, Name: p.meta.Name}
			ctx := bkapi.WithLogFields(ctx, procapi.HostsField(batch))
			if _, err := p.client.api.Call(ctx, api, statusRequest{Meta: meta, target: targetOf(batch)}, &answer); err != nil {
				return err
			}
			c := cachedRows{client: p.client, hosts: batch, unreadable: answer.ProcInfos.unreadable}
			c.rows = make([]namedStatus, 0, len(answer.ProcInfos.rows))
			for _, row := range answer.ProcInfos.rows {
				switch namespace, name := string(row.Meta.Namespace), string(row.Meta.Name); {
				case namespace == meta.Namespace && name == meta.Name:
					c.rows = append(c.rows, namedStatus{p.client.learnNames(row.among(batch)), p.client.statusOf(row)})
				case namespace == "" || name == "":
					c.unreadable = true // it may be of this process
				}
			}
			mu.Lock()
			defer mu.Unlock()
			cached = append(cached, c)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return cached, nil
}

// placeAll returns the status of every host. unplaced are the hosts without a row that may be the host of a row
// whose host is unknown.
func placeAll(cached []cachedRows) (statuses map[fleet.Host]fleet.Status, unplaced []fleet.Host) {
	statuses = make(map[fleet.Host]fleet.Status)
	for _, c := range cached {
		rows, lost := c.place()
		for _, h := range c.hosts {
			status, found := rows[h.WithoutSupplier()]
			switch {
			case found:
			case c.unreadable:
				status = fleet.Status{State: fleet.Unknown, Unread: true, Message: "the cached status could not be read"}
			case lost:
				status = fleet.Status{State: fleet.Unknown, Message: "the cached status has a row of this process whose host could not be identified, and which may be this one"}
				unplaced = append(unplaced, h)
			default:
				status = fleet.Status{State: fleet.Unregistered}
			}
			statuses[h] = status
		}
	}
	return statuses, unplaced
}

// place returns the status of each host of the request that has a row. A row with the name used in the request
// takes precedence over a row with the host's other name. lost reports whether some row may belong to any host
// of the request.
func (c cachedRows) place() (placed map[fleet.HostID]fleet.Status, lost bool) {
	asked := make(map[fleet.HostID]bool, len(c.hosts))
	for _, h := range c.hosts {
		asked[h.WithoutSupplier()] = true
	}
	placed = make(map[fleet.HostID]fleet.Status, len(c.rows))
	byAlias := make(map[fleet.HostID]fleet.Status)
	for _, row := range c.rows {
		known := false
		for _, name := range row.names {
			other, named := c.client.alias(name)
			switch {
			case asked[name]:
				add(placed, name, row.status)
			case asked[other]:
				add(byAlias, other, row.status)
			}
			// A name of the same kind as those in the request, but not among them, is another machine's.
			known = known || named || c.sameKind(name)
		}
		lost = lost || !known && row.status.State != fleet.Unregistered
	}
	for name, status := range byAlias {
		if _, found := placed[name]; !found {
			placed[name] = status
		}
	}
	return placed, lost
}

func add(placed map[fleet.HostID]fleet.Status, host fleet.HostID, status fleet.Status) {
	if before, twice := placed[host]; twice {
		status = later(before, status)
	}
	placed[host] = status
}

// succeeds reports whether a row is of a later registration than the one before. If both have the same time and
// the one before is unregistered, that one is a leftover.
func succeeds(status, before fleet.Status) bool {
	return status.RegisterTime > before.RegisterTime || status.RegisterTime == before.RegisterTime && before.State == fleet.Unregistered
}

// later returns the status of a host that has two rows. The later registration counts. If the rows differ but
// have the same time, it is unknown which one is later.
func later(one, other fleet.Status) fleet.Status {
	switch {
	case succeeds(one, other):
		return one
	case succeeds(other, one):
		return other
	case one.State == other.State && maps.Equal(one.Labels, other.Labels):
		return one
	}
	return fleet.Status{
		State: fleet.Unknown, RegisterTime: one.RegisterTime,
		Message: "the cached status has two registrations of this process for this host, and does not say which is the later one",
	}
}

// sameKind reports whether name is of the same kind as the names in the request: an agent id or an address.
func (c cachedRows) sameKind(name fleet.HostID) bool {
	return name.IsAgentID() == (c.hosts[0].AgentID() != "")
}
