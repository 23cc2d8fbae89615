package procapi

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Contents collects the statuses in the contents of query results, by host.
type Contents struct {
	// Name is the name of the process to look for if a content is about several processes.
	Name string

	mu     sync.Mutex
	byHost map[fleet.Host]fleet.Status
}

// keep stores the statuses of hosts. It reads the contents before it takes the lock, so that batches are read
// concurrently. Contents that cannot be used are logged. Each is redacted before it is shortened, because a
// shortened text may end inside a secret, which redaction would not recognize.
func (c *Contents) keep(ctx context.Context, hosts []fleet.Host, answers []hostAnswer, o Options) {
	statuses := make(map[fleet.Host]fleet.Status, len(hosts))
	for i, answer := range answers {
		if answer.found && answer.Code == CodeOK {
			status := parseStatus(answer.Content, c.Name, o.Redact)
			if status.State == fleet.Unknown {
				o.Logger.Log(ctx, bkapi.LevelTrace, "content not understood", "host", hosts[i].Address(), "content", excerpt(o.Redact(answer.Content)))
			}
			statuses[hosts[i]] = status
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHost == nil {
		c.byHost = statuses
		return
	}
	maps.Copy(c.byHost, statuses)
}

// Statuses returns the status of each host after a query. It returns an error only if the call itself failed
// and no host got an answer.
func (c *Contents) Statuses(hosts []fleet.Host, results fleet.Results) (map[fleet.Host]fleet.Status, error) {
	var (
		statuses = make(map[fleet.Host]fleet.Status, len(hosts))
		failed   error
		answered bool
	)
	for _, h := range hosts {
		o := results[h]
		switch o.Verdict {
		case fleet.Done:
			status := c.byHost[h]
			status.Unread = status.State == fleet.Unknown
			statuses[h] = status
			answered = true
			continue
		case fleet.Pending:
			o.Meaning = cmp.Or(o.Meaning, "the agent had not answered")
			answered = answered || (o.TaskID != "" && fleet.Ended(o.Err))
		case fleet.Failed:
			answered = answered || o.Err == nil
		default: // the host got no answer
		}
		if o.Err != nil {
			failed = o.Err
			if o.Meaning == "" || !fleet.Ended(o.Err) {
				o.Message = cmp.Or(o.Message, o.Err.Error())
			}
		}
		late := inProgressAtTheEnd(o)
		statuses[h] = fleet.Status{
			State: fleet.Unknown, Code: o.Code, Message: joinReason(h, o.Meaning, o.Message),
			Refused: o.Verdict == fleet.Failed && o.Err == nil && o.Code != CodeAgentAbnormal,
			Away:    o.Away || late, Late: late,
		}
	}
	if !answered && failed != nil {
		return nil, failed
	}
	return statuses, nil
}

// inProgressAtTheEnd reports whether the deadline passed while the platform reported that the agent had not
// answered (115). A queued task or an unreadable result is not such a report.
func inProgressAtTheEnd(o fleet.Outcome) bool {
	var failure *bkapi.Error
	failed := errors.As(o.Err, &failure) && failure.Kind != bkapi.KindCanceled // the deadline may interrupt a request
	return o.Verdict == fleet.Pending && o.Code == CodeInProgress && errors.Is(o.Err, context.DeadlineExceeded) && !failed
}

func joinReason(h fleet.Host, meaning, message string) string {
	switch message = excerpt(message); {
	case meaning == "":
		return message
	case message == "", RepeatsOn(h, message, meaning):
		return meaning
	}
	return meaning + ": " + message
}
