package procapi

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// InBatches calls act for each batch of hosts concurrently and merges the results. The request path limits how
// many requests are sent at once.
func InBatches[M ~map[fleet.Host]V, V any](ctx context.Context, batches iter.Seq[[]fleet.Host], act func(context.Context, []fleet.Host) M) M {
	var (
		results = make(M)
		mu      sync.Mutex
		wg      sync.WaitGroup
	)
	for batch := range batches {
		wg.Go(func() {
			partial := act(bkapi.WithLogFields(ctx, HostsField(batch)), batch)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(results, partial)
		})
	}
	wg.Wait()
	return results
}

// HostsField returns the log field for the hosts of a request. To keep the line short, it names at most two.
func HostsField(hosts []fleet.Host) slog.Attr {
	text := "none"
	switch n := len(hosts); n {
	case 0:
	case 1:
		text = hosts[0].Address()
	case 2:
		text = hosts[0].Address() + ", " + hosts[1].Address()
	default:
		text = fmt.Sprintf("%d from %s to %s", n, hosts[0].Address(), hosts[n-1].Address())
	}
	return slog.String("hosts", text)
}
