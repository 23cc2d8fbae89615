package job

import (
	"log/slog"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// API is a generation of JOB, named as in the path of its endpoints.
type API string

// The generations of JOB.
const (
	V3 API = "jobv3"
	V2 API = "job"
)

// APIs returns every generation, the default one first.
func APIs() []API { return []API{V3, V2} }

// Names of endpoints, which are the same in each generation.
const (
	apiManage  = "manage_proc"
	apiOperate = "operate_process"
	apiResult  = "get_proc_result"
)

// Options configures a Client. The zero value is usable.
type Options struct {
	API      API
	MaxHosts int // hosts in one request
	Backoff  poll.Backoff
	Logger   *slog.Logger
}

// Client is a client of one JOB server. It is safe for concurrent use.
type Client struct {
	api  *bkapi.Client
	base string
	opts procapi.Options
}

// NewClient returns a client that calls JOB through api, whose gateway must be the ESB.
func NewClient(api *bkapi.Client, opts Options) *Client {
	if opts.API == "" {
		opts.API = APIs()[0]
	}
	return &Client{
		api:  api,
		base: "api/c/compapi/v2/" + string(opts.API) + "/",
		opts: procapi.Options{MaxHosts: opts.MaxHosts, Backoff: opts.Backoff, Logger: opts.Logger, Redact: api.Redact}.OrDefaults(),
	}
}

func (c *Client) endpoint(name string, repeatable bool) bkapi.API {
	return bkapi.API{Name: name, Path: c.base + name + "/", Repeatable: repeatable}
}
