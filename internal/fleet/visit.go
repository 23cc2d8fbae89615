package fleet

import (
	"context"
	"maps"
	"slices"
	"time"
)

// visit is one wave of a reconciliation. Each step takes the hosts that have had no failure so far.
type visit struct {
	*Reconciliation
	Wave

	results Results
	// before is what the agents reported before anything was done to their hosts, after what they have
	// reported since the last change there.
	before, after map[Host]Status
	// registered are the outcomes of registering hosts that were not known to be registered. made are the
	// hosts that are now registered as declared, and sent also those that may be.
	registered Results
	sent, made []Host
	// up are the hosts of bringUp, and run those of them on which the process is to run.
	up, run []Host
}

// wave registers the hosts of a wave, runs the operation if it is due, and hosts or starts the process where that
// is missing.
func (r *Reconciliation) wave(ctx context.Context, wave Wave) Results {
	v := visit{Reconciliation: r, Wave: wave, results: make(Results), before: make(map[Host]Status), after: make(map[Host]Status)}
	v.ask(ctx)
	v.rename(ctx)
	v.register(ctx)
	v.operate(ctx)
	v.bringUp(ctx)
	v.look(ctx)
	v.close()
	return v.results
}

// later is the time that the later steps of a wave need. Each step may take all the rest.
type later struct {
	look       time.Duration // the final look at the hosts
	up         time.Duration // that, and to bring hosts up before
	operated   time.Duration // that, and the operation
	registered time.Duration // that, and registering
	renamed    time.Duration // that, and unregistering old names
}

func (v *visit) later() (t later) {
	if v.agentsKnow() {
		t.look = Quick
	}
	t.up = t.look
	if v.want.Ensure != EnsureRegistered {
		t.up += 2 * Quick // to ask, and to host
		if slices.ContainsFunc(v.Hosts, v.mayStart) {
			t.up += Takes(v.process, Start)
		}
	}
	due := v.due(v.Hosts)
	t.operated = t.up
	if len(due) > 0 {
		t.operated += Takes(v.process, v.change.Operation)
	}
	if slices.ContainsFunc(due, func(h Host) bool { return v.change.Runs[h].nextStopped() == startAgain }) {
		t.operated += Takes(v.process, Start)
	}
	t.registered = t.operated + needs(v.first(v.Hosts, register)) + needs(v.first(v.Hosts, registerAnew))
	t.renamed = t.registered
	if v.change.Rename != nil {
		t.renamed += Besides
	}
	return t
}

// mayStart reports whether bringing a host up may start the process. It need not where the operation runs.
func (v *visit) mayStart(h Host) bool {
	_, due := v.change.Runs[h]
	which, asked := v.nexts[h]
	return (v.want.Ensure == EnsureRunning || v.change.Stopped[h]) && (!due || asked && which == leaveStopped)
}

// first returns those of hosts to which this is done first.
func (v *visit) first(hosts []Host, which step) []Host {
	return Where(hosts, func(h Host) bool { return v.steps[h] == which })
}

// open returns those of hosts that have no outcome yet.
func (v *visit) open(hosts []Host) []Host {
	return Where(hosts, func(h Host) bool { _, settled := v.results[h]; return !settled })
}

// ask asks what runs on the hosts on which the operation is due, before anything is changed there. It leaves out a
// host that cannot be asked, or on which something sent earlier is still under way.
func (v *visit) ask(ctx context.Context) {
	later := v.later().renamed
	asking := needs(v.due(v.Hosts)) + later
	trying := time.Duration(0)
	if slices.ContainsFunc(v.due(v.Hosts), func(h Host) bool { return v.change.Runs[h].Task.ID != "" }) {
		trying = Takes(v.process, v.change.Operation)
	}
	v.results.Merge(v.resumeUnderway(ctx, v.Hosts, trying+asking, v.observe))
	v.results.Merge(v.resumeTries(ctx, v.open(v.due(v.Hosts)), asking, v.observe))
	due := Where(v.open(v.due(v.Hosts)), func(h Host) bool { _, ended := v.resumed[h]; return !ended })
	if len(due) == 0 {
		return
	}
	live, err := askedBefore(ctx, v.prior(), due, later)
	maps.Copy(v.before, live)
	for _, h := range due {
		s, runs := live[h], v.change.Runs[h]
		left := Outcome{Verdict: Failed, Underway: runs.Task}
		switch {
		case Ended(err):
			left.Verdict, left.Err, left.Meaning = NotTried, err, stopReason(err)
		case err != nil, s.State == Unknown:
			left.Err, left.Code, left.Message, left.Away = err, s.Code, s.Message, s.Away && !runs.Unconfirmed()
			left.Meaning = "left as it is, because whether it runs is not known"
		default:
			left.Meaning = v.decide(h, s, runs.next(v.change.Operate, h, v.want, s))
		}
		if left.Meaning != "" {
			v.results[h] = left
		}
	}
}

