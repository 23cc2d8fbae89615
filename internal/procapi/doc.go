// Package procapi is what BlueKing's process APIs have in common. It has the operations with their
// numbers, and the codes with their meaning for each call. It reads results leniently, and follows an
// operation's task to an outcome for each host.
//
// GSE's API (package gse) and JOB's (package job) reach the same agents. They differ in endpoints, in how
// requests name hosts and in the keys of results. Those packages contain only that.
//
// # Waiting
//
// These are pending until the deadline of the caller's context. A task may be queued (envelope code
// 1000115), a host missing from a result, or in progress (115). A transport error that may pass counts as
// well. A host's first final verdict is kept, whatever later answers say.
//
// # Repeated requests
//
// [Tasks.Submit] sends an operation once, and a failed wait never sends it again. [Repeatable] reports
// whether the request path may repeat it after a lost answer. It may repeat a query, hosting and
// unhosting, but no command.
package procapi
