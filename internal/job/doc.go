// Package job is a client of the process API of BlueKing JOB, through the ESB. JOB passes the calls of
// manage_proc, operate_process and get_proc_result on to GSE. Package procapi holds what job shares with GSE's
// API, above all waiting.
//
// JOB deleted these endpoints in release 3.7 (GSE 2.0, bk-job issue 981), while the ESB kept their documents.
// On such a platform every call fails with an error that [IsRemoved] reports.
//
// # Registered means hosted
//
// JOB keeps no list of processes. Registering is hosting ("register a hosted process", operation 3),
// unregistering is unhosting (operation 4), and there is no listing. The only observation is an agent's answer
// to a query. It says whether the process runs and, on most platforms, whether it is hosted (isAuto). So
// CachedStatus asks the agents as LiveStatus does, and returns:
//
//	the agent's answer     state         reason
//	hosted                 as it runs    a hosted process is registered
//	not hosted             unregistered  even if it runs, no agent would restart it
//	no mention of hosting  as it runs    nothing contradicts the registration
//
// The last row is the sample of an answer in JOB's own document. On such a platform, a stopped process is
// noticed, but not a removed registration. There are no labels, and so no fingerprint. On no platform can the
// client notice that a process is hosted with another spec.
//
// # Repeated requests
//
// Queries and operations 3 and 4 of operate_process can be repeated safely, and are. Start, stop, restart,
// reload and kill are sent once. So is every call of manage_proc, because published servers treat its operation
// 1 as a stop.
//
// Sources: the ESB API documents of the endpoints (job and jobv3), and the code of JOB before 3.7
// (TencentBlueKing/bk-job).
package job
