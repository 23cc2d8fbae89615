// Package simulator simulates BlueKing's process service on one machine, for tests, examples and first
// steps.
//
// The real server is closed source and needs a whole platform around it. What is known about it comes from
// its API documents, from the public code of its clients and from issue threads. This package implements
// that knowledge as an http.Handler. It refuses what the platform refuses, with the JSON path of the
// invalid field. It accepts what the platform accepts: unknown fields, null for unset ones, and whatever
// else real clients send. [Server.Violations] lists everything in requests that no document describes, so a
// test can fail on a mistake of its client that the platform would accept.
//
// # A first look
//
//	var sim simulator.Server
//	sim.AddHost("0:10.0.0.1", "0200000007525400f355781710390005465c")
//	srv := httptest.NewServer(&sim)
//	defer sim.Close()
//	defer srv.Close()
//	// ESB:     POST srv.URL + /api/c/compapi/v2/gse/register_proc_info/
//	// gateway: POST srv.URL + /api/bk-gse/prod/api/v2/proc/operate_proc_multi
//	// JOB:     POST srv.URL + /api/c/compapi/v2/jobv3/operate_process/
//	// CMDB:    POST srv.URL + /api/c/compapi/v2/cc/list_biz_hosts/
//	//          POST srv.URL + /api/bk-cmdb/prod/api/v3/hosts/app/3/list_hosts
//
// The zero value is usable. Set fields, which are settings, before the first request.
//
// # Structure
//
// Imports go one way. A face (package face) reads and checks one dialect and translates it to the core.
// The core (package core) has hosts, processes and tasks, and no HTTP. Package cmdb is CMDB. Faults
// (package fault) change responses: the core gets them through an interface. The record (package record)
// keeps the requests. The control endpoint (package control) gives other processes access to both. A page
// (package page) shows them to users, and a scenario (package scenario) injects faults on its own. This
// package connects them: a [Server] passes each request through face, faults and core.
//
// # Access
//
// Only programs on this machine that have the credentials may use it. A local host runs any command, and
// the default credentials are public. So a request is refused before its content is read if it comes from
// another address, from a web page, or under a host name other than this machine's (DNS rebinding). The
// simulator's own page (package page, at /) reaches only the control endpoint, and no face. The control
// endpoint also requires the credentials if they are not the default ones. On a machine with other users,
// set your own, as the command does.
//
// # Features
//
//   - ESB, first generation: register_proc_info, update_proc_info and
//     unregister_proc_info, which return a result for each host directly and may
//     return 115, "repeat the call" (ESB documents of the same names).
//     Also operate_proc, which acts on what was registered; get_proc_operate_result and
//     get_proc_status are like their successors, with the supplier.
//   - ESB, second generation: operate_proc_v2, operate_proc_multi,
//     get_proc_operate_result_v2, get_proc_status_v2 and sync_proc_status.
//   - The credentials in the body and the refusals of the ESB itself, with its
//     own codes (1306xxx, from the open source ESB).
//   - The API gateway of GSE 2.0: operate_proc_v2, operate_proc_multi,
//     get_proc_operate_result_v2, get_proc_status_v2, sync_proc_status,
//     update_proc_info and upgrade_to_agent_id under /api/v2/proc/, behind any
//     prefix, with credentials in X-Bkapi-Authorization, agent ids, and the
//     gateway's own refusals (16xxxxx, from the open source gateway; see
//     [Server.UnverifiedStatus400]).
//     async_execute_script and get_execute_script_result are under /api/v2/task/extensions/,
//     modelled on what BSCP, nodemgr and JOB send and read.
//     list_agent_state, list_agent_info and get_task_state are under /api/v2/cluster/
//     and /api/v2/task/, get_agent_status and get_agent_info at the ESB. An agent that is
//     unreachable for operations is unreachable there.
//     The gateway has no APIs to register or unregister: op 3 registers and
//     hosts, replacing what was there (see [Server.HostingOnce]), and op 4 removes the
//     row, while the process keeps running.
//   - JOB, both generations: manage_proc, operate_process and get_proc_result
//     (and the first two under their older names), modelled on the ESB documents and
//     the public code of JOB 3.4 to 3.6; see [Server.ManageProcBug] and
//     [Server.JobRemoved]. Its processes are in the namespace "job", under the
//     key by which the agent distinguishes them: value_key or setup_path/proc_name.
//     fast_execute_script, get_job_instance_status and batch_get_job_instance_ip_log are those
//     of jobv3 (ESB documents of the same names), on hosts by address.
//   - The file in which an agent keeps what it hosts (.proc), with its secrets, which a script
//     reads: see [Server.ProcFile], [Server.SetProcFile] for unusual files, [Server.EditProc] and
//     [Server.AddProc] for changes by hand.
//   - CMDB's APIs about hosts and processes, behind the ESB and the gateway:
//     what [Server.Topology] declares and [Server.CMDB] changes. Its hosts exist in the
//     process service too. Package cmdb documents what it has in common with the real one.
//   - Agent ids beside addresses: the id of a host without an agent of GSE 2.0 is its
//     address, such as "0:10.0.0.1". Two names of one machine are two hosts, unless
//     [Server.AddAgent] connects them. Then they share one process, and one
//     registration or, with [Server.EntryPerName], one for each name until
//     upgrade_to_agent_id, which the gateway has. [Server.Machines] returns the real state
//     of a machine, under all its names.
//   - The effect of every op type on running and hosting (operate_proc_v2),
//     including effects that only clients report: stopping a stopped process (829)
//     leaves hosting as it was, and a one-shot process (auto_type 2) ends with 836
//     although its command succeeded.
//   - Virtual hosts, a state machine without processes, and local hosts
//     (127.0.0.0/8), whose commands really run; see [Server.Local].
//   - Changes by a user at a console, which are not recorded as calls: [Server.Register],
//     [Server.Unregister], [Server.Host], [Server.Unhost], [Server.StartProcess],
//     [Server.StopProcess], [Server.KillProcess] and [Server.UpgradeToAgentID], each
//     by either name of a machine.
//   - Faults: queued tasks, hosts that stay in progress or are omitted,
//     unreachable agents, lost, late, endless and misshapen answers, gateway
//     errors, a cached status that lags, lacks rows or names, or has extra labels;
//     see [Fault], [Server.SetLag], [Server.FreezeStatus] and
//     [Server.SetRowLabels].
//     [Server.Scenario] injects and ends them on its own.
//     Any of them may apply at random ([Fault.Chance], [Server.Seed]). What a host
//     really did is recorded separately ([Server.Executions]).
//
// # Limitations
//
//   - There are no APIs for process groups and files.
//   - Of scripts, only those that read the file of an agent work: this provider's, recognized
//     by its text, and the cat or type of BSCP and GSEKit. They run on no host: their output is
//     generated. How PowerShell treats texts that are not JSON is only partly known.
//   - JOB's operate_proc, which generates the commands itself, is missing. JOB does not know
//     which hosts belong to which business: only the form of bk_biz_id is checked.
//   - Of Windows, only paths are accepted.
//   - fd, disk and net limits (reserved in the documents), crontab_rule
//     (reserved), warn_report_policy and configmap are accepted, kept and ignored.
//   - identity.user is ignored: commands run as the simulator's own user.
//   - An application has all permissions or none, except that CMDB may deny it
//     a business.
//
// What is unknown about the platform is invented, and marked as an invention in the code. The invented
// codes are [CodeNotRegistered] and [CodeFailed]. Also invented are the gateway's [CodeInvalidArgs] for a
// malformed body, as if from its request validation, and the path of the invalid field in JOB's refusals,
// which really name none.
package simulator
