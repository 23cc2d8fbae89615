package faultmatrix

import (
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// lateFaults are answers that come late or look odd, and come to the same.
func lateFaults() []fault {
	keys := (*faultRun).resultKey
	return []fault{
		{
			name: "queued", title: "The task is queued (code 1000115, `data` null) for three answers", pattern: patternLate,
			fault: &simulator.Fault{Queued: 3}, tasks: true,
		},
		{
			name: "queued-data", title: "The same with `data` an empty object", pattern: patternLate, faces: []providertest.Face{providertest.FaceESB},
			fault: &simulator.Fault{Queued: 1, QueuedData: map[string]any{}}, tasks: true,
		},
		{
			name: "missing", title: "A host is missing from two answers", pattern: patternLate, faces: esbOnlyFace, hit: []int{2},
			fault: &simulator.Fault{Missing: 2}, repeats: 3,
		},
		{
			name: "silent", title: "A host's result is `null`, once", pattern: patternLate, faces: esbOnlyFace,
			arrange: func(r *faultRun) { r.bendResult(map[string]any{"data/" + keys(r, 2): nil}, 1) }, repeats: 2,
		},
		{
			name: "silent-object", title: "A host's result is `{}`, once", pattern: patternLate, faces: esbOnlyFace,
			arrange: func(r *faultRun) { r.bendResult(map[string]any{"data/" + keys(r, 2): map[string]any{}}, 1) }, repeats: 2,
		},
		{
			name: "pending", title: "A host is in progress (115) for three answers", pattern: patternLate, hit: []int{2},
			fault: &simulator.Fault{Pending: 3}, repeats: 4,
		},
		{
			name: "backwards", title: "Results, rows and members come in another order", pattern: patternAsked, faces: esbOnlyFace,
			arrange: func(r *faultRun) { r.sim.Inject(simulator.Fault{Backwards: true}) },
		},
		{
			name: "late-answer", title: "The answer to an earlier poll comes after that to a later one", pattern: patternAsked, faces: []providertest.Face{providertest.FaceESB, providertest.FaceJOB},
			except: map[providertest.Operation]cell{providertest.OnRead: {ending: well, tries: 1, faces: []providertest.Face{providertest.FaceJOB}}, providertest.OnCreate: {}, providertest.OnUpdate: {}, providertest.OnDelete: {}},
			arrange: func(r *faultRun) {
				target := r.face.Target(r.on)
				r.sim.Inject(simulator.Fault{API: target.API, Op: target.Op, Hosts: providertest.AddressList([]int{3}), Pending: 2})
				r.sim.Inject(simulator.Fault{API: r.face.ResultAPI(), Skip: 1, Times: 1, ExtraKeys: map[string]any{
					keys(r, 1): map[string]any{"error_code": 115, "error_msg": "in progress", "content": ""},
				}})
			},
		},
		{
			name: "extra-key", title: "A result of a host that nobody asked for", pattern: patternAsked, faces: []providertest.Face{providertest.FaceESB, providertest.FaceJOB},
			arrange: func(r *faultRun) {
				r.sim.Inject(simulator.Fault{ExtraKeys: map[string]any{keys(r, 9): map[string]any{"error_code": 65535, "error_msg": "x", "content": ""}}})
			},
			except: map[providertest.Operation]cell{providertest.OnRead: {}},
		},
		{
			name: "errcode", title: "`errcode` and `errmsg` for `error_code` and `error_msg`", pattern: patternAsked, faces: esbOnlyFace,
			arrange: func(r *faultRun) { r.sim.Inject(simulator.Fault{Spelling: "errcode"}) },
		},
		{
			name: "code-as-text", title: "The envelope's code as `\"00\"`, and no `result`", pattern: patternAsked, faces: []providertest.Face{providertest.FaceESB, providertest.FaceJOB},
			arrange: func(r *faultRun) {
				r.sim.Inject(simulator.Fault{Envelope: map[string]any{"code": "00", "result": nil}})
			},
		},
		{
			name: "code-missing", title: "The envelope has no code, and `result` is true", pattern: patternAsked, faces: esbOnlyFace,
			arrange: func(r *faultRun) { r.sim.Inject(simulator.Fault{Envelope: map[string]any{"code": nil}}) },
		},
		{
			name: "code-empty", title: "The envelope's code as `\"\"`", pattern: patternAsked, faces: esbOnlyFace,
			arrange: func(r *faultRun) { r.sim.Inject(simulator.Fault{Envelope: map[string]any{"code": ""}}) },
		},
		{
			name: "codes-as-text", title: "Numbers as strings in results and rows", pattern: patternAsked, faces: esbOnlyFace,
			arrange: func(r *faultRun) {
				r.bendResult(map[string]any{"data/*/error_code": "0"}, 0)
				r.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{
					"data/proc_infos/*/status": "2", "data/proc_infos/*/host/bk_cloud_id": "0", "data/proc_infos/*/isauto": "false",
				}})
			},
		},
		{
			name: "messages-of-any-type", title: "Messages that are not strings", pattern: patternAsked, faces: esbOnlyFace,
			arrange: func(r *faultRun) {
				r.bendResult(map[string]any{"data/*/error_msg": []any{1}, "message": map[string]any{}}, 0)
			},
		},
		{
			name: "job-status", title: "JOB's `status` says 115 beside results", pattern: patternAsked, faces: []providertest.Face{providertest.FaceJOB},
			arrange: func(r *faultRun) { r.sim.Inject(simulator.Fault{API: "get_proc_result", JobStatus: new(115)}) },
		},
		{
			name: "content-object", title: "`content` is an object instead of a string", pattern: patternAsked, faces: esbOnlyFace, hit: []int{2},
			fault: &simulator.Fault{ContentShape: "object"},
		},
		{
			name: "hosting-not-told", title: "A query's `content` does not say `isAuto`", pattern: patternAsked, faces: esbOnlyFace,
			hit: []int{2}, fault: &simulator.Fault{ContentShape: "no-isauto"},
		},
	}
}

