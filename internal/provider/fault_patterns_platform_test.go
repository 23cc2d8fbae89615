package provider

const fileHasNoTask = "what is on file is answered at once"

var jobFace = []face{faceJOB}

// onJOB has the refresh of a process of JOB, which asks the agents.
func onJOB(c cell) cell {
	c.faces = jobFace
	return c
}

var patternControl = &pattern{
	name: "control", title: "Nothing is wrong", about: "One call each.",
	cells: wellAfter(1, onCreate, onConfirm, onRead, onUpdate, onDelete, onOperate, onWait, onStatus),
}

var patternLate = &pattern{
	name: "late", title: "The answer is late",
	about: "It is waited for, host by host. Where the ESB answers for each host at once, 115 or nothing about a host means to call again for that host. " +
		"A task is asked for its result again, and the operation is not sent again.",
	cells: with(wellAfter(1, onCreate, onAsk, onUpdate, onDelete, onOperate, onStatus), onRead, onJOB(cell{ending: well, tries: 1})),
	never: fileHasNoTask,
}

var patternAsked = &pattern{
	name: "odd", title: "The answer looks odd",
	about: "It is understood all the same: peers of this client have met each of these.",
	cells: wellAfter(1, onCreate, onRead, onAsk, onUpdate, onDelete, onOperate, onStatus),
}

// patternNoVerdict: nothing is heard of a host, whatever the others do.
var patternNoVerdict = &pattern{
	name: "no-verdict", title: "Nothing is heard of a host until the time is up",
	about: "The other hosts keep their verdicts. The deadline is that of the object's `timeouts`.",
	cells: map[operation]cell{
		onCreate:  {ending: warns, reason: notConfirmed + reasonTimeUp, tries: 1, timeUp: true},
		onRead:    onJOB(cell{ending: warns, says: "Agents Not Reachable", tries: 1, timeUp: true}),
		onAsk:     {ending: warns, says: "Agents Not Reachable", tries: 1, timeUp: true},
		onUpdate:  {ending: fails, reason: "registered with another spec: " + reasonTimeUp, tries: 1, timeUp: true},
		onDelete:  {ending: fails, tries: 1, timeUp: true},
		onOperate: {ending: warns, reason: reasonTimeUp, tries: 1, timeUp: true},
		onStatus:  {ending: warns, says: "Process Status Unknown", tries: 1, timeUp: true},
	},
	never: fileHasNoTask,
}

var patternOneFails = &pattern{
	name: "one-fails", title: "A host fails",
	about: "The others are done. The next apply calls the failed host alone.",
	cells: map[operation]cell{
		onCreate:  {ending: warns, reason: "not registered: ", tries: 1},
		onRead:    onJOB(cell{ending: warns, says: "Agents Not Reachable", tries: 2}),
		onAsk:     {ending: warns, says: "Agents Not Reachable", tries: 1},
		onUpdate:  {ending: fails, reason: "registered with another spec: ", tries: 1},
		onDelete:  {ending: fails, tries: 1},
		onOperate: {ending: warns, tries: 1},
		onStatus:  {ending: warns, tries: 1},
	},
	never: fileHasNoTask,
}

const noCommand = "no command of the process runs"

var patternOperationFails = &pattern{
	name: "operation-fails", title: "A command fails on a host",
	about: "What it printed is shown. The next apply runs it on that host alone.",
	cells: map[operation]cell{onOperate: {ending: warns, tries: 1}},
	never: noCommand,
}

var patternOperationWell = &pattern{
	name: "as-wanted", title: "The process is as wanted already", about: "That is success.",
	cells: wellAfter(1, onOperate), never: noCommand,
}

var patternUnreadable = &pattern{
	name: "unreadable", title: "A query's answer cannot be read",
	about: "Of such a host nothing is known, and so nothing is concluded.",
	cells: map[operation]cell{
		onRead:   onJOB(cell{ending: warns, tries: 2}),
		onAsk:    {ending: warns, tries: 1},
		onStatus: {ending: warns, tries: 1},
	},
	never: "only a query has such an answer",
}

var patternNoTask = &pattern{
	name: "no-task", title: "A call is accepted, and its result cannot be asked for",
	about: "Registering may be repeated, and what is on file afterwards shows what was done. An operation is sent once.",
	cells: map[operation]cell{
		onCreate:  {ending: taints, reason: notConfirmed + reasonUnknown, tries: 1},
		onRead:    onJOB(cell{ending: stays, tries: 1}),
		onAsk:     {ending: stays, tries: 1},
		onUpdate:  {ending: fails, reason: specDiffers, tries: 1},
		onDelete:  {ending: well, tries: 1},
		onOperate: {ending: warns, reason: reasonUnknown, tries: 1},
		onStatus:  {ending: fails, tries: 1},
	},
	never: fileHasNoTask,
}

var patternTaken = &pattern{
	name: "taken", title: "Somebody else registered the process",
	about: "Before a create: the host is left alone, unless `adopt_existing` is true. Afterwards: it is drift, and the next apply registers it again.",
	cells: map[operation]cell{
		onCreate: {ending: warns, reason: "registered by somebody else", tries: 1},
		onRead:   {ending: drifts, reason: "registered with another spec", tries: 1},
		onUpdate: {ending: well, tries: 1},
		onDelete: {ending: well, tries: 1},
	},
	never: "an operation and a status do not look at who registered",
}

var patternUnregistered = &pattern{
	name: "unregistered", title: "Somebody unregistered the process",
	about: "It is drift once the agents have confirmed it, and the next apply registers it again.",
	cells: map[operation]cell{
		onRead:   {ending: drifts, reason: "not registered", tries: 1, triesBy: map[face]int{faceJOB: 2}},
		onUpdate: {ending: well, tries: 2, triesBy: map[face]int{faceESB: 1}},
		onDelete: {ending: well, tries: 1},
	},
	never: "an operation and a status do not need a registration",
}

var patternLag = &pattern{
	name: "lag", title: "What the platform has on file is out of date or cannot be read",
	about: "A host that looks changed there is only suspected. The agents are asked before it counts.",
	cells: map[operation]cell{
		onRead: {ending: well, tries: 1},
		onAsk:  {ending: well, tries: 1},
	},
	never: "it does not go by what is on file",
}
