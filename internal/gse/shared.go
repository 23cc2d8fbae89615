package gse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

const (
	// sharedFrom is how many calls a namespace takes before the client considers a listing. With fewer
	// calls, a listing saves nothing.
	sharedFrom = 5
	// sharedFor is how long a listing answers for other processes. It is long enough for those of one
	// refresh, which follow each other in milliseconds. It is far less than the minutes by which the
	// cached status lags.
	sharedFor = 10 * time.Second
	// sharedPatience is the longest that a listing may take.
	sharedPatience = 10 * time.Second
)

// SharedStatus implements fleet.Process. get_proc_status_v2 takes one process a call, so many small
// processes pay a call each. sync_proc_status lists a namespace, a thousand rows a call. Where that is
// cheaper, the processes share one listing. CachedStatus is asked for what the listing lacks: rows move
// between its pages, and may not name their host. After a change by this client in the namespace, earlier
// listings are no longer shared.
func (p *Process) SharedStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	n := p.client.namespace(p.meta.Namespace)
	listed, err := n.share(ctx)
	if err != nil {
		return nil, err
	}
	statuses := make(map[fleet.Host]fleet.Status, len(hosts))
	var rest []fleet.Host
	for _, h := range hosts {
		status, found := listed[processOn{p.meta.Name, h.WithoutSupplier()}]
		switch {
		case !found, status.State == fleet.Unknown:
			rest = append(rest, h)
		case !status.HostedKnown, status.Labels == nil:
			// The listing has fewer documented members than the status. If it lacks any, it saves no
			// call.
			n.off.Store(true)
			rest = append(rest, h)
		default:
			statuses[h] = status
		}
	}
	if len(rest) == 0 {
		return statuses, nil
	}
	if _, again := n.asked.LoadOrStore(p.meta.Name, true); !again {
		n.hosts.Add(int64(len(rest)))
		for range p.client.batches(rest) {
			n.calls.Add(1)
		}
	}
	own, err := p.CachedStatus(ctx, rest)
	maps.Copy(statuses, own)
	return statuses, err
}

// namespace is what the client knows about refreshes in one namespace.
type namespace struct {
	client  *Client
	name    string
	flights singleflight.Group

	latest  atomic.Pointer[listing]
	changes atomic.Int64 // made by this client
	// asked holds the names of the processes that asked without a listing, in calls about hosts. A
	// process that asks again counts once, because it shares with no other. due is how many calls a
	// listing of the known size must save.
	asked             sync.Map
	calls, hosts, due atomic.Int64
	// off: no more listings are made. One failed or took too long, even once, or it lacked members.
	off atomic.Bool
}

// listing is what sync_proc_status says of a namespace.
type listing struct {
	changes int64 // number of changes before the listing
	at      time.Time
	rows    map[processOn]fleet.Status
}

type processOn struct {
	name string
	host fleet.HostID
}

func (c *Client) namespace(name string) *namespace {
	n, _ := c.namespaces.LoadOrStore(name, &namespace{client: c, name: name})
	return n.(*namespace) //nolint:forcetypeassert // nothing else is stored
}

// share returns the listed statuses, or nil if the process should ask by itself. The first process that
// wants a listing makes it, and the others wait.
func (n *namespace) share(ctx context.Context) (map[processOn]fleet.Status, error) {
	for {
		changes := n.changes.Load()
		if latest := n.fresh(); latest != nil {
			return latest.rows, nil
		}
		if !n.pays() {
			return nil, nil
		}
		// With changes as the key, a process that asks after a change does not join a listing begun
		// before.
		flight := n.flights.DoChan(strconv.FormatInt(changes, 10), func() (any, error) { return n.list(ctx, changes) })
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case result := <-flight:
			if made, ok := result.Val.(*listing); ok && made != nil {
				return made.rows, nil
			}
			if ctx.Err() != nil || !errors.Is(result.Err, context.Canceled) {
				return nil, ctx.Err()
			}
			// The process that was making the listing was interrupted, so the next one makes it.
		}
	}
}

// fresh is the listing that can be used now, or nil.
func (n *namespace) fresh() *listing {
	l := n.latest.Load()
	if l == nil || n.off.Load() || l.changes != n.changes.Load() || n.client.now().Sub(l.at) > sharedFor {
		return nil
	}
	return l
}

// pays reports whether a listing saves calls. It does once the calls so far have cost half as much, since
// it is not known which processes will still ask. It does not if these calls are about more hosts each
// than half a page has rows.
func (n *namespace) pays() bool {
	calls := n.calls.Load()
	return !n.off.Load() && calls >= max(sharedFrom, n.due.Load()) && 2*n.hosts.Load() <= pageLimit*calls
}

// list makes a listing, unless another process has made one meanwhile. It returns nil if the first page
// shows that the other pages cost more than they save.
func (n *namespace) list(ctx context.Context, changes int64) (*listing, error) {
	if latest := n.fresh(); latest != nil || !n.pays() {
		return latest, nil
	}
	// The listing only saves time, so it has its own deadline besides that of the waiting processes.
	patience := n.client.patience
	if deadline, bounded := ctx.Deadline(); bounded {
		patience = min(patience, time.Until(deadline)/4)
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pages, err := n.pages(bounded)
	switch {
	case err != nil:
		// Sharing only saves calls. If it fails, each process asks by itself, and gets the error then.
		n.client.opts.Logger.DebugContext(ctx, "namespace not listed", "namespace", n.name, "reason", err.Error())
		if ctx.Err() == nil {
			n.off.Store(true)
		}
		return nil, err
	case pages == nil:
		return nil, nil
	}
	made := &listing{changes: changes, at: n.client.now(), rows: n.rows(pages)}
	n.latest.Store(made)
	return made, nil
}

// pages gets the first page, which says how many there are, and the others if they save calls. A page
// that fails is not asked for again, because other processes wait.
func (n *namespace) pages(ctx context.Context) ([]statusAnswer, error) {
	api := n.client.face.endpoint(apiSync, false)
	first, err := n.client.page(ctx, api, n.name, 0)
	if err != nil {
		return nil, err
	}
	if !first.Count.Known {
		return nil, fmt.Errorf("the listing of namespace %q has no count", n.name)
	}
	count := (first.Count.Int() + pageLimit - 1) / pageLimit
	n.due.Store((count + 1) / 2)
	if !n.pays() {
		return nil, nil
	}
	pages := make([]statusAnswer, max(1, count))
	pages[0] = first
	group, ctx := errgroup.WithContext(ctx)
	for i := 1; i < len(pages); i++ {
		group.Go(func() (err error) {
			pages[i], err = n.client.page(ctx, api, n.name, i*pageLimit)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return pages, nil
}

// rows merges the rows of all pages. At the gateway, a process registered by agent id and again by
// address has two rows for one machine. Only a call of its own can show which one is meant.
func (n *namespace) rows(pages []statusAnswer) map[processOn]fleet.Status {
	rows := make(map[processOn]fleet.Status)
	for _, page := range pages {
		for _, row := range page.ProcInfos.rows {
			if string(row.Meta.Namespace) != n.name {
				continue
			}
			status := n.client.statusOf(row)
			for _, name := range n.client.learnNames(row) {
				key := processOn{string(row.Meta.Name), name}
				if _, twice := rows[key]; twice {
					status = fleet.Status{State: fleet.Unknown}
				}
				rows[key] = status
			}
		}
	}
	return rows
}
