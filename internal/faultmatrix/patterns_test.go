package faultmatrix

import (
	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// What becomes of the operations, by the kind of fault. The page has a section for
// each of these.

var esbOnlyFace = []providertest.Face{providertest.FaceESB}

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
	name: "unreachable", title: "Nothing can be sent",
	about: "No request leaves, so nothing is done and nothing saved. An address at which the provider has reached nobody yet is not tried again, and neither is a server that cannot be trusted; " +
		"where it has, an operation may be tried again as well.",
	cells: map[providertest.Operation]cell{
		providertest.OnCreate:  {ending: fails},
		providertest.OnRead:    {ending: stays},
		providertest.OnUpdate:  {ending: stays},
		providertest.OnDelete:  {ending: stays},
		providertest.OnOperate: {ending: fails},
		providertest.OnStatus:  {ending: fails},
	},
	never: oneWay,
}

// patternLost: every answer to one API gets lost.
var patternLost = &pattern{
	name: "lost", title: "Answers get lost, for a while",
	about: "The platform may have acted on any of the requests. Calls that may be repeated are retried up to `max_retries` times. " +
		"An operation is sent once.",
	cells: lostFor(3),
}

func lostFor(tries int) map[providertest.Operation]cell {
	return map[providertest.Operation]cell{
		providertest.OnCreate:    {ending: taints, reason: notConfirmed + saysUnknown, tries: tries},
		providertest.OnConfirm:   {ending: warns, reason: notConfirmed + saysTimeUp, tries: enough, timeUp: true},
		providertest.OnRead:      {ending: stays, tries: tries},
		providertest.OnAsk:       {ending: stays, tries: tries},
		providertest.OnUpdate:    {ending: fails, reason: specDiffers, tries: tries},
		providertest.OnDelete:    {ending: fails, tries: tries},
		providertest.OnRun:       {ending: warns, reason: notRunning + saysUnknown, tries: 1},
		providertest.OnOperate:   {ending: warns, reason: outcomeUnknown, tries: 1},
		providertest.OnWait:      {ending: warns, reason: noVerdict, tries: enough, timeUp: true},
		providertest.OnStop:      {ending: warns, reason: outcomeUnknown, tries: 1},
		providertest.OnRestart:   {ending: warns, reason: outcomeUnknown, tries: 1},
		providertest.OnAskFirst:  {ending: fails, tries: tries},
		providertest.OnReadOwner: {ending: fails, tries: tries},
		providertest.OnStatus:    {ending: fails, tries: tries},
		providertest.OnCached:    {ending: fails, tries: tries},
		providertest.OnList:      {ending: fails, tries: tries},
	}
}

// patternLostActed is the same where the platform acts on them.
var patternLostActed = &pattern{
	name: "lost-acted", title: "Answers get lost, for a while, and the platform has acted on the requests",
	about: "The same, but the cached status afterwards shows what was done: a refresh finds an update done. A destroy that got no answer is an error " +
		"even where the cached status shows nothing any more, because it lags: the refresh before the next destroy asks the agents and finds it done.",
	cells: lostFor(3),
}

func with(cells map[providertest.Operation]cell, on providertest.Operation, c cell) map[providertest.Operation]cell {
	cells[on] = c
	return cells
}

