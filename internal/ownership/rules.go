// Package ownership decides who owns the registration of a process on a machine: this object, another one, or
// none. It decides from values alone: what state and ledger know of the machine, what its agent answers, and
// what the cached status shows. It makes no calls and knows neither Terraform nor HTTP. So one table serves
// every apply and destroy, the test of all small worlds, and the page of rules in the documentation.
//
// The cached status may be any earlier picture. Agents know when the process was registered, and that time
// shows whether a picture is old.
package ownership

// Claim is what state says of an object's registration on a machine.
type Claim uint8

// The claims of an object.
const (
	// Registered: this object registered it, and nothing has shown otherwise since.
	Registered Claim = 1 << iota
	// Overtaken: another object has registered it since.
	Overtaken
	// Foreign: it was another object's when this one was to register it.
	Foreign
	// Refused: this object never registered it: that was refused, or not tried.
	Refused
	// Unconfirmed: whether registering it worked is unknown.
	Unconfirmed
)

// Answer is what the agent of a machine reports, compared with the ledger.
type Answer uint16

// The answers of an agent.
const (
	Unasked Answer = 1 << iota
	// NoSpec: there is no spec, without which agents cannot be asked.
	NoSpec
	// Silent: the agent did not answer.
	Silent
	// AskFailed: the platform could not ask the agent, so nothing is known of it.
	AskFailed
	// Idle: the agent does not host the process and gives no registration time.
	Idle
	// SameTime: the registration time is the one in the ledger.
	SameTime
	// OtherTime: the registration time is not the one in the ledger.
	OtherTime
	// NewTime: there is a registration time, and none in the ledger.
	NewTime
	// Untimed: the agent gives no registration time and never has. It hosts the process, or does not say.
	Untimed
	// TimeLost: the agent no longer gives a registration time. It hosts the process, or does not say.
	TimeLost

	anyTime = SameTime | OtherTime | NewTime
)

// Row is what the cached status shows of a machine. An old row shows an earlier registration than the agent's.
type Row uint16

// The rows of the cached status.
const (
	Unread Row = 1 << iota
	// Failed: the cached status could not be read.
	Failed
	// Unplaced: there is a row that may be this machine's. A row with unknown labels counts as one, unless the
	// claim is Registered.
	Unplaced
	// Absent: there is no row.
	Absent
	// An Own row names this object, an Others row another one, and an Unlabelled row none. Their old forms are
	// the same values shifted by one.
	Own
	OwnOld
	Others
	OthersOld
	Unlabelled
	UnlabelledOld
	// Beside: another object has registered the machine since, under its other name. An agent hosts one
	// process, so unregistering one name may end the hosting of the other.
	Beside

	anyOthers     = Others | OthersOld
	anyUnlabelled = Unlabelled | UnlabelledOld
)

// Face is the API that registers.
type Face uint8

// The faces of the platform.
const (
	// ESB registers, and hosts what is registered, in two steps.
	ESB Face = 1 << iota
	// Gateway registers by hosting.
	Gateway
	// Blind has no labels: JOB, or a provider without spec_fingerprint_label.
	Blind
)

// Evidence is everything that a decision depends on.
type Evidence struct {
	Face   Face
	Claim  Claim
	Answer Answer
	Row    Row
}

// Verdict is who owns the registration on a machine, or what is needed to decide that.
type Verdict uint8

// The verdicts.
const (
	// Ours: this object may unregister it.
	Ours Verdict = iota
	// Theirs: it is another's, and is left alone.
	Theirs
	// Nobodys: there is nothing to unregister.
	Nobodys
	// AskAgent and AskRow: the agent's answer, or the row, is needed first.
	AskAgent
	AskRow
	// Wait: the cached status may be older than the registration, and may catch up. If it does not in time, the
	// machine is held.
	Wait
	// Hold: the owner cannot be determined, so nothing is done.
	Hold
)

// Reason is why a machine is held.
type Reason uint8

// The reasons to hold a machine.
const (
	None Reason = iota
	// Unreadable: who registered it could not be read.
	Unreadable
	// NoAnswer: its agent did not answer, or gave no registration time.
	NoAnswer
	// Outdated: the cached status does not show the present registration.
	Outdated
	// TookEffect: registering it was refused, but its agent has the process.
	TookEffect
)

// rule is a line of the table. The zero value of a column matches everything.
type rule struct {
	face   Face
	claim  Claim
	answer Answer
	row    Row
	then   Verdict
	why    Reason
}

// doubtful are the claims to a registration that may or may not be this object's.
var doubtful = Overtaken | Refused | Unconfirmed

