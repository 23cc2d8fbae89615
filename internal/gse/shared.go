package gse

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

const (
	// sharedFrom is how many processes of a namespace ask by themselves before it
	// is looked into whether listing the namespace would do for all. Below, nobody
	// has anything to gain.
	sharedFrom = 5
	// sharedFor is how long a listing answers for the processes that ask next: long
	// enough for those of one refresh, which follow each other in milliseconds, and
	// far less than the minutes by which what is on file lags behind the agents.
	sharedFor = 10 * time.Second
	// sharedPatience is the longest that half of a listing may take.
	sharedPatience = 10 * time.Second
	// sharedTries bounds how often a process waits or fetches, where changes go on
	// ending what was listed.
	sharedTries = 4
)

// SharedStatus implements fleet.Process. get_proc_status_v2 takes one process a
// call, so many small ones pay a call each. sync_proc_status lists a namespace, a
// thousand rows a call; where that is cheaper, the processes share one listing.
// What the listing does not tell (rows move between its pages) is asked for as by
// CachedStatus. A change that this client makes in the namespace ends the sharing
// of what was listed before.
func (p *Process) SharedStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	listed, err := p.client.namespace(p.meta.Namespace).join(ctx, p, hosts)
	if err != nil || listed == nil {
		if err != nil {
			return nil, err
		}
		return p.CachedStatus(ctx, hosts)
	}
	var (
		statuses = make(map[fleet.Host]fleet.Status, len(hosts))
		rest     []fleet.Host
		terse    bool
	)
	for _, h := range hosts {
		status, found := listed.of(p.meta.Name, h)
		switch {
		case !found, status.State == fleet.Unknown:
			rest = append(rest, h)
		case !status.HostedKnown, status.Labels == nil:
			// The documents of the listing know fewer members than those of the status.
			rest, terse = append(rest, h), true
		default:
			statuses[h] = status
		}
	}
	if terse {
		p.client.namespace(p.meta.Namespace).leave()
	}
	if len(rest) == 0 {
		return statuses, nil
	}
	own, err := p.CachedStatus(ctx, rest)
	for h, status := range own {
		statuses[h] = status
	}
	return statuses, err
}

// namespace is what the client knows of the refreshes in one namespace.
type namespace struct {
	client *Client
	name   string

	mu sync.Mutex
	// Who asked without the listing, in how many calls, about how many hosts.
	askers map[string]bool
	calls  int
	hosts  int
	// listing is the last one, done or under way; nil before the first and after a
	// change.
	listing *listing
	// off: the platform would not list, or its listing says too little.
	off bool
}

func (c *Client) namespace(name string) *namespace {
	n, _ := c.namespaces.LoadOrStore(name, &namespace{client: c, name: name, askers: make(map[string]bool)})
	return n.(*namespace) //nolint:forcetypeassert // nothing else is stored
}

// changed forgets what was listed.
func (n *namespace) changed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listing = nil
}

// leave is for a platform whose listing says less than its status: it saves no call.
func (n *namespace) leave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listing, n.off = nil, true
}

// join gives a listing, or nil where the process had better ask by itself. Whoever
// finds that a listing pays fetches it, and whoever comes meanwhile waits for it.
func (n *namespace) join(ctx context.Context, p *Process, hosts []fleet.Host) (*listing, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for range sharedTries {
		if n.listing.expired(n.client.now()) {
			n.listing = nil
		}
		switch l := n.listing; {
		case l.complete():
			return l, nil
		case l != nil && l.busy != nil:
			if err := n.wait(ctx, l.busy); err != nil {
				return nil, err
			}
		case n.pays():
			n.fetch(ctx)
		default:
			n.ask(p, hosts)
			return nil, nil //nolint:nilnil // no listing, and nothing wrong
		}
	}
	n.ask(p, hosts)
	return nil, nil //nolint:nilnil // no listing, and nothing wrong
}

// ask counts a process that goes its own way.
func (n *namespace) ask(p *Process, hosts []fleet.Host) {
	n.askers[p.meta.Name] = true
	n.hosts += len(hosts)
	for range p.client.batches(hosts) {
		n.calls++
	}
}