// decide notes what the operation does on a host. It returns why nothing at all can be done there, "" if
// something can.
func (v *visit) decide(h Host, live Status, which next) (left string) {
	switch which {
	case pidUnknown:
		return "left as it is, because its agent does not report the pid, which would show whether the " +
			string(v.change.Operation) + " of an earlier apply worked"
	case mayHaveRun, overtaken: // it is registered nevertheless
		if which == overtaken && v.steps[h] == settle {
			v.steps[h] = registerAnew
		}
		delete(v.change.Runs, h)
		v.found.Unsure[h] = max(live.PID, 0)
	default:
		v.nexts[h] = which
	}
	return ""
}

// rename unregisters, by their old names, the hosts that have new ones.
func (v *visit) rename(ctx context.Context) {
	if v.change.Rename != nil {
		renaming, cancel := Share(ctx, Besides, v.later().registered)
		defer cancel()
		v.results.Merge(v.change.Rename(renaming, v.open(v.Hosts)))
	}
}

// register registers the hosts that are not registered as declared.
func (v *visit) register(ctx context.Context) {
	hosts, later := v.open(v.Hosts), v.later().operated
	anew, adopted := v.first(hosts, registerAnew), v.first(hosts, keepFound)
	v.registerNew(ctx, v.first(hosts, register), later+needs(anew))
	if len(anew) > 0 {
		for h, o := range reregister(ctx, v.process, anew, later).hosting(v.want, nil) {
			if o.Underway.ID != "" { // a killed apply may have registered the same since the last one in state
				o.Underway.RegisterTime = v.before[h].RegisterTime
			}
			v.results[h] = o
		}
	}
	// A new host that could not be registered is not in sent: the registration may be another object's.
	v.sent = Where(hosts, func(h Host) bool {
		return v.steps[h] == registerAnew && v.results[h].Verdict != NotTried || v.steps[h] == register && v.results[h].OK()
	})
	v.made = v.results.Succeeded(v.sent)
	v.found.TookOver = v.found.TookOver || len(adopted) > 0
	v.changed = append(v.changed, slices.Concat(v.sent, adopted))
	v.results.Merge(Same(append(v.first(hosts, settle), adopted...), Outcome{Verdict: Done}))
}

// registerNew registers new hosts, and decides about registrations that exist already. It takes over this
// object's own, those that are to be adopted, and those that another object of the run is leaving. It leaves
// all others to their owners.
func (v *visit) registerNew(ctx context.Context, hosts []Host, later time.Duration) {
	if len(hosts) == 0 {
		return
	}
	registering, cancel := Share(ctx, Quick, later)
	defer cancel()
	v.registered = v.process.Register(registering, hosts).hosting(v.want, SetOf(hosts))
	taken := Where(hosts, func(h Host) bool { return v.registered[h].Verdict == Failed && v.registered[h].AlreadyDone })
	claimed := v.claimed(ctx, taken, later)
	v.found.TookOver = v.found.TookOver || len(claimed) > 0
	if len(claimed) > 0 {
		for h, o := range reregister(ctx, v.process, claimed, later).hosting(v.want, nil) {
			if o.Underway.ID != "" {
				o.Underway.RegisterTime = v.registered[h].RegisterTime
			}
			if o.Verdict == Failed && (o.Err != nil || o.Away) {
				o.Verdict, o.Away = Lost, false // it may be this object's by now, and is not in state yet
			}
			v.registered[h] = o
		}
	}
	v.results.Merge(v.registered)
}

