package procapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// HostedReader reads what agents host, from the files of the agents themselves.
type HostedReader interface {
	// ReadHosted returns a reading for each host and changes nothing. It waits for agents that do not answer
	// until ctx ends. windows is true if all these hosts run Windows.
	ReadHosted(ctx context.Context, hosts []fleet.Host, windows bool) map[fleet.Host]hostedspec.Reading
}

// Unread is a HostedReader that reads nothing. Its text is the reason in each reading.
type Unread string

// ReadHosted implements HostedReader.
func (u Unread) ReadHosted(_ context.Context, hosts []fleet.Host, _ bool) map[fleet.Host]hostedspec.Reading {
	return unread(hosts, string(u), "")
}

func unread(hosts []fleet.Host, why, call string) map[fleet.Host]hostedspec.Reading {
	readings := make(map[fleet.Host]hostedspec.Reading, len(hosts))
	for _, h := range hosts {
		readings[h] = hostedspec.Reading{Why: why, Call: call}
	}
	return readings
}

// Script is one run, on the hosts of one batch, of the script that reads what agents host.
type Script struct {
	// Send starts the script. The request may be repeated, since the script only reads.
	Send func(ctx context.Context) (task string, reply bkapi.Reply, err error)
	// Look asks once for the readings of hosts, and omits hosts that have none yet. Readings that it returns
	// together with an error are valid.
	Look func(ctx context.Context, task string, hosts []fleet.Host) (map[fleet.Host]hostedspec.Reading, error)
}

// ReadHosted runs a script on each batch of hosts concurrently and returns a reading for each host.
func ReadHosted(ctx context.Context, o Options, batches iter.Seq[[]fleet.Host], script func([]fleet.Host) Script) map[fleet.Host]hostedspec.Reading {
	return InBatches(ctx, batches, func(ctx context.Context, batch []fleet.Host) map[fleet.Host]hostedspec.Reading {
		return script(batch).read(ctx, o, batch)
	})
}

func (s Script) read(ctx context.Context, o Options, hosts []fleet.Host) map[fleet.Host]hostedspec.Reading {
	task, reply, err := s.Send(ctx)
	if err == nil && task == "" {
		return unread(hosts, notRun+"the platform accepted it and named no task", "request id "+reply.RequestID)
	}
	if err != nil {
		why, call := o.apart(err)
		return unread(hosts, notRun+why, call)
	}
	shown := excerpt(o.Redact(task))
	ctx = bkapi.WithLogFields(ctx, slog.String("task_id", shown))
	readings := make(map[fleet.Host]hostedspec.Reading, len(hosts))
	pending := slices.Clone(hosts)
	var passing error // the error of the last query, if it had one
	err = poll.Until(ctx, o.Backoff, func(ctx context.Context) (bool, error) {
		found, err := s.Look(ctx, task, pending)
		maps.Copy(readings, found)
		pending = slices.DeleteFunc(pending, func(h fleet.Host) bool { _, read := found[h]; return read })
		if passing = nil; err != nil && (isQueued(err) || bkapi.IsTransient(err)) {
			passing, err = err, nil
		}
		return len(pending) == 0, err
	})
	why, call := "the agent had not answered", "task "+shown
	if failure := cmp.Or(passing, err); failure != nil && (passing != nil || !fleet.Ended(err)) {
		text, more := o.apart(failure)
		why, call = "the answer could not be obtained: "+text, strings.TrimSuffix(call+", "+more, ", ")
	}
	maps.Copy(readings, unread(pending, why, call))
	return readings
}

const notRun = "the script that reads the agent's file was not run: "

// apart splits the text of an error into a reason and the details of the call, as [bkapi.Error.Apart] does.
func (o Options) apart(err error) (why, call string) {
	var failure *bkapi.Error
	if !errors.As(err, &failure) {
		return o.Redact(err.Error()), ""
	}
	why, call = failure.Apart()
	return o.Redact(why), o.Redact(call)
}

// Refused returns the reading of a host on which the script did not complete.
func (o Options) Refused(code int64, message, requestID string) hostedspec.Reading {
	meaning, message := cmp.Or(Meaning(code, message), "the platform could not run the script"), excerpt(o.Redact(message))
	if message != "" && !Repeats(message, meaning) {
		meaning += ": " + message
	}
	return hostedspec.Reading{Why: fmt.Sprintf("%s (code %d)", meaning, code), Call: "request id " + requestID}
}