var patternLostOnce = &pattern{
	name: "lost-once", title: "One answer gets lost",
	about: "Calls that may be repeated are retried, and you notice nothing. An operation is sent once.",
	cells: map[providertest.Operation]cell{
		providertest.OnCreate:    {ending: well, tries: 2},
		providertest.OnConfirm:   {ending: well, tries: 2},
		providertest.OnRead:      {ending: well, tries: 2},
		providertest.OnAsk:       {ending: well, tries: 2},
		providertest.OnUpdate:    {ending: well, tries: 2},
		providertest.OnDelete:    {ending: well, tries: 2},
		providertest.OnHost:      {ending: well, tries: 2},
		providertest.OnRun:       {ending: warns, reason: notRunning + saysUnknown, tries: 1},
		providertest.OnOperate:   {ending: warns, reason: outcomeUnknown, tries: 1},
		providertest.OnWait:      {ending: well, tries: 2},
		providertest.OnStop:      {ending: warns, reason: outcomeUnknown, tries: 1},
		providertest.OnKill:      {ending: warns, reason: outcomeUnknown, tries: 1},
		providertest.OnRestart:   {ending: warns, reason: outcomeUnknown, tries: 1},
		providertest.OnReload:    {ending: warns, reason: outcomeUnknown, tries: 1},
		providertest.OnAskFirst:  {ending: well, tries: 2},
		providertest.OnReadOwner: {ending: well, tries: 2},
		providertest.OnStatus:    {ending: well, tries: 2},
		providertest.OnCached:    {ending: well, tries: 2},
		providertest.OnImport:    {ending: well, tries: 2},
		providertest.OnList:      {ending: well, tries: 2},
	},
}

var patternStranger = &pattern{
	name: "stranger", title: "Something else is at the endpoint",
	about: "Where the platform has not answered any call of the run, whoever answers in its place has not passed the request on: nothing is done, nothing " +
		"repeated and nothing saved.",
	cells: map[providertest.Operation]cell{
		providertest.OnCreate:    {ending: fails, tries: 1, faces: jobFace},
		providertest.OnAskFirst:  {ending: fails, tries: 1},
		providertest.OnRead:      {ending: stays, tries: 1},
		providertest.OnUpdate:    {ending: fails, reason: specDiffers, tries: 1},
		providertest.OnDelete:    {ending: fails, tries: 1, faces: jobFace},
		providertest.OnReadOwner: {ending: fails, tries: 1},
		providertest.OnOperate:   {ending: fails, tries: 1},
		providertest.OnStop:      {ending: fails, tries: 1},
		providertest.OnRestart:   {ending: fails, tries: 1},
		providertest.OnStatus:    {ending: fails, tries: 1},
		providertest.OnCached:    {ending: fails, tries: 1},
		providertest.OnList:      {ending: fails, tries: 1},
	},
	never: "the platform has answered before in the same run",
}

var patternNoEnvelope = &pattern{
	name: "no-envelope", title: "The platform has answered, and then something else does",
	about: "It may be anything, the platform in trouble too. What may be repeated is repeated once: a login page stays a login page. An operation is sent once.",
	cells: lostFor(2),
}

var patternRefused = &pattern{
	name: "refused", title: "The platform refuses a request",
	about: "A refusal is an answer, so the request is not retried.",
	cells: map[providertest.Operation]cell{
		providertest.OnCreate:    {ending: fails, tries: 1},
		providertest.OnConfirm:   {ending: warns, reason: notConfirmed + saysUnknown, tries: 1},
		providertest.OnRead:      {ending: stays, tries: 1},
		providertest.OnAsk:       {ending: stays, tries: 1},
		providertest.OnUpdate:    {ending: fails, reason: specDiffers, tries: 1},
		providertest.OnDelete:    {ending: fails, tries: 1},
		providertest.OnOperate:   {ending: fails, tries: 1},
		providertest.OnHost:      {ending: warns, reason: notHosted + "the call failed", tries: 1},
		providertest.OnRun:       {ending: warns, reason: notRunning + "the call failed", tries: 1},
		providertest.OnWait:      {ending: warns, reason: outcomeUnknown, tries: 1},
		providertest.OnStop:      {ending: fails, tries: 1},
		providertest.OnRestart:   {ending: fails, tries: 1},
		providertest.OnAskFirst:  {ending: fails, tries: 1},
		providertest.OnReadOwner: {ending: fails, tries: 1},
		providertest.OnStatus:    {ending: fails, tries: 1},
		providertest.OnCached:    {ending: fails, tries: 1},
		providertest.OnImport:    {ending: fails, tries: 1},
		providertest.OnList:      {ending: fails, tries: 1},
	},
}

