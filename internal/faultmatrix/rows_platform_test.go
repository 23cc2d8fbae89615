package faultmatrix

import (
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// lateFaults are answers that come late or look odd, and come to the same.
func lateFaults() []fault {
	keys := (*faultRun).resultKey
	return slices.Concat(
		alike(fault{pattern: patternLate, faces: esbOnlyFace}, []fault{
			{name: "queued", title: "The task is queued (code 1000115, `data` null) for three answers", fault: &simulator.Fault{Queued: 3}, tasks: true, faces: faces},
			{name: "missing", title: "A host is missing from two answers", hit: []int{2}, fault: &simulator.Fault{Missing: 2}, repeats: 3},
			{name: "silent", title: "A host's result is `null`, once", arrange: func(r *faultRun) { r.bendResult(map[string]any{"data/" + keys(r, 2): nil}, 1) }, repeats: 2},
			{name: "pending", title: "A host is in progress (115) for three answers", hit: []int{2}, fault: &simulator.Fault{Pending: 3}, repeats: 4, faces: faces},
		}),
		alike(fault{pattern: patternAsked, faces: esbOnlyFace}, []fault{
			{name: "backwards", title: "Results, rows and members come in another order", arrange: injects(simulator.Fault{Backwards: true})},
			{
				name: "late-answer", title: "The answer to an earlier poll comes after that to a later one",
				except: map[operation]cell{onRead: {ending: well, tries: 1, faces: jobFace}, onCreate: {}, onUpdate: {}, onDelete: {}},
				arrange: func(r *faultRun) {
					target := r.face.Target(r.on)
					r.sim.Inject(simulator.Fault{API: target.API, Op: target.Op, Hosts: providertest.AddressList([]int{3}), Pending: 2})
					r.sim.Inject(simulator.Fault{API: r.face.ResultAPI(), Skip: 1, Times: 1, ExtraKeys: map[string]any{
						keys(r, 1): map[string]any{"error_code": 115, "error_msg": "in progress", "content": ""},
					}})
				},
				faces: withoutGateway,
			},
			{
				name: "extra-key", title: "A result of a host that nobody asked for",
				arrange: func(r *faultRun) {
					r.sim.Inject(simulator.Fault{ExtraKeys: map[string]any{keys(r, 9): map[string]any{"error_code": 65535, "error_msg": "x", "content": ""}}})
				},
				except: map[operation]cell{onRead: {}}, faces: withoutGateway,
			},
			{name: "errcode", title: "`errcode` and `errmsg` for `error_code` and `error_msg`", arrange: injects(simulator.Fault{Spelling: "errcode"})},
			{name: "code-as-text", title: "The envelope's code as `\"00\"`, and no `result`", arrange: injects(simulator.Fault{Envelope: map[string]any{"code": "00", "result": nil}}), faces: withoutGateway},
			{name: "job-status", title: "JOB's `status` says 115 beside results", arrange: injects(simulator.Fault{API: "get_proc_result", JobStatus: new(115)}), faces: jobFace},
			{name: "content-object", title: "`content` is an object instead of a string", hit: []int{2}, fault: &simulator.Fault{ContentShape: "object"}},
			{name: "hosting-not-told", title: "A query's `content` does not say `isAuto`", hit: []int{2}, fault: &simulator.Fault{ContentShape: "no-isauto"}},
		}),
	)
}

// hostFaults hit one host of three.
func hostFaults() []fault {
	return slices.Concat(
		alike(fault{pattern: patternNoVerdict}, []fault{
			{
				name: "pending-for-ever", title: "A host stays in progress (115) forever", says: "no verdict when the time was up (115, still in progress)", hit: []int{2}, fault: &simulator.Fault{Pending: -1},
				repeats: enough, gone: forgetTasks,
			},
			{name: "missing-for-ever", title: "A host is missing from every answer", says: "no verdict when the time was up", hit: []int{2}, fault: &simulator.Fault{Missing: -1}, repeats: enough, faces: gseFaces},
		}),
		alike(fault{pattern: patternOneFails, faces: esbOnlyFace}, []fault{
			{name: "agent-away", title: "A host's agent is away (117)", says: "117, the agent is abnormal or not found", hit: []int{2}, fault: &simulator.Fault{Unreachable: "117"}, faces: faces},
			{name: "unknown-code", title: "A host has a code that no document names", says: "4711", hit: []int{2}, fault: &simulator.Fault{Code: new(4711), Message: "whatever"}},
			{
				name: "unreadable-result", title: "A host's result is no object, or has no code", says: "-1", hit: []int{2},
				arrange: func(r *faultRun) { r.bendResult(map[string]any{"data/" + r.resultKey(2): "gone"}, 0) },
				except: map[operation]cell{
					// The platform did what it was asked for.
					onCreate:  {ending: warns, says: "the platform's result could not be read", reason: notConfirmed + saysUnknown, tries: 1},
					onHost:    {ending: warns, reason: notRegistered, tries: 1}, // the question before registering is hit first
					onRun:     {ending: warns, reason: notRegistered, tries: 1},
					onOperate: {ending: warns, says: "the platform's result could not be read", reason: outcomeUnknown, tries: 1},
					onStop:    {ending: warns, says: "the platform's result could not be read", reason: outcomeUnknown, tries: 1},
					// Its task has the result once it can be read.
					onRestart: {ending: warns, says: "the platform's result could not be read", reason: outcomeUnknown, tries: 1, touches: []int{}},
				},
			},
		}),
		alike(fault{pattern: patternOperationFails, faces: esbOnlyFace}, []fault{
			{
				name: "command-failed", title: "The command fails on a host (65535) and prints why", says: "no space left on device", hit: []int{2},
				fault: &simulator.Fault{Code: new(65535), Message: "no space left on device"}, faces: faces,
			},
			{
				name: "check-failed", title: "A host fails the check after the start (836)", says: "836, the process was not running when the start was checked", hit: []int{2},
				fault: &simulator.Fault{Code: new(836), Message: "start check failed"},
			},
			{
				name: "stop-check-failed", title: "A host fails the check after a stop (836 and a message that begins with stop)", says: "836, the process was still running when the stop was checked",
				hit: []int{2}, fault: &simulator.Fault{Code: new(836), Message: "stop check failed"},
			},
		}),
		alike(fault{pattern: patternOperationWell}, []fault{
			{name: "already-running", title: "The process runs already (828)", arrange: (*faultRun).startAll, except: map[operation]cell{onStop: {}, onKill: {}}},
			{name: "one-shot", title: "A one-shot process has ended when its start is checked (836)", except: map[operation]cell{onStop: {}, onKill: {}}, oneShot: true},
		}),
		alike(fault{pattern: patternUnreadable, faces: esbOnlyFace}, []fault{
			{name: "unreadable-status", title: "A query's `content` is cut in half", says: "the agent's answer", hit: []int{2}, fault: &simulator.Fault{ContentShape: "broken"}, faces: faces},
			{name: "no-instance", title: "A query's `content` names no instance", says: "the agent's answer names no instance with a pid", hit: []int{2}, fault: &simulator.Fault{ContentShape: "no-instance"}},
		}),
	)
}

// forgetTasks has the platform forget its tasks, so that nothing is in progress any more.
func forgetTasks(r *faultRun) {
	for _, task := range r.sim.Tasks() {
		r.sim.ExpireTask(task.ID)
	}
}

func taskFaults() []fault {
	return slices.Concat(
		alike(fault{pattern: patternNoVerdict, faces: gseFaces}, []fault{
			{name: "queued-for-ever", title: "The task stays queued (1000115) forever", says: "no verdict when the time was up (the task was still queued)", fault: &simulator.Fault{Queued: -1}, tasks: true},
			{
				name: "expired", title: "The platform no longer knows the task", says: "no verdict when the time was up", fault: &simulator.Fault{TaskID: new("GSETASK:S:20240101000000.000000:1")}, tasks: true,
				faces: withoutGateway,
			},
		}),
		[]fault{
			{name: "no-task-id", title: "The call is accepted and names no task", says: "named no task, so its result cannot be asked for", fault: &simulator.Fault{TaskID: new("")}, tasks: true, pattern: patternNoTask},
			{
				name: "gse-error", title: "JOB had trouble with GSE (1210001) and does not say which", says: "code 1210001", fault: &simulator.Fault{EnvelopeCode: new(1210001), EnvelopeMessage: "GSE error"},
				except: map[operation]cell{
					onCreate:  {ending: taints, reason: notConfirmed + saysUnknown, tries: 1},
					onConfirm: {ending: warns, reason: notConfirmed + saysTimeUp, tries: enough, timeUp: true},
					onRun:     {ending: warns, reason: notRunning + saysUnknown, tries: 1},
					onOperate: {ending: warns, reason: outcomeUnknown, tries: 1},
					onStop:    {ending: warns, reason: outcomeUnknown, tries: 1},
					onRestart: {ending: warns, reason: outcomeUnknown, tries: 1},
					onWait:    {ending: warns, reason: noVerdict, tries: enough, timeUp: true},
				},
				pattern: patternRefused, faces: jobFace,
			},
		},
	)
}

func ownerFaults() []fault {
	taken := func(r *faultRun) {
		namespace, name := r.face.Process()
		providertest.NoError(r.t, r.sim.Register(providertest.Address(2), namespace, name, map[string]string{"who": "somebody"}, `{"identity":{}}`))
	}
	return slices.Concat(
		[]fault{
			{
				name: "taken", title: "Somebody else has registered the process on a host (850)", says: "the process is registered already", hit: []int{2}, arrange: taken,
				gone: func(r *faultRun) {
					if r.on == onCreate {
						r.second(r.sim.Unregister)
					}
				},
				pattern: patternTaken, faces: gseFaces,
			},
			{name: "unregistered", title: "Somebody unregisters the process on a host", hit: []int{2}, arrange: (*faultRun).unregisterSecond, pattern: patternUnregistered},
		},
		alike(fault{pattern: patternLag, faces: gseFaces}, []fault{
			{name: "no-row", title: "The cached status lags and has no row for a host", hit: []int{2}},
			// Promised in partial-failure.md: a destroy, or the removal of a host, where
			// [ownership](ownership.md) cannot be determined | ends with an error, exit code 1.
			// Promised in reference: If ownership cannot be determined, the host stays and the error says so.
			{
				name: "rows-unreadable", title: "Rows of the file cannot be read",
				except:  map[operation]cell{onReadOwner: {ending: fails, says: "who registered it could not be read", tries: 1}},
				arrange: injects(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": "none"}}), faces: esbOnlyFace,
			},
		}),
	)
}