// rules are read from the top; the first that matches decides.
var rules = []rule{
	// Without labels the owner is unknown, and what this object registered counts as its own.
	{face: Blind, claim: Foreign, then: Theirs},
	{face: Blind, claim: Registered | Overtaken | Unconfirmed, then: Ours},
	{face: Blind, answer: Unasked, then: AskAgent},
	{face: Blind, answer: AskFailed, then: Hold, why: Unreadable},
	{face: Blind, answer: anyTime | Untimed | TimeLost, then: Hold, why: TookEffect},
	{face: Blind, then: Nobodys},

	// If the agent could not be asked, that is no answer and shows nothing.
	{answer: AskFailed, then: Hold, why: Unreadable},

	{claim: Registered, answer: Unasked, then: AskAgent},
	{claim: Registered, answer: Silent, then: Hold, why: NoAnswer},
	{row: Unread, then: AskRow},
	{row: Failed, then: Hold, why: Unreadable},

	// Another object's registration under the machine's other name.
	{row: Beside, answer: Unasked, then: AskAgent},
	{row: Beside, answer: Silent, then: Hold, why: NoAnswer},
	{row: Beside, then: Theirs},

	// If the agent has the very time of the ledger, the registration is this object's, however old the cached
	// status is. Only a row of another object with that time, or a later one, leaves a doubt: its registration may not
	// have renewed the time, or came after the agent's answer.
	{claim: Registered, answer: SameTime, row: Others, then: Wait, why: Outdated},
	{claim: Registered, answer: SameTime, then: Ours},

	// What was another object's stays so, unless the cached status names this object.
	{claim: Foreign, row: Absent | Unplaced | anyOthers | anyUnlabelled, then: Theirs},

	// Everything else depends on the agent as well.
	{answer: Unasked, then: AskAgent},

	// A row that names another object. If the agent has the time of the ledger, that object may have registered
	// without renewing it.
	{row: anyOthers, answer: Silent, then: Hold, why: Unreadable},
	{row: anyOthers, answer: SameTime | TimeLost, then: Wait, why: Outdated},
	{row: OthersOld, then: Wait, why: Outdated},
	{row: Others, then: Theirs},

	// A row without an owner decides nothing by itself: a registration that was this object's stays so (by the
	// last rule), and an uncertain one is not this object's.
	{claim: doubtful, row: anyUnlabelled, answer: Silent, then: Hold, why: Unreadable},
	{claim: doubtful, row: anyUnlabelled, answer: TimeLost, then: Wait, why: NoAnswer},
	{claim: doubtful, row: UnlabelledOld, then: Wait, why: Outdated},
	{claim: doubtful, row: Unlabelled, then: Theirs},

	// Without a row, the registration that the agent has may be anyone's.
	{claim: Refused, row: Absent, answer: Idle | Silent | NoSpec, then: Nobodys},
	{claim: Refused, row: Absent, then: Hold, why: TookEffect},
	// Some agents do not know a registration that is not hosted. Removing one that is not there does no harm.
	{face: ESB, claim: Unconfirmed, row: Absent, answer: Idle, then: Ours},
	{claim: doubtful, row: Absent, answer: Idle, then: Nobodys},
	{claim: doubtful, row: Absent | Unplaced, then: Hold, why: Unreadable},

	// A row that names this object, or a claim that nothing contradicts.
	{answer: Silent, then: Hold, why: NoAnswer},
	{answer: TimeLost, then: Wait, why: NoAnswer},
	{claim: Overtaken, row: OwnOld, then: Wait, why: Outdated},
	{answer: OtherTime | NewTime, row: Unplaced | Absent | OwnOld | UnlabelledOld, then: Wait, why: Outdated},
	{then: Ours},
}

// matches reports whether a rule applies to the evidence.
func (r rule) matches(e Evidence) bool {
	return (r.face == 0 || r.face&e.Face != 0) && (r.claim == 0 || r.claim&e.Claim != 0) &&
		(r.answer == 0 || r.answer&e.Answer != 0) && (r.row == 0 || r.row&e.Row != 0)
}

// Decide returns who owns the registration on a machine, or what has to be asked first. With Wait and Hold it
// also returns why.
func Decide(e Evidence) (Verdict, Reason) { return decide(rules, e) }

func decide(table []rule, e Evidence) (Verdict, Reason) {
	for _, r := range table {
		if r.matches(e) {
			return r.then, r.why
		}
	}
	return Hold, Unreadable // not reached: the last rule matches everything
}
