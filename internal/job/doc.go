// Package job speaks the process API of BlueKing JOB, through the ESB. JOB passes the endpoints
// manage_proc, operate_process and get_proc_result on to GSE. Package procapi holds what job shares with
// GSE's API, above all waiting.
//
// JOB deleted these endpoints in release 3.7 (GSE 2.0, bk-job issue 981), while the ESB kept their
// documents. On such a platform every call fails with an error that [IsRemoved] reports.
//
// # Registered means hosted
//
// JOB keeps no list of processes. Registering is hosting ("register a hosted process", operation 3),
// unregistering is unhosting (operation 4), and there is no listing. The only observation is an agent's
// answer to a query. It says whether the process runs and, on most platforms, whether it is hosted
// (isAuto). So CachedStatus asks the agents as LiveStatus does, and returns:
//
//	the agent's answer     state         why
//	hosted                 as it runs    hosted is registered
//	not hosted             unregistered  even if it runs: no agent would restart it
//	does not mention it    as it runs    nothing speaks against the registration
//
// The last row is JOB's own sample of an answer. On such a platform a removed registration cannot be
// noticed, but a stopped process can. There are no labels, and so no fingerprint. On no platform can the
// client notice that a process is hosted with another spec.
//
// # Repeated requests
//
// Queries and operations 3 and 4 of operate_process can be repeated without harm, and are. Start, stop,
// restart, reload and kill are sent once. So is anything through manage_proc, because published servers
// treat its operation 1 as a stop.
//
// Sources: the ESB API documents of the endpoints (job and jobv3), and the code of
// JOB before 3.7 (TencentBlueKing/bk-job).
package job
