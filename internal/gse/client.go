package gse

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// Client is a client of one platform. It is safe for concurrent use.
type Client struct {
	api   *bkapi.Client
	face  face
	opts  procapi.Options
	names names
	// answersBy holds the names under which agents have answered queries.
	answersBy sync.Map // fleet.HostID to true
	asked     sync.Map // fleet.HostID of hosts whose agents were asked for their names, to a channel that is closed then

	namespaces sync.Map // *namespace by name
	now        func() time.Time
	patience   time.Duration

	askPatience time.Duration

	// Hosted reads what agents host. If it is nil, nothing is read. It must be set before the client is used.
	Hosted procapi.HostedReader
}

// ReadHosted implements procapi.HostedReader by means of Hosted.
func (c *Client) ReadHosted(ctx context.Context, hosts []fleet.Host, windows bool) map[fleet.Host]hostedspec.Reading {
	if c.Hosted == nil {
		return procapi.Unread("reading what agents host is not configured").ReadHosted(ctx, hosts, windows)
	}
	return c.Hosted.ReadHosted(ctx, hosts, windows)
}

// NewClient returns a client for the face behind this gateway. api must call through the same gateway.
func NewClient(api *bkapi.Client, gateway bkapi.Gateway, opts procapi.Options) *Client {
	opts.Redact = api.Redact
	client := &Client{api: api, face: esb{}, opts: opts.OrDefaults(), now: time.Now, patience: sharedPatience, askPatience: askPatience}
	client.names.others, client.names.certain = make(map[fleet.HostID][]fleet.HostID), make(map[fleet.HostID]bool)
	if gateway == bkapi.APIGW {
		client.face = apigw{}
	}
	return client
}

// Process returns one process on the platform of this client. spec may be nil if only CachedStatus and
// Unregister are called.
func (c *Client) Process(meta Meta, spec *Spec) *Process {
	return &Process{client: c, meta: meta, spec: spec}
}

// WithStartLabels returns the process with other labels for starts that do not carry the limits, because such a
// start may replace what is registered.
func (p *Process) WithStartLabels(labels map[string]string) *Process {
	started := *p
	started.startLabels = labels
	return &started
}

// Process implements fleet.Process.
type Process struct {
	client *Client
	meta   Meta
	spec   *Spec
	// startLabels are the labels of a start that does not carry the limits. Nil means those of meta.
	startLabels map[string]string
}

var _ fleet.Process = (*Process)(nil)

// Register implements fleet.Process.
func (p *Process) Register(ctx context.Context, hosts []fleet.Host) fleet.Results {
	defer p.changed()
	return p.client.face.register(ctx, p, hosts)
}

// Reregister implements fleet.Process.
func (p *Process) Reregister(ctx context.Context, hosts []fleet.Host) fleet.Results {
	defer p.changed()
	return p.client.face.reregister(ctx, p, hosts)
}

// Unregister implements fleet.Process.
func (p *Process) Unregister(ctx context.Context, hosts []fleet.Host) fleet.Results {
	defer p.changed()
	return p.client.face.unregister(ctx, p, hosts)
}

// OneShot implements fleet.Process.
func (p *Process) OneShot() bool { return p.spec != nil && p.spec.oneShot() }

// Settles implements fleet.Process.
func (p *Process) Settles() (command, startCheck, stopCheck time.Duration) { return p.spec.Settles() }

// HostingRegisters implements fleet.Process.
func (p *Process) HostingRegisters() bool { return p.client.face.hostingRegisters() || p.unlimited() }

// unlimited reports whether a process has no limits. To the agent, 0 or no value means no limit, but
// register_proc_info accepts neither.
func (p *Process) unlimited() bool { return p.spec != nil && p.spec.Resource == nil }

// changed is called after a change by this client, which makes earlier listings of the namespace outdated.
func (p *Process) changed() { p.client.namespace(p.meta.Namespace).changes.Add(1) }

// batches splits hosts into batches of at most one request, each with hosts named in one way.
func (c *Client) batches(hosts []fleet.Host) iter.Seq[[]fleet.Host] {
	forms, n := byForm(hosts), c.opts.MaxHosts
	return slices.Values(slices.AppendSeq(slices.Collect(slices.Chunk(forms[0], n)), slices.Chunk(forms[1], n)))
}

// byForm splits hosts into those named by address and those named by agent id, in this order.
func byForm(hosts []fleet.Host) [2][]fleet.Host {
	var forms [2][]fleet.Host
	for _, h := range hosts {
		form := 0
		if h.AgentID() != "" {
			form = 1
		}
		forms[form] = append(forms[form], h)
	}
	return forms
}
