package faultmatrix

import (
	"maps"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// This file has the outcome of the operations for each kind of fault. MATRIX.md has a section for each pattern.

// Beginnings of the reasons in out_of_sync.
const (
	specDiffers   = "other_spec: the call failed"
	notRegistered = "not_registered: "
	notConfirmed  = "unconfirmed: "
	notHosted     = "not_hosted: "
	notRunning    = "not_running: "
)

// How the reasons in out_of_sync go on if the outcome is open.
const (
	saysUnknown = "outcome unknown"
	saysTimeUp  = "no verdict when the time was up"
)

// Beginnings of the reasons in failed_hosts if the outcome is open.
const (
	outcomeUnknown = "outcome_unknown"
	noVerdict      = "no_verdict"
)

const oneWay = "a poll for a result goes to the same endpoint as the operation before it"

var patternUnreachable = &pattern{
	title: "Nothing can be sent",
	about: "No request leaves, so nothing is done and nothing is saved. If the endpoint has not accepted any connection yet, or its certificate is not trusted, the call " +
		"is not retried. Otherwise even an operation may be retried.",
	cells: cellsOf(as(cell{ending: fails}, onCreate, onOperate, onStatus), as(cell{ending: stays}, onRead, onUpdate, onDelete)),
	never: oneWay,
}

// patternLost: every answer of one API is lost.
var patternLost = &pattern{
	title: "Answers are lost, for a while",
	about: "The platform may have acted on any of the requests. Calls that may be repeated are retried up to `max_retries` times. " +
		"An operation is sent once.",
	cells: lostFor(3),
}

func lostFor(tries int) map[operation]cell {
	return cellsOf(
		as(cell{ending: taints, reason: notConfirmed + saysUnknown, tries: tries}, onCreate),
		as(cell{ending: warns, reason: notConfirmed + saysTimeUp, tries: enough, timeUp: true}, onConfirm),
		as(cell{ending: stays, tries: tries}, onRead, onAsk),
		as(cell{ending: fails, reason: specDiffers, tries: tries}, onUpdate),
		failsAfter(tries, onDelete, onAskFirst, onReadOwner, onStatus, onCached, onList),
		as(cell{ending: warns, reason: notRunning + saysUnknown, tries: 1}, onRun),
		as(cell{ending: warns, reason: outcomeUnknown, tries: 1}, onOperate, onStop, onRestart),
		as(cell{ending: warns, reason: noVerdict, tries: enough, timeUp: true}, onWait),
	)
}

// patternLostActed is patternLost, but the platform acts on the requests.
var patternLostActed = &pattern{
	title: "Answers are lost, for a while, and the platform has acted on the requests",
	about: "The same, but the cached status afterwards shows what was done: a refresh finds an update done. A destroy without an answer is an error " +
		"even if the cached status shows nothing any more, because it lags. The refresh before the next destroy asks the agents and finds it done.",
	cells: lostFor(3),
}

var patternLostOnce = &pattern{
	title: "One answer is lost",
	about: "Calls that may be repeated are retried, without a message. An operation is sent once.",
	cells: cellsOf(
		wellAfter(2, onCreate, onConfirm, onRead, onAsk, onUpdate, onDelete, onHost, onWait, onAskFirst, onReadOwner, onStatus, onCached, onImport, onList),
		as(cell{ending: warns, reason: notRunning + saysUnknown, tries: 1}, onRun),
		as(cell{ending: warns, reason: outcomeUnknown, tries: 1}, onOperate, onStop, onKill, onRestart, onReload),
	),
}

var patternStranger = &pattern{
	title: "Something else is at the endpoint",
	about: "If the platform has not answered any call of the run, whatever answers in its place has not passed the request on. Nothing is done, repeated or saved.",
	cells: cellsOf(
		as(cell{ending: fails, tries: 1, faces: jobFace}, onCreate, onDelete),
		failsAfter(1, onAskFirst, onReadOwner, onOperate, onStop, onRestart, onStatus, onCached, onList),
		as(cell{ending: stays, tries: 1}, onRead),
		as(cell{ending: fails, reason: specDiffers, tries: 1}, onUpdate),
	),
	never: "the platform has answered before in the same run",
}

var patternNoEnvelope = &pattern{
	title: "The platform has answered, and then something else does",
	about: "The answer may come from anything, including the platform itself in trouble. A call that may be repeated is repeated once, because a login page stays " +
		"a login page. An operation is sent once.",
	cells: lostFor(2),
}

// Promised in reference: only a call that fails as a whole is an error.
var patternRefused = &pattern{
	title: "The platform refuses a request",
	about: "A refusal is an answer, so the request is not retried.",
	cells: cellsOf(
		failsAfter(1, onCreate, onDelete, onOperate, onStop, onRestart, onAskFirst, onReadOwner, onStatus, onCached, onImport, onList),
		as(cell{ending: warns, reason: notConfirmed + saysUnknown, tries: 1}, onConfirm),
		as(cell{ending: stays, tries: 1}, onRead, onAsk),
		as(cell{ending: fails, reason: specDiffers, tries: 1}, onUpdate),
		as(cell{ending: warns, reason: notHosted + "the call failed", tries: 1}, onHost),
		as(cell{ending: warns, reason: notRunning + "the call failed", tries: 1}, onRun),
		as(cell{ending: warns, reason: outcomeUnknown, tries: 1}, onWait),
	),
}

var patternTurnedAway = &pattern{
	title: "The platform is too busy, for a while",
	about: "The platform does not act on a request that it turns away, so even an operation may be retried.",
	cells: cellsOf(
		failsAfter(3, onCreate, onDelete, onOperate, onStop, onReadOwner, onStatus),
		as(cell{ending: warns, reason: notConfirmed + saysTimeUp, tries: enough, timeUp: true}, onConfirm),
		as(cell{ending: stays, tries: 3}, onRead),
		as(cell{ending: fails, reason: specDiffers, tries: 3}, onUpdate),
		as(cell{ending: warns, reason: notRunning + "the call failed", tries: 3}, onRun),
		as(cell{ending: warns, reason: noVerdict, tries: enough, timeUp: true}, onWait),
	),
}

var patternTurnedAwayOnce = &pattern{
	title: "The platform is too busy once", about: "The request is sent again after a wait.",
	cells: wellAfter(2, onCreate, onConfirm, onRun, onRead, onUpdate, onDelete, onReadOwner, onOperate, onWait, onStop, onStatus),
}

// patternPoisoned: the effect of one host on the others shows only in the error.
var patternPoisoned = &pattern{
	title: "The platform refuses a whole request because of one host",
	about: "No host of the request is done, so the next apply calls all of them again.",
	cells: cellsOf(as(cell{ending: fails, tries: 1, touches: allHosts}, onCreate, onOperate, onAskFirst), as(cell{ending: stays, tries: 1}, onRead), failsAfter(1, onStatus)),
}

var allHosts = providertest.HostNumbers(matrixHosts)

func as(c cell, on ...operation) map[operation]cell {
	cells := make(map[operation]cell)
	for _, o := range on {
		cells[o] = c
	}
	return cells
}

func cellsOf(parts ...map[operation]cell) map[operation]cell {
	cells := make(map[operation]cell)
	for _, part := range parts {
		maps.Copy(cells, part)
	}
	return cells
}

// wellAfter makes operations succeed after that many calls, failsAfter makes them fail.
func wellAfter(tries int, on ...operation) map[operation]cell {
	return as(cell{ending: well, tries: tries}, on...)
}

func failsAfter(tries int, on ...operation) map[operation]cell {
	return as(cell{ending: fails, tries: tries}, on...)
}

const fileHasNoTask = "the cached status is answered at once"

func onJOB(c cell) cell {
	c.faces = jobFace
	return c
}

var patternControl = &pattern{
	title: "Nothing is wrong", about: "One call each.",
	cells: wellAfter(1, onCreate, onAskFirst, onConfirm, onHost, onRun, onRead, onReadRun, onUpdate, onKeepRun, onDelete, onOperate, onWait, onStop, onKill, onRestart,
		onReload, onStatus, onCached, onImport, onList, onReadOwner),
}

var patternLate = &pattern{
	title: "The answer is late",
	about: "The provider waits for it, host by host. If the ESB answers for each host at once, 115 or no result for a host means to call again for that host. " +
		"A task is polled again, and the operation is not sent again.",
	cells: cellsOf(wellAfter(1, onCreate, onAskFirst, onHost, onRun, onAsk, onUpdate, onDelete, onOperate, onStop, onStatus), as(onJOB(cell{ending: well, tries: 1}), onRead)),
	never: fileHasNoTask,
}

var patternAsked = &pattern{
	title: "The answer looks odd", about: "It is understood: other clients of the platform have met each of these forms.",
	cells: wellAfter(1, onCreate, onRead, onAsk, onUpdate, onDelete, onOperate, onStatus),
}

// patternNoVerdict: there is no result for a host, whatever the others do.
var patternNoVerdict = &pattern{
	title: "A host gives no result before the deadline",
	about: "The other hosts keep their results. The deadline is that of the object's `timeouts`. A create or a first operation that no " +
		"host confirms ends with an error and is tainted.",
	cells: cellsOf(
		as(cell{ending: warns, reason: notConfirmed + saysTimeUp, tries: 1, timeUp: true}, onCreate),
		as(onJOB(cell{ending: warns, says: "Agents Not Reachable", tries: 1, timeUp: true}), onRead),
		as(cell{ending: warns, says: "Agents Not Reachable", tries: 1, timeUp: true}, onAsk),
		as(cell{ending: fails, reason: "other_spec: " + saysTimeUp, tries: 1, timeUp: true}, onUpdate),
		as(cell{ending: fails, tries: 1, timeUp: true}, onDelete),
		as(cell{ending: warns, reason: notHosted + saysTimeUp, tries: 1, timeUp: true}, onHost),
		as(cell{ending: warns, reason: notRunning + saysTimeUp, tries: 1, timeUp: true}, onRun),
		as(cell{ending: warns, reason: noVerdict, tries: 1, timeUp: true}, onOperate, onStop, onRestart),
		as(cell{ending: warns, says: "Process Status Unknown", tries: 1, timeUp: true}, onStatus),
	),
	never: fileHasNoTask,
}

// agentSilent is the reason of hosts that were not hosted, because they may belong to another owner.
const agentSilent = "not registered, because its agent does not say whether it already is"

// Promised in drift-in-ci.md: state is kept, and a warning names the host
// Promised in partial-failure.md: hosting or starting, on some hosts that a create did register | ends with a warning, exit code 0.
var patternOneFails = &pattern{
	title: "A host fails",
	about: "The other hosts are done. The next apply calls only the failed host. A machine that is gone for good leaves state if `forget_unreachable` is true; " +
		"otherwise the error of the destroy names this way out.",
	cells: cellsOf(
		as(cell{ending: warns, reason: notRegistered, tries: 1}, onCreate),
		as(onJOB(cell{ending: warns, says: "Agents Not Reachable", tries: 2}), onRead),
		as(cell{ending: warns, says: "Agents Not Reachable", tries: 1}, onAsk),
		as(cell{ending: fails, reason: "other_spec: ", tries: 1}, onUpdate),
		failsAfter(1, onDelete),
		as(cell{ending: warns, reason: notHosted, tries: 1}, onHost),
		as(cell{ending: warns, reason: notRunning, tries: 1}, onRun),
		as(cell{ending: warns, tries: 1}, onOperate, onStop, onRestart, onStatus),
		as(cell{ending: warns, says: agentSilent, reason: "not_registered: ", tries: 1}, onAskFirst),
	),
	never: fileHasNoTask,
}

const noCommand = "no command of the process runs"

var patternOperationFails = &pattern{
	title: "A command fails on a host",
	about: "What the command printed is shown, without control characters and without the provider's credentials, encoded or not. The next apply runs it on that host only.",
	cells: cellsOf(as(cell{ending: warns, reason: notRunning, tries: 1}, onRun), as(cell{ending: warns, tries: 1}, onOperate, onStop, onKill, onRestart, onReload)),
	never: noCommand,
}

var patternOperationWell = &pattern{
	title: "The process is as wanted already", about: "That is success.", cells: wellAfter(1, onOperate, onStop, onKill), never: noCommand,
}

var patternUnreadable = &pattern{
	title: "A query's answer cannot be read",
	about: "Nothing is known about such a host, so nothing is concluded.",
	cells: cellsOf(
		as(onJOB(cell{ending: warns, tries: 2}), onRead),
		as(cell{ending: warns, tries: 1}, onAsk, onStatus),
		as(cell{ending: warns, says: agentSilent, reason: "not_registered: ", tries: 1}, onAskFirst),
	),
	never: "only a query has such an answer",
}

var patternNoTask = &pattern{
	title: "A call is accepted, but its result cannot be asked for",
	about: "Registering may be repeated, and the refresh before the next apply shows what was done. An operation is sent once.",
	cells: cellsOf(
		as(cell{ending: taints, reason: notConfirmed + saysUnknown, tries: 1}, onCreate),
		as(onJOB(cell{ending: stays, tries: 1}), onRead),
		as(cell{ending: stays, tries: 1}, onAsk),
		as(cell{ending: fails, reason: specDiffers, tries: 1}, onUpdate),
		failsAfter(1, onDelete, onAskFirst, onStatus),
		as(cell{ending: warns, reason: outcomeUnknown, tries: 1}, onOperate),
	),
	never: fileHasNoTask,
}

var patternTaken = &pattern{
	title: "Another owner registered the process",
	about: "Before a create, or before the host is added: it is left alone, unless `adopt_existing` is true. Afterwards: it is drift, and the next apply registers it again. " +
		"A destroy leaves what another resource has registered since, if the cached status shows its `owner`. A registration without an owner is unregistered.",
	cells: cellsOf(
		as(cell{ending: warns, reason: "registered_by_other", tries: 1}, onCreate),
		as(cell{ending: drifts, reason: "other_spec", tries: 1}, onRead),
		wellAfter(1, onUpdate, onDelete),
	),
	never: "an operation and a status do not depend on the owner",
}

var patternUnregistered = &pattern{
	title: "Another tool unregistered the process",
	about: "It is drift once the agents have confirmed it, and the next apply registers it again. A destroy does what `on_destroy` says to a process that still runs.",
	cells: map[operation]cell{
		onRead:   {ending: drifts, reason: "unregistered", tries: 1, triesBy: map[face]int{providertest.FaceJOB: 2}},
		onUpdate: {ending: well, tries: 2, triesBy: map[face]int{providertest.FaceESB: 1}},
		onDelete: {ending: well, tries: 1},
	},
	never: "an operation and a status do not need a registration",
}

var patternLag = &pattern{
	title: "The platform's cached status is out of date or cannot be read",
	about: "A host that looks changed there is only suspected until its agent confirms it. A destroy leaves a registration that the cached status shows as another " +
		"object's. If it shows none, what this object registered still counts as its own, and stays in state until the platform or the agent says that it is gone.",
	cells: cellsOf(wellAfter(1, onRead, onAsk, onReadOwner)),
	never: "it does not use the cached status",
}

var patternMixed = &pattern{
	title: "Hosts differ",
	about: "Each host gets its own result, and a code that means success for one operation means failure for another. The next apply asks or calls only the hosts that need it.",
	cells: cellsOf(as(cell{ending: warns, tries: 1, timeUp: true}, onOperate, onStop)), never: "their hosts can get only one or two codes",
}

var patternConsole = &pattern{
	title: "Another tool stops the process",
	about: "With `ensure = \"running\"` it is drift, and the next apply starts the process. While a plan is open it makes no difference, because the apply asks again.",
	cells: cellsOf(wellAfter(1, onRead, onKeepRun, onStop), as(cell{ending: drifts, reason: "not_hosted", tries: 1}, onReadRun)),
	never: "they do not depend on whether it runs",
}

var patternConsoleGone = &pattern{
	title: "Another tool unregisters the process while a plan is open", about: "The apply registers it again.",
	cells: wellAfter(1, onUpdate, onDelete), never: "nothing is registered yet, or has to be",
}

var patternRowZero = &pattern{
	title: "The platform's cached status says that nothing is registered",
	about: "An import and a list have no other source. A refresh asks the agents.",
	cells: cellsOf(wellAfter(1, onRead, onCached, onList), as(cell{ending: fails, says: "is not registered on any host", tries: 1}, onImport)),
	never: "they do not use the cached status",
}

var patternRowsLag = &pattern{
	title: "The platform's cached status lags behind",
	about: "A refresh that finds an old row asks the agents, who know when the process was registered.",
	cells: wellAfter(1, onCreate, onUpdate, onDelete, onRun), never: "they do not change the cached status",
}

var patternDeclared = &pattern{
	title: "The platform would refuse a configuration, or be harmed by it", about: "The plan refuses it, and no call is made.",
	cells: map[operation]cell{onCreate: {ending: refused}, onUpdate: {ending: refused}, onOperate: {ending: refused}, onStatus: {ending: refused}},
	never: "it was refused before",
}

var patternFromFile = &pattern{
	title: "The agents cannot be asked, and the cached status is read instead",
	about: "A warning says so, and no agent is asked. An import reads the data sources that depend on what it is about to import, and must not fail because of them.",
	cells: map[operation]cell{onStatus: {ending: warns, tries: 1}}, never: "they read the cached status anyway, or their configuration has the spec",
}

var patternNames = &pattern{
	title: "A host has two names",
	about: "A machine has an address and, at the gateway, an agent id as well. If the platform shows which belong together, a host that is given by its other name " +
		"is renamed: it is unregistered by the old name and then registered by the new one. No operation runs, and the process keeps its pid. If the platform does not show it, " +
		"or if more changes on such a host, it is refused before anything is changed. So is one machine under both of its names.",
	cells: wellAfter(1, onUpdate, onKeepRun),
	never: "they name a host once",
}
