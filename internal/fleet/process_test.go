package fleet_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// runOne runs an operation on one process.
func runOne(ctx context.Context, p fleet.Process, op fleet.Operation, on []fleet.Host, unsure map[fleet.Host]fleet.Task, rollout fleet.Rollout) fleet.Results {
	return fleet.Run(ctx, op, fleet.Ascending, []fleet.Member{{Process: p, Hosts: on, Unsure: unsure}}, on, rollout)[0]
}

// host returns 0:10.0.0.n. Tests name hosts by n.
func host(n int) fleet.Host {
	return fleet.NewHost(0, 0, netip.AddrFrom4([4]byte{10, 0, 0, byte(n)}))
}

func hosts(numbers ...int) []fleet.Host {
	list := make([]fleet.Host, len(numbers))
	for i, n := range numbers {
		list[i] = host(n)
	}
	return list
}

func number(h fleet.Host) int { return int(h.IP().As4()[3]) }

// byNumber makes results readable in a diff.
func byNumber[V any](byHost map[fleet.Host]V) map[int]V {
	numbered := make(map[int]V, len(byHost))
	for h, v := range byHost {
		numbered[number(h)] = v
	}
	return numbered
}

// process is a fleet.Process made of functions. If a function is nil, calls succeed and hosts are healthy. Each
// call is recorded as a line such as "stop 1 2".
type process struct {
	register, reregister, unregister func([]fleet.Host) fleet.Results
	operate                          func(context.Context, fleet.Operation, []fleet.Host, fleet.Observer) fleet.Results
	// look and wait are what Resume returns, without and with waiting.
	look, wait   byHost
	cached, live func([]fleet.Host) (map[fleet.Host]fleet.Status, error)

	hostingRegisters, oneShot bool

	// others is what OtherNames returns.
	others map[fleet.Host]fleet.HostID

	// started are the hosts that a start worked on. It runs there from then on. With denies, agents say what they said before.
	started map[fleet.Host]bool
	denies  bool

	// waits makes LiveStatus wait for its deadline. If live is nil, it then returns an error.
	waits bool

	calls []string
}

var _ fleet.Process = (*process)(nil)

func (p *process) Register(_ context.Context, hosts []fleet.Host) fleet.Results {
	return p.answer("register", p.register, hosts)
}

func (p *process) Reregister(_ context.Context, hosts []fleet.Host) fleet.Results {
	return p.answer("reregister", p.reregister, hosts)
}

func (p *process) Unregister(_ context.Context, hosts []fleet.Host) fleet.Results {
	return p.answer("unregister", p.unregister, hosts)
}

func (p *process) Operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host, observe fleet.Observer) fleet.Results {
	var say func([]fleet.Host) fleet.Results
	if p.operate != nil {
		say = func(hosts []fleet.Host) fleet.Results { return p.operate(ctx, op, hosts, observe) }
	}
	results := p.answer(string(op), say, hosts)
	for h, o := range results {
		if op == fleet.Start && o.OK() && !o.AlreadyDone && !p.denies && !p.oneShot {
			if p.started == nil {
				p.started = make(map[fleet.Host]bool)
			}
			p.started[h] = true
		}
	}
	return results
}

func (p *process) Resume(_ context.Context, tasks map[fleet.Host]fleet.Task, wait bool, _ fleet.Observer) fleet.Results {
	name, answers := "look", p.look
	if wait {
		name, answers = "wait", p.wait
	}
	return p.answer(name, done(answers), slices.SortedFunc(maps.Keys(tasks), func(a, b fleet.Host) int { return number(a) - number(b) }))
}

func (p *process) SharedStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return p.CachedStatus(ctx, hosts)
}

func (p *process) CachedStatus(_ context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return p.status("cached", p.cached, hosts)
}

func (p *process) LiveStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	if p.waits {
		<-ctx.Done()
		if p.live == nil {
			return nil, ctx.Err()
		}
	}
	statuses, err := p.status("live", p.live, hosts)
	for h, s := range statuses {
		if p.started[h] && s.State == fleet.Stopped {
			s.State, s.Hosted, s.HostedKnown, s.PID = fleet.Running, true, true, cmp.Or(s.PID, healthy.PID)
			statuses[h] = s
		}
	}
	return statuses, err
}

func (p *process) OneShot() bool { return p.oneShot }

func (p *process) Settles() (command, startCheck, stopCheck time.Duration) {
	return time.Minute, 5 * time.Second, 2 * time.Second
}

func (p *process) HostingRegisters() bool { return p.hostingRegisters }

func (p *process) OtherNames(context.Context, []fleet.Host) (map[fleet.Host]fleet.HostID, error) {
	return p.others, nil
}

func (p *process) KnownNames([]fleet.Host) map[fleet.Host]fleet.HostID { return p.others }

func (p *process) answer(name string, say func([]fleet.Host) fleet.Results, hosts []fleet.Host) fleet.Results {
	p.record(name, hosts)
	if say == nil {
		return fleet.Same(hosts, fleet.Outcome{Verdict: fleet.Done})
	}
	return say(hosts)
}

func (p *process) status(name string, say func([]fleet.Host) (map[fleet.Host]fleet.Status, error), hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	p.record(name, hosts)
	if say == nil {
		return says(nil)(hosts)
	}
	return say(hosts)
}

func (p *process) record(name string, hosts []fleet.Host) {
	for _, h := range hosts {
		name += fmt.Sprintf(" %d", number(h))
	}
	p.calls = append(p.calls, name)
}

// wantCalls compares the calls so far. Each argument is one call, or several joined by commas.
func (p *process) wantCalls(t *testing.T, want ...string) {
	t.Helper()
	fleettest.Same(t, "calls", strings.Join(want, ", "), strings.Join(p.calls, ", "))
}

// done returns Done for all hosts but those listed.
func done(but byHost) func([]fleet.Host) fleet.Results {
	return func(hosts []fleet.Host) fleet.Results {
		results := make(fleet.Results, len(hosts))
		for _, h := range hosts {
			results[h] = but[number(h)]
		}
		return results
	}
}

// doneOps returns done for each operation.
func doneOps(but byOp) func(context.Context, fleet.Operation, []fleet.Host, fleet.Observer) fleet.Results {
	return func(_ context.Context, op fleet.Operation, hosts []fleet.Host, _ fleet.Observer) fleet.Results {
		return done(but[op])(hosts)
	}
}

// healthy is the status of a host that is as desired.
var healthy = fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 7}

// says returns healthy for all hosts but those listed.
func says(but byStatus) func([]fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return func(hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
		statuses := make(map[fleet.Host]fleet.Status, len(hosts))
		for _, h := range hosts {
			status, listed := but[number(h)]
			if !listed {
				status = healthy
			}
			statuses[h] = status
		}
		return statuses, nil
	}
}

// first answers as say does once, and healthy afterwards.
func first(say func([]fleet.Host) (map[fleet.Host]fleet.Status, error)) func([]fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return func(hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
		now := say
		say = says(nil)
		return now(hosts)
	}
}

func cannotSay(err error) func([]fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return func([]fleet.Host) (map[fleet.Host]fleet.Status, error) { return nil, err }
}

func wantResults(t *testing.T, want byHost, got fleet.Results) {
	t.Helper()
	fleettest.Same(t, "results", want, byNumber(got), cmpopts.EquateErrors(), cmpopts.EquateEmpty())
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}