// wait gives up the lock meanwhile.
func (n *namespace) wait(ctx context.Context, busy <-chan struct{}) error {
	n.mu.Unlock()
	defer n.mu.Lock()
	select {
	case <-busy:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pays tells whether to go on with the listing. How long a listing is, its first
// page says. It pays where it takes fewer calls than are to be expected for the
// rows that nobody asked for yet, at the pace so far. Whether anybody will ask for
// them is not known; so the processes first spend half of what it costs.
func (n *namespace) pays() bool {
	switch {
	case n.off || len(n.askers) < sharedFrom || n.hosts == 0:
		return false
	case n.listing == nil:
		return true
	}
	pages := n.listing.pages()
	toCome := float64(n.listing.total-n.hosts) * float64(n.calls) / float64(n.hosts)
	return 2*n.calls >= pages && toCome > float64(pages-1)
}

// fetch gets the first page of a listing, or, where that is there, the others. It
// gives up the lock meanwhile.
func (n *namespace) fetch(ctx context.Context) {
	l := n.listing
	if l == nil {
		l = &listing{rows: make(map[string]map[fleet.HostID]fleet.Status)}
		n.listing = l
	}
	busy := make(chan struct{})
	l.busy = busy
	n.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, n.client.patienceIn(ctx))
	err := l.fetch(bounded, n.client, n.name)
	cancel()
	n.mu.Lock()
	l.busy, l.at = nil, n.client.now()
	close(busy)
	if err == nil {
		return
	}
	// Sharing is an economy. Where it fails everybody asks by himself, and hears
	// then what is wrong.
	n.client.opts.Logger.DebugContext(ctx, "namespace not listed", "namespace", n.name, "reason", err.Error())
	n.off = n.off || ctx.Err() == nil
	if n.listing == l {
		n.listing = nil
	}
}

// patienceIn is how long a listing may take: it is there to save time, and whoever
// waits for it has a deadline of its own.
func (c *Client) patienceIn(ctx context.Context) time.Duration {
	if deadline, bounded := ctx.Deadline(); bounded {
		return min(c.patience, time.Until(deadline)/4)
	}
	return c.patience
}

// listing is what sync_proc_status says of a namespace. Its fields are guarded by
// the namespace's lock, but for rows while it is busy.
type listing struct {
	rows    map[string]map[fleet.HostID]fleet.Status // by name
	total   int
	fetched int // pages
	busy    chan struct{}
	at      time.Time
	mu      sync.Mutex // of rows, between pages
}

func (l *listing) pages() int { return max(1, (l.total+pageLimit-1)/pageLimit) }

func (l *listing) complete() bool { return l != nil && l.busy == nil && l.fetched >= l.pages() }

func (l *listing) expired(now time.Time) bool {
	return l != nil && l.busy == nil && now.Sub(l.at) > sharedFor
}

func (l *listing) of(name string, h fleet.Host) (fleet.Status, bool) {
	status, found := l.rows[name][h.WithoutSupplier()]
	return status, found
}

func (l *listing) fetch(ctx context.Context, c *Client, name string) error {
	if l.fetched == 0 {
		count, err := l.page(ctx, c, name, 0)
		l.total, l.fetched = count, 1
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for start := pageLimit; start < l.total; start += pageLimit {
		group.Go(func() error {
			_, err := l.page(ctx, c, name, start)
			return err
		})
	}
	err := group.Wait()
	l.fetched = l.pages()
	return err
}

// page is not repeated where it fails: others wait for it.
func (l *listing) page(ctx context.Context, c *Client, name string, start int) (count int, err error) {
	answer, err := c.page(ctx, c.face.endpoint(apiSync, false), name, start)
	if err != nil {
		return 0, err
	}
	if !answer.Count.Known {
		return 0, fmt.Errorf("the listing of namespace %q has no count", name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, row := range answer.ProcInfos.rows {
		if string(row.Meta.Namespace) != name {
			continue
		}
		of := l.rows[string(row.Meta.Name)]
		if of == nil {
			of = make(map[fleet.HostID]fleet.Status)
			l.rows[string(row.Meta.Name)] = of
		}
		filed := make(map[fleet.HostID]fleet.Status, 2)
		c.file(row, filed)
		for h, status := range filed {
			// At the gateway a process that was registered by agent id and once more by
			// address has two rows for one machine. Which is asked for, only a call of
			// its own can say.
			if _, twice := of[h]; twice {
				status = fleet.Status{State: fleet.Unknown}
			}
			of[h] = status
		}
	}
	return int(answer.Count.Int()), nil
}

// page asks for one page of a namespace.
func (c *Client) page(ctx context.Context, api bkapi.API, namespace string, start int) (statusAnswer, error) {
	var (
		request syncRequest
		answer  statusAnswer
	)
	request.Meta.Namespace = namespace
	request.Page.Start, request.Page.Limit = start, pageLimit
	_, err := c.api.Call(ctx, api, request, &answer)
	return answer, err
}
