// Package simulator is BlueKing's process service on one machine: a stand-in
// for GSE that tests, examples and newcomers run against.
//
// The real server is closed source and needs a whole platform around it. What is known of it comes
// from its API documents, from the public code of its clients and from issue threads. This package
// turns that knowledge into an http.Handler. It refuses what the platform refuses, with the JSON
// path of the offending field. It accepts what the platform accepts: unknown members, null for what
// is not set, and whatever else real clients send. [Server.Violations] keeps everything that no
// document describes. So a test can fail on a mistake of its own client that the platform would not
// mind.
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
// The zero value answers; fields are knobs, to be set before the first request.
//
// # How it is built
//
// Arrows go one way. A face (package face) reads and lints one dialect and translates it to one
// core. The core (package core) holds hosts, processes and tasks, and knows no HTTP. Beside it,
// package cmdb is what CMDB knows. Faults (package fault) change the answers: the core asks for
// what goes wrong through an interface. The record (package record) keeps what was asked. The
// control endpoint (package control) lets another process do both. A page (package page) shows it
// to people, and a scenario (package scenario) does it by itself. This package puts them together:
// a [Server] takes each request through face, faults and core.
//
// # Who may use it
//
// Programs on this machine that have the credentials. A local host runs what it is told, and the
// default credentials are no secret. So every request from elsewhere is refused before anything is
// read of it. That is a request from another address, with the mark of a web page, or under a name
// that is not this machine's (DNS rebinding). Only the simulator's own page (package page, at /)
// reaches the control endpoint, and no face. The control endpoint also requires the credentials
// once they are not the default ones. On a machine with other users, choose some, as the command
// does.
//
// # What is modelled
//
//   - ESB, first generation: register_proc_info, update_proc_info and
//     unregister_proc_info, which answer per host directly and may say 115,
//     "repeat the call" (ESB documents of the same names).
//     In the same generation, operate_proc acts on what was registered; get_proc_operate_result and
//     get_proc_status are as their successors, with the supplier.
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
//     after what BSCP, nodemgr and JOB send and read.
//     list_agent_state, list_agent_info and get_task_state are under /api/v2/cluster/
//     and /api/v2/task/, get_agent_status and get_agent_info at the ESB. An agent that
//     operations find away is away there.
//     The gateway has no register and no unregister: op 3 registers and hosts, replacing
//     what was there (see [Server.HostingOnce]), and op 4 leaves no row, though
//     the process goes on running.
//   - JOB, both generations: manage_proc, operate_process and get_proc_result
//     (and the first two under their older names), after the ESB documents and
//     the public code of JOB 3.4 to 3.6; see [Server.ManageProcBug] and
//     [Server.JobRemoved]. Its processes are in the namespace "job", under the
//     key by which the agent tells them apart: value_key or setup_path/proc_name.
//     fast_execute_script, get_job_instance_status and batch_get_job_instance_ip_log are those
//     of jobv3 (ESB documents of the same names), on hosts by address.
//   - The file in which an agent keeps what it hosts (.proc), with its secrets, which a script
//     reads: see [Server.ProcFile], [Server.SetProcFile] for odd ones, [Server.EditProc] and
//     [Server.AddProc] for what somebody does to it by hand.
//   - CMDB, as far as it tells which hosts and processes there are, behind the ESB and
//     the gateway: what [Server.Topology] declares and [Server.CMDB] changes. Its hosts
//     are hosts here. Package cmdb says in what it is like the real one.
//   - Agent ids beside addresses: the id of a host without an agent of GSE 2.0 is its
//     address, as "0:10.0.0.1". Two names of one machine are two hosts, unless
//     [Server.AddAgent] says otherwise. Then they share one process, and one
//     registration or, with [Server.EntryPerName], one for each name until
//     upgrade_to_agent_id, which the gateway has. What is true on a machine, whatever
//     it is called, [Server.Machines] tells.
//   - The effect of every op type on running and hosting (operate_proc_v2),
//     including those that only clients report: a stop of a stopped process
//     (829) leaves hosting as it was, a one-shot process (auto_type 2) ends in
//     836 although its command did its job.
//   - Virtual hosts, a state machine without processes, and local hosts
//     (127.0.0.0/8), whose commands really run; see [Server.Local].
//   - Somebody else at a console, whose acts are no calls: [Server.Register],
//     [Server.Unregister], [Server.Host], [Server.Unhost], [Server.StartProcess],
//     [Server.StopProcess], [Server.KillProcess] and [Server.UpgradeToAgentID], each
//     by either name of a machine.
//   - The bad days: queued tasks, hosts that stay in progress or are left out,
//     unreachable agents, lost, late, endless and misshapen answers, gateway
//     errors, a cached status that lags, lacks rows or names, or has labels that
//     nobody declared; see [Fault], [Server.SetLag], [Server.FreezeStatus] and
//     [Server.SetRowLabels].
//     [Server.Scenario] has them come and go by themselves.
//     Any of them may strike at random ([Fault.Chance], [Server.Seed]), and what a
//     host really did is kept apart from what was asked and answered
//     ([Server.Executions]).
//
// # What is not modelled
//
//   - Process groups and files: others' clients hear that there is no such API.
//   - Scripts, but for those that read the file of an agent: that of this provider, by its text,
//     and the cat or type of BSCP and GSEKit. They run on no host: what they print is made up.
//     PowerShell's way with texts that are no JSON is known in part.
//   - JOB's operate_proc, which makes up the commands by itself, and that JOB
//     knows which hosts belong to which business: bk_biz_id is only looked at.
//   - Windows: paths of Windows are taken, and no more than that.
//   - fd, disk and net limits (reserved in the documents), crontab_rule
//     (reserved), warn_report_policy and configmap: accepted, kept, ignored.
//   - identity.user: commands run as the simulator's own user.
//   - Permissions: an application may do all or nothing, except that CMDB may keep it from
//     a business.
//
// Where nothing is known, something had to be invented. Each invention is marked as one where it is
// made. The codes among them are [CodeNotRegistered] and [CodeFailed]. It is another that the
// gateway refuses a malformed body with [CodeInvalidArgs], as its request validation would. So is
// the path of the offending field in JOB's refusals, which really name none.
package simulator
