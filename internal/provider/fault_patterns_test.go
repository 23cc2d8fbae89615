package provider

// What becomes of the operations, by the kind of fault. The page has a section for
// each of these.

var esbOnlyFace = []face{faceESB}

// Reasons, as state has them to begin with.
const (
	specDiffers  = "registered with another spec: the call failed"
	notConfirmed = "registration not confirmed: "
	notHosted    = "registered but not hosted: "
	notRunning   = "hosted but not running: "
)

// What state says of hosts whose outcome is open.
const (
	saysUnknown = "outcome unknown"
	saysTimeUp  = "no verdict when the time was up"
)

const oneWay = "the question for a result goes the way that the operation went"

var patternUnreachable = &pattern{
	name: "unreachable", title: "Nothing can be sent",
	about: "No request leaves, so an operation may be tried again as well. A server that is there and cannot be trusted is not tried again.",
	cells: map[operation]cell{
		onCreate:  {ending: fails},
		onRead:    {ending: stays},
		onUpdate:  {ending: stays},
		onDelete:  {ending: stays},
		onOperate: {ending: fails},
		onStatus:  {ending: fails},
	},
	never: oneWay,
}

// patternLost: every answer to one API gets lost.
var patternLost = &pattern{
	name: "lost", title: "Requests arrive and answers do not, for a while",
	about: "The platform may have acted on any of them. What may be repeated is repeated until the budget (`max_retries`) is spent. " +
		"An operation is sent once.",
	cells: lostFor(3),
}

func lostFor(tries int) map[operation]cell {
	return map[operation]cell{
		onCreate:  {ending: taints, reason: notConfirmed + saysUnknown, tries: tries},
		onConfirm: {ending: warns, reason: notConfirmed + saysTimeUp, tries: enough, timeUp: true},
		onRead:    {ending: stays, tries: tries},
		onAsk:     {ending: stays, tries: tries},
		onUpdate:  {ending: fails, reason: specDiffers, tries: tries},
		onDelete:  {ending: fails, tries: tries},
		onRun:     {ending: warns, reason: notRunning + saysUnknown, tries: 1},
		onOperate: {ending: warns, reason: saysUnknown, tries: 1},
		onWait:    {ending: warns, reason: saysTimeUp, tries: enough, timeUp: true},
		onStop:    {ending: warns, reason: saysUnknown, tries: 1},
		onRestart: {ending: warns, reason: saysUnknown, tries: 1},
		onStatus:  {ending: fails, tries: tries},
		onCached:  {ending: fails, tries: tries},
		onList:    {ending: fails, tries: tries},
	}
}

// patternLostActed is the same where the platform acts on them.
var patternLostActed = &pattern{
	name: "lost-acted", title: "The platform acts on requests and its answers get lost, for a while",
	about: "The same, but what is on file afterwards shows what was done: a refresh finds an update done, and a destroy counts a host that is " +
		"not on file any more as unregistered.",
	cells: with(lostFor(3), onDelete, cell{ending: well, tries: 3}),
}

func with(cells map[operation]cell, on operation, c cell) map[operation]cell {
	cells[on] = c
	return cells
}

var patternLostOnce = &pattern{
	name: "lost-once", title: "One answer gets lost",
	about: "What may be repeated is repeated and you see nothing of it. An operation is sent once.",
	cells: map[operation]cell{
		onCreate:  {ending: well, tries: 2},
		onConfirm: {ending: well, tries: 2},
		onRead:    {ending: well, tries: 2},
		onAsk:     {ending: well, tries: 2},
		onUpdate:  {ending: well, tries: 2},
		onDelete:  {ending: well, tries: 2},
		onHost:    {ending: well, tries: 2},
		onRun:     {ending: warns, reason: notRunning + saysUnknown, tries: 1},
		onOperate: {ending: warns, reason: saysUnknown, tries: 1},
		onWait:    {ending: well, tries: 2},
		onStop:    {ending: warns, reason: saysUnknown, tries: 1},
		onKill:    {ending: warns, reason: saysUnknown, tries: 1},
		onRestart: {ending: warns, reason: saysUnknown, tries: 1},
		onReload:  {ending: warns, reason: saysUnknown, tries: 1},
		onStatus:  {ending: well, tries: 2},
		onCached:  {ending: well, tries: 2},
		onImport:  {ending: well, tries: 2},
		onList:    {ending: well, tries: 2},
	},
}