var patternTurnedAway = &pattern{
	name: "turned-away", title: "The platform is too busy, for a while",
	about: "The platform does not act on a request that it turns away, so even an operation may be retried.",
	cells: map[providertest.Operation]cell{
		providertest.OnCreate:    {ending: fails, tries: 3},
		providertest.OnConfirm:   {ending: warns, reason: notConfirmed + saysTimeUp, tries: enough, timeUp: true},
		providertest.OnRead:      {ending: stays, tries: 3},
		providertest.OnUpdate:    {ending: fails, reason: specDiffers, tries: 3},
		providertest.OnDelete:    {ending: fails, tries: 3},
		providertest.OnRun:       {ending: warns, reason: notRunning + "the call failed", tries: 3},
		providertest.OnOperate:   {ending: fails, tries: 3},
		providertest.OnStop:      {ending: fails, tries: 3},
		providertest.OnWait:      {ending: warns, reason: noVerdict, tries: enough, timeUp: true},
		providertest.OnReadOwner: {ending: fails, tries: 3},
		providertest.OnStatus:    {ending: fails, tries: 3},
	},
}

var patternTurnedAwayOnce = &pattern{
	name: "turned-away-once", title: "The platform is too busy once",
	about: "The request is sent again after a wait.",
	cells: wellAfter(2, providertest.OnCreate, providertest.OnConfirm, providertest.OnRun, providertest.OnRead, providertest.OnUpdate, providertest.OnDelete, providertest.OnReadOwner, providertest.OnOperate, providertest.OnWait, providertest.OnStop, providertest.OnStatus),
}

// patternNotWorthWaiting: a wait that is asked for and would outlast the operation.
var patternNotWorthWaiting = &pattern{
	name: "not-worth-waiting", title: "The platform asks for a wait that would outlast the operation",
	about: "The error comes at once rather than after the deadline.",
	cells: map[providertest.Operation]cell{
		providertest.OnCreate:    {ending: fails, tries: 1},
		providertest.OnRead:      {ending: stays, tries: 1},
		providertest.OnUpdate:    {ending: fails, reason: specDiffers, tries: 1},
		providertest.OnDelete:    {ending: fails, tries: 1},
		providertest.OnOperate:   {ending: fails, tries: 1},
		providertest.OnReadOwner: {ending: fails, tries: 1},
		providertest.OnStatus:    {ending: fails, tries: 1},
	},
	never: "a result is asked for again until the deadline",
}

// patternPoisoned: what one host did to the others shows in the error alone.
var patternPoisoned = &pattern{
	name: "poisoned", title: "The platform refuses a whole request because of one host",
	about: "No host of the request is done, so the next apply repeats all of them.",
	cells: map[providertest.Operation]cell{
		providertest.OnCreate:   {ending: fails, tries: 1, touches: allHosts},
		providertest.OnRead:     {ending: stays, tries: 1},
		providertest.OnOperate:  {ending: fails, tries: 1, touches: allHosts},
		providertest.OnAskFirst: {ending: fails, tries: 1, touches: allHosts},
		providertest.OnStatus:   {ending: fails, tries: 1},
	},
}

var allHosts = providertest.HostNumbers(matrixHosts)

// wellAfter has operations come out well after so many calls.
func wellAfter(tries int, on ...providertest.Operation) map[providertest.Operation]cell {
	return endingAfter(tries, well, on)
}

func failsAfter(tries int, on ...providertest.Operation) map[providertest.Operation]cell {
	return endingAfter(tries, fails, on)
}

func endingAfter(tries int, as ending, on []providertest.Operation) map[providertest.Operation]cell {
	cells := make(map[providertest.Operation]cell)
	for _, o := range on {
		cells[o] = cell{ending: as, tries: tries}
	}
	return cells
}
