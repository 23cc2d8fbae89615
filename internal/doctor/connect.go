package doctor

import (
	"crypto/rand"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// Configs are the configurations of the platform's systems. JOB and CMDB have no Endpoint if none is set.
type Configs struct {
	GSE, JOB, CMDB bkapi.Config
	JOBAPI         string
	Warnings       []string
}

// Connect makes clients for a platform whose settings the provider has resolved. It sends nothing.
func Connect(p *platform.Platform, c Configs) (*Platform, error) {
	stranger := c.GSE
	stranger.AppSecret = "wrong-" + rand.Text()
	hasty := c.GSE
	hasty.Limits, hasty.MaxRetries = nil, 0
	d := &Platform{
		Gateway: p.Gateway, GSE: p.GSE, JOBAPI: c.JOBAPI, CMDBGateway: c.CMDB.Gateway, Supplier: p.Supplier,
		Warnings: c.Warnings, Clock: p.Clock, Backoff: p.Backoff,
	}
	if d.Clock == nil {
		d.Clock = poll.Wall{}
	}
	for _, way := range []struct {
		config bkapi.Config
		client **bkapi.Client
	}{{c.GSE, &d.Raw}, {stranger, &d.Stranger}, {hasty, &d.Hasty}, {c.JOB, &d.JOB}, {c.CMDB, &d.CMDB}} {
		if way.config.Endpoint == "" {
			continue
		}
		client, err := bkapi.New(way.config)
		if err != nil {
			return nil, err
		}
		*way.client = client
	}
	return d, nil
}

// Close closes the connections that Connect made.
func (p *Platform) Close() {
	for _, c := range []*bkapi.Client{p.Raw, p.Stranger, p.Hasty, p.JOB, p.CMDB} {
		if c != nil {
			c.Close()
		}
	}
}
