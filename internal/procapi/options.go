package procapi

import (
	"log/slog"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// DefaultMaxHosts is the default number of hosts in one request. The platform documents no limit other than the
// page limit of sync_proc_status, which is 1000. Other clients send 500 to 2000.
const DefaultMaxHosts = 1000

// Options configures a client. The zero value is usable.
type Options struct {
	MaxHosts int // hosts in one request
	Backoff  poll.Backoff
	Logger   *slog.Logger
	// Redact makes a text from the platform safe to display, because any member of an answer may echo
	// credentials. Nil means [bkapi.Printable].
	Redact func(string) string
}

// OrDefaults returns o with defaults for the unset options.
func (o Options) OrDefaults() Options {
	if o.MaxHosts <= 0 {
		o.MaxHosts = DefaultMaxHosts
	}
	if o.Backoff == (poll.Backoff{}) {
		o.Backoff = poll.DefaultBackoff()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Redact == nil {
		o.Redact = bkapi.Printable
	}
	return o
}