// hostFaults hit one host of three.
func hostFaults() []fault {
	return []fault{
		{
			name: "pending-for-ever", title: "A host stays in progress (115) forever", says: "no verdict when the time was up (115, still in progress)",
			pattern: patternNoVerdict, hit: []int{2}, fault: &simulator.Fault{Pending: -1}, repeats: enough, gone: forgetTasks,
		},
		{
			name: "missing-for-ever", title: "A host is missing from every answer", says: "no verdict when the time was up",
			pattern: patternNoVerdict, faces: []providertest.Face{providertest.FaceESB, providertest.FaceGateway}, hit: []int{2}, fault: &simulator.Fault{Missing: -1}, repeats: enough,
		},
		{
			name: "agent-away", title: "A host's agent is away (117)", says: "117, the agent is abnormal or not found",
			pattern: patternOneFails, hit: []int{2}, fault: &simulator.Fault{Unreachable: "117"},
		},
		{
			name: "unknown-code", title: "A host has a code that no document names", says: "4711", pattern: patternOneFails, hit: []int{2},
			faces: esbOnlyFace, fault: &simulator.Fault{Code: new(4711), Message: "whatever"},
		},
		{
			name: "unreadable-result", title: "A host's result is no object, or has no code", says: "-1", pattern: patternOneFails, hit: []int{2}, faces: esbOnlyFace,
			arrange: func(r *faultRun) { r.bendResult(map[string]any{"data/" + r.resultKey(2): "gone"}, 0) },
			except: map[providertest.Operation]cell{
				// The platform did what it was asked for.
				providertest.OnCreate:  {ending: warns, says: "the platform's result could not be read", reason: notConfirmed + saysUnknown, tries: 1},
				providertest.OnHost:    {ending: warns, reason: notRegistered, tries: 1}, // the question before registering is hit first
				providertest.OnRun:     {ending: warns, reason: notRegistered, tries: 1},
				providertest.OnOperate: {ending: warns, says: "the platform's result could not be read", reason: outcomeUnknown, tries: 1},
				providertest.OnStop:    {ending: warns, says: "the platform's result could not be read", reason: outcomeUnknown, tries: 1},
				// Its task has the result once it can be read.
				providertest.OnRestart: {ending: warns, says: "the platform's result could not be read", reason: outcomeUnknown, tries: 1, touches: []int{}},
			},
		},
		{
			name: "command-failed", title: "The command fails on a host (65535) and prints why", says: "no space left on device",
			pattern: patternOperationFails, hit: []int{2}, fault: &simulator.Fault{Code: new(65535), Message: "no space left on device"},
		},
		{
			name: "check-failed", title: "A host fails the check after the start (836)", says: "836, the process was not running when the start was checked",
			pattern: patternOperationFails, hit: []int{2}, faces: esbOnlyFace, fault: &simulator.Fault{Code: new(836), Message: "start check failed"},
		},
		{
			name: "stop-check-failed", title: "A host fails the check after a stop (836 and a message that begins with stop)",
			says: "836, the process was still running when the stop was checked", pattern: patternOperationFails, hit: []int{2}, faces: esbOnlyFace,
			fault: &simulator.Fault{Code: new(836), Message: "stop check failed"},
		},
		{
			name: "already-running", title: "The process runs already (828)", pattern: patternOperationWell,
			arrange: (*faultRun).startAll, except: map[providertest.Operation]cell{providertest.OnStop: {}, providertest.OnKill: {}},
		},
		{
			name: "one-shot", title: "A one-shot process has ended when its start is checked (836)", pattern: patternOperationWell,
			except:  map[providertest.Operation]cell{providertest.OnStop: {}, providertest.OnKill: {}},
			oneShot: true, // which the simulator knows by itself
		},
		{
			name: "unreadable-status", title: "A query's `content` is cut in half", says: "the agent's answer",
			pattern: patternUnreadable, hit: []int{2}, fault: &simulator.Fault{ContentShape: "broken"},
		},
		{
			name: "no-instance", title: "A query's `content` names no instance", says: "the agent's answer names no instance with a pid",
			pattern: patternUnreadable, hit: []int{2}, faces: esbOnlyFace, fault: &simulator.Fault{ContentShape: "no-instance"},
		},
		{
			name: "null-content", title: "A query's `content` is `null`", says: "the agent's answer",
			pattern: patternUnreadable, hit: []int{2}, faces: esbOnlyFace, fault: &simulator.Fault{ContentShape: "null"},
		},
		{
			name: "no-content", title: "A query's `content` is empty", says: "the agent's answer is not JSON",
			pattern: patternUnreadable, hit: []int{2}, faces: esbOnlyFace, fault: &simulator.Fault{ContentShape: "empty"},
		},
	}
}

