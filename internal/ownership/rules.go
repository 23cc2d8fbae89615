// Package ownership decides who owns the registration of a process on a machine: this object,
// another or nobody. It decides from values only: what state and ledger know of the machine, what
// its agent answers, and what the cached status shows. It calls nobody and knows neither Terraform
// nor HTTP. So one table serves every apply and destroy, the test of all small worlds, and the page
// of rules in the documentation.
//
// The cached status may be any earlier picture. Agents know when the process was registered, and
// that time shows whether a picture is old.
package ownership

// Claim is what state knows of an object's registration on a machine.
type Claim uint8

// The claims of an object.
const (
	// Registered: this object registered it, and nothing has shown otherwise since.
	Registered Claim = 1 << iota
	// Overtaken: another object has registered it since.
	Overtaken
	// Foreign: it belonged to another object when this object was to register it.
	Foreign
	// Refused: registering it was refused.
	Refused
	// Unconfirmed: whether registering it worked is not known.
	Unconfirmed
)

// Answer is what the agent of a machine says, compared with the ledger.
type Answer uint16

// The answers of an agent.
const (
	Unasked Answer = 1 << iota
	// NoSpec: agents cannot be asked without a spec.
	NoSpec
	// Silent: it did not answer.
	Silent
	// AskFailed: the platform could not ask it, so nothing is known of the agent.
	AskFailed
	// Idle: it neither hosts the process nor knows when it was registered.
	Idle
	// SameTime: it was registered at the very time that the ledger has.
	SameTime
	// OtherTime: it was registered at another time than the ledger has.
	OtherTime
	// NewTime: it was registered at a time, and the ledger has none.
	NewTime
	// Untimed: it hosts the process, or does not say, and has never said when it was registered.
	Untimed
	// TimeLost: it hosts the process, or does not say, and does not say any more when it was
	// registered.
	TimeLost

	anyTime = SameTime | OtherTime | NewTime
)

// Row is what the cached status shows of a machine. An old row is of an earlier registration
// than the agent's.
type Row uint16

// The rows of the cached status.
const (
	Unread Row = 1 << iota
	// Failed: the cached status could not be read.
	Failed
	// Unplaced: there is a row that may be of this machine.
	Unplaced
	// Absent: there is no row.
	Absent
	// Own rows name this object, Others' rows another one, and Unlabelled rows none. The same
	// shifted by one is an old row.
	Own
	OwnOld
	Others
	OthersOld
	Unlabelled
	UnlabelledOld
	// Beside: another object has registered the machine since, by its other name. An agent hosts
	// one process, so unregistering one name may end the hosting of the other.
	Beside

	anyOthers     = Others | OthersOld
	anyUnlabelled = Unlabelled | UnlabelledOld
)

// Face is which API registers.
type Face uint8

// The faces of the platform.
const (
	// ESB registers, and hosts what is registered.
	ESB Face = 1 << iota
	// Gateway registers by hosting.
	Gateway
	// Blind has no labels: JOB, or a provider without spec_fingerprint_label.
	Blind
)

// Evidence is all that a decision depends on.
type Evidence struct {
	Face   Face
	Claim  Claim
	Answer Answer
	Row    Row
}

// Verdict is who owns the registration on a machine, or what is needed to know it.
type Verdict uint8

// The verdicts.
const (
	// Ours: this object may unregister it.
	Ours Verdict = iota
	// Theirs: it is another's and is left alone.
	Theirs
	// Nobodys: there is nothing to unregister.
	Nobodys
	// AskAgent and AskFile: not decided before that is known.
	AskAgent
	AskRow
	// Wait: the cached status may be older than the registration, and may catch up. If it does not
	// in time, the machine is held.
	Wait
	// Hold: it cannot be known, so nothing is done.
	Hold
)

// Reason is why a machine is held.
type Reason uint8