var patternNoEnvelope = &pattern{
	name: "no-envelope", title: "Something else than the platform answers",
	about: "What may be repeated is repeated once: a login page stays a login page. An operation is sent once.",
	cells: lostFor(2),
}

var patternRefused = &pattern{
	name: "refused", title: "The platform says no",
	about: "That is an answer, and it is not asked for twice.",
	cells: map[operation]cell{
		onCreate:  {ending: fails, tries: 1},
		onConfirm: {ending: warns, reason: notConfirmed + saysUnknown, tries: 1},
		onRead:    {ending: stays, tries: 1},
		onAsk:     {ending: stays, tries: 1},
		onUpdate:  {ending: fails, reason: specDiffers, tries: 1},
		onDelete:  {ending: fails, tries: 1},
		onOperate: {ending: fails, tries: 1},
		onHost:    {ending: warns, reason: notHosted + "the call failed", tries: 1},
		onRun:     {ending: warns, reason: notRunning + "the call failed", tries: 1},
		onWait:    {ending: warns, reason: saysUnknown, tries: 1},
		onStop:    {ending: fails, tries: 1},
		onRestart: {ending: fails, tries: 1},
		onStatus:  {ending: fails, tries: 1},
		onCached:  {ending: fails, tries: 1},
		onImport:  {ending: fails, tries: 1},
		onList:    {ending: fails, tries: 1},
	},
}

var patternTurnedAway = &pattern{
	name: "turned-away", title: "The platform is too busy, for a while",
	about: "Nobody acts on a request that was turned away, so an operation may be tried again as well.",
	cells: map[operation]cell{
		onCreate:  {ending: fails, tries: 3},
		onConfirm: {ending: warns, reason: notConfirmed + saysTimeUp, tries: enough, timeUp: true},
		onRead:    {ending: stays, tries: 3},
		onUpdate:  {ending: fails, reason: specDiffers, tries: 3},
		onDelete:  {ending: fails, tries: 3},
		onRun:     {ending: warns, reason: notRunning + "the call failed", tries: 3},
		onOperate: {ending: fails, tries: 3},
		onStop:    {ending: fails, tries: 3},
		onWait:    {ending: warns, reason: saysTimeUp, tries: enough, timeUp: true},
		onStatus:  {ending: fails, tries: 3},
	},
}

var patternTurnedAwayOnce = &pattern{
	name: "turned-away-once", title: "The platform is too busy once",
	about: "The request is sent again after a wait.",
	cells: wellAfter(2, onCreate, onConfirm, onRun, onRead, onUpdate, onDelete, onOperate, onWait, onStop, onStatus),
}

// patternNotWorthWaiting: a wait that is asked for and would outlast the operation.
var patternNotWorthWaiting = &pattern{
	name: "not-worth-waiting", title: "The platform asks for a wait that would outlast the operation",
	about: "The error comes at once rather than after the deadline.",
	cells: map[operation]cell{
		onCreate:  {ending: fails, tries: 1},
		onRead:    {ending: stays, tries: 1},
		onUpdate:  {ending: fails, reason: specDiffers, tries: 1},
		onDelete:  {ending: fails, tries: 1},
		onOperate: {ending: fails, tries: 1},
		onStatus:  {ending: fails, tries: 1},
	},
	never: "a result is asked for again until the deadline",
}

// patternPoisoned: what one host did to the others shows in the error alone.
var patternPoisoned = &pattern{
	name: "poisoned", title: "One host has the whole request refused",
	about: "No host of the request is done, so the next apply repeats all of them.",
	cells: map[operation]cell{
		onCreate:  {ending: fails, tries: 1, touches: allHosts},
		onRead:    {ending: stays, tries: 1},
		onOperate: {ending: fails, tries: 1, touches: allHosts},
		onStatus:  {ending: fails, tries: 1},
	},
}

var allHosts = hostNumbers(matrixHosts)

// wellAfter has operations come out well after so many calls.
func wellAfter(tries int, on ...operation) map[operation]cell {
	cells := make(map[operation]cell)
	for _, o := range on {
		cells[o] = cell{ending: well, tries: tries}
	}
	return cells
}
