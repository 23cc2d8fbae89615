package procapi

import (
	"context"
	"iter"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// InBatches calls act for each batch of hosts, side by side: how many requests
// are on the wire at once is the request path's business.
func InBatches(ctx context.Context, batches iter.Seq[[]fleet.Host], act func(context.Context, []fleet.Host) fleet.Results) fleet.Results {
	var (
		results = make(fleet.Results)
		mu      sync.Mutex
		wg      sync.WaitGroup
	)
	for batch := range batches {
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