// The reasons to hold a machine.
const (
	None Reason = iota
	// Unreadable: who registered it could not be read.
	Unreadable
	// NoAnswer: its agent did not answer, or did not say when it was registered.
	NoAnswer
	// Outdated: the registration is not the one that the cached status shows.
	Outdated
	// TookEffect: registering it was refused, and its agent has the process all the same.
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

// doubtful are the claims of machines whose registration may be this object's.
var doubtful = Overtaken | Refused | Unconfirmed

// rules are read from the top, and the first that matches decides.
var rules = []rule{
	// Without labels the owner is not known, and what this object registered counts as its own.
	{face: Blind, claim: Foreign, then: Theirs},
	{face: Blind, claim: Registered | Overtaken | Unconfirmed, then: Ours},
	{face: Blind, answer: Unasked, then: AskAgent},
	{face: Blind, answer: AskFailed, then: Hold, why: Unreadable},
	{face: Blind, answer: anyTime | Untimed | TimeLost, then: Hold, why: TookEffect},
	{face: Blind, then: Nobodys},

	// What could not be asked is no answer, and shows nothing.
	{answer: AskFailed, then: Hold, why: Unreadable},

	{claim: Registered, answer: Unasked, then: AskAgent},
	{claim: Registered, answer: Silent, then: Hold, why: NoAnswer},
	{row: Unread, then: AskRow},
	{row: Failed, then: Hold, why: Unreadable},

	// Another object's registration by the other name of the machine.
	{row: Beside, answer: Unasked, then: AskAgent},
	{row: Beside, answer: Silent, then: Hold, why: NoAnswer},
	{row: Beside, then: Theirs},

	// If the agent has the very time that the ledger has, the registration is this object's,
	// however old the cached status is. A row of another object with that very time may be of a
	// registration that did not renew it.
	{claim: Registered, answer: SameTime, row: Others, then: Wait, why: Outdated},
	{claim: Registered, answer: SameTime, then: Ours},

	// What was another object's stays so, unless the cached status names this object.
	{claim: Foreign, row: Absent | Unplaced | anyOthers | anyUnlabelled, then: Theirs},

	// Everything else depends on the agent as well.
	{answer: Unasked, then: AskAgent},

	// A row that names another object. If the agent has the time of the ledger, another may have
	// registered without renewing it.
	{row: anyOthers, answer: Silent, then: Hold, why: Unreadable},
	{row: anyOthers, answer: SameTime | TimeLost, then: Wait, why: Outdated},
	{row: OthersOld, then: Wait, why: Outdated},
	{row: Others, then: Theirs},

	// A row without an owner says nothing new: a registration that was this object's stays so (the last rule), and
	// a doubtful one is not this object's.
	{claim: doubtful, row: anyUnlabelled, answer: Silent, then: Hold, why: Unreadable},
	{claim: doubtful, row: anyUnlabelled, answer: TimeLost, then: Wait, why: NoAnswer},
	{claim: doubtful, row: UnlabelledOld, then: Wait, why: Outdated},
	{claim: doubtful, row: Unlabelled, then: Theirs},

	// No row: the agent may have anybody's registration.
	{claim: Refused, row: Absent, answer: Idle | Silent | NoSpec, then: Nobodys},
	{claim: Refused, row: Absent, then: Hold, why: TookEffect},
	{face: ESB, claim: doubtful, row: Unplaced, then: Hold, why: Unreadable},
	{claim: doubtful, row: Absent | Unplaced, answer: Idle, then: Nobodys},
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

// Decide returns who owns the registration on a machine, or what is to be asked first. If it is to
// wait or hold, it also returns why.
func Decide(e Evidence) (Verdict, Reason) { return decide(rules, e) }

func decide(table []rule, e Evidence) (Verdict, Reason) {
	for _, r := range table {
		if r.matches(e) {
			return r.then, r.why
		}
	}
	return Hold, Unreadable // not reached, as the last rule matches everything
}
