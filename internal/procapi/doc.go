// Package procapi is what BlueKing's process APIs have in common, whichever server answers. It has
// the operations and their numbers, and the codes with their meaning for each call. It reads
// results leniently, and takes an operation over its task to an outcome for each host.
//
// GSE's API (package gse) and JOB's (package job) end at the same agents. They differ in endpoints,
// in how requests name hosts and in the keys of results. Those packages have only that.
//
// # What is waited for
//
// A queued task (envelope code 1000115), a host missing from a result and a host in progress (115)
// are pending until the one deadline of the caller's context. So is a transport error that may
// pass. A host's first final verdict is kept, whatever later answers say.
//
// # What is sent again
//
// [Tasks.Submit] sends an operation once, and a wait that fails never sends it again. [Repeatable]
// reports whether the request path may repeat it after a lost answer. It may repeat a query,
// hosting and unhosting, and no command.
package procapi
