package gse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

const (
	// sharedFrom is how many calls a namespace takes before it is looked into whether
	// listing it would do for all. Below, nobody has anything to gain.
	sharedFrom = 5
	// sharedFor is how long a listing answers for the processes that ask next: long
	// enough for those of one refresh, which follow each other in milliseconds, and
	// far less than the minutes by which what is on file lags behind the agents.
	sharedFor = 10 * time.Second
	// sharedPatience is the longest that a listing may take.
	sharedPatience = 10 * time.Second
)

// SharedStatus implements fleet.Process. get_proc_status_v2 takes one process a
// call, so many small ones pay a call each. sync_proc_status lists a namespace, a
// thousand rows a call; where that is cheaper, the processes share one listing.
// What the listing does not tell (rows move between its pages) is asked for as by
// CachedStatus. A change that this client makes in the namespace ends the sharing
// of what was listed before.
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
			// The documents of the listing know fewer members than those of the status.
			// Where it says less, it saves no call.
			n.turnOff()
			rest = append(rest, h)
		default:
			statuses[h] = status
		}
	}
	if len(rest) == 0 {
		return statuses, nil
	}
	n.count(p, rest)
	own, err := p.CachedStatus(ctx, rest)
	maps.Copy(statuses, own)
	return statuses, err
}

// namespace is what the client knows of the refreshes in one namespace.
type namespace struct {
	client  *Client
	name    string
	flights singleflight.Group

	mu sync.Mutex
	// calls is how often processes asked without a listing, hosts about how many
	// hosts; due is the number of calls from which a listing pays.
	calls, hosts, due int
	// listed is what the last listing told, nil after a change; changes counts those.
	listed  listing
	at      time.Time
	changes int
	// off: the platform would not list, or its listing says too little.
	off bool
}

// listing is what sync_proc_status says of a namespace.
type listing map[processOn]fleet.Status

type processOn struct {
	name string
	host fleet.HostID
}

func (c *Client) namespace(name string) *namespace {
	n, _ := c.namespaces.LoadOrStore(name, &namespace{client: c, name: name, due: sharedFrom})
	return n.(*namespace) //nolint:forcetypeassert // nothing else is stored
}

// changed forgets what was listed before the end of a change.
func (n *namespace) changed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listed = nil
	n.changes++
}

func (n *namespace) turnOff() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.off = true
}

// count takes note of a process that asks by itself.
func (n *namespace) count(p *Process, hosts []fleet.Host) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts += len(hosts)
	for range p.client.batches(hosts) {
		n.calls++
	}
}

// share gives a listing, nil where a process had better ask by itself. Of those who
// want one, the first makes it and the others wait.
func (n *namespace) share(ctx context.Context) (listing, error) {
	for {
		listed, changes, pays := n.look()
		if !pays {
			return listed, nil
		}
		// The key keeps who asks after a change out of a listing that began before it.
		flight := n.flights.DoChan(strconv.Itoa(changes), func() (any, error) { return n.list(ctx, changes) })
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case result := <-flight:
			// If whoever made the listing was interrupted, the next one makes it.
			if ctx.Err() != nil || !errors.Is(result.Err, context.Canceled) {
				made, _ := result.Val.(listing)
				return made, ctx.Err()
			}
		}
	}
}

// look gives the listing that answers now, or says whether to make one. That pays
// once the calls have cost half as much, since nobody knows who will ask yet; and
// not for processes that fill half of their requests or more.
func (n *namespace) look() (listed listing, changes int, pays bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.off:
	case n.listed != nil && n.client.now().Sub(n.at) <= sharedFor:
		return n.listed, n.changes, false
	default:
		pays = n.calls >= n.due && 2*n.hosts <= pageLimit*n.calls
	}
	return nil, n.changes, pays
}

// list makes a listing, unless somebody has made one since the caller looked.
func (n *namespace) list(ctx context.Context, changes int) (listing, error) {
	if listed, _, pays := n.look(); !pays {
		return listed, nil
	}
	// It is there to save time, and whoever waits for it has a deadline of its own.
	patience := n.client.patience
	if deadline, bounded := ctx.Deadline(); bounded {
		patience = min(patience, time.Until(deadline)/4)
	}
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	made, err := n.fetch(bounded)
	if err != nil {
		// Sharing is an economy. Where it fails everybody asks by himself, and hears
		// then what is wrong.
		n.client.opts.Logger.DebugContext(ctx, "namespace not listed", "namespace", n.name, "reason", err.Error())
		if ctx.Err() == nil {
			n.turnOff()
		}
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changes == changes {
		n.listed, n.at = made, n.client.now()
	}
	return made, nil
}

// fetch gets the first page, which says how many there are, and where it is time for
// those the others.
func (n *namespace) fetch(ctx context.Context) (listing, error) {
	first, err := n.page(ctx, 0)
	if err != nil {
		return nil, err
	}
	if !first.Count.Known {
		return nil, fmt.Errorf("the listing of namespace %q has no count", n.name)
	}
	count := int(first.Count.Int())
	if !n.isDue((count + pageLimit - 1) / pageLimit) {
		return nil, nil
	}
	pages := []statusAnswer{first}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for start := pageLimit; start < count; start += pageLimit {
		group.Go(func() error {
			page, err := n.page(ctx, start)
			mu.Lock()
			defer mu.Unlock()
			pages = append(pages, page)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return n.read(pages), nil
}

// page is not repeated where it fails: others wait for it.
func (n *namespace) page(ctx context.Context, start int) (statusAnswer, error) {
	return n.client.page(ctx, n.client.face.endpoint(apiSync, false), n.name, start)
}

func (n *namespace) isDue(pages int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.due = max(sharedFrom, (pages+1)/2)
	return n.calls >= n.due
}

// read puts the rows of all pages together. At the gateway a process that was
// registered by agent id and once more by address has two rows for one machine. Which
// is asked for, only a call of its own can say.
func (n *namespace) read(pages []statusAnswer) listing {
	listed := make(listing)
	for _, page := range pages {
		for _, row := range page.ProcInfos.rows {
			if string(row.Meta.Namespace) != n.name {
				continue
			}
			for id, status := range n.client.read(row) {
				key := processOn{string(row.Meta.Name), id}
				if _, twice := listed[key]; twice {
					status = fleet.Status{State: fleet.Unknown}
				}
				listed[key] = status
			}
		}
	}
	return listed
}
