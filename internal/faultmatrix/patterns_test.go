package faultmatrix

import (
	"maps"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// What becomes of the operations, by the kind of fault. The page has a section for each of these.

// Reasons, as state has them to begin with.
const (
	specDiffers   = "other_spec: the call failed"
	notRegistered = "not_registered: "
	notConfirmed  = "unconfirmed: "
	notHosted     = "not_hosted: "
	notRunning    = "not_running: "
)

// What state says of hosts whose outcome is open.
const (
	saysUnknown = "outcome unknown"
	saysTimeUp  = "no verdict when the time was up"
)

// What failed_hosts says of hosts whose outcome is open.
const (
	outcomeUnknown = "outcome_unknown"
	noVerdict      = "no_verdict"
)

const oneWay = "the question for a result goes the way that the operation went"

var patternUnreachable = &pattern{
	title: "Nothing can be sent",
	about: "No request leaves, so nothing is done and nothing saved. An address at which the provider has reached nobody yet is not tried again, and neither is a server that cannot be trusted; " +
		"where it has, an operation may be tried again as well.",
	cells: cellsOf(as(cell{ending: fails}, onCreate, onOperate, onStatus), as(cell{ending: stays}, onRead, onUpdate, onDelete)),
	never: oneWay,
}

// patternLost: every answer to one API gets lost.
var patternLost = &pattern{
	title: "Answers get lost, for a while",
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

// patternLostActed is the same where the platform acts on them.
var patternLostActed = &pattern{
	title: "Answers get lost, for a while, and the platform has acted on the requests",
	about: "The same, but the cached status afterwards shows what was done: a refresh finds an update done. A destroy that got no answer is an error " +
		"even where the cached status shows nothing any more, because it lags: the refresh before the next destroy asks the agents and finds it done.",
	cells: lostFor(3),
}

var patternLostOnce = &pattern{
	title: "One answer gets lost",
	about: "Calls that may be repeated are retried, and you notice nothing. An operation is sent once.",
	cells: cellsOf(
		wellAfter(2, onCreate, onConfirm, onRead, onAsk, onUpdate, onDelete, onHost, onWait, onAskFirst, onReadOwner, onStatus, onCached, onImport, onList),
		as(cell{ending: warns, reason: notRunning + saysUnknown, tries: 1}, onRun),
		as(cell{ending: warns, reason: outcomeUnknown, tries: 1}, onOperate, onStop, onKill, onRestart, onReload),
	),
}

var patternStranger = &pattern{
	title: "Something else is at the endpoint",
	about: "Where the platform has not answered any call of the run, whoever answers in its place has not passed the request on: nothing is done, nothing " +
		"repeated and nothing saved.",
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
	about: "It may be anything, the platform in trouble too. What may be repeated is repeated once: a login page stays a login page. An operation is sent once.",
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
	title: "The platform is too busy once",
	about: "The request is sent again after a wait.",
	cells: wellAfter(2, onCreate, onConfirm, onRun, onRead, onUpdate, onDelete, onReadOwner, onOperate, onWait, onStop, onStatus),
}

// patternPoisoned: what one host did to the others shows in the error alone.
var patternPoisoned = &pattern{
	title: "The platform refuses a whole request because of one host",
	about: "No host of the request is done, so the next apply repeats all of them.",
	cells: cellsOf(as(cell{ending: fails, tries: 1, touches: allHosts}, onCreate, onOperate, onAskFirst), as(cell{ending: stays, tries: 1}, onRead), failsAfter(1, onStatus)),
}

var allHosts = providertest.HostNumbers(matrixHosts)

// as are operations that end alike, and cellsOf are several of these.
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

// wellAfter has operations end well after so many calls, and failsAfter has them fail.
func wellAfter(tries int, on ...operation) map[operation]cell {
	return as(cell{ending: well, tries: tries}, on...)
}

func failsAfter(tries int, on ...operation) map[operation]cell {
	return as(cell{ending: fails, tries: tries}, on...)
}