// operate runs the operation on due hosts where the process runs. It starts a process that an earlier try stopped,
// and leaves stopped any other that does not run.
func (v *visit) operate(ctx context.Context) {
	later := v.later().up
	var up, down []Host
	for _, h := range v.due(v.results.Succeeded(v.Hosts)) {
		switch v.nexts[h] {
		case operate:
			up = append(up, h)
		case startAgain:
			down = append(down, h)
		case ranAlready:
			o, resumed := v.resumed[h]
			if !resumed {
				o = Outcome{Verdict: Done, AlreadyDone: true}
			}
			v.results[h], v.found.Operated[h] = o, v.change.Runs[h].PID
		default: // the process does not run, and is left stopped
		}
	}
	if len(up) > 0 {
		starting := time.Duration(0)
		if len(down) > 0 {
			starting = Takes(v.process, Start)
		}
		v.results.Merge(operateBefore(ctx, v.process, v.change.Operation, up, v.observe, starting+later).underWay(v.change.Operation))
	}
	if len(down) > 0 {
		v.results.Merge(operateBefore(ctx, v.process, Start, down, v.observe, later).underWay(Start))
	}
	for _, h := range slices.Concat(up, down) {
		v.found.Operated[h] = v.change.Runs[h].PID
		if v.before[h].State == Running {
			v.found.Operated[h] = v.before[h].PID
		}
		o := v.results[h].operated()
		v.worked[h] = o.OK()
		if o.Underway.ID != "" {
			o.Underway.Was = v.found.Operated[h]
		}
		v.results[h] = o
	}
}

// bringUp hosts the process where it is not hosted, and starts it where it is to run and does not.
func (v *visit) bringUp(ctx context.Context) {
	v.up = v.results.Succeeded(v.Hosts)
	if v.want.Ensure == EnsureRegistered || len(v.up) == 0 {
		return
	}
	v.run = v.up
	if v.want.Ensure != EnsureRunning {
		v.run = In(v.up, v.change.Stopped)
	}
	status, err := v.state(ctx, v.run)
	if err != nil {
		v.results.Merge(Same(v.up, Outcome{Verdict: Failed, Err: err, Meaning: "registered, but its status could not be read back"}))
		for _, h := range v.up {
			v.after[h] = Status{} // asking again is of no use
		}
		return
	}
	for h, s := range status {
		if _, asked := v.before[h]; !asked {
			v.before[h] = s
		}
	}
	maps.Copy(v.after, status)
	started := v.start(ctx, v.run, status)
	bare := Where(v.up, func(h Host) bool {
		if o, ok := started[h]; ok {
			// A start that worked has also hosted it. A start that found it running has not.
			return o.OK() && o.AlreadyDone
		}
		return !status[h].HostedKnown || !status[h].Hosted
	})
	v.results.Merge(started)
	if len(bare) > 0 {
		hosted := v.host(ctx, bare, status)
		v.results.Merge(hosted)
		for _, h := range bare {
			delete(v.after, h)
		}
	}
}

// host makes the agents host the process, and returns the outcomes.
func (v *visit) host(ctx context.Context, hosts []Host, status map[Host]Status) Results {
	unhosted := SetOf(Where(hosts, func(h Host) bool { return status[h].HostedKnown && !status[h].Hosted }))
	results := operateBefore(ctx, v.process, Supervise, hosts, nil, v.later().look).hosting(v.want, unhosted)
	if again := In(foundIdle(results, hosts), unhosted); v.process.HostingRegisters() && len(again) > 0 {
		// Some platforms host a process once, and refuse that while it is registered, although its agent has unhosted it.
		// Registering anew unhosts it first, so the agent is asked whether another object has registered it since.
		now, _ := LiveStatusWithin(ctx, v.process, Aftermath, again)
		again = Where(again, func(h Host) bool {
			return now[h].HostedKnown && !now[h].Hosted && now[h].RegisterTime == status[h].RegisterTime
		})
		if len(again) > 0 {
			results.Merge(reregister(ctx, v.process, again, v.later().look).hosting(v.want, nil))
		}
	}
	results.leave(hosts, func(Host) Code { return NotHosted })
	return results
}

// state returns the status of the hosts that are brought up. It asks the agents, unless they have just shown that
// something is to be done. The cached status may be of an earlier registration, and show a process as running that
// was stopped since. run are the hosts on which the process is to run.
func (v *visit) state(ctx context.Context, run []Host) (map[Host]Status, error) {
	status, due, starting := make(map[Host]Status), SetOf(run), time.Duration(0)
	if len(run) > 0 {
		starting = Takes(v.process, Start)
	}
	for h, o := range v.registered {
		// The documents of the ESB do not say whether registering also hosts the process. Hosting it again
		// does no harm.
		if o.WasIdle {
			status[h] = Status{State: Stopped, HostedKnown: true, Hosted: v.process.HostingRegisters()}
		}
	}
	unsure := Where(v.up, func(h Host) bool { s, known := status[h]; return !known || s.Hosted && !due[h] })
	if len(unsure) == 0 {
		return status, nil
	}
	asked, err := askedBefore(ctx, v.process, unsure, starting+Quick+v.later().look)
	maps.Copy(status, asked)
	return status, err
}

