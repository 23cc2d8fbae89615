package hostedprocess

import (
	"context"
	"maps"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/ownership"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// known is what was known of an object's hosts before an apply: its ledger, and what state says.
type known struct {
	last     ledger
	statuses map[fleet.HostID]diagnose.HostStatus
}

// leave is how hosts are unregistered.
type leave struct {
	first  fleet.OnDestroy
	forget bool // forget_unreachable
}

func (m *lifecycleModel) leave() leave {
	return leave{fleet.OnDestroy(m.OnDestroy.ValueString()), m.ForgetUnreachable.ValueBool()}
}

// mayBeGone reports whether a host could not be unregistered and its agent gave no answer.
func mayBeGone(o fleet.Outcome) bool {
	return !o.OK() && (o.Unreachable || o.Away || (o.Verdict == fleet.Pending && !fleet.Interrupted(o.Err)))
}

// departure unregisters hosts of an object, and notes what became of them.
type departure struct {
	hostedProcess
	known
	leave

	// results are of the hosts that needed a call, and of those that could not be unregistered.
	results fleet.Results
	// noted are the hosts that a warning names.
	noted map[note]fleet.Results
	// was is what the agents of this object's own hosts reported before.
	was map[fleet.Host]fleet.Status
	// begun are the hosts that could not be unregistered, and to which something was or may have been done.
	begun map[fleet.Host]bool
	// spared are the hosts on which nothing is stopped first.
	spared map[fleet.Host]bool
}

func (h hostedProcess) departure(k known, how leave) departure {
	return departure{
		hostedProcess: h, known: k, leave: how, results: make(fleet.Results), noted: make(map[note]fleet.Results),
		was: make(map[fleet.Host]fleet.Status), begun: make(map[fleet.Host]bool), spared: make(map[fleet.Host]bool),
	}
}

// release unregisters those of the hosts that this object owns. It leaves alone what this object never
// registered, and what another owner has registered since.
func (l departure) release(ctx context.Context, hosts []fleet.Host, rollout fleet.Rollout) {
	if err := poll.Pause(ctx, 0); err != nil {
		l.results.Merge(fleet.NotBegun(hosts, err))
		return
	}
	rollout.MaxUnreachable = 0 // for hosts that leave, forget_unreachable decides
	if l.forget {
		rollout.MaxUnreachable = len(hosts)
	}
	ours := l.spare(ctx, l.stillOurs(ctx, l.unhindered(ctx, hosts)))
	logged := platform.Run{Process: l.ID, Operation: wordsOf(l.first), Keys: l.Hosts, Rollout: rollout}
	l.results.Merge(l.platform.Logged(ctx, logged, ours, func(ctx context.Context, rollout fleet.Rollout) fleet.Results {
		return rollout.Run(ctx, ours, l.releaseWave)
	}))
	l.noteStopped(ours)
	if l.forget {
		l.forgetGone(ctx)
	}
}

// meaningHindered is said of a host on which a request of an earlier apply might still take effect after the
// host was unregistered.
const meaningHindered = "not unregistered, because an earlier apply has sent what would host or start it there, and the platform has not said that this is over. " +
	"Try again once it is over. If that never happens, "

// endOf says how to end a task that never ends by itself. Nothing done by hand shows that a hosting is over.
func endOf(task fleet.Task) string {
	const last = "use `terraform state rm` and check the host"
	if task.Operation == fleet.Supervise {
		return last
	}
	return "restart the process there by hand and try again. As a last resort, " + last
}

// unhindered returns the hosts on which no request of an earlier run is under way. Such a request would host or
// start the process after it was unregistered.
func (l departure) unhindered(ctx context.Context, hosts []fleet.Host) []fleet.Host {
	for _, tasks := range []map[fleet.Host]fleet.Task{l.last.hostings(hosts), l.last.tries(hosts)} {
		for host, o := range fleet.StillUnderWay(ctx, l.Process, l.Process, l.last.lastSent(l.Desired), tasks, nil) {
			l.results[host] = diagnose.Hindered(ctx, o, meaningHindered+endOf(tasks[host]))
		}
	}
	return fleet.Where(hosts, func(host fleet.Host) bool { _, hindered := l.results[host]; return !hindered })
}

// wordsOf says what is done to hosts that are unregistered.
func wordsOf(first fleet.OnDestroy) string {
	if op := first.Operation(); op != "" {
		return string(op) + " and unregister"
	}
	return "unregister"
}

// releaseWave unregisters the hosts of one wave. From the second wave on it asks again who owns them, because
// another object may register there between two waves.
func (l departure) releaseWave(ctx context.Context, wave fleet.Wave) fleet.Results {
	ours := wave.Hosts
	if wave.Number > 1 {
		looking, cancel := fleet.Share(ctx, fleet.Quick, fleet.Takes(l.Process, fleet.Stop)+fleet.Besides)
		defer cancel()
		ours = l.stillOurs(looking, ours)
	}
	results, idle := fleet.Release(ctx, l.Process, ours, l.first, l.spared, l.was)
	found := fleet.SetOf(idle)
	l.noteBegun(results)
	for _, host := range ours {
		if l.was[host].State == "" && !found[host] && results[host].OK() { // no agent was asked, and a process that could be stopped ran
			l.was[host] = fleet.Status{State: fleet.Running}
		}
	}
	for _, host := range idle {
		if l.statuses[host.WithoutSupplier()].Code == fleet.OtherSpec && results[host].OK() {
			l.note(elsewhere, host, left("nothing to stop by the declaration in state; it was registered with another one"))
		}
	}
	for _, host := range wave.Hosts {
		if o, stays := l.results[host]; stays {
			results[host] = o
		}
	}
	return results
}

// noteBegun notes the hosts that could not be unregistered, and to which something was or may have been done.
func (l departure) noteBegun(results fleet.Results) {
	for host, o := range results {
		if !o.OK() && !o.Away && o.Verdict != fleet.NotTried {
			l.begun[host] = true
		}
	}
}

// unstarted reports whether this object has not started what runs on a host: it was never registered there, as far as
// is known, and its agent says that it is not hosted.
func (l departure) unstarted(host fleet.Host) bool {
	claim, live := l.claimOn(host), l.was[host]
	return claim == ownership.Refused || claim == ownership.Unconfirmed && live.HostedKnown && !live.Hosted
}

// spare notes where nothing is stopped: what this object has not started runs on, and so does a host that moves to
// another object. A machine that state has under both of its names is stopped under one of them. It returns no hosts if
// that cannot be found out.
func (l departure) spare(ctx context.Context, ours []fleet.Host) []fleet.Host {
	for _, host := range ours {
		l.spared[host] = l.unstarted(host) || l.anyName(host, l.object.JoinsAnother)
	}
	if !l.last.kept && l.first.Operation() != "" {
		rows, err := l.Process.CachedStatus(ctx, ours)
		if err != nil {
			l.results.Merge(fleet.Same(ours, fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningUnread}))
			return nil
		}
		for _, host := range ours {
			if rows[host].State == fleet.Unregistered {
				l.spared[host] = true
				l.note(unstopped, host, left("not stopped, as it is not in the cached status"))
			}
		}
	}
	mixed := fleet.OtherForm(ours, ours)
	if l.first.Operation() == "" || len(mixed) == 0 {
		return ours
	}
	others, err := l.Process.OtherNames(ctx, mixed)
	if err != nil {
		l.results.Merge(fleet.Same(mixed, fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningMachineUnread}))
		return nil // mixed is all of the hosts, as both forms occur
	}
	stopped := make(map[fleet.HostID]bool)
	for _, host := range slices.Backward(ours) { // by the last name, which is unregistered last
		if other, known := others[host]; known && stopped[other] {
			l.spared[host] = true
		}
		stopped[host.WithoutSupplier()] = !l.spared[host]
	}
	return ours
}

// meaningMachineUnread is said of a host that may be another one by a second name: no machine is stopped twice.
const meaningMachineUnread = "not stopped, because whether another of the hosts is the same machine could not be asked"

// meaningUnasked is said of a host that forget_unreachable does not forget.
const meaningUnasked = "whether its agent answers could not be asked"

// forgetGone asks once more about the hosts that could not be unregistered and whose agents gave no answer.
// It forgets a host only if the platform says that its agent does not answer. Otherwise that is unknown: the
// platform may be slow, or fail.
func (l departure) forgetGone(ctx context.Context) {
	stuck := l.results.Where(func(_ fleet.Host, o fleet.Outcome) bool { return mayBeGone(o) })
	if len(stuck) == 0 {
		return
	}
	live, err := fleet.LiveStatusWithin(context.WithoutCancel(ctx), l.Process, fleet.Aftermath, slices.Collect(maps.Keys(stuck)))
	for host, o := range stuck {
		switch s := live[host]; {
		case err != nil || !s.Asked():
			if o.Meaning != "" {
				o.Meaning += "; "
			}
			o.Meaning += meaningUnasked
			l.results[host] = o
		case s.Silent():
			l.note(forgotten, host, o)
			delete(l.results, host)
		}
	}
}