// forgetTasks has the platform forget its tasks, so that nothing is in progress any more.
func forgetTasks(r *faultRun) {
	for _, task := range r.sim.Tasks() {
		r.sim.ExpireTask(task.ID)
	}
}

// taskFaults are about the task that a call becomes.
func taskFaults() []fault {
	return []fault{
		{
			name: "queued-for-ever", title: "The task stays queued (1000115) forever", says: "no verdict when the time was up (the task was still queued)",
			pattern: patternNoVerdict, faces: []providertest.Face{providertest.FaceESB, providertest.FaceGateway}, fault: &simulator.Fault{Queued: -1}, tasks: true,
		},
		{
			name: "expired", title: "The platform no longer knows the task", says: "no verdict when the time was up",
			pattern: patternNoVerdict, faces: []providertest.Face{providertest.FaceESB, providertest.FaceJOB}, fault: &simulator.Fault{TaskID: new("GSETASK:S:20240101000000.000000:1")}, tasks: true,
		},
		{
			name: "no-task-id", title: "The call is accepted and names no task", says: "named no task, so its result cannot be asked for",
			pattern: patternNoTask, fault: &simulator.Fault{TaskID: new("")}, tasks: true,
		},
		{
			name: "gse-error", title: "JOB had trouble with GSE (1210001) and does not say which", says: "code 1210001", faces: []providertest.Face{providertest.FaceJOB},
			pattern: patternRefused, fault: &simulator.Fault{EnvelopeCode: new(1210001), EnvelopeMessage: "GSE error"},
			except: map[providertest.Operation]cell{
				providertest.OnCreate:  {ending: taints, reason: notConfirmed + saysUnknown, tries: 1},
				providertest.OnConfirm: {ending: warns, reason: notConfirmed + saysTimeUp, tries: enough, timeUp: true},
				providertest.OnRun:     {ending: warns, reason: notRunning + saysUnknown, tries: 1},
				providertest.OnOperate: {ending: warns, reason: outcomeUnknown, tries: 1},
				providertest.OnStop:    {ending: warns, reason: outcomeUnknown, tries: 1},
				providertest.OnRestart: {ending: warns, reason: outcomeUnknown, tries: 1},
				providertest.OnWait:    {ending: warns, reason: noVerdict, tries: enough, timeUp: true},
			},
		},
	}
}

// ownerFaults are changes by another owner.
func ownerFaults() []fault {
	taken := func(r *faultRun) {
		namespace, name := r.face.Process()
		if err := r.sim.Register(providertest.Address(2), namespace, name, map[string]string{"who": "somebody"}, `{"identity":{}}`); err != nil {
			r.t.Fatal(err)
		}
	}
	return []fault{
		{
			name: "taken", title: "Somebody else has registered the process on a host (850)", says: "the process is registered already",
			pattern: patternTaken, hit: []int{2}, faces: []providertest.Face{providertest.FaceESB, providertest.FaceGateway}, arrange: taken,
			gone: func(r *faultRun) {
				if r.on != providertest.OnCreate {
					return
				}
				if err := r.sim.Unregister(providertest.Address(2), "web", "nginx"); err != nil {
					r.t.Fatal(err)
				}
			},
		},
		{
			name: "unregistered", title: "Somebody unregisters the process on a host", pattern: patternUnregistered, hit: []int{2},
			arrange: func(r *faultRun) {
				namespace, name := r.face.Process()
				if err := r.sim.Unregister(providertest.Address(2), namespace, name); err != nil {
					r.t.Fatal(err)
				}
				if err := r.sim.Unhost(providertest.Address(2), namespace, name); err != nil {
					r.t.Fatal(err)
				}
			},
		},
		{
			name: "no-row", title: "The cached status lags and has no row for a host", pattern: patternLag, hit: []int{2}, faces: []providertest.Face{providertest.FaceESB, providertest.FaceGateway},
		},
		{
			name: "rows-unreadable", title: "Rows of the file cannot be read", pattern: patternLag, faces: esbOnlyFace,
			except: map[providertest.Operation]cell{providertest.OnReadOwner: {ending: fails, says: "who registered it could not be read", tries: 1}},
			arrange: func(r *faultRun) {
				r.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": "none"}})
			},
		},
	}
}
