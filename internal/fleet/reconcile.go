package fleet

import (
	"context"
	"slices"
)

// Change says what is not yet as desired.
type Change struct {
	// Register holds hosts on which the process is not known to be registered,
	// Reregister those where it is registered with something else, Settle those
	// where only hosting or running may be missing.
	Register, Reregister, Settle []Host
	// Adopt tells on which hosts a registration that somebody else made is taken
	// over; nil on none.
	Adopt func(Host) bool
	// Order gives the waves their order; hosts of the change that it leaves out
	// are not touched.
	Order   []Host
	Rollout Rollout
}

// Reconcile makes hosts as desired, wave by wave, and gives the outcome of each.
func Reconcile(ctx context.Context, p Process, want Desired, c Change) Results {
	register, reregister, settle := setOf(c.Register), setOf(c.Reregister), setOf(c.Settle)
	touched := slices.DeleteFunc(slices.Clone(c.Order), func(h Host) bool {
		return !register[h] && !reregister[h] && !settle[h]
	})
	results := c.Rollout.Run(ctx, touched, func(ctx context.Context, wave Wave) Results {
		results := make(Results, len(wave.Hosts))
		results.Merge(registerAll(ctx, p, want, pick(wave.Hosts, register), c.Adopt))
		if hosts := pick(wave.Hosts, reregister); len(hosts) > 0 {
			results.Merge(p.Reregister(ctx, hosts))
		}
		results.Merge(Same(pick(wave.Hosts, settle), Outcome{Verdict: Done}))
		registered := results.Succeeded(wave.Hosts)
		results.Merge(bringUp(ctx, p, want.Ensure, registered))
		results.leave(registered, func(Host) Drift {
			if want.Ensure == EnsureRunning {
				return NotRunning
			}
			return NotHosted
		})
		return results
	})
	results.leave(touched, func(h Host) Drift {
		switch {
		case register[h]:
			return NotRegistered
		case reregister[h]:
			return OtherSpec
		case want.Ensure == EnsureRunning:
			return NotRunning
		}
		return NotHosted
	})
	return results
}

// leave says of hosts that did not come out well what is left to do there,
// unless that is said already.
func (r Results) leave(hosts []Host, left func(Host) Drift) {
	for _, h := range hosts {
		if o := r[h]; !o.OK() && o.Left == "" {
			o.Left = left(h)
			r[h] = o
		}
	}
}

// registerAll registers, and decides what a registration that is there already
// means: taken over, our own, or somebody else's.
func registerAll(ctx context.Context, p Process, want Desired, hosts []Host, adopt func(Host) bool) Results {
	if len(hosts) == 0 {
		return nil
	}
	results := p.Register(ctx, hosts)
	taken := pickFunc(hosts, func(h Host) bool {
		return results[h].Verdict == Failed && results[h].AlreadyDone
	})
	if adopt != nil {
		if adopted := pickFunc(taken, adopt); len(adopted) > 0 {
			results.Merge(p.Reregister(ctx, adopted))
		}
		taken = pickFunc(taken, func(h Host) bool { return !adopt(h) })
	}
	if len(taken) == 0 {
		return results
	}
	onFile, err := p.CachedStatus(ctx, taken)
	for _, h := range taken {
		outcome := results[h]
		switch {
		case err != nil && outcome.Repeated:
			// Somebody's, or our own from the time before: nobody can tell.
			outcome.AlreadyDone, outcome.Verdict, outcome.Err, outcome.Left = false, Lost, err, NotRegistered
		case err != nil:
			outcome.AlreadyDone, outcome.Err, outcome.Left = false, err, Foreign
		case want.Ours(onFile[h]):
			// An earlier create that was cut off before its state was saved.
			outcome = Outcome{Verdict: Done, AlreadyDone: true}
		case outcome.Repeated && (onFile[h].State == Unregistered || want.FingerprintLabel == ""):
			// We asked twice and the file does not name another owner: the first
			// time did it.
			outcome = Outcome{Verdict: Done, AlreadyDone: true}
		default:
			outcome.Left = Foreign
		}
		results[h] = outcome
	}
	return results
}

// bringUp hosts or starts what is not. The agents are asked: what is on file may be
// of a registration before this one, and say of a process that it runs although it
// was stopped since.
func bringUp(ctx context.Context, p Process, ensure Ensure, hosts []Host) Results {
	if ensure == EnsureRegistered || len(hosts) == 0 {
		return nil
	}
	status, err := p.LiveStatus(ctx, hosts)
	if err != nil {
		return Same(hosts, Outcome{Verdict: Failed, Err: err, Meaning: "registered, but its status could not be read back"})
	}
	results := make(Results)
	if ensure == EnsureRunning {
		for _, h := range hosts {
			// It may run: a start is for where it is known not to.
			if s := status[h]; s.State == Unknown {
				results[h] = Outcome{Verdict: Failed, Code: s.Code, Message: s.Message, Meaning: "registered, but whether it runs is not known"}
			}
		}
		down := pickFunc(hosts, func(h Host) bool { return status[h].State != Running && status[h].State != Unknown })
		if len(down) > 0 {
			results.Merge(start(ctx, p, down, nil))
		}
	}
	bare := pickFunc(hosts, func(h Host) bool {
		if started, ok := results[h]; ok {
			// A start that worked has hosted it; one that found it running has not.
			return started.OK() && started.AlreadyDone
		}
		return !status[h].HostedKnown || !status[h].Hosted
	})
	if len(bare) > 0 {
		hosted := p.Operate(ctx, Supervise, bare, nil)
		hosted.leave(bare, func(Host) Drift { return NotHosted })
		results.Merge(hosted)
	}
	return results
}

func setOf(hosts []Host) map[Host]bool {
	set := make(map[Host]bool, len(hosts))
	for _, h := range hosts {
		set[h] = true
	}
	return set
}

func pick(hosts []Host, set map[Host]bool) []Host {
	return pickFunc(hosts, func(h Host) bool { return set[h] })
}

func pickFunc(hosts []Host, keep func(Host) bool) []Host {
	var picked []Host
	for _, h := range hosts {
		if keep(h) {
			picked = append(picked, h)
		}
	}
	return picked
}
