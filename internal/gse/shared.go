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
	// sharedFrom is the number of calls in a namespace after which the client considers a listing. With fewer
	// calls, a listing saves nothing.
	sharedFrom = 5
	// sharedFor is how long a listing is used for other processes. It is long enough for those of one refresh,
	// which follow each other within milliseconds. It is far less than the minutes by which the cached status
	// lags.
	sharedFor = 10 * time.Second
	// sharedPatience limits the time that a listing may take.
	sharedPatience = 10 * time.Second
)

// SharedStatus implements fleet.Process. get_proc_status_v2 is about one process, so many small processes cost
// one call each. sync_proc_status lists a namespace, a thousand rows per call. If that is cheaper, the
// processes share one listing. CachedStatus is called for hosts that the listing lacks, because rows move
// between its pages and may not name their host. After this client changed something in the namespace, earlier
// listings are no longer used.
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
			// The document of the listing has fewer members than that of the status. If the listing does lack
			// any, it saves no call.
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

// namespace holds what the client knows about refreshes in one namespace.
type namespace struct {
	client  *Client
	name    string
	flights singleflight.Group

	latest  atomic.Pointer[listing]
	changes atomic.Int64 // made by this client
	// asked holds the names of the processes that asked without a listing. calls and hosts say how many calls
	// that took, about how many hosts. A process that asks again is not counted again, because it would share
	// with no other. due is the number of calls that a listing of the known size has to save.
	asked             sync.Map
	calls, hosts, due atomic.Int64
	// off says that no more listings are made, because one failed or took too long, even once, or lacked
	// members.
	off atomic.Bool
}

// listing is what sync_proc_status returned for a namespace.
type listing struct {
	changes int64 // number of changes made before the listing began
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

// share returns the listed statuses, or nil if the process should ask for its own. The first process that needs
// a listing makes it, and the others wait for it.
func (n *namespace) share(ctx context.Context) (map[processOn]fleet.Status, error) {
	for {
		changes := n.changes.Load()
		if latest := n.fresh(); latest != nil {
			return latest.rows, nil
		}
		if !n.pays() {
			return nil, nil
		}
		// The key is the number of changes, so a process that asks after a change does not join a listing that
		// began before it.
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
			// The process that was making the listing was interrupted, so another one makes it.
		}
	}
}

// fresh returns the listing that can be used now, or nil.
func (n *namespace) fresh() *listing {
	l := n.latest.Load()
	if l == nil || n.off.Load() || l.changes != n.changes.Load() || n.client.now().Sub(l.at) > sharedFor {
		return nil
	}
	return l
}

// pays reports whether a listing saves calls. Since it is unknown which processes will still ask, it does once
// the calls so far number half of those that a listing takes. It does not if these calls are on average about
// more hosts than half a page has rows.
func (n *namespace) pays() bool {
	calls := n.calls.Load()
	return !n.off.Load() && calls >= max(sharedFrom, n.due.Load()) && 2*n.hosts.Load() <= pageLimit*calls
}

// list makes a listing, unless another process has made one meanwhile. It returns nil if the first page shows
// that the other pages cost more than they save.
func (n *namespace) list(ctx context.Context, changes int64) (*listing, error) {
	if latest := n.fresh(); latest != nil || !n.pays() {
		return latest, nil
	}
	// A listing only saves time, so it has its own deadline in addition to that of the waiting processes.
	patience := n.client.patience
	if deadline, bounded := ctx.Deadline(); bounded {
		patience = min(patience, time.Until(deadline)/4)
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	pages, err := n.pages(bounded)
	switch {
	case err != nil:
		// Sharing only saves calls. If it fails, each process asks for its own status, and gets the error then.
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

// pages returns the first page, which says how many there are, and the others if they save calls. A page that
// fails is not requested again, because other processes are waiting.
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

// rows merges the rows of all pages. At the gateway, a process registered both by agent id and by address has
// two rows for one machine. Only a call about that process shows which one is meant, so its status is Unknown
// here.
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
