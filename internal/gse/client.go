package gse

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// DefaultMaxHosts is how many hosts go into one request where nothing else is
// said. The page limit of sync_proc_status is the only documented limit of the
// platform; the peers send 500 to 2000.
const DefaultMaxHosts = 1000

// Options of a Client. The zero value is fine.
type Options struct {
	MaxHosts int // hosts in one request
	Backoff  poll.Backoff
	Logger   *slog.Logger
}

// Client speaks to one platform. It is safe for concurrent use.
type Client struct {
	api  *bkapi.Client
	face face
	opts Options
}

// NewClient speaks the face that the gateway leads to, by the same request path.
func NewClient(api *bkapi.Client, gateway bkapi.Gateway, opts Options) *Client {
	if opts.MaxHosts <= 0 {
		opts.MaxHosts = DefaultMaxHosts
	}
	if opts.Backoff == (poll.Backoff{}) {
		opts.Backoff = poll.DefaultBackoff()
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	client := &Client{api: api, face: esb{}, opts: opts}
	if gateway == bkapi.APIGW {
		client.face = apigw{}
	}
	return client
}

// Process is one process on the platform of this client. spec may be nil where
// only CachedStatus and Unregister are called.
func (c *Client) Process(meta Meta, spec *Spec) *Process {
	return &Process{client: c, meta: meta, spec: spec}
}

// Process implements fleet.Process.
type Process struct {
	client *Client
	meta   Meta
	spec   *Spec
}

var _ fleet.Process = (*Process)(nil)

// Register implements fleet.Process.
func (p *Process) Register(ctx context.Context, hosts []fleet.Host) fleet.Results {
	return p.client.face.register(ctx, p, hosts)
}

// Reregister implements fleet.Process.
func (p *Process) Reregister(ctx context.Context, hosts []fleet.Host) fleet.Results {
	return p.client.face.reregister(ctx, p, hosts)
}

// Unregister implements fleet.Process.
func (p *Process) Unregister(ctx context.Context, hosts []fleet.Host) fleet.Results {
	return p.client.face.unregister(ctx, p, hosts)
}

// batches are hosts cut to what one request takes, each named in one way.
func (c *Client) batches(hosts []fleet.Host) [][]fleet.Host {
	var byID, byAddress []fleet.Host
	for _, h := range hosts {
		if h.AgentID() != "" {
			byID = append(byID, h)
		} else {
			byAddress = append(byAddress, h)
		}
	}
	return slices.AppendSeq(slices.Collect(slices.Chunk(byAddress, c.opts.MaxHosts)), slices.Chunk(byID, c.opts.MaxHosts))
}

// inBatches calls act for each batch of hosts, side by side: how many requests
// are on the wire at once is the request path's business.
func (p *Process) inBatches(ctx context.Context, hosts []fleet.Host, act func(context.Context, []fleet.Host) fleet.Results) fleet.Results {
	var (
		results = make(fleet.Results, len(hosts))
		mu      sync.Mutex
		wg      sync.WaitGroup
	)
	for _, batch := range p.client.batches(hosts) {
		wg.Go(func() {
			partial := act(ctx, batch)
			mu.Lock()
			defer mu.Unlock()
			results.Merge(partial)
		})
	}
	wg.Wait()
	return results
}

// unfinished is the outcome of hosts for which a call ended without a verdict.
func unfinished(err error, sent bool, last fleet.Outcome) fleet.Outcome {
	last.Verdict, last.Err = fleet.Failed, err
	switch {
	case bkapi.IsOutcomeUnknown(err):
		last.Verdict = fleet.Lost
	case fleet.Ended(err) && sent:
		last.Verdict = fleet.Pending
	case fleet.Ended(err):
		last.Verdict = fleet.NotTried
	}
	return last
}
