package procapi

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// HostedReader reads what agents host, from their own files.
type HostedReader interface {
	// ReadHosted has a reading of each host. It changes nothing, and waits until ctx ends for
	// agents that do not answer. windows is about all of these hosts.
	ReadHosted(ctx context.Context, hosts []fleet.Host, windows bool) map[fleet.Host]hostedspec.Reading
}

// Unread is a HostedReader that reads nothing, and why.
type Unread string

// ReadHosted implements HostedReader.
func (u Unread) ReadHosted(_ context.Context, hosts []fleet.Host, _ bool) map[fleet.Host]hostedspec.Reading {
	return unread(hosts, string(u))
}

func unread(hosts []fleet.Host, why string) map[fleet.Host]hostedspec.Reading {
	readings := make(map[fleet.Host]hostedspec.Reading, len(hosts))
	for _, h := range hosts {
		readings[h] = hostedspec.Reading{Why: why}
	}
	return readings
}

// Script is a run of the script that reads what agents host, on the hosts of one batch.
type Script struct {
	// Send starts it. Its request may be repeated, since the script only reads.
	Send func(ctx context.Context) (task string, reply bkapi.Reply, err error)
	// Look asks once for the readings of hosts, and leaves out those that are still to come. What it
	// has read counts, even if it fails.
	Look func(ctx context.Context, task string, hosts []fleet.Host) (map[fleet.Host]hostedspec.Reading, error)
}

// ReadHosted runs a script on each batch of hosts, at the same time.
func ReadHosted(ctx context.Context, o Options, batches iter.Seq[[]fleet.Host], script func([]fleet.Host) Script) map[fleet.Host]hostedspec.Reading {
	var (
		readings = make(map[fleet.Host]hostedspec.Reading)
		mu       sync.Mutex
		wg       sync.WaitGroup
	)
	for batch := range batches {
		wg.Go(func() {
			partial := script(batch).read(bkapi.WithLogFields(ctx, HostsField(batch)), o, batch)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(readings, partial)
		})
	}
	wg.Wait()
	return readings
}

func (s Script) read(ctx context.Context, o Options, hosts []fleet.Host) map[fleet.Host]hostedspec.Reading {
	task, reply, err := s.Send(ctx)
	if err == nil && task == "" {
		err = fmt.Errorf("the platform accepted the script and named no task (request id %s)", reply.RequestID)
	}
	if err != nil {
		return unread(hosts, "the script that reads the agent's file was not run: "+o.Redact(err.Error()))
	}
	shown := excerpt(o.Redact(task))
	ctx = bkapi.WithLogFields(ctx, slog.String("task_id", shown))
	readings := make(map[fleet.Host]hostedspec.Reading, len(hosts))
	pending := slices.Clone(hosts)
	var passing error // what was wrong with the last answer, if anything was
	err = poll.Until(ctx, o.Backoff, func(ctx context.Context) (bool, error) {
		found, err := s.Look(ctx, task, pending)
		maps.Copy(readings, found)
		pending = slices.DeleteFunc(pending, func(h fleet.Host) bool { _, read := found[h]; return read })
		if passing = nil; err != nil && (isQueued(err) || bkapi.IsTransient(err)) {
			passing, err = err, nil
		}
		return len(pending) == 0, err
	})
	why := "the agent had not answered"
	if failure := cmp.Or(passing, err); failure != nil && (passing != nil || !fleet.Ended(err)) {
		why = "the answer could not be had: " + o.Redact(failure.Error())
	}
	maps.Copy(readings, unread(pending, why+" (task "+shown+")"))
	return readings
}

// Refused is the reading of a host on which a script did not run to its end, in the platform's own words.
func (o Options) Refused(code int64, message, requestID string) hostedspec.Reading {
	meaning, message := cmp.Or(Meaning(code, message), "the platform could not run the script"), excerpt(o.Redact(message))
	if message != "" && !Repeats(message, meaning) {
		meaning += ": " + message
	}
	return hostedspec.Reading{Why: fmt.Sprintf("%s (code %d, request id %s)", meaning, code, requestID)}
}
