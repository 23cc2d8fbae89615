// Package simulator is BlueKing's process service on one machine: a stand-in
// for GSE that tests, examples and newcomers run against.
//
// The real server is closed source and needs a whole platform around it. What
// is known of it comes from its API documents, from the public code of its
// clients and from issue threads; this package turns that knowledge into an
// http.Handler. It is deliberately a narrow target: a request that the
// documents do not describe is refused with the JSON path of the offending
// field, and is kept in [Server.Violations] so that a test can fail on it even
// if the client swallowed the refusal.
//
// # A first look
//
//	var sim simulator.Server
//	sim.AddHost("0:10.0.0.1")
//	srv := httptest.NewServer(&sim)
//	defer sim.Close()
//	defer srv.Close()
//	// POST srv.URL + /api/c/compapi/v2/gse/register_proc_info/
//
// The zero value answers; fields are knobs, to be set before the first request.
//
// # How it is built
//
// A face (esb.go and its request shapes) reads one dialect strictly and
// translates it to one core; the core (process.go, operation.go, task.go)
// holds hosts, processes and tasks and knows no HTTP. Faults (fault.go) bend
// the answers, the record (call.go) keeps what was asked, and the control
// endpoint (control.go) lets another process do both.
//
// # What is modelled
//
//   - ESB, first generation: register_proc_info, update_proc_info and
//     unregister_proc_info, which answer per host directly and may say 115,
//     "repeat the call" (ESB documents of the same names).
//   - ESB, second generation: operate_proc_v2, operate_proc_multi,
//     get_proc_operate_result_v2, get_proc_status_v2 and sync_proc_status.
//   - The credentials in the body and the refusals of the ESB itself, with its
//     own codes (1306xxx, from the open source ESB).
//   - The effect of every op type on running and hosting (operate_proc_v2),
//     including those that only clients tell of: a stop of a stopped process
//     (829) leaves hosting as it was, a one-shot process (auto_type 2) ends in
//     836 although its command did its job.
//   - Virtual hosts, a state machine without processes, and local hosts
//     (127.0.0.0/8), whose commands really run; see [Server.Local].
//   - The bad days: queued tasks, hosts that stay in progress or are left out,
//     unreachable agents, lost answers, gateway errors, a cached status that
//     lags; see [Fault] and [Server.FreezeStatus].
//
// # What is not modelled
//
//   - The gateway face, the JOB faces, process groups, agent ids.
//   - The first generation's operate_proc, get_proc_operate_result and
//     get_proc_status.
//   - fd, disk and net limits (reserved in the documents), crontab_rule
//     (reserved), warn_report_policy and configmap: accepted, kept, ignored.
//   - identity.user: commands run as the simulator's own user.
//   - Permissions: an application may do all or nothing.
//
// Where nothing is known, something had to be invented. Each invention is
// marked as one where it is made; the codes among them are [CodeNotRegistered]
// and [CodeFailed].
package simulator
