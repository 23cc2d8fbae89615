package faultmatrix

import (
	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

const fileHasNoTask = "the cached status is answered at once"

// onJOB has the refresh of a process of JOB, which asks the agents.
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
	about: "It is waited for, host by host. Where the ESB answers for each host at once, 115 or nothing about a host means to call again for that host. " +
		"A task is asked for its result again, and the operation is not sent again.",
	cells: cellsOf(wellAfter(1, onCreate, onAskFirst, onHost, onRun, onAsk, onUpdate, onDelete, onOperate, onStop, onStatus), as(onJOB(cell{ending: well, tries: 1}), onRead)),
	never: fileHasNoTask,
}

var patternAsked = &pattern{
	title: "The answer looks odd",
	about: "It is understood anyway: other clients of the platform have met each of these.",
	cells: wellAfter(1, onCreate, onRead, onAsk, onUpdate, onDelete, onOperate, onStatus),
}

// patternNoVerdict: nothing is heard of a host, whatever the others do.
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

// agentSilent is said of hosts that were not hosted, because they may be somebody else's.
const agentSilent = "not registered, because its agent does not say whether it already is"

// Promised in drift-in-ci.md: state is kept, and a warning names the host
// Promised in partial-failure.md: hosting or starting, on some hosts that a create did
// register | ends with a warning, exit code 0.
var patternOneFails = &pattern{
	title: "A host fails",
	about: "The others are done. The next apply calls the failed host alone. A machine that is gone for good leaves state if `forget_unreachable` is true; without it the error of the destroy names this way out.",
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
	about: "What it printed is shown, without control characters and without the provider's credentials, encoded ones among them. The next apply runs it on that host alone.",
	cells: cellsOf(as(cell{ending: warns, reason: notRunning, tries: 1}, onRun), as(cell{ending: warns, tries: 1}, onOperate, onStop, onKill, onRestart, onReload)),
	never: noCommand,
}

var patternOperationWell = &pattern{
	title: "The process is as wanted already", about: "That is success.",
	cells: wellAfter(1, onOperate, onStop, onKill), never: noCommand,
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
	title: "A call is accepted, and its result cannot be asked for",
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
	title: "Somebody else registered the process",
	about: "Before a create, or before the host is added: it is left alone, unless `adopt_existing` is true. Afterwards: it is drift, and the next apply registers it again. " +
		"A destroy leaves alone what another resource has registered since, whose `owner` the cached status shows. A registration that names no owner is unregistered.",
	cells: cellsOf(
		as(cell{ending: warns, reason: "registered_by_other", tries: 1}, onCreate),
		as(cell{ending: drifts, reason: "other_spec", tries: 1}, onRead),
		wellAfter(1, onUpdate, onDelete),
	),
	never: "an operation and a status do not look at who registered",
}

var patternUnregistered = &pattern{
	title: "Somebody unregistered the process",
	about: "It is drift once the agents have confirmed it, and the next apply registers it again. A destroy does what `on_destroy` says to a process that runs there.",
	cells: map[operation]cell{
		onRead:   {ending: drifts, reason: "unregistered", tries: 1, triesBy: map[face]int{providertest.FaceJOB: 2}},
		onUpdate: {ending: well, tries: 2, triesBy: map[face]int{providertest.FaceESB: 1}},
		onDelete: {ending: well, tries: 1},
	},
	never: "an operation and a status do not need a registration",
}

var patternLag = &pattern{
	title: "The platform's cached status is out of date or cannot be read",
	about: "A host that looks changed there is only suspected. The agents are asked before it counts. A destroy leaves a registration alone that is " +
		"in the cached status as another object's; where that shows nothing, what was registered by this object still counts as its own, and stays in state until the platform or " +
		"the agent says that it is gone.",
	cells: cellsOf(wellAfter(1, onRead, onAsk, onReadOwner)),
	never: "it does not go by the cached status",
}

var patternOddContent = &pattern{
	title: "A query's answer looks odd", about: "It is understood anyway.",
	cells: cellsOf(wellAfter(1, onAsk, onStatus), as(onJOB(cell{ending: well, tries: 1}), onRead)),
	never: "only a query has such an answer",
}

var patternMixed = &pattern{
	title: "Hosts differ",
	about: "Each host gets its own result, and a code that means success for one operation means failure for another. The next apply asks or calls only the hosts that need it.",
	cells: cellsOf(as(cell{ending: warns, tries: 1, timeUp: true}, onOperate, onStop)),
	never: "their hosts can get only one or two codes",
}

var patternConsole = &pattern{
	title: "Somebody stops the process",
	about: "With `ensure = \"running\"` it is drift, and the next apply starts it. While a plan is open it makes no difference: what the apply needs to know it asks again.",
	cells: cellsOf(wellAfter(1, onRead, onKeepRun, onStop), as(cell{ending: drifts, reason: "not_hosted", tries: 1}, onReadRun)),
	never: "they do not depend on whether it runs",
}

var patternConsoleGone = &pattern{
	title: "Somebody unregisters the process while a plan is open",
	about: "The apply registers it again.",
	cells: wellAfter(1, onUpdate, onDelete),
	never: "nothing is registered yet, or need be",
}

var patternMoved = &pattern{
	title: "The listing of a namespace changes while it is read",
	about: "It is read again: where one row appears twice, another may be on no page.",
	cells: wellAfter(4, onImport, onList), never: "they do not list a namespace",
}

var patternRowZero = &pattern{
	title: "The platform's cached status says that nothing is registered",
	about: "An import and a list have nothing else to go by. A refresh asks the agents.",
	cells: cellsOf(wellAfter(1, onRead, onCached, onList), as(cell{ending: fails, says: "is not registered on any host", tries: 1}, onImport)),
	never: "they do not go by the cached status",
}

var patternRowsLag = &pattern{
	title: "The platform's cached status lags behind",
	about: "A refresh that finds an old row asks the agents, who know when the process was registered.",
	cells: wellAfter(1, onCreate, onUpdate, onDelete, onRun),
	never: "they do not change the cached status",
}

var patternDeclared = &pattern{
	title: "The platform would refuse a configuration, or it would do harm there",
	about: "The plan refuses it, and nothing is called.",
	cells: map[operation]cell{onCreate: {ending: refused}, onUpdate: {ending: refused}, onOperate: {ending: refused}, onStatus: {ending: refused}},
	never: "it was refused before",
}

var patternFromFile = &pattern{
	title: "The agents cannot be asked, and the cached status is read instead",
	about: "A warning says so, and no agent is asked. An import reads the data sources that depend on what it is about to import, and must not fail over them.",
	cells: map[operation]cell{onStatus: {ending: warns, tries: 1}},
	never: "they read the file anyway, or their configuration has the spec",
}

var patternNames = &pattern{
	title: "A host has two names",
	about: "A machine has an address and, at the gateway, an agent id as well. Where the platform tells which belong together, a host that is given by its other name " +
		"is renamed: nothing is operated, and its process keeps its pid. It is unregistered by the old name and then registered by the new one. Where the platform does not tell, " +
		"or more is to be done to such a host, it is refused before anything is changed, and so is one machine under both of its names.",
	cells: wellAfter(1, onUpdate, onKeepRun),
	never: "they name a host once",
}
