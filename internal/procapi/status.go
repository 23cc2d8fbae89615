package procapi

import (
	"cmp"
	"encoding/json"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Contents keeps the content of query results by host. The zero value is empty.
type Contents struct {
	mu     sync.Mutex
	byHost map[fleet.Host]json.RawMessage
}

func (c *Contents) keep(answers ResultMap, hosts []fleet.Host, keys Keys) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHost == nil {
		c.byHost = make(map[fleet.Host]json.RawMessage, len(hosts))
	}
	for _, h := range hosts {
		if answer, found := answers.find(keys(h)); found && answer.Code == CodeOK {
			c.byHost[h] = answer.Content
		}
	}
}

// Statuses are what a query came to. An error is returned only where no host got
// an answer because the call itself failed.
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
			statuses[h] = parseStatus(c.byHost[h])
			answered = true
			continue
		case fleet.Pending:
			o.Meaning = cmp.Or(o.Meaning, "the agent had not answered")
			answered = answered || (o.TaskID != "" && fleet.Ended(o.Err))
		case fleet.Failed:
			answered = answered || o.Err == nil
		default: // nothing came back
		}
		if o.Err != nil {
			failed = o.Err
			if o.Meaning == "" || !fleet.Ended(o.Err) {
				o.Message = cmp.Or(o.Message, o.Err.Error())
			}
		}
		statuses[h] = fleet.Status{State: fleet.Unknown, Code: o.Code, Message: joinReason(o.Meaning, o.Message)}
	}
	if !answered && failed != nil {
		return nil, failed
	}
	return statuses, nil
}

func joinReason(meaning, message string) string {
	switch message = excerpt(message); {
	case meaning == "":
		return message
	case message == "":
		return meaning
	}
	return meaning + ": " + message
}