// start starts the process where it is known not to run, and returns the outcomes. If the status is unknown, the
// process may run, so it is not started.
func (v *visit) start(ctx context.Context, hosts []Host, status map[Host]Status) Results {
	results := make(Results)
	var stopped []Host
	for _, h := range hosts {
		switch s := status[h]; s.State {
		case Unknown:
			results[h] = Outcome{Verdict: Failed, Code: s.Code, Message: s.Message, Away: s.Away, Meaning: "registered, but whether it runs is not known"}
		case Running:
		default:
			stopped = append(stopped, h)
			delete(v.after, h)
			if _, operated := v.found.Operated[h]; !operated {
				v.found.Operated[h] = 0
			}
		}
	}
	if len(stopped) > 0 {
		results.Merge(operateBefore(ctx, v.process, Start, stopped, nil, Quick+v.later().look).underWay(Start))
	}
	return results
}

// look asks the agents of hosts that were changed and not asked since. It keeps when they were registered and
// what runs there. If an agent does not answer, the time stays unknown, and so does what runs if the process was
// operated. Nothing that was done depends on them. If registering failed, the agent's time may be another
// object's. Hosting and starting may register again: if the agent reported this object's time before, its time
// afterwards is this object's as well.
func (v *visit) look(ctx context.Context) {
	sent := SetOf(v.sent)
	touched := append(slices.Clone(v.sent), Where(v.up, func(h Host) bool { return !sent[h] })...)
	unseen := Where(touched, func(h Host) bool { _, known := v.after[h]; return !known })
	if !v.agentsKnow() { // nothing else that they report is kept
		unseen = In(unseen, SetOf(foundIdle(v.results, v.run)))
	}
	if len(unseen) > 0 {
		live, _ := LiveStatusWithin(ctx, v.process, Aftermath, unseen)
		maps.Copy(v.after, live)
	}
	made, run := SetOf(v.made), SetOf(v.run)
	for _, h := range touched {
		if at := v.before[h].RegisterTime; made[h] || at != 0 && at == v.change.Times[h] {
			v.found.Registered[h] = v.after[h].RegisterTime
		}
		now := v.after[h]
		if _, operated := v.found.Operated[h]; !operated && !now.answered() { // what ran there before runs on
			now = v.before[h]
		}
		v.found.Running[h], v.found.Started[h] = max(now.PID, 0), now.StartTime
		v.results[h] = v.denied(h, v.results[h], made[h], run[h])
	}
}

// denied returns the outcome of a host that was brought up, a failed one if its agent has since denied what the
// platform says. made is set if the host was registered, and run if the process is to run there. The gate decides
// about a process that has ended, unless a start did nothing.
func (v *visit) denied(h Host, o Outcome, made, run bool) Outcome {
	s, gated := v.after[h], v.change.Rollout.Healthy != nil || v.want.Ensure != EnsureRunning
	unhosted := s.State != Unknown && s.HostedKnown && !s.Hosted
	switch {
	case !o.OK():
		return o
	case run && s.State == Stopped && (o.AlreadyDone || !gated):
		o.Left, o.Meaning = NotRunning, "the platform says that it runs, but its agent then reports that it does not"
	case unhosted && v.want.Ensure != EnsureRegistered:
		o.Left, o.Meaning = NotHosted, "the platform says that it is hosted, but its agent then reports that it is not"
	case unhosted && made && v.process.HostingRegisters():
		o.Left, o.Meaning = v.left(h), "the platform says that it is registered, but its agent then reports that it is not hosted"
		o.Verdict = Lost
		return o
	default:
		return o
	}
	o.Verdict, o.AlreadyDone = Failed, false
	return o
}

// close notes what is left to do on hosts that failed.
func (v *visit) close() {
	v.results.leave(v.up, v.leftOnceRegistered)
	for _, o := range v.results {
		v.found.OutOfTime = v.found.OutOfTime || !v.timed && !o.OK() && Ended(o.Err)
	}
}
