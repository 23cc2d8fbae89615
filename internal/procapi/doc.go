// Package procapi holds what BlueKing's process APIs have in common. It defines the operations with their
// numbers, and the per-host codes with their meaning for each call. It reads results leniently, and follows the
// task of an operation to an outcome for each host.
//
// GSE's API (package gse) and JOB's (package job) reach the same agents. They differ in their endpoints, in how
// requests name hosts, and in the keys of results. Those packages contain only that.
//
// # Waiting
//
// Pending until the deadline of the caller's context are: a queued task (envelope code 1000115), a host that a
// result lacks or that is in progress (115), and a temporary transport error. The first final verdict of a host is kept, whatever later answers say.
//
// # Repeated requests
//
// [Tasks.Submit] sends an operation once, and never sends it again after a failed wait. [Repeatable] reports
// whether the request path may repeat an operation after a lost answer. That is so for queries, hosting and
// unhosting, but not for operations that run a command.
package procapi
