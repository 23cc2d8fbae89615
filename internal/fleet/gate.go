package fleet

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// Gate is what a host has to show after an operation: that its process stays up. The platform's own check
// after a start looks only once, and misses a process that dies a moment later and is restarted again and
// again.
type Gate struct {
	// StableFor is how long the process has to run with the same pid.
	StableFor time.Duration
	// Within is how long a host has for that in all, after its wave was operated on.
	Within time.Duration
	// Output, if non-nil, is what health_cmd has to print all the time.
	Output *regexp.Regexp
}

// Limits of the interval between two looks, which is a tenth of StableFor. It does not grow, so that a
// process that dies and is restarted is noticed.
const (
	leastBetweenLooks = 100 * time.Millisecond
	mostBetweenLooks  = 30 * time.Second
)

// next returns how long to wait before the next look at hosts, where took is how long this look took. The
// look that may pass a host is made exactly when the host may pass: any earlier, it would be in vain.
func (g *Gate) next(hosts []Host, seen map[Host]*sightings, now time.Time, took time.Duration) time.Duration {
	first := time.Duration(math.MaxInt64)
	for _, h := range hosts {
		if s := seen[h]; s.well() {
			first = min(first, max(s.since.Add(g.StableFor).Sub(now), 0))
		}
	}
	if between := min(max(g.StableFor/10, leastBetweenLooks), mostBetweenLooks); first > between+took {
		return between
	}
	return first
}

// leastPatience is how long a look waits for agents at least, however little time a gate leaves for that.
const leastPatience = 5 * time.Second

// patience is how long a look waits for agents. It leaves time for another look, so that a silent agent does
// not keep other hosts from passing.
func (g *Gate) patience() time.Duration {
	return min(max((g.Within-g.StableFor)/4, leastPatience), Aftermath)
}

// pass watches hosts until each has passed, or cannot pass any more. reached are their outcomes before the
// gate. left is called with the hosts that leave it.
func (g *Gate) pass(ctx context.Context, p Process, clock poll.Clock, hosts []Host, reached Results, left Observer) Results {
	results := make(Results, len(hosts))
	if len(hosts) == 0 {
		return results
	}
	seen := make(map[Host]*sightings, len(hosts))
	for _, h := range hosts {
		seen[h] = new(sightings)
	}
	end := clock.Now().Add(g.Within)
	err := poll.UntilBy(ctx, clock, func(ctx context.Context) (time.Duration, bool, error) {
		asked := clock.Now()
		status, err := LiveStatusWithin(ctx, p, g.patience(), hosts)
		if over := clock.Pause(ctx, 0); over != nil {
			return 0, false, over
		}
		answered := clock.Now()
		settled := make(Results)
		hosts = Where(hosts, func(h Host) bool {
			switch s := seen[h]; {
			case s.add(status[h], err, g.wants(status[h]), asked, answered) >= g.StableFor:
				settled[h] = reached[h]
			case s.couldPass(answered).Add(g.StableFor).After(end), !asked.Before(end):
				settled[h] = g.failed(reached[h], s)
			default:
				return true
			}
			return false
		})
		left.Notify(settled)
		results.Merge(settled)
		return g.next(hosts, seen, answered, answered.Sub(asked)), len(hosts) == 0, nil
	})
	for _, h := range hosts {
		results[h] = Outcome{
			Verdict: Pending, Left: Unhealthy, Err: err, TaskID: reached[h].TaskID, RequestID: reached[h].RequestID,
			Meaning: "it was operated on, and was not yet known to be stable",
		}
	}
	return results
}

func (g *Gate) wants(s Status) bool { return g.Output == nil || g.Output.MatchString(s.Health) }

// sightings are what was seen of one host.
type sightings struct {
	pid   int64     // of the running process, 0 if none runs
	since time.Time // when it was first seen with that pid and healthy, zero if it is not
	asked time.Time // when that look began: the answer may have taken longer than the gate allows for
	pids  int       // how many pids were seen, one after the other
	last  Status
	err   error // why the last look failed
}

// add adds a look that began at asked and ended at answered. It returns how long the process is known to have
// been as wanted. A look without an answer shows nothing, as the next one may find the same process.
func (s *sightings) add(status Status, err error, healthy bool, asked, answered time.Time) time.Duration {
	s.last, s.err = status, err
	if err != nil || !status.answered() {
		return 0
	}
	if status.State != Running {
		s.pid, s.since = 0, time.Time{}
		return 0
	}
	if status.PID <= 0 { // an unknown pid may be another one each time
		s.since = time.Time{}
		return 0
	}
	if status.PID != s.pid {
		s.pid, s.since = status.PID, time.Time{}
		s.pids++
	}
	switch {
	case !healthy:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since, s.asked = answered, asked
	default:
		return asked.Sub(s.since)
	}
	return 0
}

// well reports whether the process was as wanted at the last look.
func (s *sightings) well() bool {
	return s.err == nil && s.last.State == Running && !s.since.IsZero()
}

// couldPass is the earliest time from which the host may turn out to have been stable.
func (s *sightings) couldPass(now time.Time) time.Time {
	if s.since.IsZero() {
		return now
	}
	return s.asked
}

func (g *Gate) failed(reached Outcome, s *sightings) Outcome {
	o := Outcome{Verdict: Failed, Left: Unhealthy, Ran: true, TaskID: reached.TaskID, RequestID: reached.RequestID}
	o.Meaning = fmt.Sprintf("not stable for %s within %s: %s", g.StableFor, g.Within, g.reason(s))
	switch {
	case s.err != nil:
		if !Ended(s.err) {
			o.Err = s.err
		}
	case s.last.State == Unknown:
		o.Code, o.Message = s.last.Code, s.last.Message
	case s.last.State == Running && !g.wants(s.last):
		o.Message = s.last.Health
	case s.pids > 1:
		o.Message = fmt.Sprintf("pids seen: %d", s.pids)
	}
	return o
}

// reason says what was seen. Hosts with the same outcome get the same words.
func (g *Gate) reason(s *sightings) string {
	died := ""
	switch {
	case s.pids > 2:
		died = "it died and was started again and again"
	case s.pids == 2:
		died = "it died and was started again"
	}
	now := g.lastSeen(s)
	if now == "" && died == "" {
		now = "it began to run too late for that"
	}
	if died == "" || now == "" {
		return died + now
	}
	return died + "; " + now
}

// lastSeen says what was wrong with a host at the last look, "" for nothing.
func (g *Gate) lastSeen(s *sightings) string {
	switch {
	case s.err != nil || !s.last.answered():
		return "its agent did not report its state when it was last asked"
	case s.last.State != Running && s.pids == 0:
		return "it was never seen to run"
	case s.last.State != Running:
		return "it did not run when its agent was last asked"
	case s.last.PID <= 0:
		return "its agent reports that it runs, but not its pid"
	case !g.wants(s.last) && s.last.Health == "":
		return fmt.Sprintf("its health_cmd printed nothing, or failed, and %q is wanted", g.Output)
	case !g.wants(s.last):
		return fmt.Sprintf("what its health_cmd printed does not match %q", g.Output)
	}
	return ""
}
